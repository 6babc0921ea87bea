// LayerNorm over rows, y = (x - mean) / sqrt(var + eps) * g + b, with one gain and one shift
// for all rows: the affine form, or the modulated one where the gain is 1 + scale. With an
// e4m3 output each row gets its own scale (the largest magnitude becomes 448), so that the
// next product reads a byte an element. x is read once and y written once.
//
// Blocks stay and walk over rows: a thread has the same 16 columns of every row, so gain and
// shift stay in registers, while the rows to come are on their way to shared memory.
// Versions, 6240 x 5120 bf16 to bf16 and to e4m3 on an H200: 1 a block a row, 50 and 51 us; 2 blocks
// that walk, the next row in registers, 39 and 37 us; 3 this one, 37 and 41 us. A row a warp, with
// gain and shift in L1 or in shared memory, took 46 to 47 us.
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
#define LAYERNORM(name, WHAT, THREADS, BLOCKS)                                                                                        \
  extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) name(const void *x, i64 xs, void *y, i64 ys, const float *gain, const float *shift, \
                                                         float one, float *scale, int rows, int d, float eps) {                      \
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
