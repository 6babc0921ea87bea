// D[M, N] = epilogue(A[M, K] * B[N, K]^T) without tensor cores, for GPUs that the fast kernel
// does not know: 64 x 64 tiles in shared memory, 4 x 4 elements a thread. Right first.
template <int T> DEV float elem(const void *p, i64 i) { return T == T_BF16 ? bf16_f32(((const u16 *)p)[i]) : T == T_F32 ? ((const float *)p)[i] : e4m3_f32(((const u8 *)p)[i]); }
DEV float gelu_tanh(float x) {
  float u = 0.7978845608f * (x + 0.044715f * x * x * x);
  return x * rcp1(1.f + ex2(-2.885390082f * u));
}
DEV float silu(float x) { return x * rcp1(1.f + ex2(-1.442695041f * x)); }
template <int T>
DEV void gemm_plain(const void *A, i64 lda, const void *B, i64 ldb, void *d, i64 ldd, const u16 *bias, const float *gate, const void *res,
                    i64 ldr, const float *sa, const float *sb, int act, int f32, int M, int N, int K) {
  __shared__ float as[16][65], bs[16][65];
  int m0 = blockIdx.y * 64, n0 = blockIdx.x * 64, tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  float acc[4][4];
#pragma unroll
  for (int i = 0; i < 4; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) acc[i][j] = 0.f;
  for (int k0 = 0; k0 < K; k0 += 16) {
    for (int i = threadIdx.x; i < 64 * 16; i += 256) {
      int r = i / 16, k = i % 16;
      as[k][r] = m0 + r < M && k0 + k < K ? elem<T>(A, (i64)(m0 + r) * lda + k0 + k) : 0.f;
      bs[k][r] = n0 + r < N && k0 + k < K ? elem<T>(B, (i64)(n0 + r) * ldb + k0 + k) : 0.f;
    }
    sync_block();
#pragma unroll
    for (int k = 0; k < 16; k++)
#pragma unroll
      for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) acc[i][j] += as[k][ty * 4 + i] * bs[k][tx * 4 + j];
    sync_block();
  }
#pragma unroll
  for (int i = 0; i < 4; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) {
      i64 row = m0 + ty * 4 + i;
      int col = n0 + tx * 4 + j;
      if (row >= M || col >= N) continue;
      float v = acc[i][j];
      if (sa) v *= sa[row] * sb[col];
      if (bias) v += bf16_f32(bias[col]);
      if (act == 1) v = gelu_tanh(v);
      if (act == 2) v = silu(v);
      if (gate) v *= gate[col];
      if (res) v += f32 ? ((const float *)res)[row * ldr + col] : bf16_f32(((const u16 *)res)[row * ldr + col]);
      if (f32) ((float *)d)[row * ldd + col] = v;
      else ((u16 *)d)[row * ldd + col] = f32_bf16(v);
    }
}
#define GEMM_PLAIN(name, T)                                                                                                             \
  extern "C" __global__ void __launch_bounds__(256) name(const void *A, i64 lda, const void *B, i64 ldb, void *d, i64 ldd, const u16 *bias, \
      const float *gate, const void *res, i64 ldr, const float *sa, const float *sb, int act, int f32, int M, int N, int K) {            \
    gemm_plain<T>(A, lda, B, ldb, d, ldd, bias, gate, res, ldr, sa, sb, act, f32, M, N, K);                                             \
  }
GEMM_PLAIN(gemm_plain_bf16, T_BF16)
GEMM_PLAIN(gemm_plain_e4m3, T_E4M3)
GEMM_PLAIN(gemm_plain_f32, T_F32)
