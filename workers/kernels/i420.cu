// RGB to I420, BT.709, limited range, in 16-bit fixed point: the same integers as the Go
// reference. One thread makes a 2 x 2 block; chroma is of the block's mean colour.
// rgb8: [frames][h][w][3] bytes. planar: [3][frames][h][w] in [-1, 1]. interleaved: [frames][h][w][c], of which three count.
// out: [frames][h * w * 3 / 2], the planes Y, U, V one after the other.
DEV int luma(int r, int g, int b) { return (11966 * r + 40254 * g + 4064 * b + (16 << 16) + 32768) >> 16; }
DEV void block_i420(const int (&p)[4][3], u8 *out, int w, int h, int bx, int by) {
  u8 *y = out + (u64)(2 * by) * w + 2 * bx;
  y[0] = (u8)luma(p[0][0], p[0][1], p[0][2]);
  y[1] = (u8)luma(p[1][0], p[1][1], p[1][2]);
  y[w] = (u8)luma(p[2][0], p[2][1], p[2][2]);
  y[w + 1] = (u8)luma(p[3][0], p[3][1], p[3][2]);
  int r = p[0][0] + p[1][0] + p[2][0] + p[3][0], g = p[0][1] + p[1][1] + p[2][1] + p[3][1], b = p[0][2] + p[1][2] + p[2][2] + p[3][2];
  u8 *u = out + (u64)w * h + (u64)by * (w / 2) + bx, *v = u + (u64)(w / 2) * (h / 2);
  *u = (u8)((-6596 * r - 22189 * g + 28785 * b + (128 << 18) + (1 << 17)) >> 18);
  *v = (u8)((28785 * r - 26145 * g - 2640 * b + (128 << 18) + (1 << 17)) >> 18);
}
extern "C" __global__ void __launch_bounds__(256) i420_rgb8(const u8 *rgb, u8 *out, int w, int h) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, bw = w / 2;
  if (i >= bw * (h / 2)) return;
  int bx = i % bw, by = i / bw, p[4][3];
  const u8 *f = rgb + (u64)blockIdx.y * w * h * 3;
#pragma unroll
  for (int k = 0; k < 4; k++)
#pragma unroll
    for (int c = 0; c < 3; c++) p[k][c] = f[((u64)(2 * by + k / 2) * w + 2 * bx + k % 2) * 3 + c];
  block_i420(p, out + (u64)blockIdx.y * w * h * 3 / 2, w, h, bx, by);
}
DEV int to_byte(float x) { // round half up of (x + 1) * 127.5, held in a byte's range
  float v = (x + 1.f) * 127.5f + 0.5f;
  return v < 0.f ? 0 : v >= 255.f ? 255 : (int)v;
}
template <int T>
DEV void i420_planar(const void *x, u8 *out, int w, int h) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, bw = w / 2;
  if (i >= bw * (h / 2)) return;
  int bx = i % bw, by = i / bw, p[4][3];
  u64 plane = (u64)w * h, all = plane * gridDim.y;
#pragma unroll
  for (int k = 0; k < 4; k++)
#pragma unroll
    for (int c = 0; c < 3; c++) {
      u64 at = c * all + blockIdx.y * plane + (u64)(2 * by + k / 2) * w + 2 * bx + k % 2;
      p[k][c] = to_byte(T == T_F32 ? ((const float *)x)[at] : bf16_f32(((const u16 *)x)[at]));
    }
  block_i420(p, out + blockIdx.y * plane * 3 / 2, w, h, bx, by);
}
extern "C" __global__ void __launch_bounds__(256) i420_f32(const void *x, u8 *out, int w, int h) { i420_planar<T_F32>(x, out, w, h); }
extern "C" __global__ void __launch_bounds__(256) i420_bf16(const void *x, u8 *out, int w, int h) { i420_planar<T_BF16>(x, out, w, h); }
template <int T>
DEV void i420_interleaved(const void *x, u8 *out, int w, int h, int ch) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, bw = w / 2;
  if (i >= bw * (h / 2)) return;
  int bx = i % bw, by = i / bw, p[4][3];
  u64 plane = (u64)w * h;
#pragma unroll
  for (int k = 0; k < 4; k++)
#pragma unroll
    for (int c = 0; c < 3; c++) {
      u64 at = (blockIdx.y * plane + (u64)(2 * by + k / 2) * w + 2 * bx + k % 2) * ch + c;
      p[k][c] = to_byte(T == T_F32 ? ((const float *)x)[at] : bf16_f32(((const u16 *)x)[at]));
    }
  block_i420(p, out + blockIdx.y * plane * 3 / 2, w, h, bx, by);
}
extern "C" __global__ void __launch_bounds__(256) i420_interleaved_f32(const void *x, u8 *out, int w, int h, int ch) { i420_interleaved<T_F32>(x, out, w, h, ch); }
extern "C" __global__ void __launch_bounds__(256) i420_interleaved_bf16(const void *x, u8 *out, int w, int h, int ch) { i420_interleaved<T_BF16>(x, out, w, h, ch); }
