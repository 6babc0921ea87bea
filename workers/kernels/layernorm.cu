// LayerNorm over rows, y = (x - mean) / sqrt(var + eps) * g + b, with one gain and one shift
// for all rows: the affine form, or the modulated one where the gain is 1 + scale. With an
// e4m3 output each row gets its own scale (the largest magnitude becomes 448), so that the
// next product reads a byte an element. A row stays in registers between the three
// reductions: x is read once and y written once. 8 * NV elements a thread, one block a row.
template <int IN, int OUT, int NV>
DEV void layernorm(const void *x, i64 xs, void *y, i64 ys, const float *gain, const float *shift, float one, float *scale, int d, float eps) {
  __shared__ float scratch[3][32];
  u64 row = blockIdx.x;
  float v[NV][8], sum = 0.f;
#pragma unroll
  for (int k = 0; k < NV; k++) {
    int c = (k * blockDim.x + threadIdx.x) * 8;
    if (c < d) {
      load8<IN>(x, row * xs + c, v[k]);
#pragma unroll
      for (int j = 0; j < 8; j++) sum += v[k][j];
    }
  }
  float mean = block_reduce<0>(sum, scratch[0]) / (float)d, sq = 0.f;
#pragma unroll
  for (int k = 0; k < NV; k++) {
    int c = (k * blockDim.x + threadIdx.x) * 8;
    if (c < d)
#pragma unroll
      for (int j = 0; j < 8; j++) { v[k][j] -= mean; sq += v[k][j] * v[k][j]; }
  }
  float inv = rsqrt1(block_reduce<0>(sq, scratch[1]) / (float)d + eps), top = 0.f;
#pragma unroll
  for (int k = 0; k < NV; k++) {
    int c = (k * blockDim.x + threadIdx.x) * 8;
    if (c < d) {
      float g[8], b[8];
      if (gain) load8<T_F32>(gain, c, g);
      if (shift) load8<T_F32>(shift, c, b);
#pragma unroll
      for (int j = 0; j < 8; j++) {
        v[k][j] = v[k][j] * inv * (gain ? one + g[j] : 1.f) + (shift ? b[j] : 0.f);
        top = fmax2(top, fabs1(v[k][j]));
      }
    }
  }
  float q = 1.f;
  if (OUT == T_E4M3) {
    top = fmax2(block_reduce<1>(top, scratch[2]), 1e-12f);
    q = 448.f / top;
    if (threadIdx.x == 0) scale[row] = top / 448.f;
  }
#pragma unroll
  for (int k = 0; k < NV; k++) {
    int c = (k * blockDim.x + threadIdx.x) * 8;
    if (c < d) {
      if (OUT == T_E4M3)
#pragma unroll
        for (int j = 0; j < 8; j++) v[k][j] *= q;
      store8<OUT>(y, row * ys + c, v[k]);
    }
  }
}
#define LAYERNORM(name, IN, OUT, NV)                                                                                                   \
  extern "C" __global__ void __launch_bounds__(512) name(const void *x, i64 xs, void *y, i64 ys, const float *gain, const float *shift, \
                                                          float one, float *scale, int d, float eps) {                               \
    layernorm<IN, OUT, NV>(x, xs, y, ys, gain, shift, one, scale, d, eps);                                                           \
  }
LAYERNORM(layernorm_bf16_bf16, T_BF16, T_BF16, 5)
LAYERNORM(layernorm_bf16_e4m3, T_BF16, T_E4M3, 5)
LAYERNORM(layernorm_f32_bf16, T_F32, T_BF16, 5)
LAYERNORM(layernorm_f32_e4m3, T_F32, T_E4M3, 5)
