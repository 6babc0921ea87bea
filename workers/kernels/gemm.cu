// D[M, N] = epilogue(A[M, K] * B[N, K]^T), both operands contiguous in K, bf16 or e4m3.
//
// Persistent clusters of two blocks with neighbouring column tiles: each fetches half of the
// rows' tile that both need, for both. A block has a producer warp, which keeps the bulk copy
// engine a few stages ahead, and two consumer warpgroups, each with 64 rows of a 128 x BN tile
// in registers. Tiles are visited in groups of 16 tile rows, so that operands are read from L2.
// The epilogue works on the accumulators: row and column scales (e4m3), bias, activation, gate
// and residual. bf16 without residual leaves through shared memory by the copy engine.
// Versions: 1 BN = 256 alone; 2 BN by shape, so that the last wave of tiles is fuller; 3 the
// copy engine writes the output, and clusters share a tile; 4 a second kernel whose warpgroups
// work on alternate tiles.
DEV u32 smem_u32(const void *p) {
  u32 a; asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(a) : "l"(p)); return a;
}

struct Epilogue {
  void *d; i64 ldd;         // output, bf16 or f32
  const u16 *bias;          // [N]
  const float *gate;        // [N], multiplies before the residual is added
  const void *res; i64 ldr; // [M, N], of the output's type
  const float *sa, *sb;     // scales of rows and columns
  int act, f32;
};

DEV float gelu_tanh(float x) {
  float u = 0.7978845608f * (x + 0.044715f * x * x * x);
  return x * rcp1(1.f + ex2(-2.885390082f * u));
}
DEV float silu(float x) { return x * rcp1(1.f + ex2(-1.442695041f * x)); }

// Everything but the residual, on all accumulators of a thread: rows r0 and r0 + 8. One pass a
// kind, so that there is no branch an element. Columns past N compute on column 0's factors.
template <int BN>
DEV void finish(float (&d)[BN / 2], const Epilogue &e, i64 r0, int n0, int M, int N) {
  int l = threadIdx.x % 32;
#define COLUMNS(j, col)                                                          \
  _Pragma("unroll") for (int j = 0; j < BN / 8; j++)                             \
    if (int col = n0 + j * 8 + (l % 4) * 2; (col = col < N ? col : 0), true)
  if (e.sa) {
    float s0 = r0 < M ? e.sa[r0] : 0.f, s1 = r0 + 8 < M ? e.sa[r0 + 8] : 0.f;
    COLUMNS(j, col) {
      F2 f = *(const F2 *)(e.sb + col);
      d[j * 4] *= s0 * f.x; d[j * 4 + 1] *= s0 * f.y; d[j * 4 + 2] *= s1 * f.x; d[j * 4 + 3] *= s1 * f.y;
    }
  }
  if (e.bias) {
    COLUMNS(j, col) {
      u32 f = *(const u32 *)(e.bias + col);
      d[j * 4] += bf16_lo(f); d[j * 4 + 1] += bf16_hi(f); d[j * 4 + 2] += bf16_lo(f); d[j * 4 + 3] += bf16_hi(f);
    }
  }
  if (e.act == 1)
#pragma unroll
    for (int i = 0; i < BN / 2; i++) d[i] = gelu_tanh(d[i]);
  if (e.act == 2)
#pragma unroll
    for (int i = 0; i < BN / 2; i++) d[i] = silu(d[i]);
  if (e.gate) {
    COLUMNS(j, col) {
      F2 f = *(const F2 *)(e.gate + col);
      d[j * 4] *= f.x; d[j * 4 + 1] *= f.y; d[j * 4 + 2] *= f.x; d[j * 4 + 3] *= f.y;
    }
  }
}

#define BM 128
#define OUT_BF16 0     // by the copy engine
#define OUT_BF16_RES 1 // plain stores
#define OUT_F32 2      // plain stores

