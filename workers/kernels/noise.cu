// Normally distributed noise from a counter: element i depends on seed, stream and i alone, so
// any split over blocks, GPUs or chunks gives the same numbers, and so does the Go reference,
// bit for bit. Philox 4x32 with ten rounds gives four words for four elements; Box-Muller
// turns them into normals with logarithm, sine and cosine of our own, built from operations
// that IEEE 754 rounds exactly (never fused) and hence equal on every machine.
DEV float mul(float a, float b) { float y; asm("mul.rn.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y; }
DEV float add(float a, float b) { float y; asm("add.rn.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y; }
DEV float quo(float a, float b) { float y; asm("div.rn.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y; }
DEV float root(float a) { float y; asm("sqrt.rn.f32 %0, %1;" : "=f"(y) : "f"(a)); return y; }

DEV void philox(u32 (&c)[4], u32 k0, u32 k1) {
#pragma unroll
  for (int i = 0; i < 10; i++) {
    u64 p = (u64)0xD2511F53u * c[0], q = (u64)0xCD9E8D57u * c[2];
    u32 n0 = (u32)(q >> 32) ^ c[1] ^ k0, n2 = (u32)(p >> 32) ^ c[3] ^ k1;
    c[1] = (u32)q; c[3] = (u32)p; c[0] = n0; c[2] = n2;
    k0 += 0x9E3779B9u; k1 += 0xBB67AE85u;
  }
}
// Natural logarithm of n / 2^24, 1 <= n <= 2^24.
DEV float log_unit(u32 n) {
  u32 b = f32_bits((float)n);
  int e = (int)(b >> 23) - 127 - 24;
  u32 m = b & 0x7fffffu;
  if (m > 0x3504f3u) { e++; b = m | 0x3f000000u; } else b = m | 0x3f800000u; // mantissa between sqrt(1/2) and sqrt(2)
  float x = bits_f32(b), s = quo(add(x, -1.f), add(x, 1.f)), z = mul(s, s);
  float p = add(mul(z, 0x1.c71c72p-4f), 0x1.24924ap-3f);  // 1/9, 1/7
  p = add(mul(z, p), 0x1.99999ap-3f);                     // 1/5
  p = add(mul(z, p), 0x1.555556p-2f);                     // 1/3
  p = add(mul(z, p), 1.f);
  return add(mul((float)e, 0x1.62e43p-1f), mul(mul(2.f, s), p)); // e ln 2 + ln x
}
// Sine and cosine of the turn w / 2^32.
DEV void sincos_turn(u32 w, float &s, float &c) {
  u32 octant = w >> 29;
  float f = mul((float)((w >> 5) & 0xffffffu), 0x1p-24f);
  if (octant & 1u) f = add(1.f, -f);
  float t = mul(f, 0x1.921fb6p-1f), z = mul(t, t);
  float p = add(mul(z, 0x1.71de3ap-19f), -0x1.a01a02p-13f); // 1/9!, -1/7!
  p = add(mul(z, p), 0x1.111112p-7f);
  p = add(mul(z, p), -0x1.555556p-3f);
  p = add(mul(z, p), 1.f);
  float a = mul(t, p);
  float q = add(mul(z, 0x1.a01a02p-16f), -0x1.6c16c2p-10f); // 1/8!, -1/6!
  q = add(mul(z, q), 0x1.555556p-5f);
  q = add(mul(z, q), -0.5f);
  q = add(mul(z, q), 1.f);
  u32 o = octant;
  bool swap = o == 1 || o == 2 || o == 5 || o == 6;
  s = swap ? q : a; c = swap ? a : q;
  if (o >= 4) s = -s;
  if (o >= 2 && o < 6) c = -c;
}
template <int T>
DEV void noise(void *y, u64 n, u64 seed, u64 stream, u64 first, float sigma) {
  u64 i = (blockIdx.x * (u64)blockDim.x + threadIdx.x) * 4;
  if (i >= n) return;
  u64 k = (first + i) / 4;
  u32 c[4] = {(u32)k, (u32)(k >> 32), (u32)stream, (u32)(stream >> 32)};
  philox(c, (u32)seed, (u32)(seed >> 32));
  float v[4];
#pragma unroll
  for (int j = 0; j < 2; j++) {
    float r = root(mul(-2.f, log_unit((c[2 * j] >> 8) + 1u))), s, co;
    sincos_turn(c[2 * j + 1], s, co);
    v[2 * j] = mul(mul(r, co), sigma);
    v[2 * j + 1] = mul(mul(r, s), sigma);
  }
  if (i + 4 <= n) {
    if (T == T_F32) *(F4 *)((float *)y + i) = F4{v[0], v[1], v[2], v[3]};
    else *(V2 *)((u16 *)y + i) = V2{pack_bf16(v[0], v[1]), pack_bf16(v[2], v[3])};
    return;
  }
  for (int j = 0; j < 4 && i + j < n; j++) {
    if (T == T_F32) ((float *)y)[i + j] = v[j];
    else ((u16 *)y)[i + j] = f32_bf16(v[j]);
  }
}
extern "C" __global__ void __launch_bounds__(256) noise_f32(void *y, u64 n, u64 seed, u64 stream, u64 first, float sigma) { noise<T_F32>(y, n, seed, stream, first, sigma); }
extern "C" __global__ void __launch_bounds__(256) noise_bf16(void *y, u64 n, u64 seed, u64 stream, u64 first, float sigma) { noise<T_BF16>(y, n, seed, stream, first, sigma); }
