// Softmax of factor * x over rows, one block a row, 8 * 5 elements a thread: a row stays in
// registers. Longer rows are read three times, the later two out of cache.
template <int T>
DEV void softmax_long(const void *x, i64 xs, void *y, i64 ys, int d, float factor) {
  __shared__ float scratch[2][32];
  u64 row = blockIdx.x;
  float k = factor * 1.442695041f, top = -3.4e38f, sum = 0.f, v[8];
  for (int c = threadIdx.x * 8; c < d; c += blockDim.x * 8) {
    load8<T>(x, row * xs + c, v);
#pragma unroll
    for (int j = 0; j < 8; j++) top = fmax2(top, v[j] * k);
  }
  top = block_reduce<1>(top, scratch[0]);
  for (int c = threadIdx.x * 8; c < d; c += blockDim.x * 8) {
    load8<T>(x, row * xs + c, v);
#pragma unroll
    for (int j = 0; j < 8; j++) sum += ex2(v[j] * k - top);
  }
  float inv = 1.f / block_reduce<0>(sum, scratch[1]);
  for (int c = threadIdx.x * 8; c < d; c += blockDim.x * 8) {
    load8<T>(x, row * xs + c, v);
#pragma unroll
    for (int j = 0; j < 8; j++) v[j] = ex2(v[j] * k - top) * inv;
    store8<T>(y, row * ys + c, v);
  }
}
template <int T>
DEV void softmax(const void *x, i64 xs, void *y, i64 ys, int d, float factor) {
  __shared__ float scratch[2][32];
  if (d > (int)blockDim.x * 40) { softmax_long<T>(x, xs, y, ys, d, factor); return; }
  u64 row = blockIdx.x;
  float v[5][8], f = factor * 1.442695041f, top = -3.4e38f, sum = 0.f;
#pragma unroll
  for (int k = 0; k < 5; k++) {
    int c = (k * blockDim.x + threadIdx.x) * 8;
    if (c < d) {
      load8<T>(x, row * xs + c, v[k]);
#pragma unroll
      for (int j = 0; j < 8; j++) { v[k][j] *= f; top = fmax2(top, v[k][j]); }
    }
  }
  top = block_reduce<1>(top, scratch[0]);
#pragma unroll
  for (int k = 0; k < 5; k++) {
    int c = (k * blockDim.x + threadIdx.x) * 8;
    if (c < d)
#pragma unroll
      for (int j = 0; j < 8; j++) { v[k][j] = ex2(v[k][j] - top); sum += v[k][j]; }
  }
  float inv = 1.f / block_reduce<0>(sum, scratch[1]);
#pragma unroll
  for (int k = 0; k < 5; k++) {
    int c = (k * blockDim.x + threadIdx.x) * 8;
    if (c < d) {
#pragma unroll
      for (int j = 0; j < 8; j++) v[k][j] *= inv;
      store8<T>(y, row * ys + c, v[k]);
    }
  }
}
extern "C" __global__ void __launch_bounds__(1024) softmax_f32(const void *x, i64 xs, void *y, i64 ys, int d, float factor) { softmax<T_F32>(x, xs, y, ys, d, factor); }
extern "C" __global__ void __launch_bounds__(1024) softmax_bf16(const void *x, i64 xs, void *y, i64 ys, int d, float factor) { softmax<T_BF16>(x, xs, y, ys, d, factor); }
