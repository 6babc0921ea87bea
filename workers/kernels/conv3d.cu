// 3D convolution, causal in time, "same" in space, as an implicit matrix product: rows are
// output positions, columns output channels, the inner dimension taps times input channels.
// The bulk copy engine fetches, for every tap, the tile of 16 x 8 input positions that lies
// under the output tile; positions outside the tensor arrive as zeros, which is the padding. Strides
// (st over time, ss in space) are the engine's: a tile takes every second position.
// Otherwise the kernel is gemm.cu's: a producer, two consumer warpgroups of 64 positions.
//
// x: [T][...][...][C] bf16, w: [N][taps][C] bf16 (taps: time, row, column), y: [To][H][W][N] bf16.
DEV u32 smem_u32(const void *p) {
  u32 a; asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(a) : "l"(p)); return a;
}
DEV void tma4d(u32 dst, const TMap *m, u32 bar, int c0, int c1, int c2, int c3) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];"
               ::"r"(dst), "l"(m), "r"(bar), "r"(c0), "r"(c1), "r"(c2), "r"(c3) : "memory");
}
#define TW 16
#define TH 8
// One stage: Q products of 16 channels.
template <int Q, int STAGES, int R>
DEV void step(float (&d)[R], u32 base, u32 full, u32 empty, u32 it, int wg, u32 stage, int &first) {
  u32 s = it % STAGES, ph = (it / STAGES) & 1;
  mbar_wait(full + s * 8, ph);
  u64 da = desc128(base + s * stage + (wg - 1) * 64 * 128);
  u64 db = desc128(base + s * stage + 128 * 128);
  WG_FENCE();
#pragma unroll
  for (int q = 0; q < Q; q++) wgmma_bf16(d, da + 2 * q, db + 2 * q, !first | (q != 0));
  WG_COMMIT();
  WG_WAIT(1);
  if (!first && threadIdx.x % 128 == 0) mbar_arrive(empty + (it - 1) % STAGES * 8);
  first = 0;
}
// TAIL is the number of products of 16 channels in the last 64 of a tap, 4 if all: what lies
// past C is zero, but need not be multiplied.
template <int BN, int STAGES, int TAIL>
DEV void conv3d(const TMap *tx, const TMap *tw, const u16 *bias, const u16 *res, u16 *y, int To, int H, int W, int C, int N,
                int kt, int kh, int kw, int pad, int st, int ss) {
  extern __shared__ __attribute__((aligned(1024))) u8 smem_raw[];
  const u32 STAGE = (128 + BN) * 128;
  u32 base = (smem_u32(smem_raw) + 1023) & ~1023u;
  u32 full = base + STAGES * STAGE, empty = full + STAGES * 8;
  int nw = (W + TW - 1) / TW, nh = (H + TH - 1) / TH, tn = (N + BN - 1) / BN, tiles = tn * nw * nh * To;
  int chunks = (C + 63) / 64;
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; s++) { mbar_init(full + s * 8, 1); mbar_init(empty + s * 8, 2); }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  sync_block();
  int wg = threadIdx.x / 128;
  if (wg == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0) {
      u32 it = 0;
      int padh = ss > 1 ? 0 : kh / 2, padw = ss > 1 ? 0 : kw / 2;
      for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
        int n0 = t % tn * BN, r = t / tn, w0 = r % nw * TW * ss, h0 = r / nw % nh * TH * ss, f = r / nw / nh * st;
        int tap = 0;
        for (int a = 0; a < kt; a++)
          for (int b = 0; b < kh; b++)
            for (int c = 0; c < kw; c++, tap++)
              for (int k = 0; k < chunks; k++, it++) {
                u32 s = it % STAGES, ph = (it / STAGES) & 1, at = base + s * STAGE;
                mbar_wait(empty + s * 8, ph ^ 1);
                mbar_expect(full + s * 8, STAGE);
                tma4d(at, tx, full + s * 8, k * 64, w0 + c - padw, h0 + b - padh, f + a - pad);
                tma3d(at + 128 * 128, tw, full + s * 8, k * 64, tap, n0);
              }
      }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    u32 it = 0;
    int w = (threadIdx.x % 128) / 32, l = threadIdx.x % 32;
    for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
      int n0 = t % tn * BN, r = t / tn, w0 = r % nw * TW, h0 = r / nw % nh * TH, f = r / nw / nh;
      float d[BN / 2];
      int first = 1;
      for (int tap = 0; tap < kt * kh * kw; tap++) {
        for (int k = 0; k < chunks - (TAIL < 4); k++, it++) step<4, STAGES>(d, base, full, empty, it, wg, STAGE, first);
        if (TAIL < 4) { step<TAIL, STAGES>(d, base, full, empty, it, wg, STAGE, first); it++; }
      }
      WG_WAIT(0);
      fence_regs(d);
      if (threadIdx.x % 128 == 0) mbar_arrive(empty + (it - 1) % STAGES * 8);
      int p0 = (wg - 1) * 64 + w * 16 + l / 4; // position in the tile of this thread's first row; the second is 8 on
