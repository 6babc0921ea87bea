// 3D convolution, causal in time, with strides, one output element a thread: for GPUs that the
// fast kernel does not know, and for shapes that it does not take. Right first.
extern "C" __global__ void __launch_bounds__(256) conv3d_plain(const u16 *x, const u16 *w, const u16 *bias, const u16 *res, u16 *y,
    int T, int H, int W, int C, int To, int Ho, int Wo, int N, int kt, int kh, int kw, int st, int ss, int padt, int padh, int padw) {
  i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x;
  if (i >= (i64)To * Ho * Wo * N) return;
  int n = (int)(i % N), ox = (int)(i / N % Wo), oy = (int)(i / N / Wo % Ho), of = (int)(i / N / Wo / Ho);
  float v = 0.f;
  for (int a = 0; a < kt; a++)
    for (int b = 0; b < kh; b++)
      for (int c = 0; c < kw; c++) {
        int f = of * st + a - padt, py = oy * ss + b - padh, px = ox * ss + c - padw;
        if (f < 0 || f >= T || py < 0 || py >= H || px < 0 || px >= W) continue;
        const u16 *p = x + (((i64)f * H + py) * W + px) * C, *q = w + ((((i64)n * kt + a) * kh + b) * kw + c) * C;
        for (int k = 0; k < C; k++) v += bf16_f32(p[k]) * bf16_f32(q[k]);
      }
  v += bf16_f32(bias[n]);
  if (res) v += bf16_f32(res[i]);
  y[i] = f32_bf16(v);
}