// CH columns at a time of a warpgroup's rows, through BUFS buffers of shared memory.
template <int BN, int CH, int BUFS>
DEV void store_tile(float (&d)[BN / 2], const TMap *td, u32 out, int wg, int m0, int n0) {
  int w = (threadIdx.x % 128) / 32, l = threadIdx.x % 32, row = w * 16 + l / 4;
  bool lead = threadIdx.x % 128 == 0;
#pragma unroll
  for (int c = 0; c < BN / CH; c++) {
    u32 buf = out + ((wg - 1) * BUFS + c % BUFS) * 64 * CH * 2;
    if (lead) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(BUFS - 1) : "memory");
    asm volatile("bar.sync %0, 128;" ::"r"(wg) : "memory");
#pragma unroll
    for (int q = 0; q < CH / 8; q++) {
      int j = c * (CH / 8) + q;
      // rows of CH * 2 bytes, their 16-byte pieces swizzled as the tensor map says; row + 8 swizzles alike
      u32 piece = CH == 64 ? q ^ (row & 7) : q ^ ((row >> 1) & 3);
      u32 at = buf + row * CH * 2 + piece * 16 + (l % 4) * 4;
      asm volatile("st.shared.b32 [%0], %1;" ::"r"(at), "r"(pack_bf16(d[j * 4], d[j * 4 + 1])) : "memory");
      asm volatile("st.shared.b32 [%0], %1;" ::"r"(at + 8 * CH * 2), "r"(pack_bf16(d[j * 4 + 2], d[j * 4 + 3])) : "memory");
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("bar.sync %0, 128;" ::"r"(wg) : "memory");
    if (lead) {
      asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
                   ::"l"(td), "r"(n0 + c * CH), "r"(m0 + (wg - 1) * 64), "r"(buf) : "memory");
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
  }
}

template <int BN, int OUT>
DEV void store_direct(float (&d)[BN / 2], const Epilogue &e, i64 r0, int n0, int M, int N) {
  int l = threadIdx.x % 32;
#pragma unroll
  for (int half = 0; half < 2; half++) {
    i64 row = r0 + half * 8;
    if (row >= M) continue;
    u8 *out = (u8 *)e.d + row * e.ldd * (OUT == OUT_F32 ? 4 : 2);
    const u8 *res = (const u8 *)e.res + row * e.ldr * (OUT == OUT_F32 ? 4 : 2);
    if (e.res) {
#pragma unroll
      for (int j = 0; j < BN / 8; j++) {
        int col = n0 + j * 8 + (l % 4) * 2;
        col = col < N ? col : 0;
        float &a = d[j * 4 + 2 * half], &b = d[j * 4 + 2 * half + 1];
        if (OUT == OUT_F32) { F2 r = ((const F2 *)res)[col / 2]; a += r.x; b += r.y; }
        else { u32 r = ((const u32 *)res)[col / 2]; a += bf16_lo(r); b += bf16_hi(r); }
      }
    }
#pragma unroll
    for (int j = 0; j < BN / 8; j++) {
      int col = n0 + j * 8 + (l % 4) * 2;
      if (col < N) { // N is a multiple of 8
        if (OUT == OUT_F32) ((F2 *)out)[col / 2] = F2{d[j * 4 + 2 * half], d[j * 4 + 2 * half + 1]};
        else ((u32 *)out)[col / 2] = pack_bf16(d[j * 4 + 2 * half], d[j * 4 + 2 * half + 1]);
      }
    }
  }
}

