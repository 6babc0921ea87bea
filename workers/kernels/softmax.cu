// Softmax of factor * x over rows. W warps share a row, which stays in registers as it was read,
// as in layernorm.cu; longer rows are read three times by a block, the later two out of cache.
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
template <int T, int W, int NV>
DEV void softmax(const void *x, i64 xs, void *y, i64 ys, int rows, int d, float factor) {
  __shared__ float scratch[2][32];
  const int N = 32 * W;
  int t = threadIdx.x % N, group = threadIdx.x / N, row = blockIdx.x * (blockDim.x / N) + group;
  if (row >= rows) return;
  Raw8<T> raw[NV];
  float v[8], f = factor * 1.442695041f, top = -3.4e38f, sum = 0.f;
#pragma unroll
  for (int k = 0; k < NV; k++) {
    int c = (k * N + t) * 8;
    if (c < d) raw[k] = fetch8_once<T>(x, (u64)row * xs + c);
  }
#pragma unroll
  for (int k = 0; k < NV; k++)
    if ((k * N + t) * 8 < d) {
      unpack8<T>(raw[k], v);
#pragma unroll
      for (int j = 0; j < 8; j++) top = fmax2(top, v[j] * f);
    }
  top = group_reduce<W, 1>(top, scratch[0] + group * W);
#pragma unroll
  for (int k = 0; k < NV; k++)
    if ((k * N + t) * 8 < d) {
      unpack8<T>(raw[k], v);
#pragma unroll
      for (int j = 0; j < 8; j++) sum += ex2(v[j] * f - top);
    }
  float inv = 1.f / group_reduce<W, 0>(sum, scratch[1] + group * W);
#pragma unroll
  for (int k = 0; k < NV; k++) {
    int c = (k * N + t) * 8;
    if (c < d) {
      unpack8<T>(raw[k], v);
#pragma unroll
      for (int j = 0; j < 8; j++) v[j] = ex2(v[j] * f - top) * inv;
      store8<T>(y, (u64)row * ys + c, v);
    }
  }
}
#define SOFTMAX(T, TYPE, W, NV, THREADS, BLOCKS)                                                                                 \
  extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) softmax_##T##_##W##x##NV(const void *x, i64 xs, void *y, i64 ys, \
                                                                                         int rows, int d, float factor) {       \
    softmax<TYPE, W, NV>(x, xs, y, ys, rows, d, factor);                                                                         \
  }
SOFTMAX(bf16, T_BF16, 1, 4, 128, 8)
SOFTMAX(bf16, T_BF16, 2, 10, 128, 5)
SOFTMAX(bf16, T_BF16, 8, 8, 256, 2)
SOFTMAX(f32, T_F32, 1, 4, 128, 8)
SOFTMAX(f32, T_F32, 2, 10, 128, 4)
SOFTMAX(f32, T_F32, 8, 8, 256, 2)
extern "C" __global__ void __launch_bounds__(1024) softmax_f32_long(const void *x, i64 xs, void *y, i64 ys, int rows, int d, float factor) { softmax_long<T_F32>(x, xs, y, ys, d, factor); }
extern "C" __global__ void __launch_bounds__(1024) softmax_bf16_long(const void *x, i64 xs, void *y, i64 ys, int rows, int d, float factor) { softmax_long<T_BF16>(x, xs, y, ys, d, factor); }
