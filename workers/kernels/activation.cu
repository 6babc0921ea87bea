// y = gelu(x), in the tanh form or exact, or silu(x); bf16, one block a row.
DEV float gelu_tanh(float x) { // x / (1 + exp(-2 u)), u = sqrt(2/pi) (x + 0.044715 x^3)
  float u = 0.7978845608f * (x + 0.044715f * x * x * x);
  return x * rcp1(1.f + ex2(-2.885390082f * u));
}
DEV float silu(float x) { return x * rcp1(1.f + ex2(-1.442695041f * x)); }
// x times the integral of the normal distribution, whose tail is exp(-x^2 / 2) times a polynomial in 1 / (1 + p |x|): Abramowitz and Stegun
// 7.1.26, off by at most 7.5e-8 of |x|.
DEV float gelu_exact(float x) {
  float a = x < 0 ? -x : x, t = rcp1(1.f + 0.2316418882f * a); // p / sqrt(2)
  float s = ((((1.061405429f * t - 1.453152027f) * t + 1.421413741f) * t - 0.284496736f) * t + 0.254829592f) * t;
  float tail = 0.5f * s * ex2(-0.7213475204f * x * x);
  return x < 0 ? x * tail : x - x * tail;
}
template <int KIND>
DEV void activation(const void *x, i64 xs, void *y, i64 ys, int d) {
  u64 row = blockIdx.x;
  for (int c = threadIdx.x * 8; c < d; c += blockDim.x * 8) {
    float v[8];
    load8<T_BF16>(x, row * xs + c, v);
#pragma unroll
    for (int j = 0; j < 8; j++) v[j] = KIND == 2 ? gelu_exact(v[j]) : KIND ? silu(v[j]) : gelu_tanh(v[j]);
    store8<T_BF16>(y, row * ys + c, v);
  }
}
extern "C" __global__ void __launch_bounds__(1024) gelu_bf16(const void *x, i64 xs, void *y, i64 ys, int d) { activation<0>(x, xs, y, ys, d); }
extern "C" __global__ void __launch_bounds__(1024) silu_bf16(const void *x, i64 xs, void *y, i64 ys, int d) { activation<1>(x, xs, y, ys, d); }
extern "C" __global__ void __launch_bounds__(1024) gelu_exact_bf16(const void *x, i64 xs, void *y, i64 ys, int d) { activation<2>(x, xs, y, ys, d); }
