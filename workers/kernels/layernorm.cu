// LayerNorm over rows, y = (x - mean) / sqrt(var + eps) * g + b, with one gain and one shift
// for all rows: the affine form, or the modulated one where the gain is 1 + scale. With an
// e4m3 output each row gets its own scale (the largest magnitude becomes 448), so that the
// next product reads a byte an element. x is read once and y written once.
//
// Rows of bf16 of about 5120 elements flow through groups of 4 or 5 warps (flow.cuh). Others walk: blocks
// stay, a thread has the same 16 columns of every row, so gain and shift stay in registers, while
// the rows to come are on their way to shared memory.
// Versions, 6240 x 5120 bf16 to bf16 and to e4m3 on an H200: 1 a block a row, 50 and 51 us; 2 blocks
// that walk, the next row in registers, 39 and 37 us; 3 the walk as it is here, 38 and 40 us; 4 groups
// of 4 warps, a branch a vector, 36.7 and 29.0 us; 5 without branches and with sums by the tensor cores,
// 36.6 and 28.0 us; 6 begun while the kernel before ends, 35.1 and 26.2 us.
template <int IN, int OUT, int STAGES>
DEV void layernorm_walk(const void *x, i64 xs, void *y, i64 ys, const float *gain, const float *shift, float one, float *scale, int rows, int d, float eps) {
  extern __shared__ __attribute__((aligned(16))) u8 ring_raw[];
  __shared__ __attribute__((aligned(8))) float scratch[2][64];
  const int NV = 2;
  float g[NV][8], b[NV][8], v[NV][8];
  u32 ring = shared_u32(ring_raw);
#pragma unroll
  for (int s = 0; s < STAGES - 1; s++) ring_fetch<IN, NV, STAGES>(ring, x, xs, blockIdx.x + s * gridDim.x, rows, d, s);
#pragma unroll
  for (int k = 0; k < NV; k++) {
    int c = (k * blockDim.x + threadIdx.x) * 8;
#pragma unroll
    for (int j = 0; j < 8; j++) { g[k][j] = 1.f; b[k][j] = 0.f; }
    if (c < d) {
      if (gain) {
        load8<T_F32>(gain, c, g[k]);
#pragma unroll
        for (int j = 0; j < 8; j++) g[k][j] += one;
      }
      if (shift) load8<T_F32>(shift, c, b[k]);
    }
  }
  Share share = row_share<NV>(d);
  int round = 0, stage = 0;
  for (int row = blockIdx.x; row < rows; row += gridDim.x, round ^= 1) {
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
    ring_read<IN, NV>(ring, stage, v);
    ring_fetch<IN, NV, STAGES>(ring, x, xs, row + (STAGES - 1) * gridDim.x, rows, d, stage == 0 ? STAGES - 1 : stage - 1);
    stage = stage == STAGES - 1 ? 0 : stage + 1;
    F2 moments = block_moments<NV>(v, share, d, scratch[OUT == T_E4M3 ? 0 : round]);
    float inv = rsqrt1(moments.y + eps), off = -moments.x * inv, top = 0.f, q = 1.f;
#pragma unroll
    for (int k = 0; k < NV; k++)
#pragma unroll
      for (int j = 0; j < 8; j++) {
        v[k][j] = (v[k][j] * inv + off) * g[k][j] + b[k][j];
        if (OUT == T_E4M3 && (k * blockDim.x + threadIdx.x) * 8 < d) top = fmax2(top, fabs1(v[k][j]));
      }
    if (OUT == T_E4M3) {
      top = fmax2(block_reduce<1>(top, scratch[1]), 1e-12f);
      q = 448.f * rcp1(top);
      if (threadIdx.x == 0) scale[row] = top * (1.f / 448.f);
    }
#pragma unroll
    for (int k = 0; k < NV; k++) {
      int c = (k * blockDim.x + threadIdx.x) * 8;
      if (c < d) {
        if (OUT == T_E4M3)
#pragma unroll
          for (int j = 0; j < 8; j++) v[k][j] *= q;
        store8<OUT>(y, (u64)row * ys + c, v[k]);
      }
    }
  }
}
// A row a group of W warps, in registers as it was read: for rows too short or too long to walk.
// An e4m3 output is rounded to bf16 on its way, in the registers of x.
template <int IN, int OUT, int W, int NV>
DEV void layernorm_row(const void *x, i64 xs, void *y, i64 ys, const float *gain, const float *shift, float one, float *scale, int rows, int d, float eps) {
  __shared__ float scratch[3][32];
  const int T = 32 * W;
  int t = threadIdx.x % T, group = threadIdx.x / T, row = blockIdx.x * (blockDim.x / T) + group;
  if (row >= rows) return;
  float v[8], sum = 0.f, sq = 0.f, inv_d = 1.f / (float)d;
  Raw8<IN> raw[NV];
#pragma unroll
  for (int k = 0; k < NV; k++) {
    int c = (k * T + t) * 8;
    if (c < d) raw[k] = fetch8_once<IN>(x, (u64)row * xs + c);
  }
#pragma unroll
  for (int k = 0; k < NV; k++)
    if ((k * T + t) * 8 < d) {
      unpack8<IN>(raw[k], v);
#pragma unroll
      for (int j = 0; j < 8; j++) sum += v[j];
    }
  float mean = group_reduce<W, 0>(sum, scratch[0] + group * W) * inv_d;
#pragma unroll
  for (int k = 0; k < NV; k++)
    if ((k * T + t) * 8 < d) {
      unpack8<IN>(raw[k], v);
#pragma unroll
      for (int j = 0; j < 8; j++) { float u = v[j] - mean; sq += u * u; }
    }
  float inv = rsqrt1(group_reduce<W, 0>(sq, scratch[1] + group * W) * inv_d + eps), top = 0.f;
  V4 packed[OUT == T_E4M3 ? NV : 1];
#pragma unroll
  for (int k = 0; k < NV; k++) {
    int c = (k * T + t) * 8;
    if (c < d) {
      float g[8];
      unpack8<IN>(raw[k], v);
      if (gain) load8<T_F32>(gain, c, g);
#pragma unroll
      for (int j = 0; j < 8; j++) v[j] = (v[j] - mean) * (gain ? inv * (one + g[j]) : inv);
      if (shift) {
        load8<T_F32>(shift, c, g);
#pragma unroll
        for (int j = 0; j < 8; j++) v[j] += g[j];
      }
      if constexpr (OUT == T_E4M3) {
#pragma unroll
        for (int j = 0; j < 8; j++) top = fmax2(top, fabs1(v[j]));
        packed[k] = pack8(v);
      } else store8<OUT>(y, (u64)row * ys + c, v);
    }
  }
  if constexpr (OUT == T_E4M3) {
    top = fmax2(group_reduce<W, 1>(top, scratch[2] + group * W), 1e-12f);
    float q = 448.f * rcp1(top);
    if (t == 0) scale[row] = top * (1.f / 448.f);
#pragma unroll
    for (int k = 0; k < NV; k++) {
      int c = (k * T + t) * 8;
      if (c < d) {
        Raw8<T_BF16> r;
        r.a = packed[k];
        unpack8<T_BF16>(r, v);
#pragma unroll
        for (int j = 0; j < 8; j++) v[j] *= q;
        store8<T_E4M3>(y, (u64)row * ys + c, v);
      }
    }
  }
}
#ifdef FLOW
template <int OUT, int W, int NV>
DEV void layernorm_flow(const u16 *x, i64 xs, void *y, i64 ys, const float *gain, const float *shift, float one, float *scale, int rows, int d, float eps) {
  extern __shared__ __attribute__((aligned(16))) u8 ring_raw[];
  __shared__ F2 sums[3][32];
  __shared__ float tops[2][32];
  const int T = 32 * W, PLANE = NV * T * 16;
  int t = threadIdx.x % T, group = threadIdx.x / T, groups = blockDim.x / T;
  int row = blockIdx.x + gridDim.x * group, step = gridDim.x * groups, round = 0;
  u32 factors = shared_u32(ring_raw), ring = factors + 4 * PLANE + (group * NV * T + t) * 16;
  float n = 1.f / (float)d;
  overlap();
  if (row < rows) flow_copy<W, NV>(ring, x + (u64)row * xs, t, d);
  flow_commit();
  for (int i = threadIdx.x; i < NV * T; i += blockDim.x) { // past the row's end both are 0
    float g[8], b[8];
#pragma unroll
    for (int j = 0; j < 8; j++) { g[j] = i * 8 < d ? 1.f - one : -one; b[j] = 0.f; }
    if (i * 8 < d) {
      if (gain) load8<T_F32>(gain, i * 8, g);
      if (shift) load8<T_F32>(shift, i * 8, b);
    }
#pragma unroll
    for (int j = 0; j < 8; j++) g[j] += one;
    planes_set<PLANE>(factors, i, g);
    planes_set<PLANE>(factors + 2 * PLANE, i, b);
  }
  sync_block();
  for (; row < rows; row += step, round ^= 1) {
    V4 raw[NV];
    float v[8], top = 0.f;
    flow_wait();
    flow_read<W, NV>(ring, raw);
    F2 s = flow_sums<W>(flow_total<NV>(raw), flow_squares<NV>(raw), sums[round] + group * W);
    if (row + step < rows) flow_copy<W, NV>(ring, x + (u64)(row + step) * xs, t, d);
    flow_commit();
    float mean = s.x * n, var = s.y * n - mean * mean;
    if (!(mean * mean <= 64.f * var)) { // too much is lost in the difference
      float q = 0.f;
#pragma unroll
      for (int k = 0; k < NV; k++) {
        unpack_v4(raw[k], v);
        if ((k * T + t) * 8 < d)
#pragma unroll
          for (int j = 0; j < 8; j++) { float u = v[j] - mean; q += u * u; }
      }
      var = flow_sums<W>(q, 0.f, sums[2] + group * W).x * n;
      flow_sync<W>(); // the next such row's sums come to the same place
    }
    float inv = rsqrt1(var + eps), off = -mean * inv;
#pragma unroll
    for (int k = 0; k < NV; k++) {
      float g[8], b[8];
      unpack_v4(raw[k], v);
      planes_get<PLANE>(factors, k * T + t, g);
      planes_get<PLANE>(factors + 2 * PLANE, k * T + t, b);
#pragma unroll
      for (int j = 0; j < 8; j++) {
        v[j] = (v[j] * inv + off) * g[j] + b[j];
        if (OUT == T_E4M3) top = fmax2(top, fabs1(v[j]));
      }
      if (OUT == T_E4M3) raw[k] = V4{pack_f16(v[0], v[1]), pack_f16(v[2], v[3]), pack_f16(v[4], v[5]), pack_f16(v[6], v[7])};
      else if ((k * T + t) * 8 < d) store8<OUT>(y, (u64)row * ys + (k * T + t) * 8, v);
    }
    if (OUT != T_E4M3) continue;
    top = fmax2(flow_top<W>(warp_top(top), tops[round] + group * W), 1e-12f);
    float f = 448.f * rcp1(top);
    if (t == 0) scale[row] = top * (1.f / 448.f);
    if (top >= 0.125f && top <= 32768.f) { // what f16 holds with 11 bits
      u32 ff = pack_f16(f, f);
#pragma unroll
      for (int k = 0; k < NV; k++) {
        V2 o = V2{scaled_e4m3(raw[k].x, raw[k].y, ff), scaled_e4m3(raw[k].z, raw[k].w, ff)};
        if ((k * T + t) * 8 < d) *(V2 *)((u8 *)y + (u64)row * ys + (k * T + t) * 8) = o;
      }
    } else
      for (int i = t; i * 8 < d; i += T) {
        float g[8], b[8];
        load8<T_BF16>(x, (u64)row * xs + i * 8, v);
        planes_get<PLANE>(factors, i, g);
        planes_get<PLANE>(factors + 2 * PLANE, i, b);
#pragma unroll
        for (int j = 0; j < 8; j++) v[j] = ((v[j] * inv + off) * g[j] + b[j]) * f;
        store8<OUT>(y, (u64)row * ys + i * 8, v);
      }
  }
}
#endif
#define LAYERNORM(name, WHAT, THREADS, BLOCKS)                                                                                        \
  extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) name(const void *x, i64 xs, void *y, i64 ys, const float *gain, const float *shift, \
                                                         float one, float *scale, int rows, int d, float eps) {                      \
    overlap();                                                                                                                       \
    WHAT(x, xs, y, ys, gain, shift, one, scale, rows, d, eps);                                                                       \
  }