template <int FP8, int BN, int STAGES, int OUT, int CH, int BUFS>
DEV void gemm(const TMap *ta, const TMap *tb, const TMap *td, const Epilogue &e, int M, int N, int K) {
  extern __shared__ __attribute__((aligned(1024))) u8 smem_raw[];
  const u32 STAGE = (BM + BN) * 128;
  const int KE = FP8 ? 128 : 64; // elements of K in a stage: 128 bytes
  u32 base = (smem_u32(smem_raw) + 1023) & ~1023u, out = base + STAGES * STAGE;
  u32 full = out + (OUT == OUT_BF16 ? 2 * BUFS * 64 * CH * 2 : 0), empty = full + STAGES * 8;
  u32 rank = cluster_rank();
  int tm = (M + BM - 1) / BM, tn = ((N + BN - 1) / BN + 1) / 2, tiles = tm * tn, kt = (K + KE - 1) / KE; // tn: pairs of tiles
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; s++) { mbar_init(full + s * 8, 1); mbar_init(empty + s * 8, 4); } // four warpgroups in the cluster
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  cluster_sync();
  int wg = threadIdx.x / 128;
  const int G = 16;
  if (wg == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0) {
      u32 it = 0;
      for (int t = blockIdx.x / 2; t < tiles; t += gridDim.x / 2) {
        int g = t / (G * tn), gm = g * G, gs = tm - gm < G ? tm - gm : G;
        int r = t - g * G * tn, m0 = (gm + r % gs) * BM, n0 = (r / gs * 2 + rank) * BN;
        for (int k = 0; k < kt; k++, it++) {
          u32 s = it % STAGES, ph = (it / STAGES) & 1, at = base + s * STAGE;
          mbar_wait(empty + s * 8, ph ^ 1);
          mbar_expect(full + s * 8, STAGE);
          tma2d_both(at + rank * (BM / 2 * 128), ta, full + s * 8, k * KE, m0 + rank * (BM / 2));
          tma2d(at + BM * 128, tb, full + s * 8, k * KE, n0);
        }
      }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    u32 it = 0, other = rank ^ 1;
    bool lead = threadIdx.x % 128 == 0;
    for (int t = blockIdx.x / 2; t < tiles; t += gridDim.x / 2) {
      int g = t / (G * tn), gm = g * G, gs = tm - gm < G ? tm - gm : G;
      int r = t - g * G * tn, m0 = (gm + r % gs) * BM, n0 = (r / gs * 2 + rank) * BN;
      float d[BN / 2];
      for (int k = 0; k < kt; k++, it++) {
        u32 s = it % STAGES, ph = (it / STAGES) & 1;
        mbar_wait(full + s * 8, ph);
        u64 da = desc128(base + s * STAGE + (wg - 1) * 64 * 128);
        u64 db = desc128(base + s * STAGE + BM * 128);
        WG_FENCE();
#pragma unroll
        for (int q = 0; q < 4; q++) { // 4 x 32 bytes of K
          if (FP8) wgmma_e4m3(d, da + 2 * q, db + 2 * q, (k | q) != 0);
          else wgmma_bf16(d, da + 2 * q, db + 2 * q, (k | q) != 0);
        }
        WG_COMMIT();
        // one group stays in flight; the stage before is free once only this one is pending
        WG_WAIT(1);
        if (k > 0 && lead) release(empty + (it - 1) % STAGES * 8, other);
      }
      WG_WAIT(0);
      fence_regs(d);
      if (lead) release(empty + (it - 1) % STAGES * 8, other);
      i64 r0 = m0 + (wg - 1) * 64 + (threadIdx.x % 128) / 32 * 16 + threadIdx.x % 32 / 4;
      finish<BN>(d, e, r0, n0, M, N);
      if (OUT == OUT_BF16) store_tile<BN, CH, BUFS>(d, td, out, wg, m0, n0);
      else store_direct<BN, OUT>(d, e, r0, n0, M, N);
    }
    if (OUT == OUT_BF16 && lead) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
  cluster_sync(); // the other block may still signal this one's barriers
}
// The same with 128 x 128 tiles, of which the warpgroups work on alternate ones: the epilogue of
// one runs beside the products of the other.
template <int FP8, int STAGES, int OUT>
DEV void gemm_alternate(const TMap *ta, const TMap *tb, const TMap *td, const Epilogue &e, int M, int N, int K) {
  extern __shared__ __attribute__((aligned(1024))) u8 smem_raw[];
  const int BN = 128, CH = 64, BUFS = 2;
  const u32 STAGE = (BM + BN) * 128;
  const int KE = FP8 ? 128 : 64;
  u32 base = (smem_u32(smem_raw) + 1023) & ~1023u, out = base + STAGES * STAGE;
  u32 full = out + (OUT == OUT_BF16 ? 2 * BUFS * 64 * CH * 2 : 0), empty = full + STAGES * 8;
  u32 rank = cluster_rank();
  int tm = (M + BM - 1) / BM, tn = ((N + BN - 1) / BN + 1) / 2, tiles = tm * tn, kt = (K + KE - 1) / KE;
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; s++) { mbar_init(full + s * 8, 1); mbar_init(empty + s * 8, 2); } // a warpgroup of each block
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  cluster_sync();
  int wg = threadIdx.x / 128;
  const int G = 16;
  if (wg == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0) {
      u32 it = 0;
      for (int t = blockIdx.x / 2; t < tiles; t += gridDim.x / 2) {
        int g = t / (G * tn), gm = g * G, gs = tm - gm < G ? tm - gm : G;
        int r = t - g * G * tn, m0 = (gm + r % gs) * BM, n0 = (r / gs * 2 + rank) * BN;
        for (int k = 0; k < kt; k++, it++) {
          u32 s = it % STAGES, ph = (it / STAGES) & 1, at = base + s * STAGE;
          mbar_wait(empty + s * 8, ph ^ 1);
          mbar_expect(full + s * 8, STAGE);
          tma2d_both(at + rank * (BM / 2 * 128), ta, full + s * 8, k * KE, m0 + rank * (BM / 2));
          tma2d(at + BM * 128, tb, full + s * 8, k * KE, n0);
        }
      }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    u32 it = 0, other = rank ^ 1;
    bool lead = threadIdx.x % 128 == 0;
    int turn = wg - 1;
    if (wg == 2) asm volatile("bar.arrive 3, 256;" ::: "memory"); // the first turn is warpgroup 1's
    for (int t = blockIdx.x / 2; t < tiles; t += gridDim.x / 2, turn ^= 1) {
      if (turn) { it += kt; continue; }
      // Not before the other has seen its last stage: a barrier tells only this phase from the one before.
      asm volatile("bar.sync %0, 256;" ::"r"(wg + 2) : "memory");
      int g = t / (G * tn), gm = g * G, gs = tm - gm < G ? tm - gm : G;
      int r = t - g * G * tn, m0 = (gm + r % gs) * BM, n0 = (r / gs * 2 + rank) * BN;
      float d[2][BN / 2];
      for (int k = 0; k < kt; k++, it++) {
        u32 s = it % STAGES, ph = (it / STAGES) & 1;
        mbar_wait(full + s * 8, ph);
        u64 da = desc128(base + s * STAGE), db = desc128(base + s * STAGE + BM * 128);
        WG_FENCE();
#pragma unroll
        for (int q = 0; q < 4; q++)
#pragma unroll
          for (int i = 0; i < 2; i++) {
            if (FP8) wgmma_e4m3(d[i], da + i * 512 + 2 * q, db + 2 * q, (k | q) != 0);
            else wgmma_bf16(d[i], da + i * 512 + 2 * q, db + 2 * q, (k | q) != 0);
          }
        WG_COMMIT();
        WG_WAIT(1);
        if (k > 0 && lead) release(empty + (it - 1) % STAGES * 8, other);
      }
      asm volatile("bar.arrive %0, 256;" ::"r"(5 - wg) : "memory"); // ids 3 and 4: the other's turn
      WG_WAIT(0);
      fence_regs(d[0]);
      fence_regs(d[1]);
      if (lead) release(empty + (it - 1) % STAGES * 8, other);
#pragma unroll
      for (int i = 0; i < 2; i++) {
        int top = m0 + i * 64;
        i64 r0 = top + (threadIdx.x % 128) / 32 * 16 + threadIdx.x % 32 / 4;
        finish<BN>(d[i], e, r0, n0, M, N);
        if (OUT == OUT_BF16) store_tile<BN, CH, BUFS>(d[i], td, out, wg, top - (wg - 1) * 64, n0);
        else store_direct<BN, OUT>(d[i], e, r0, n0, M, N);
      }
    }
    if (OUT == OUT_BF16 && lead) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
  cluster_sync();
}
#define PARAMETERS                                                                                                              \
  const __grid_constant__ TMap ta, const __grid_constant__ TMap tb, const __grid_constant__ TMap td, void *d, i64 ldd,          \
  const u16 *bias, const float *gate, const void *res, i64 ldr, const float *sa, const float *sb, int act, int f32, int M, int N, int K
