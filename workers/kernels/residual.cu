// The element-wise joints of a transformer block, one block a row, 16-byte accesses.
// gate_residual: x += gate * y, gate one row for all (absent: 1); y bf16, or f32 beside f32.
// scale_shift: x = (1 + s) * x + t, all of them whole tensors: the camera's modulation.
template <int X, int Y>
DEV void gate_residual(void *x, i64 xs, const void *y, i64 ys, const float *gate, int d) {
  u64 row = blockIdx.x;
  for (int c = threadIdx.x * 8; c < d; c += blockDim.x * 8) {
    float a[8], b[8], g[8];
    load8<X>(x, row * xs + c, a);
    load8<Y>(y, row * ys + c, b);
    if (gate) load8<T_F32>(gate, c, g);
#pragma unroll
    for (int j = 0; j < 8; j++) a[j] += (gate ? g[j] : 1.f) * b[j];
    store8<X>(x, row * xs + c, a);
  }
}
template <int X>
DEV void scale_shift(void *x, i64 xs, const void *s, i64 ss, const void *t, i64 ts, int d) {
  u64 row = blockIdx.x;
  for (int c = threadIdx.x * 8; c < d; c += blockDim.x * 8) {
    float a[8], b[8], e[8];
    load8<X>(x, row * xs + c, a);
    load8<T_BF16>(s, row * ss + c, b);
    load8<T_BF16>(t, row * ts + c, e);
#pragma unroll
    for (int j = 0; j < 8; j++) a[j] = (1.f + b[j]) * a[j] + e[j];
    store8<X>(x, row * xs + c, a);
  }
}
#define RESIDUAL(T, X)                                                                                                             \
  extern "C" __global__ void __launch_bounds__(1024) gate_residual_##T(void *x, i64 xs, const void *y, i64 ys, const float *gate, int d) { \
    gate_residual<X, T_BF16>(x, xs, y, ys, gate, d);                                                                                       \
  }                                                                                                                                \
  extern "C" __global__ void __launch_bounds__(1024) scale_shift_##T(void *x, i64 xs, const void *s, i64 ss, const void *t, i64 ts, int d) { \
    scale_shift<X>(x, xs, s, ss, t, ts, d);                                                                                        \
  }
RESIDUAL(bf16, T_BF16)
RESIDUAL(f32, T_F32)
extern "C" __global__ void __launch_bounds__(1024) gate_residual_f32_f32(void *x, i64 xs, const void *y, i64 ys, const float *gate, int d) {
  gate_residual<T_F32, T_F32>(x, xs, y, ys, gate, d);
}
