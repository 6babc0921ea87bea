// Row-wise e4m3: each row's largest magnitude becomes 448, and its scale, top / 448, is kept.
// W warps share a row, which stays in registers as it was read, as in layernorm.cu.
template <int W, int NV>
DEV void quantise(const void *x, i64 xs, void *y, i64 ys, float *scale, int rows, int d) {
  __shared__ float scratch[32];
  const int T = 32 * W;
  int t = threadIdx.x % T, group = threadIdx.x / T, row = blockIdx.x * (blockDim.x / T) + group;
  if (row >= rows) return;
  Raw8<T_BF16> raw[NV];
  u32 most = 0;
#pragma unroll
  for (int k = 0; k < NV; k++) {
    int c = (k * T + t) * 8;
    if (c < d) raw[k] = fetch8_once<T_BF16>(x, (u64)row * xs + c);
  }
#pragma unroll
  for (int k = 0; k < NV; k++)
    if ((k * T + t) * 8 < d) most = top_bf16(most, raw[k].a);
  float top = fmax2(group_reduce<W, 1>(fmax2(bf16_lo(most), bf16_hi(most)), scratch + group * W), 1e-12f);
  float q = 448.f * rcp1(top);
  if (t == 0) scale[row] = top * (1.f / 448.f);
#pragma unroll
  for (int k = 0; k < NV; k++) {
    int c = (k * T + t) * 8;
    if (c < d) {
      float v[8];
      unpack8<T_BF16>(raw[k], v);
#pragma unroll
      for (int j = 0; j < 8; j++) v[j] *= q;
      store8<T_E4M3>(y, (u64)row * ys + c, v);
    }
  }
}
#define QUANTISE(W, NV, THREADS, BLOCKS)                                                                                            \
  extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) quantise_bf16_##W##x##NV(const void *x, i64 xs, void *y, i64 ys, \
                                                                                             float *scale, int rows, int d) {      \
    overlap();                                                                                                                      \
    quantise<W, NV>(x, xs, y, ys, scale, rows, d);                                                                                  \
  }
QUANTISE(1, 4, 128, 12)
QUANTISE(1, 20, 128, 4)
QUANTISE(4, 14, 128, 6)
QUANTISE(8, 8, 256, 4)
// 8 bytes in, 16 out, two of each a thread at once.
extern "C" __global__ void __launch_bounds__(1024) dequantise_bf16(const u8 *x, i64 xs, u16 *y, i64 ys, const float *scale, int d) {
  overlap();
  u64 row = blockIdx.x;
  float s = scale[row];
  for (int c = threadIdx.x * 8; c < d; c += blockDim.x * 16) {
    float v[8], u[8];
    int c2 = c + blockDim.x * 8;
    load8<T_E4M3>(x, row * xs + c, v);
    if (c2 < d) load8<T_E4M3>(x, row * xs + c2, u);
#pragma unroll
    for (int j = 0; j < 8; j++) { v[j] *= s; u[j] *= s; }
    store8<T_BF16>(y, row * ys + c, v);
    if (c2 < d) store8<T_BF16>(y, row * ys + c2, u);
  }
}