#define GEMM(name, FP8, BN, STAGES, OUT, CH, BUFS)                                                          \
  extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(384, 1) name(PARAMETERS) {         \
    Epilogue e = {d, ldd, bias, gate, res, ldr, sa, sb, act, f32};                                          \
    gemm<FP8, BN, STAGES, OUT, CH, BUFS>(&ta, &tb, &td, e, M, N, K);                                        \
  }
#define ALTERNATE(name, FP8, OUT)                                                                           \
  extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(384, 1) name(PARAMETERS) {         \
    Epilogue e = {d, ldd, bias, gate, res, ldr, sa, sb, act, f32};                                          \
    gemm_alternate<FP8, 6, OUT>(&ta, &tb, &td, e, M, N, K);                                                 \
  }
#define GEMMS(T, FP8)                                        \
  GEMM(gemm_##T##_192, FP8, 192, 5, OUT_BF16, 64, 1)         \
  GEMM(gemm_##T##_256, FP8, 256, 4, OUT_BF16, 64, 2)         \
  GEMM(gemm_##T##_256_res, FP8, 256, 4, OUT_BF16_RES, 64, 1) \
  GEMM(gemm_##T##_256_f32, FP8, 256, 4, OUT_F32, 64, 1)      \
  ALTERNATE(gemm_##T##_128x128, FP8, OUT_BF16)               \
  ALTERNATE(gemm_##T##_128x128_res, FP8, OUT_BF16_RES)       \
  ALTERNATE(gemm_##T##_128x128_f32, FP8, OUT_F32)
GEMMS(bf16, 0)
GEMMS(e4m3, 1)
