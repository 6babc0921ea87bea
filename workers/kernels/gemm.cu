// D[M, N] = epilogue(A[M, K] * B[N, K]^T), both operands contiguous in K, bf16 or e4m3.
//
// Persistent clusters of two blocks with neighbouring column tiles: each fetches half of the
// rows' tile that both need, for both. A block has a producer warp, which keeps the bulk copy
// engine a few stages ahead, and two consumer warpgroups, each with 64 rows of a 128 x BN tile
// in registers. Tiles are visited in groups of 16 tile rows, so that operands are read from L2.
// The epilogue works on the accumulators: row and column scales (e4m3), bias, activation, gate
// and residual. bf16 without residual leaves through shared memory by the copy engine.
// Versions: 1 BN = 256 alone; 2 BN by shape, so that the last wave of tiles is fuller; 3 the
// copy engine writes the output (direct stores cost a fifth of an e4m3 product's time) and
// clusters share a tile.
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

// Two neighbouring elements after everything but the residual.
DEV F2 finish(const Epilogue &e, float a, float b, float sa, F2 sb, F2 bias, F2 gate) {
  a = a * (sa * sb.x) + bias.x;
  b = b * (sa * sb.y) + bias.y;
  if (e.act == 1) { a = gelu_tanh(a); b = gelu_tanh(b); }
  if (e.act == 2) { a = silu(a); b = silu(b); }
  return F2{a * gate.x, b * gate.y};
}
// Factors of the columns col and col + 1.
DEV void factors(const Epilogue &e, int col, int N, F2 &sb, F2 &bias, F2 &gate) {
  sb = gate = F2{1.f, 1.f};
  bias = F2{0.f, 0.f};
  if (col >= N) return;
  if (e.sb) sb = *(const F2 *)(e.sb + col);
  if (e.gate) gate = *(const F2 *)(e.gate + col);
  if (e.bias) { u32 b = *(const u32 *)(e.bias + col); bias = F2{bf16_lo(b), bf16_hi(b)}; }
}

#define BM 128
#define OUT_BF16 0     // by the copy engine
#define OUT_BF16_RES 1 // plain stores
#define OUT_F32 2      // plain stores

