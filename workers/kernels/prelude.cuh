// What every kernel here may use: short types, bf16 and e4m3 conversions, 16-byte loads
// and reductions. No CUDA header is needed, so NVRTC, nvcc and clang all compile it.
#ifdef __clang__
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ __attribute__((always_inline)) inline
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __grid_constant__
#define __cluster_dims__(...)
#include <__clang_cuda_builtin_vars.h>
#endif
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
typedef long long i64;
struct alignas(16) V4 { u32 x, y, z, w; };
struct alignas(8) V2 { u32 x, y; };
struct alignas(16) F4 { float x, y, z, w; };
struct alignas(8) F2 { float x, y; };
#define DEV static __device__ __forceinline__

DEV float bits_f32(u32 x) { float y; asm("mov.b32 %0, %1;" : "=f"(y) : "r"(x)); return y; }
DEV u32 f32_bits(float x) { u32 y; asm("mov.b32 %0, %1;" : "=r"(y) : "f"(x)); return y; }
DEV float fmax2(float a, float b) { float y; asm("max.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y; }
DEV float fabs1(float a) { float y; asm("abs.f32 %0, %1;" : "=f"(y) : "f"(a)); return y; }
DEV float ex2(float x) { float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
DEV float rsqrt1(float x) { float y; asm("rsqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
DEV float rcp1(float x) { float y; asm("rcp.approx.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
DEV void sync_block() { asm volatile("bar.sync 0;" ::: "memory"); }

DEV float bf16_lo(u32 x) { return bits_f32(x << 16); }
DEV float bf16_hi(u32 x) { return bits_f32(x & 0xffff0000u); }
DEV float bf16_f32(u16 x) { return bits_f32((u32)x << 16); }
DEV u32 pack_bf16(float lo, float hi) { // needs sm_80
  u32 r; asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo)); return r;
}
DEV u16 f32_bf16(float x) { return (u16)pack_bf16(x, 0.f); }

// e4m3: hardware conversions from sm_89 on, bit arithmetic before that.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 890
DEV u32 pack_e4m3(float a, float b, float c, float d) {
  u16 lo, hi;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(lo) : "f"(b), "f"(a));
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(hi) : "f"(d), "f"(c));
  return (u32)lo | ((u32)hi << 16);
}
#else
DEV u32 f32_e4m3(float x) { // round to nearest even, saturate at 448, NaN stays NaN
  u32 b = f32_bits(x), s = (b >> 24) & 0x80u, a = b & 0x7fffffffu;
  if (a > 0x7f800000u) return 0x7fu;
  if (a >= 0x43e00000u) return s | 0x7eu; // 448 and above
  if (a < 0x3c800000u) { // below 2^-6: steps of 2^-9
    float y = bits_f32(a) * 512.f;
    u32 r; asm("cvt.rni.u32.f32 %0, %1;" : "=r"(r) : "f"(y));
    return s | r;
  }
  u32 r = a + 0x7ffffu + ((a >> 20) & 1u); // keep 3 bits of the fraction
  u32 q = (r >> 20) - (120u << 3);
  return s | (q > 0x7eu ? 0x7eu : q);
}
DEV u32 pack_e4m3(float a, float b, float c, float d) {
  return f32_e4m3(a) | (f32_e4m3(b) << 8) | (f32_e4m3(c) << 16) | (f32_e4m3(d) << 24);
}
#endif
DEV float e4m3_f32(u32 b) {
  u32 e = (b >> 3) & 15u, m = b & 7u;
  float v = e ? bits_f32(((e + 120u) << 23) | (m << 20)) : (float)m * 0.001953125f;
  if ((b & 0x7fu) == 0x7fu) v = bits_f32(0x7fc00000u);
  return b & 0x80u ? -v : v;
}
DEV void unpack_e4m3(u32 x, float *v) { // four neighbours
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 890
  u32 a, b; // pairs of f16
  asm("{ .reg .b16 l, h; mov.b32 {l, h}, %2; cvt.rn.f16x2.e4m3x2 %0, l; cvt.rn.f16x2.e4m3x2 %1, h; }" : "=r"(a), "=r"(b) : "r"(x));
  asm("{ .reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h; }" : "=f"(v[0]), "=f"(v[1]) : "r"(a));
  asm("{ .reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h; }" : "=f"(v[2]), "=f"(v[3]) : "r"(b));
#else
#pragma unroll
  for (int k = 0; k < 4; k++) v[k] = e4m3_f32((x >> (8 * k)) & 255u);
#endif
}

// Element types of tensors, as template parameters.
#define T_BF16 0
#define T_F32 1
#define T_E4M3 2

// Eight neighbours in one or two 16-byte accesses; the address must be aligned to them.
template <int T>
DEV void load8(const void *base, u64 i, float (&v)[8]) {
  if (T == T_F32) {
    const F4 *p = (const F4 *)((const float *)base + i);
    F4 a = p[0], b = p[1];
    v[0] = a.x; v[1] = a.y; v[2] = a.z; v[3] = a.w; v[4] = b.x; v[5] = b.y; v[6] = b.z; v[7] = b.w;
  } else if (T == T_BF16) {
    V4 a = *(const V4 *)((const u16 *)base + i);
    v[0] = bf16_lo(a.x); v[1] = bf16_hi(a.x); v[2] = bf16_lo(a.y); v[3] = bf16_hi(a.y);
    v[4] = bf16_lo(a.z); v[5] = bf16_hi(a.z); v[6] = bf16_lo(a.w); v[7] = bf16_hi(a.w);
  } else {
    V2 a = *(const V2 *)((const u8 *)base + i);
    unpack_e4m3(a.x, v); unpack_e4m3(a.y, v + 4);
  }
}
template <int T>
DEV void store8(void *base, u64 i, const float (&v)[8]) {
  if (T == T_F32) {
    F4 *p = (F4 *)((float *)base + i);
    p[0] = F4{v[0], v[1], v[2], v[3]};
    p[1] = F4{v[4], v[5], v[6], v[7]};
  } else if (T == T_BF16) {
    *(V4 *)((u16 *)base + i) = V4{pack_bf16(v[0], v[1]), pack_bf16(v[2], v[3]), pack_bf16(v[4], v[5]), pack_bf16(v[6], v[7])};
  } else {
    *(V2 *)((u8 *)base + i) = V2{pack_e4m3(v[0], v[1], v[2], v[3]), pack_e4m3(v[4], v[5], v[6], v[7])};
  }
}

// Eight neighbours as they lie in memory, so that they can be fetched early and cost few
// registers until they are needed.
template <int T> struct Raw8 { V4 a; };
template <> struct Raw8<T_F32> { F4 a, b; };
template <int T>
DEV Raw8<T> fetch8(const void *base, u64 i) {
  Raw8<T> r;
  if constexpr (T == T_F32) { const F4 *p = (const F4 *)((const float *)base + i); r.a = p[0]; r.b = p[1]; }
  else r.a = *(const V4 *)((const u16 *)base + i);
  return r;
}
// The same of what is read once and never again: it need not push other data out of L1.
DEV V4 fetch_once(const void *p) {
  V4 r; asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w) : "l"(p)); return r;
}
template <int T>
DEV Raw8<T> fetch8_once(const void *base, u64 i) {
  Raw8<T> r;
  if constexpr (T == T_F32) {
    V4 a = fetch_once((const float *)base + i), b = fetch_once((const float *)base + i + 4);
    r.a = F4{bits_f32(a.x), bits_f32(a.y), bits_f32(a.z), bits_f32(a.w)};
    r.b = F4{bits_f32(b.x), bits_f32(b.y), bits_f32(b.z), bits_f32(b.w)};
  } else r.a = fetch_once((const u16 *)base + i);
  return r;
}
DEV V4 pack8(const float (&v)[8]) { return V4{pack_bf16(v[0], v[1]), pack_bf16(v[2], v[3]), pack_bf16(v[4], v[5]), pack_bf16(v[6], v[7])}; }
template <int T>
DEV void unpack8(const Raw8<T> &r, float (&v)[8]) {
  if constexpr (T == T_F32) {
    v[0] = r.a.x; v[1] = r.a.y; v[2] = r.a.z; v[3] = r.a.w; v[4] = r.b.x; v[5] = r.b.y; v[6] = r.b.z; v[7] = r.b.w;
  } else {
    v[0] = bf16_lo(r.a.x); v[1] = bf16_hi(r.a.x); v[2] = bf16_lo(r.a.y); v[3] = bf16_hi(r.a.y);
    v[4] = bf16_lo(r.a.z); v[5] = bf16_hi(r.a.z); v[6] = bf16_lo(r.a.w); v[7] = bf16_hi(r.a.w);
  }
}

DEV float shfl_xor(float v, u32 m) {
  u32 r; asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(r) : "r"(f32_bits(v)), "r"(m)); return bits_f32(r);
}
DEV float warp_sum(float v) {
#pragma unroll
  for (u32 m = 16; m > 0; m >>= 1) v += shfl_xor(v, m);
  return v;
}
DEV float warp_max(float v) {
#pragma unroll
  for (u32 m = 16; m > 0; m >>= 1) v = fmax2(v, shfl_xor(v, m));
  return v;
}
// Reductions over a block of whole warps, at most 1024 threads; every thread gets the result.
// One barrier is enough if no two reductions in a row share their scratch.
template <int MAX>
DEV float block_reduce(float v, float *scratch /* 32 floats */) {
  u32 w = threadIdx.x / 32, n = (blockDim.x + 31) / 32;
  v = MAX ? warp_max(v) : warp_sum(v);
  if (threadIdx.x % 32 == 0) scratch[w] = v;
  sync_block();
  v = threadIdx.x % 32 < n ? scratch[threadIdx.x % 32] : (MAX ? -3.4e38f : 0.f);
  return MAX ? warp_max(v) : warp_sum(v);
}
// How many of a row's d elements warp w holds, when thread i holds vectors i, i + blockDim, ...
template <int NV>
DEV int warp_elements(int w, int d) {
  int n = 0;
#pragma unroll
  for (int k = 0; k < NV; k++) {
    int left = d / 8 - (k * (int)blockDim.x + w * 32);
    n += left < 0 ? 0 : left > 32 ? 32 : left;
  }
  return n * 8;
}
// What block_moments needs to know about the row's length, the same for every row.
struct Share { float inv, n, all; };
template <int NV>
DEV Share row_share(int d) {
  int w = threadIdx.x / 32, l = threadIdx.x % 32, mine = warp_elements<NV>(w, d);
  return Share{mine ? 1.f / (float)mine : 0.f, l < (int)(blockDim.x + 31) / 32 ? (float)warp_elements<NV>(l, d) : 0.f, 1.f / (float)d};
}
// Mean and mean square deviation of a row, without cancellation: deviations are taken from each
// warp's own mean, and the warps' means then combined. Vectors past d are left out. One barrier;
// scratch of 64 floats, not that of the reduction before.
template <int NV>
DEV F2 block_moments(const float (&v)[NV][8], const Share &share, int d, float *scratch) {
  int w = threadIdx.x / 32, l = threadIdx.x % 32, warps = (blockDim.x + 31) / 32;
  float sum = 0.f, sq = 0.f;
#pragma unroll
  for (int k = 0; k < NV; k++)
    if ((k * (int)blockDim.x + (int)threadIdx.x) * 8 < d)
#pragma unroll
      for (int j = 0; j < 8; j++) sum += v[k][j];
  float mean = warp_sum(sum) * share.inv;
#pragma unroll
  for (int k = 0; k < NV; k++)
    if ((k * (int)blockDim.x + (int)threadIdx.x) * 8 < d)
#pragma unroll
      for (int j = 0; j < 8; j++) { float x = v[k][j] - mean; sq += x * x; }
  sq = warp_sum(sq);
  if (l == 0) *(F2 *)(scratch + 2 * w) = F2{mean, sq};
  sync_block();
  F2 part = l < warps ? *(const F2 *)(scratch + 2 * l) : F2{0.f, 0.f};
  mean = warp_sum(part.x * share.n) * share.all;
  float off = part.x - mean;
  return F2{mean, warp_sum(part.y + share.n * off * off) * share.all};
}

