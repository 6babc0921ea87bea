// y = f(x / sqrt(mean(x^2) + eps) * gain) for every row; f is nothing, GELU in the tanh form, or SiLU.
// x, y: bf16 or f32, rows of d elements xs and ys apart; gain: d floats, or null.
// A VAE has millions of short rows (16 to 384 channels): a power of two of neighbouring lanes shares
// one, each holds NV vectors, and nothing is read twice. A text encoder has few long ones: a block a
// row, which reads it again for the output.
DEV float rms_function(int kind, float x) {
  if (kind == 1) { // x / (1 + exp(-2 u)), u = sqrt(2/pi) (x + 0.044715 x^3)
    float u = 0.7978845608f * (x + 0.044715f * x * x * x);
    return x * rcp1(1.f + ex2(-2.885390082f * u));
  }
  return kind == 2 ? x * rcp1(1.f + ex2(-1.442695041f * x)) : x;
}
template <int Y>
DEV void rms_store(void *y, u64 at, float (&v)[8], const float *gain, int c, int kind, float inv) {
  float g[8];
  if (gain) load8<T_F32>(gain, c, g);
#pragma unroll
  for (int j = 0; j < 8; j++) v[j] = rms_function(kind, v[j] * inv * (gain ? g[j] : 1.f));
  store8<Y>(y, at, v);
}
template <int X, int Y, int NV>
DEV void rmsnorm_short(const void *x, i64 xs, void *y, i64 ys, const float *gain, int rows, int d, int lanes, int kind, float eps) {
  int lane = threadIdx.x % lanes;
  i64 row = (blockIdx.x * (i64)blockDim.x + threadIdx.x) / lanes;
  Raw8<X> raw[NV];
  float v[8], sq = 0.f;
#pragma unroll
  for (int k = 0; k < NV; k++) {
    int c = (k * lanes + lane) * 8;
    if (row < rows && c < d) raw[k] = fetch8<X>(x, (u64)row * xs + c);
  }
#pragma unroll
  for (int k = 0; k < NV; k++)
    if (row < rows && (k * lanes + lane) * 8 < d) {
      unpack8<X>(raw[k], v);
#pragma unroll
      for (int j = 0; j < 8; j++) sq += v[j] * v[j];
    }
  for (int m = lanes / 2; m > 0; m >>= 1) sq += shfl_xor(sq, m); // every lane of the warp is here, past the last row too
  float inv = rsqrt1(sq / (float)d + eps);
#pragma unroll
  for (int k = 0; k < NV; k++) {
    int c = (k * lanes + lane) * 8;
    if (row < rows && c < d) {
      unpack8<X>(raw[k], v);
      rms_store<Y>(y, (u64)row * ys + c, v, gain, c, kind, inv);
    }
  }
}
template <int X, int Y>
DEV void rmsnorm_long(const void *x, i64 xs, void *y, i64 ys, const float *gain, int d, int kind, float eps) {
  __shared__ float scratch[32];
  u64 row = blockIdx.x;
  float v[8], sq = 0.f;
  for (int c = threadIdx.x * 8; c < d; c += blockDim.x * 8) {
    load8<X>(x, row * xs + c, v);
#pragma unroll
    for (int j = 0; j < 8; j++) sq += v[j] * v[j];
  }
  float inv = rsqrt1(block_reduce<0>(sq, scratch) / (float)d + eps);
  for (int c = threadIdx.x * 8; c < d; c += blockDim.x * 8) { // y may be x: a thread reads again what it alone writes
    load8<X>(x, row * xs + c, v);
    rms_store<Y>(y, row * ys + c, v, gain, c, kind, inv);
  }
}
#define RMSNORM(XT, X, YT, Y)                                                                                                      \
  extern "C" __global__ void __launch_bounds__(256) rmsnorm_##XT##_##YT##_1(const void *x, i64 xs, void *y, i64 ys, const float *gain, \
                                                                            int rows, int d, int lanes, int kind, float eps) {     \
    rmsnorm_short<X, Y, 1>(x, xs, y, ys, gain, rows, d, lanes, kind, eps);                                                         \
  }                                                                                                                                \
  extern "C" __global__ void __launch_bounds__(256) rmsnorm_##XT##_##YT##_3(const void *x, i64 xs, void *y, i64 ys, const float *gain, \
                                                                            int rows, int d, int lanes, int kind, float eps) {     \
    rmsnorm_short<X, Y, 3>(x, xs, y, ys, gain, rows, d, lanes, kind, eps);                                                         \
  }                                                                                                                                \
  extern "C" __global__ void __launch_bounds__(1024) rmsnorm_##XT##_##YT##_long(const void *x, i64 xs, void *y, i64 ys,            \
                                                                                const float *gain, int d, int kind, float eps) {   \
    rmsnorm_long<X, Y>(x, xs, y, ys, gain, d, kind, eps);                                                                          \
  }
RMSNORM(bf16, T_BF16, bf16, T_BF16)
RMSNORM(bf16, T_BF16, f32, T_F32)
RMSNORM(f32, T_F32, bf16, T_BF16)
RMSNORM(f32, T_F32, f32, T_F32)
