// O = softmax(scale * Q K^T) V without tensor cores: a warp a query, four elements of the head
// a lane, running maximum and sum. For GPUs that the fast kernel does not know. Right first.
template <int T>
DEV void attention_plain(const void *Q, i64 ldq, const void *K, i64 ldk, const void *V, i64 ldv, u16 *O, i64 ldo, int Sq, int Skv, float sl, float vscale) {
  int q = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, h = blockIdx.y, l = threadIdx.x % 32;
  if (q >= Sq) return;
  float x[4], acc[4] = {0.f, 0.f, 0.f, 0.f}, top = -1e30f, sum = 0.f;
#pragma unroll
  for (int e = 0; e < 4; e++) {
    i64 i = q * ldq + h * 128 + l * 4 + e;
    x[e] = T == T_BF16 ? bf16_f32(((const u16 *)Q)[i]) : e4m3_f32(((const u8 *)Q)[i]);
  }
  for (int k = 0; k < Skv; k++) {
    float s = 0.f, v[4];
#pragma unroll
    for (int e = 0; e < 4; e++) {
      int c = h * 128 + l * 4 + e;
      s += x[e] * (T == T_BF16 ? bf16_f32(((const u16 *)K)[k * ldk + c]) : e4m3_f32(((const u8 *)K)[k * ldk + c]));
      int r = k % 16, pos = r < 8 ? (r / 2) * 4 + r % 2 : ((r - 8) / 2) * 4 + 2 + r % 2;
      v[e] = T == T_BF16 ? bf16_f32(((const u16 *)V)[k * ldv + c]) : e4m3_f32(((const u8 *)V)[c * ldv + k / 16 * 16 + pos]);
    }
    s = warp_sum(s) * sl;
    float n = fmax2(top, s), a = ex2(top - n), p = ex2(s - n);
    top = n;
    sum = sum * a + p;
#pragma unroll
    for (int e = 0; e < 4; e++) acc[e] = acc[e] * a + p * v[e];
  }
#pragma unroll
  for (int e = 0; e < 4; e++) O[q * ldo + h * 128 + l * 4 + e] = f32_bf16(acc[e] * (vscale / sum));
}
extern "C" __global__ void __launch_bounds__(128) attention_plain_bf16(const void *Q, i64 ldq, const void *K, i64 ldk, const void *V, i64 ldv, u16 *O, i64 ldo, int Sq, int Skv, float sl, float vscale) {
  attention_plain<T_BF16>(Q, ldq, K, ldk, V, ldv, O, ldo, Sq, Skv, sl, vscale);
}
extern "C" __global__ void __launch_bounds__(128) attention_plain_e4m3(const void *Q, i64 ldq, const void *K, i64 ldk, const void *V, i64 ldv, u16 *O, i64 ldo, int Sq, int Skv, float sl, float vscale) {
  attention_plain<T_E4M3>(Q, ldq, K, ldk, V, ldv, O, ldo, Sq, Skv, sl, vscale);
}
