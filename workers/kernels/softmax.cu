// Softmax of factor * x over rows. Rows of bf16 flow through groups of 4 warps (flow.cuh): 37.0 to 36.0 us
// for 6240 x 5120 on an H200, 34.6 begun while the kernel before ends. Elsewhere W warps share a row,
// which stays in registers as it was read; longer rows are read three times by a block, the later
// two out of cache.
template <int T>
DEV void softmax_long(const void *x, i64 xs, void *y, i64 ys, int d, float factor) {
  __shared__ float scratch[2][32];
  u64 row = blockIdx.x;
  float k = factor * 1.442695041f, top = -3.4e38f, sum = 0.f, v[8];
  for (int c = threadIdx.x * 8; c < d; c += blockDim.x * 8) {
    load8<T>(x, row * xs + c, v);
#pragma unroll
    for (int j = 0; j < 8; j++) top = fmax2(top, v[j] * k);
  }
  top = block_reduce<1>(top, scratch[0]);
  for (int c = threadIdx.x * 8; c < d; c += blockDim.x * 8) {
    load8<T>(x, row * xs + c, v);
#pragma unroll
    for (int j = 0; j < 8; j++) sum += ex2(v[j] * k - top);
  }
  float inv = 1.f / block_reduce<0>(sum, scratch[1]);
  for (int c = threadIdx.x * 8; c < d; c += blockDim.x * 8) {
    load8<T>(x, row * xs + c, v);
#pragma unroll
    for (int j = 0; j < 8; j++) v[j] = ex2(v[j] * k - top) * inv;
    store8<T>(y, row * ys + c, v);
  }
}
template <int T, int W, int NV>
DEV void softmax(const void *x, i64 xs, void *y, i64 ys, int rows, int d, float factor) {
  __shared__ float scratch[2][32];
  const int N = 32 * W;
  int t = threadIdx.x % N, group = threadIdx.x / N, row = blockIdx.x * (blockDim.x / N) + group;
  if (row >= rows) return;
  Raw8<T> raw[NV];
  float v[8], f = factor * 1.442695041f, top = -3.4e38f, sum = 0.f;
#pragma unroll
  for (int k = 0; k < NV; k++) {
    int c = (k * N + t) * 8;
    if (c < d) raw[k] = fetch8_once<T>(x, (u64)row * xs + c);
  }
#pragma unroll
  for (int k = 0; k < NV; k++)
    if ((k * N + t) * 8 < d) {
      unpack8<T>(raw[k], v);
#pragma unroll
      for (int j = 0; j < 8; j++) top = fmax2(top, v[j] * f);
    }
  top = group_reduce<W, 1>(top, scratch[0] + group * W);
#pragma unroll
  for (int k = 0; k < NV; k++)
    if ((k * N + t) * 8 < d) {
      unpack8<T>(raw[k], v);
#pragma unroll
      for (int j = 0; j < 8; j++) sum += ex2(v[j] * f - top);
    }
  float inv = 1.f / group_reduce<W, 0>(sum, scratch[1] + group * W);
#pragma unroll
  for (int k = 0; k < NV; k++) {
    int c = (k * N + t) * 8;
    if (c < d) {
      unpack8<T>(raw[k], v);
#pragma unroll
      for (int j = 0; j < 8; j++) v[j] = ex2(v[j] * f - top) * inv;
      store8<T>(y, (u64)row * ys + c, v);
    }
  }
}
#ifdef FLOW
// Here a branch a vector is the faster way.
template <int W, int NV>
DEV void softmax_flow(const u16 *x, i64 xs, u16 *y, i64 ys, int rows, int d, float factor) {
  extern __shared__ __attribute__((aligned(16))) u8 ring_raw[];
  __shared__ F2 sums[2][32];
  __shared__ float tops[2][32];
  const int T = 32 * W;
  int t = threadIdx.x % T, group = threadIdx.x / T, groups = blockDim.x / T;
  int row = blockIdx.x + gridDim.x * group, step = gridDim.x * groups, round = 0;
  u32 ring = shared_u32(ring_raw) + (group * NV * T + t) * 16, flip = factor < 0.f ? 0x80008000u : 0u;
  float f = fabs1(factor) * 1.442695041f;
  overlap();
  if (row < rows) flow_copy<W, NV>(ring, x + (u64)row * xs, t, d);
  flow_commit();
  for (; row < rows; row += step, round ^= 1) {
    V4 raw[NV];
    float v[8], sum[2] = {0.f, 0.f}, l;
    u32 most = 0xff80ff80u; // twice minus infinity
    flow_wait();
    flow_read<W, NV>(ring, raw);
#pragma unroll
    for (int k = 0; k < NV; k++)
      if ((k * T + t) * 8 < d) {
        raw[k].x ^= flip; raw[k].y ^= flip; raw[k].z ^= flip; raw[k].w ^= flip;
        asm("{ .reg .b32 a, b; max.bf16x2 a, %1, %2; max.bf16x2 b, %3, %4; max.bf16x2 a, a, b; max.bf16x2 %0, %0, a; }"
            : "+r"(most) : "r"(raw[k].x), "r"(raw[k].y), "r"(raw[k].z), "r"(raw[k].w));
      }
    float top = flow_top<W>(warp_max(fmax2(bf16_lo(most), bf16_hi(most))), tops[round] + group * W) * f;
    if (row + step < rows) flow_copy<W, NV>(ring, x + (u64)(row + step) * xs, t, d);
    flow_commit();
#pragma unroll
    for (int k = 0; k < NV; k++)
      if ((k * T + t) * 8 < d) {
        unpack_v4(raw[k], v);
#pragma unroll
        for (int j = 0; j < 8; j++) sum[j % 2] += ex2(v[j] * f - top);
      }
    F2 s = flow_sums<W>(sum[0], sum[1], sums[round] + group * W);
    asm("lg2.approx.f32 %0, %1;" : "=f"(l) : "f"(s.x + s.y));
    l += top;
#pragma unroll
    for (int k = 0; k < NV; k++)
      if ((k * T + t) * 8 < d) {
        unpack_v4(raw[k], v);
#pragma unroll
        for (int j = 0; j < 8; j++) v[j] = ex2(v[j] * f - l);
        store8<T_BF16>(y, (u64)row * ys + (k * T + t) * 8, v);
      }
  }
}
extern "C" __global__ void __launch_bounds__(1024, 1) softmax_bf16_flow(const u16 *x, i64 xs, u16 *y, i64 ys, int rows, int d, float factor) {
  softmax_flow<4, 5>(x, xs, y, ys, rows, d, factor);
}
#endif
#define SOFTMAX(T, TYPE, W, NV, THREADS, BLOCKS)                                                                                 \
  extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) softmax_##T##_##W##x##NV(const void *x, i64 xs, void *y, i64 ys, \
                                                                                         int rows, int d, float factor) {       \
    overlap();                                                                                                                   \
    softmax<TYPE, W, NV>(x, xs, y, ys, rows, d, factor);                                                                         \
  }
SOFTMAX(bf16, T_BF16, 1, 4, 128, 8)
SOFTMAX(bf16, T_BF16, 2, 10, 128, 5)
SOFTMAX(bf16, T_BF16, 8, 8, 256, 2)
SOFTMAX(f32, T_F32, 1, 4, 128, 8)
SOFTMAX(f32, T_F32, 2, 10, 128, 4)
SOFTMAX(f32, T_F32, 8, 8, 256, 2)
extern "C" __global__ void __launch_bounds__(1024) softmax_f32_long(const void *x, i64 xs, void *y, i64 ys, int rows, int d, float factor) { overlap(); softmax_long<T_F32>(x, xs, y, ys, d, factor); }
extern "C" __global__ void __launch_bounds__(1024) softmax_bf16_long(const void *x, i64 xs, void *y, i64 ys, int rows, int d, float factor) { overlap(); softmax_long<T_BF16>(x, xs, y, ys, d, factor); }