#define COMMA ,
#define LAYERNORMS(T, TYPE, TO, OUT, STAGES)                                                                   \
  LAYERNORM(layernorm_##T##_##TO##_walk, layernorm_walk<TYPE COMMA OUT COMMA STAGES>, 320, 3)                  \
  LAYERNORM(layernorm_##T##_##TO##_1x4, layernorm_row<TYPE COMMA OUT COMMA 1 COMMA 4>, 128, 8)                 \
  LAYERNORM(layernorm_##T##_##TO##_8x8, layernorm_row<TYPE COMMA OUT COMMA 8 COMMA 8>, 256, 2)
LAYERNORMS(bf16, T_BF16, bf16, T_BF16, 4)
LAYERNORMS(bf16, T_BF16, e4m3, T_E4M3, 4)
LAYERNORMS(f32, T_F32, bf16, T_BF16, 3)
LAYERNORMS(f32, T_F32, e4m3, T_E4M3, 3)
#ifdef FLOW
extern "C" __global__ void __launch_bounds__(1024, 1) layernorm_bf16_bf16_flow(const u16 *x, i64 xs, void *y, i64 ys, const float *gain, const float *shift, float one, float *scale, int rows, int d, float eps) {
  layernorm_flow<T_BF16, 4, 5>(x, xs, y, ys, gain, shift, one, scale, rows, d, eps);
}
extern "C" __global__ void __launch_bounds__(960, 1) layernorm_bf16_e4m3_flow(const u16 *x, i64 xs, void *y, i64 ys, const float *gain, const float *shift, float one, float *scale, int rows, int d, float eps) {
  layernorm_flow<T_E4M3, 5, 4>(x, xs, y, ys, gain, shift, one, scale, rows, d, eps);
}
#endif
