// D[M, N] = epilogue(A[M, K] * B[N, K]^T), both operands contiguous in K, bf16 or e4m3.
//
// Persistent blocks of one producer warp, which keeps the bulk copy engine a few stages ahead,
// and two consumer warpgroups, each with 64 rows of a 128 x BN tile in registers. Tiles are
// visited in groups of 16 tile rows, so that operands are read from L2. The epilogue works on
// the accumulators: row and column scales (e4m3), bias, activation, gate and residual.
// Versions: 1 BN = 256 alone; 2 BN by shape, so that the last wave of tiles is fuller.
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

DEV void finish(const Epilogue &e, float a, float b, i64 row, int col, float sa, F2 sb, F2 bias, F2 gate) {
  a = a * (sa * sb.x) + bias.x;
  b = b * (sa * sb.y) + bias.y;
  if (e.act == 1) { a = gelu_tanh(a); b = gelu_tanh(b); }
  if (e.act == 2) { a = silu(a); b = silu(b); }
  a *= gate.x;
  b *= gate.y;
  if (e.f32) {
    if (e.res) { F2 r = *(const F2 *)((const float *)e.res + row * e.ldr + col); a += r.x; b += r.y; }
    *(F2 *)((float *)e.d + row * e.ldd + col) = F2{a, b};
  } else {
    if (e.res) { u32 r = *(const u32 *)((const u16 *)e.res + row * e.ldr + col); a += bf16_lo(r); b += bf16_hi(r); }
    *(u32 *)((u16 *)e.d + row * e.ldd + col) = pack_bf16(a, b);
  }
}

#define BM 128
template <int FP8, int BN, int STAGES>
DEV void gemm(const TMap *ta, const TMap *tb, const Epilogue &e, int M, int N, int K) {
  extern __shared__ __attribute__((aligned(1024))) u8 smem_raw[];
  const u32 STAGE = (BM + BN) * 128;
  const int KE = FP8 ? 128 : 64; // elements of K in a stage: 128 bytes
  u32 base = (smem_u32(smem_raw) + 1023) & ~1023u;
  u32 full = base + STAGES * STAGE, empty = full + STAGES * 8;
  int tm = (M + BM - 1) / BM, tn = (N + BN - 1) / BN, tiles = tm * tn, kt = (K + KE - 1) / KE;
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; s++) { mbar_init(full + s * 8, 1); mbar_init(empty + s * 8, 2); }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  sync_block();
  int wg = threadIdx.x / 128;
  const int G = 16;
  if (wg == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0) {
      u32 it = 0;
      for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
        int g = t / (G * tn), gm = g * G, gs = tm - gm < G ? tm - gm : G;
        int r = t - g * G * tn, m0 = (gm + r % gs) * BM, n0 = (r / gs) * BN;
        for (int k = 0; k < kt; k++, it++) {
          u32 s = it % STAGES, ph = (it / STAGES) & 1, at = base + s * STAGE;
          mbar_wait(empty + s * 8, ph ^ 1);
          mbar_expect(full + s * 8, STAGE);
          tma2d(at, ta, full + s * 8, k * KE, m0);
          tma2d(at + BM * 128, tb, full + s * 8, k * KE, n0);
        }
      }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    u32 it = 0;
    int w = (threadIdx.x % 128) / 32, l = threadIdx.x % 32;
    for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
      int g = t / (G * tn), gm = g * G, gs = tm - gm < G ? tm - gm : G;
      int r = t - g * G * tn, m0 = (gm + r % gs) * BM, n0 = (r / gs) * BN;
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
        if (k > 0 && threadIdx.x % 128 == 0) mbar_arrive(empty + (it - 1) % STAGES * 8);
      }
      WG_WAIT(0);
      fence_regs(d);
      if (threadIdx.x % 128 == 0) mbar_arrive(empty + (it - 1) % STAGES * 8);
      i64 r0 = m0 + (wg - 1) * 64 + w * 16 + l / 4, r1 = r0 + 8;
      float s0 = e.sa && r0 < M ? e.sa[r0] : 1.f, s1 = e.sa && r1 < M ? e.sa[r1] : 1.f;
#pragma unroll
      for (int j = 0; j < BN / 8; j++) {
        int col = n0 + j * 8 + (l % 4) * 2;
        if (col < N) { // N is a multiple of 8
          F2 sb = e.sb ? *(const F2 *)(e.sb + col) : F2{1.f, 1.f}, gate = e.gate ? *(const F2 *)(e.gate + col) : F2{1.f, 1.f}, bias = F2{0.f, 0.f};
          if (e.bias) { u32 b = *(const u32 *)(e.bias + col); bias = F2{bf16_lo(b), bf16_hi(b)}; }
          if (r0 < M) finish(e, d[j * 4], d[j * 4 + 1], r0, col, s0, sb, bias, gate);
          if (r1 < M) finish(e, d[j * 4 + 2], d[j * 4 + 3], r1, col, s1, sb, bias, gate);
        }
      }
    }
  }
}
#define GEMM(name, FP8, BN, STAGES)                                                                                          \
  extern "C" __global__ void __launch_bounds__(384, 1) name(const __grid_constant__ TMap ta, const __grid_constant__ TMap tb, \
      void *d, i64 ldd, const u16 *bias, const float *gate, const void *res, i64 ldr, const float *sa, const float *sb,       \
      int act, int f32, int M, int N, int K) {                                                                                \
    Epilogue e = {d, ldd, bias, gate, res, ldr, sa, sb, act, f32};                                                           \
    gemm<FP8, BN, STAGES>(&ta, &tb, e, M, N, K);                                                                             \
  }
GEMM(gemm_bf16_128, 0, 128, 6)
GEMM(gemm_bf16_160, 0, 160, 6)
GEMM(gemm_bf16_192, 0, 192, 5)
GEMM(gemm_bf16_256, 0, 256, 4)
GEMM(gemm_e4m3_128, 1, 128, 6)
GEMM(gemm_e4m3_160, 1, 160, 6)
GEMM(gemm_e4m3_192, 1, 192, 5)
GEMM(gemm_e4m3_256, 1, 256, 4)