#pragma unroll
      for (int half = 0; half < 2; half++) {
        int p = p0 + 8 * half, px = w0 + p % TW, py = h0 + p / TW;
        if (px >= W || py >= H) continue;
        u64 at = ((u64)(f * H + py) * W + px) * N;
#pragma unroll
        for (int j = 0; j < BN / 8; j++) {
          int col = n0 + j * 8 + (l % 4) * 2;
          if (col < N) {
            u32 b = *(const u32 *)(bias + col);
            float u = d[j * 4 + 2 * half] + bf16_lo(b), v = d[j * 4 + 2 * half + 1] + bf16_hi(b);
            if (res) { u32 q = *(const u32 *)(res + at + col); u += bf16_lo(q); v += bf16_hi(q); }
            *(u32 *)(y + at + col) = pack_bf16(u, v);
          }
        }
      }
    }
  }
}
#define CONV3D(name, BN, STAGES, TAIL)                                                                                               \
  extern "C" __global__ void __launch_bounds__(384, 1) name(const __grid_constant__ TMap tx, const __grid_constant__ TMap tw,       \
      const u16 *bias, const u16 *res, u16 *y, int To, int H, int W, int C, int N, int kt, int kh, int kw, int pad, int st, int ss) { \
    conv3d<BN, STAGES, TAIL>(&tx, &tw, bias, res, y, To, H, W, C, N, kt, kh, kw, pad, st, ss);                                           \
  }
CONV3D(conv3d_16_4, 16, 8, 4)
CONV3D(conv3d_16_2, 16, 8, 2)
CONV3D(conv3d_96_4, 96, 7, 4)
CONV3D(conv3d_128_4, 128, 6, 4)
CONV3D(conv3d_192_4, 192, 5, 4)
CONV3D(conv3d_128_2, 128, 6, 2)
CONV3D(conv3d_96_2, 96, 7, 2)
CONV3D(conv3d_192_2, 192, 5, 2)

