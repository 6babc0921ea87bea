// x *= y, element by element; both bf16 or both f32, one block a row, 16-byte accesses.
template <int T>
DEV void multiply(void *x, i64 xs, const void *y, i64 ys, int d) {
  u64 row = blockIdx.x;
  for (int c = threadIdx.x * 8; c < d; c += blockDim.x * 8) {
    float a[8], b[8];
    load8<T>(x, row * xs + c, a);
    load8<T>(y, row * ys + c, b);
#pragma unroll
    for (int j = 0; j < 8; j++) a[j] *= b[j];
    store8<T>(x, row * xs + c, a);
  }
}
extern "C" __global__ void __launch_bounds__(1024) multiply_bf16(void *x, i64 xs, const void *y, i64 ys, int d) { multiply<T_BF16>(x, xs, y, ys, d); }
extern "C" __global__ void __launch_bounds__(1024) multiply_f32(void *x, i64 xs, const void *y, i64 ys, int d) { multiply<T_F32>(x, xs, y, ys, d); }
