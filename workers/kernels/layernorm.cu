// LayerNorm over rows, y = (x - mean) / sqrt(var + eps) * g + b, with one gain and one shift
// for all rows: the affine form, or the modulated one where the gain is 1 + scale. With an
// e4m3 output each row gets its own scale (the largest magnitude becomes 448), so that the
// next product reads a byte an element. x is read once and y written once.
//
// Blocks stay and walk over rows: a thread has the same 8 * NV columns of every row, so gain and
// shift stay in registers, and the next row is fetched while this one is reduced.
// Versions, 6240 x 5120 bf16 to bf16 and to e4m3 on an H200:
// 1 a block a row, 50 and 51 us; 2 this one with 8 columns a thread, 39 and 47 us; 3 with 16, 39
// and 37 us. Gain and shift in shared memory, for a third block a multiprocessor, cost a tenth.
// x from f32 was faster in version 1, 51 us; it is 58 us now.
template <int IN, int OUT, int NV>
DEV void layernorm(const void *x, i64 xs, void *y, i64 ys, const float *gain, const float *shift, float one, float *scale, int rows, int d, float eps) {
  __shared__ __attribute__((aligned(8))) float scratch[2][64];
  float g[NV][8], b[NV][8], v[NV][8];
  Raw8<IN> next[NV];
#pragma unroll
  for (int k = 0; k < NV; k++) {
    int c = (k * blockDim.x + threadIdx.x) * 8;
#pragma unroll
    for (int j = 0; j < 8; j++) { g[k][j] = 1.f; b[k][j] = 0.f; }
    if (c < d) {
      if (gain) {
        load8<T_F32>(gain, c, g[k]);
#pragma unroll
        for (int j = 0; j < 8; j++) g[k][j] += one;
      }
      if (shift) load8<T_F32>(shift, c, b[k]);
      next[k] = fetch8<IN>(x, (u64)blockIdx.x * xs + c);
    }
  }
  Share share = row_share<NV>(d);
  int round = 0;
  for (int row = blockIdx.x; row < rows; row += gridDim.x, round ^= 1) {
    float top = 0.f, q = 1.f;
#pragma unroll
    for (int k = 0; k < NV; k++) {
      int c = (k * blockDim.x + threadIdx.x) * 8;
      if (c < d) {
        unpack8<IN>(next[k], v[k]);
        if (row + (int)gridDim.x < rows) next[k] = fetch8<IN>(x, (u64)(row + gridDim.x) * xs + c);
      }
    }
    F2 moments = block_moments<NV>(v, share, d, scratch[OUT == T_E4M3 ? 0 : round]);
    float mean = moments.x, inv = rsqrt1(moments.y + eps);
#pragma unroll
    for (int k = 0; k < NV; k++)
#pragma unroll
      for (int j = 0; j < 8; j++) {
        v[k][j] = (v[k][j] - mean) * inv * g[k][j] + b[k][j];
        if (OUT == T_E4M3 && (k * blockDim.x + threadIdx.x) * 8 < d) top = fmax2(top, fabs1(v[k][j]));
      }
    if (OUT == T_E4M3) {
      top = fmax2(block_reduce<1>(top, scratch[1]), 1e-12f);
      q = 448.f * rcp1(top);
      if (threadIdx.x == 0) scale[row] = top * (1.f / 448.f);
    }
#pragma unroll
    for (int k = 0; k < NV; k++) {
      int c = (k * blockDim.x + threadIdx.x) * 8;
      if (c < d) {
        if (OUT == T_E4M3)
#pragma unroll
          for (int j = 0; j < 8; j++) v[k][j] *= q;
        store8<OUT>(y, (u64)row * ys + c, v[k]);
      }
    }
  }
}
#define LAYERNORM(name, IN, OUT, NV)                                                                                                  \
  extern "C" __global__ void __launch_bounds__(320, NV == 2 ? 2 : 1) name(const void *x, i64 xs, void *y, i64 ys, const float *gain, const float *shift, \
                                                         float one, float *scale, int rows, int d, float eps) {                      \
    layernorm<IN, OUT, NV>(x, xs, y, ys, gain, shift, one, scale, rows, d, eps);                                                     \
  }
#define LAYERNORMS(NV)                                 \
  LAYERNORM(layernorm_bf16_bf16_##NV, T_BF16, T_BF16, NV) \
  LAYERNORM(layernorm_bf16_e4m3_##NV, T_BF16, T_E4M3, NV) \
  LAYERNORM(layernorm_f32_bf16_##NV, T_F32, T_BF16, NV)   \
  LAYERNORM(layernorm_f32_e4m3_##NV, T_F32, T_E4M3, NV)
LAYERNORMS(2)
LAYERNORMS(6)
