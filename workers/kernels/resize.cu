// Resampling of images [planes][h][w][c] to [planes][oh][ow][c]: nearest, or bilinear with
// half-pixel centres and held edges. One thread an output element.
template <int T>
DEV float at(const void *x, u64 i) { return T == T_F32 ? ((const float *)x)[i] : bf16_f32(((const u16 *)x)[i]); }
template <int T>
DEV void put(void *y, u64 i, float v) {
  if (T == T_F32) ((float *)y)[i] = v;
  else ((u16 *)y)[i] = f32_bf16(v);
}
DEV int held(int i, int n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }
template <int T>
DEV void resize(const void *x, void *y, int h, int w, int oh, int ow, int c, int bilinear) {
  i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x;
  if (i >= (i64)oh * ow * c) return;
  int ch = (int)(i % c), ox = (int)(i / c % ow), oy = (int)(i / c / ow);
  u64 in = (u64)blockIdx.y * h * w * c, out = (u64)blockIdx.y * oh * ow * c + i;
  if (!bilinear) {
    int sy = (int)((i64)oy * h / oh), sx = (int)((i64)ox * w / ow);
    put<T>(y, out, at<T>(x, in + ((u64)sy * w + sx) * c + ch));
    return;
  }
  float fy = ((float)oy + 0.5f) * (float)h / (float)oh - 0.5f, fx = ((float)ox + 0.5f) * (float)w / (float)ow - 0.5f;
  int y0 = (int)(fy + 1.f) - 1, x0 = (int)(fx + 1.f) - 1; // floor, for values above -1
  float ay = fy - (float)y0, ax = fx - (float)x0;
  int ya = held(y0, h), yb = held(y0 + 1, h), xa = held(x0, w), xb = held(x0 + 1, w);
  float p = at<T>(x, in + ((u64)ya * w + xa) * c + ch), q = at<T>(x, in + ((u64)ya * w + xb) * c + ch);
  float r = at<T>(x, in + ((u64)yb * w + xa) * c + ch), s = at<T>(x, in + ((u64)yb * w + xb) * c + ch);
  put<T>(y, out, (p + (q - p) * ax) * (1.f - ay) + (r + (s - r) * ax) * ay);
}
extern "C" __global__ void __launch_bounds__(256) resize_f32(const void *x, void *y, int h, int w, int oh, int ow, int c, int bilinear) { resize<T_F32>(x, y, h, w, oh, ow, c, bilinear); }
extern "C" __global__ void __launch_bounds__(256) resize_bf16(const void *x, void *y, int h, int w, int oh, int ow, int c, int bilinear) { resize<T_BF16>(x, y, h, w, oh, ow, c, bilinear); }