// Reductions over the W warps that share a row; every thread gets the result, the same bits in
// all of them. scratch is the group's own W floats, used once in a kernel.
template <int W, int MAX>
DEV float group_reduce(float v, float *scratch) {
  v = MAX ? warp_max(v) : warp_sum(v);
  if (W == 1) return v;
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32 % W] = v;
  asm volatile("bar.sync %0, %1;" ::"r"(threadIdx.x / (32 * W) + 1), "n"(32 * W) : "memory");
  v = scratch[0];
#pragma unroll
  for (int i = 1; i < W; i++) v = MAX ? fmax2(v, scratch[i]) : v + scratch[i];
  return v;
}
// Rows on their way: each thread copies its own NV vectors of the next STAGES - 1 rows that its
// block will visit into shared memory, and reads them back itself, so no barrier is needed.
template <int T, int NV, int STAGES>
DEV void ring_fetch(u32 ring, const void *x, i64 xs, int row, int rows, int d, int stage) {
  const int BYTES = T == T_F32 ? 32 : 16;
#pragma unroll
  for (int k = 0; k < NV; k++) {
    int c = (k * blockDim.x + threadIdx.x) * 8;
    if (c < d && row < rows) {
      u32 at = ring + ((stage * NV + k) * blockDim.x + threadIdx.x) * BYTES;
      const u8 *src = (const u8 *)x + ((u64)row * xs + c) * (BYTES / 8);
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(src) : "memory");
      if (T == T_F32) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at + 16), "l"(src + 16) : "memory");
    }
  }
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int T, int NV>
DEV void ring_read(u32 ring, int stage, float (&v)[NV][8]) {
  const int BYTES = T == T_F32 ? 32 : 16;
#pragma unroll
  for (int k = 0; k < NV; k++) {
    u32 at = ring + ((stage * NV + k) * blockDim.x + threadIdx.x) * BYTES;
    V4 a, b;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a.x), "=r"(a.y), "=r"(a.z), "=r"(a.w) : "r"(at) : "memory");
    if constexpr (T == T_F32) {
      asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(b.x), "=r"(b.y), "=r"(b.z), "=r"(b.w) : "r"(at + 16) : "memory");
      v[k][0] = bits_f32(a.x); v[k][1] = bits_f32(a.y); v[k][2] = bits_f32(a.z); v[k][3] = bits_f32(a.w);
      v[k][4] = bits_f32(b.x); v[k][5] = bits_f32(b.y); v[k][6] = bits_f32(b.z); v[k][7] = bits_f32(b.w);
    } else {
      v[k][0] = bf16_lo(a.x); v[k][1] = bf16_hi(a.x); v[k][2] = bf16_lo(a.y); v[k][3] = bf16_hi(a.y);
      v[k][4] = bf16_lo(a.z); v[k][5] = bf16_hi(a.z); v[k][6] = bf16_lo(a.w); v[k][7] = bf16_hi(a.w);
    }
  }
}
DEV u32 shared_u32(const void *p) {
  u32 a; asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(a) : "l"(p)); return a;
}
// The largest magnitude among eight bf16.
DEV u32 top_bf16(u32 top, const V4 &x) {
  asm("{ .reg .b32 a, b, c, d; abs.bf16x2 a, %1; abs.bf16x2 b, %2; abs.bf16x2 c, %3; abs.bf16x2 d, %4;\n"
      " max.bf16x2 a, a, b; max.bf16x2 c, c, d; max.bf16x2 a, a, c; max.bf16x2 %0, %0, a; }" : "+r"(top) : "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w));
  return top;
}
