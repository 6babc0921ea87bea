// y = gelu(x), in the tanh form, or silu(x); bf16, one block a row.
DEV float gelu_tanh(float x) { // x / (1 + exp(-2 u)), u = sqrt(2/pi) (x + 0.044715 x^3)
  float u = 0.7978845608f * (x + 0.044715f * x * x * x);
  return x * rcp1(1.f + ex2(-2.885390082f * u));
}
DEV float silu(float x) { return x * rcp1(1.f + ex2(-1.442695041f * x)); }
template <int KIND>
DEV void activation(const void *x, i64 xs, void *y, i64 ys, int d) {
  u64 row = blockIdx.x;
  for (int c = threadIdx.x * 8; c < d; c += blockDim.x * 8) {
    float v[8];
    load8<T_BF16>(x, row * xs + c, v);
#pragma unroll
    for (int j = 0; j < 8; j++) v[j] = KIND ? silu(v[j]) : gelu_tanh(v[j]);
    store8<T_BF16>(y, row * ys + c, v);
  }
}
extern "C" __global__ void __launch_bounds__(1024) gelu_bf16(const void *x, i64 xs, void *y, i64 ys, int d) { activation<0>(x, xs, y, ys, d); }
extern "C" __global__ void __launch_bounds__(1024) silu_bf16(const void *x, i64 xs, void *y, i64 ys, int d) { activation<1>(x, xs, y, ys, d); }