// The same for 3 x 3 in space, without fetching the input anew for every tap: a tile of 8
// columns by 16 * MT rows is fetched once a frame and 64 channels, with a border of one, and
// the nine taps read it at shifted addresses. Eight neighbouring columns are the eight rows of
// a matrix core, and cores lie ten columns apart, so a tap is only another start in the
// operand's descriptor. Weights are then most of the traffic, and MT = 2 halves them.
DEV u64 desc_halo(u32 a) { return (u64)((a & 0x3FFFF) >> 4) | ((u64)1 << 16) | ((u64)(1280 >> 4) << 32) | ((u64)1 << 62); }
template <int Q, int MT, int R>
DEV void halo_tap(float (&d)[MT][R], u32 a, u32 b, int fresh) {
  WG_FENCE();
#pragma unroll
  for (int q = 0; q < Q; q++)
#pragma unroll
    for (int i = 0; i < MT; i++) wgmma_bf16(d[i], desc_halo(a + i * 8 * 1280 + q * 32), desc128(b + q * 32), !fresh | (q != 0));
  WG_COMMIT();
  WG_WAIT(1);
}
template <int BN, int MT, int AS, int BS, int TAIL>
DEV void conv3d_halo(const TMap *tx, const TMap *tw, const u16 *bias, const u16 *res, u16 *y, int To, int H, int W, int C, int N, int kt, int pad) {
  extern __shared__ __attribute__((aligned(1024))) u8 smem_raw[];
  const u32 ABOX = 10 * (16 * MT + 2) * 128, ABYTES = (ABOX + 1023) / 1024 * 1024, BBYTES = BN * 128;
  u32 abase = (smem_u32(smem_raw) + 1023) & ~1023u, bbase = abase + AS * ABYTES;
  u32 fa = bbase + BS * BBYTES, ea = fa + AS * 8, fb = ea + AS * 8, eb = fb + BS * 8;
  int nw = (W + 7) / 8, nh = (H + 16 * MT - 1) / (16 * MT), tn = (N + BN - 1) / BN, tiles = tn * nw * nh * To, chunks = (C + 63) / 64;
  if (threadIdx.x == 0) {
    for (int s = 0; s < AS; s++) { mbar_init(fa + s * 8, 1); mbar_init(ea + s * 8, 2); }
    for (int s = 0; s < BS; s++) { mbar_init(fb + s * 8, 1); mbar_init(eb + s * 8, 2); }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  sync_block();
  int wg = threadIdx.x / 128;
  if (wg == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0) {
      u32 ia = 0, ib = 0;
      for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
        int n0 = t % tn * BN, r = t / tn, w0 = r % nw * 8, h0 = r / nw % nh * 16 * MT, f = r / nw / nh;
        for (int a = 0; a < kt; a++)
          for (int k = 0; k < chunks; k++, ia++) {
            u32 s = ia % AS;
            mbar_wait(ea + s * 8, ((ia / AS) & 1) ^ 1);
            mbar_expect(fa + s * 8, ABOX);
            tma4d(abase + s * ABYTES, tx, fa + s * 8, k * 64, w0 - 1, h0 - 1, f + a - pad);
            for (int tap = 0; tap < 9; tap++, ib++) {
              u32 z = ib % BS;
              mbar_wait(eb + z * 8, ((ib / BS) & 1) ^ 1);
              mbar_expect(fb + z * 8, BBYTES);
              tma3d(bbase + z * BBYTES, tw, fb + z * 8, k * 64, a * 9 + tap, n0);
            }
          }
      }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    u32 ia = 0, ib = 0;
    int w = (threadIdx.x % 128) / 32, l = threadIdx.x % 32;
    bool lead = threadIdx.x % 128 == 0;
    for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
      int n0 = t % tn * BN, r = t / tn, w0 = r % nw * 8, h0 = r / nw % nh * 16 * MT, f = r / nw / nh;
      float d[MT][BN / 2];
      int fresh = 1;
      for (int a = 0; a < kt; a++)
        for (int k = 0; k < chunks; k++, ia++) {
          u32 s = ia % AS, at = abase + s * ABYTES + (wg - 1) * MT * 8 * 1280;
          mbar_wait(fa + s * 8, (ia / AS) & 1);
          for (int tap = 0; tap < 9; tap++, ib++) {
            u32 z = ib % BS;
            mbar_wait(fb + z * 8, (ib / BS) & 1);
            u32 p = at + (tap / 3 * 10 + tap % 3) * 128, q = bbase + z * BBYTES;
            if (TAIL < 4 && k == chunks - 1) halo_tap<TAIL, MT>(d, p, q, fresh);
            else halo_tap<4, MT>(d, p, q, fresh);
            // the tap before is done now, and with the first of a tile so is the tile before
            if (!fresh && lead) {
              mbar_arrive(eb + (ib - 1) % BS * 8);
              if (tap == 0) mbar_arrive(ea + (ia - 1) % AS * 8);
            }
            fresh = 0;
          }
        }
      WG_WAIT(0);
#pragma unroll
      for (int i = 0; i < MT; i++) fence_regs(d[i]);
      if (lead) { mbar_arrive(eb + (ib - 1) % BS * 8); mbar_arrive(ea + (ia - 1) % AS * 8); }
#pragma unroll
      for (int i = 0; i < MT; i++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
          int px = w0 + l / 4, py = h0 + ((wg - 1) * MT + i) * 8 + w * 2 + half;
          if (px >= W || py >= H) continue;
          u64 o = ((u64)(f * H + py) * W + px) * N;
#pragma unroll
          for (int j = 0; j < BN / 8; j++) {
            int col = n0 + j * 8 + (l % 4) * 2;
            if (col < N) {
              u32 b = *(const u32 *)(bias + col);
              float u = d[i][j * 4 + 2 * half] + bf16_lo(b), v = d[i][j * 4 + 2 * half + 1] + bf16_hi(b);
              if (res) { u32 q = *(const u32 *)(res + o + col); u += bf16_lo(q); v += bf16_hi(q); }
              *(u32 *)(y + o + col) = pack_bf16(u, v);
            }
          }
        }
    }
  }
}
#define CONV3D_HALO(name, BN, MT, AS, BS, TAIL)                                                                                    \
  extern "C" __global__ void __launch_bounds__(384, 1) name(const __grid_constant__ TMap tx, const __grid_constant__ TMap tw,       \
      const u16 *bias, const u16 *res, u16 *y, int To, int H, int W, int C, int N, int kt, int pad) {                              \
    conv3d_halo<BN, MT, AS, BS, TAIL>(&tx, &tw, bias, res, y, To, H, W, C, N, kt, pad);                                            \
  }
CONV3D_HALO(conv3d_halo_16x2_4, 16, 2, 3, 16, 4)
CONV3D_HALO(conv3d_halo_16x2_2, 16, 2, 3, 16, 2)
CONV3D_HALO(conv3d_halo_96x2_4, 96, 2, 2, 10, 4)
CONV3D_HALO(conv3d_halo_96x2_2, 96, 2, 2, 10, 2)
CONV3D_HALO(conv3d_halo_128x2_4, 128, 2, 2, 8, 4)
CONV3D_HALO(conv3d_halo_128x2_2, 128, 2, 2, 8, 2)
CONV3D_HALO(conv3d_halo_192x1_4, 192, 1, 3, 6, 4)
CONV3D_HALO(conv3d_halo_192x1_2, 192, 1, 3, 6, 2)