// CH columns of a warpgroup's rows, through BUFS buffers of shared memory.
template <int BN, int CH, int BUFS>
DEV void store_tile(float (&d)[BN / 2], const TMap *td, const Epilogue &e, u32 out, int wg, int m0, int n0, int M, int N) {
  int w = (threadIdx.x % 128) / 32, l = threadIdx.x % 32, row = w * 16 + l / 4;
  bool lead = threadIdx.x % 128 == 0;
  i64 r0 = m0 + (wg - 1) * 64 + row, r1 = r0 + 8;
  float s0 = e.sa && r0 < M ? e.sa[r0] : 1.f, s1 = e.sa && r1 < M ? e.sa[r1] : 1.f;
#pragma unroll
  for (int c = 0; c < BN / CH; c++) {
    u32 buf = out + ((wg - 1) * BUFS + c % BUFS) * 64 * CH * 2;
    if (lead) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(BUFS - 1) : "memory");
    asm volatile("bar.sync %0, 128;" ::"r"(wg) : "memory");
#pragma unroll
    for (int q = 0; q < CH / 8; q++) {
      int j = c * (CH / 8) + q;
      F2 sb, bias, gate;
      factors(e, n0 + j * 8 + (l % 4) * 2, N, sb, bias, gate);
      F2 a = finish(e, d[j * 4], d[j * 4 + 1], s0, sb, bias, gate), b = finish(e, d[j * 4 + 2], d[j * 4 + 3], s1, sb, bias, gate);
      // rows of CH * 2 bytes, their 16-byte pieces swizzled as the tensor map says; row + 8 swizzles alike
      u32 piece = CH == 64 ? q ^ (row & 7) : q ^ ((row >> 1) & 3);
      u32 at = buf + row * CH * 2 + piece * 16 + (l % 4) * 4;
      asm volatile("st.shared.b32 [%0], %1;" ::"r"(at), "r"(pack_bf16(a.x, a.y)) : "memory");
      asm volatile("st.shared.b32 [%0], %1;" ::"r"(at + 8 * CH * 2), "r"(pack_bf16(b.x, b.y)) : "memory");
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
DEV void store_direct(float (&d)[BN / 2], const Epilogue &e, int wg, int m0, int n0, int M, int N) {
  int w = (threadIdx.x % 128) / 32, l = threadIdx.x % 32;
#pragma unroll
  for (int half = 0; half < 2; half++) {
    i64 row = m0 + (wg - 1) * 64 + w * 16 + half * 8 + l / 4;
    if (row >= M) continue;
    float sa = e.sa ? e.sa[row] : 1.f;
    u8 *out = (u8 *)e.d + row * e.ldd * (OUT == OUT_F32 ? 4 : 2);
    const u8 *res = (const u8 *)e.res + row * e.ldr * (OUT == OUT_F32 ? 4 : 2);
#pragma unroll
    for (int j = 0; j < BN / 8; j++) {
      int col = n0 + j * 8 + (l % 4) * 2;
      if (col < N) { // N is a multiple of 8
        F2 sb, bias, gate;
        factors(e, col, N, sb, bias, gate);
        F2 v = finish(e, d[j * 4 + 2 * half], d[j * 4 + 2 * half + 1], sa, sb, bias, gate);
        if (OUT == OUT_F32) {
          if (e.res) { F2 r = ((const F2 *)res)[col / 2]; v.x += r.x; v.y += r.y; }
          ((F2 *)out)[col / 2] = v;
        } else {
          if (e.res) { u32 r = ((const u32 *)res)[col / 2]; v.x += bf16_lo(r); v.y += bf16_hi(r); }
          ((u32 *)out)[col / 2] = pack_bf16(v.x, v.y);
        }
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
      if (OUT == OUT_BF16) store_tile<BN, CH, BUFS>(d, td, e, out, wg, m0, n0, M, N);
      else store_direct<BN, OUT>(d, e, wg, m0, n0, M, N);
    }
    if (OUT == OUT_BF16 && lead) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
  cluster_sync(); // the other block may still signal this one's barriers
}
#define GEMM(name, FP8, BN, STAGES, OUT, CH, BUFS)                                                                              \
  extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(384, 1)                                                \
  name(const __grid_constant__ TMap ta, const __grid_constant__ TMap tb, const __grid_constant__ TMap td, void *d, i64 ldd,     \
       const u16 *bias, const float *gate, const void *res, i64 ldr, const float *sa, const float *sb, int act, int f32,        \
       int M, int N, int K) {                                                                                                   \
    Epilogue e = {d, ldd, bias, gate, res, ldr, sa, sb, act, f32};                                                              \
    gemm<FP8, BN, STAGES, OUT, CH, BUFS>(&ta, &tb, &td, e, M, N, K);                                                            \
  }
#define GEMMS(T, FP8)                                        \
  GEMM(gemm_##T##_128, FP8, 128, 6, OUT_BF16, 64, 2)         \
  GEMM(gemm_##T##_160, FP8, 160, 6, OUT_BF16, 32, 1)         \
  GEMM(gemm_##T##_192, FP8, 192, 5, OUT_BF16, 64, 1)         \
  GEMM(gemm_##T##_256, FP8, 256, 4, OUT_BF16, 64, 2)         \
  GEMM(gemm_##T##_192_res, FP8, 192, 5, OUT_BF16_RES, 64, 1) \
  GEMM(gemm_##T##_256_res, FP8, 256, 4, OUT_BF16_RES, 64, 1) \
  GEMM(gemm_##T##_192_f32, FP8, 192, 5, OUT_F32, 64, 1)      \
  GEMM(gemm_##T##_256_f32, FP8, 256, 4, OUT_F32, 64, 1)
GEMMS(bf16, 0)
GEMMS(e4m3, 1)
