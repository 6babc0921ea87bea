// Row-wise e4m3: each row's largest magnitude becomes 448, and its scale, top / 448, is kept.
// Blocks stay and walk over rows, as in layernorm.cu, with the next row under way.
template <int NV>
DEV void quantise(const void *x, i64 xs, void *y, i64 ys, float *scale, int rows, int d) {
  __shared__ float scratch[2][32];
  Raw8<T_BF16> next[NV];
  float v[NV][8];
#pragma unroll
  for (int k = 0; k < NV; k++) {
    int c = (k * blockDim.x + threadIdx.x) * 8;
    if (c < d) next[k] = fetch8<T_BF16>(x, (u64)blockIdx.x * xs + c);
  }
  int round = 0;
  for (int row = blockIdx.x; row < rows; row += gridDim.x, round ^= 1) {
    float top = 0.f;
#pragma unroll
    for (int k = 0; k < NV; k++) {
      int c = (k * blockDim.x + threadIdx.x) * 8;
      if (c < d) {
        unpack8<T_BF16>(next[k], v[k]);
#pragma unroll
        for (int j = 0; j < 8; j++) top = fmax2(top, fabs1(v[k][j]));
        if (row + (int)gridDim.x < rows) next[k] = fetch8<T_BF16>(x, (u64)(row + gridDim.x) * xs + c);
      }
    }
    top = fmax2(block_reduce<1>(top, scratch[round]), 1e-12f);
    float q = 448.f * rcp1(top);
    if (threadIdx.x == 0) scale[row] = top * (1.f / 448.f);
#pragma unroll
    for (int k = 0; k < NV; k++) {
      int c = (k * blockDim.x + threadIdx.x) * 8;
      if (c < d) {
#pragma unroll
        for (int j = 0; j < 8; j++) v[k][j] *= q;
        store8<T_E4M3>(y, (u64)row * ys + c, v[k]);
      }
    }
  }
}
extern "C" __global__ void __launch_bounds__(320, 4) quantise_bf16_2(const void *x, i64 xs, void *y, i64 ys, float *scale, int rows, int d) { quantise<2>(x, xs, y, ys, scale, rows, d); }
extern "C" __global__ void __launch_bounds__(320, 2) quantise_bf16_6(const void *x, i64 xs, void *y, i64 ys, float *scale, int rows, int d) { quantise<6>(x, xs, y, ys, scale, rows, d); }
// 16 bytes in, 32 out, a thread; a row's last 8 elements may be half a piece.
extern "C" __global__ void __launch_bounds__(1024) dequantise_bf16(const u8 *x, i64 xs, u16 *y, i64 ys, const float *scale, int d) {
  u64 row = blockIdx.x;
  float s = scale[row];
  for (int c = threadIdx.x * 16; c < d; c += blockDim.x * 16) {
    float v[8], u[8];
    bool whole = c + 8 < d;
    load8<T_E4M3>(x, row * xs + c, v);
    if (whole) load8<T_E4M3>(x, row * xs + c + 8, u);
#pragma unroll
    for (int j = 0; j < 8; j++) { v[j] *= s; u[j] *= s; }
    store8<T_BF16>(y, row * ys + c, v);
    if (whole) store8<T_BF16>(y, row * ys + c + 8, u);
  }
}
