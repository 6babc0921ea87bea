// RMSNorm over a whole row of heads, rotary position embedding in three axes, and the write to
// its place: queries by token, keys into the ring cache. Fused because each stage alone would
// move the row through memory again.
//
// x: [tokens][heads * 128] with row stride xs; weight: [heads * 128]; table: [positions][64] of
// (cos, sin); y: [slots][heads][128]. Token t stands at frame state[0] + t / (gh * gw), row
// t / gw % gh, column t % gw; the pairs of a head turn by frame (first pf), row (next ph) and
// column (the rest). Its slot is state[2] + (state[1] - state[2] + t) mod (state[3] - state[2]).
// state lies in device memory, so that a captured graph serves every position of the ring.
//
// Blocks stay and walk over tokens, as in layernorm.cu. A thread's columns are the same part of
// every head it touches, so four (cos, sin) a token serve all of them: blockDim is a multiple of 16.
struct Place { int frame, line, col; };
DEV void turns(F2 (&cs)[4], const F2 *table, const Place &at, int pair, int pf, int ph) {
#pragma unroll
  for (int j = 0; j < 4; j++) cs[j] = table[(u64)(pair + j < pf ? at.frame : pair + j < pf + ph ? at.line : at.col) * 64 + pair + j];
}
DEV void rotate(float (&v)[8], const float (&w)[8], const F2 (&cs)[4], float inv) {
#pragma unroll
  for (int j = 0; j < 4; j++) {
    float a = v[2 * j] * inv * w[2 * j], b = v[2 * j + 1] * inv * w[2 * j + 1];
    v[2 * j] = a * cs[j].x - b * cs[j].y;
    v[2 * j + 1] = a * cs[j].y + b * cs[j].x;
  }
}
template <int OUT, int STAGES>
DEV void rmsnorm_rope_walk(const void *x, i64 xs, const float *weight, const F2 *table, const int *state, void *y, int ring_on, int tokens, int d,
                           int gh, int gw, int pf, int ph, float eps, float factor) {
  extern __shared__ __attribute__((aligned(16))) u8 ring_raw[];
  __shared__ float scratch[2][32];
  const int NV = 2;
  float v[NV][8], w[NV][8];
  u32 ring = shared_u32(ring_raw);
#pragma unroll
  for (int s = 0; s < STAGES - 1; s++) ring_fetch<T_BF16, NV, STAGES>(ring, x, xs, blockIdx.x + s * gridDim.x, tokens, d, s);
#pragma unroll
  for (int k = 0; k < NV; k++) {
    int c = (k * blockDim.x + threadIdx.x) * 8;
    if (c < d) load8<T_F32>(weight, c, w[k]);
  }
  // Where a token stands moves by the same step from one of the block's tokens to the next:
  // additions with carries, where divisions would cost more than the rest.
  float n = 1.f / (float)d;
  int first = state[2], end = state[3], round = 0, stage = 0, t0 = blockIdx.x, dt = gridDim.x, pair = threadIdx.x * 4 % 64;
  Place at = {state[0] + t0 / (gh * gw), t0 / gw % gh, t0 % gw}, step = {dt / (gh * gw), dt / gw % gh, dt % gw};
  int slot = ring_on ? first + (state[1] - first + t0) % (end - first) : t0, dslot = ring_on ? dt % (end - first) : dt;
  for (int t = t0; t < tokens; t += dt, round ^= 1) {
    F2 cs[4];
    turns(cs, table, at, pair, pf, ph);
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
    ring_read<T_BF16, NV>(ring, stage, v);
    ring_fetch<T_BF16, NV, STAGES>(ring, x, xs, t + (STAGES - 1) * dt, tokens, d, stage == 0 ? STAGES - 1 : stage - 1);
    stage = stage == STAGES - 1 ? 0 : stage + 1;
    float sq = 0.f;
#pragma unroll
    for (int k = 0; k < NV; k++)
      if ((k * blockDim.x + threadIdx.x) * 8 < d)
#pragma unroll
        for (int j = 0; j < 8; j++) sq += v[k][j] * v[k][j];
    float inv = rsqrt1(block_reduce<0>(sq, scratch[round]) * n + eps) * factor;
#pragma unroll
    for (int k = 0; k < NV; k++) {
      int c = (k * blockDim.x + threadIdx.x) * 8;
      if (c < d) {
        rotate(v[k], w[k], cs, inv);
        store8<OUT>(y, (u64)slot * d + c, v[k]);
      }
    }
    at.col += step.col; at.line += step.line; at.frame += step.frame; slot += dslot;
    if (at.col >= gw) { at.col -= gw; at.line++; }
    if (at.line >= gh) { at.line -= gh; at.frame++; }
    if (ring_on && slot >= end) slot -= end - first;
  }
}
// A token a group of W warps, its row in registers as it was read.
template <int OUT, int W, int NV>
DEV void rmsnorm_rope_row(const void *x, i64 xs, const float *weight, const F2 *table, const int *state, void *y, int ring, int tokens, int d,
                          int gh, int gw, int pf, int ph, float eps, float factor) {
  __shared__ float scratch[32];
  const int T = 32 * W;
  int i = threadIdx.x % T, group = threadIdx.x / T, t = blockIdx.x * (blockDim.x / T) + group;
  if (t >= tokens) return;
  Raw8<T_BF16> raw[NV];
#pragma unroll
  for (int k = 0; k < NV; k++) {
    int c = (k * T + i) * 8;
    if (c < d) raw[k] = fetch8_once<T_BF16>(x, (u64)t * xs + c);
  }
  int first = state[2], end = state[3], slot = ring ? first + (state[1] - first + t) % (end - first) : t;
  F2 cs[4];
  turns(cs, table, Place{state[0] + t / (gh * gw), t / gw % gh, t % gw}, i * 4 % 64, pf, ph);
  float v[8], sq = 0.f;
#pragma unroll
  for (int k = 0; k < NV; k++)
    if ((k * T + i) * 8 < d) {
      unpack8<T_BF16>(raw[k], v);
#pragma unroll
      for (int j = 0; j < 8; j++) sq += v[j] * v[j];
    }
  float inv = rsqrt1(group_reduce<W, 0>(sq, scratch + group * W) / (float)d + eps) * factor;
#pragma unroll
  for (int k = 0; k < NV; k++) {
    int c = (k * T + i) * 8;
    if (c < d) {
      float w[8];
      unpack8<T_BF16>(raw[k], v);
      load8<T_F32>(weight, c, w);
      rotate(v, w, cs, inv);
      store8<OUT>(y, (u64)slot * d + c, v);
    }
  }
}
#define RMSNORM_ROPE(name, WHAT, THREADS, BLOCKS)                                                                                 \
  extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) name(const void *x, i64 xs, const float *weight, const F2 *table, \
      const int *state, void *y, int ring, int tokens, int d, int gh, int gw, int pf, int ph, float eps, float factor) {          \
    WHAT(x, xs, weight, table, state, y, ring, tokens, d, gh, gw, pf, ph, eps, factor);                                           \
  }
#define COMMA ,
#define RMSNORM_ROPES(T, OUT)                                                           \
  RMSNORM_ROPE(rmsnorm_rope_##T##_walk, rmsnorm_rope_walk<OUT COMMA 4>, 320, 3)          \
  RMSNORM_ROPE(rmsnorm_rope_##T##_1x4, rmsnorm_rope_row<OUT COMMA 1 COMMA 4>, 128, 8)   \
  RMSNORM_ROPE(rmsnorm_rope_##T##_8x8, rmsnorm_rope_row<OUT COMMA 8 COMMA 8>, 256, 3)
RMSNORM_ROPES(bf16, T_BF16)
RMSNORM_ROPES(e4m3, T_E4M3)

// The values' way into the cache. bf16: rows as they are, [slots][heads * 128].
extern "C" __global__ void __launch_bounds__(1024) store_values_bf16(const void *x, i64 xs, const int *state, void *y, int d, float factor) {
  int t = blockIdx.x;
  u64 slot = (u64)(state[2] + (state[1] - state[2] + t) % (state[3] - state[2]));
  for (int c = threadIdx.x * 8; c < d; c += blockDim.x * 8) {
    float v[8];
    load8<T_BF16>(x, (u64)t * xs + c, v);
#pragma unroll
    for (int j = 0; j < 8; j++) v[j] *= factor;
    store8<T_BF16>(y, slot * d + c, v);
  }
}
// e4m3: transposed, [heads * 128][capacity], the keys of each group of 16 in the order in which
// the attention kernel's probabilities lie in registers. A block turns 128 tokens by 64 columns
// in shared memory, so that both sides are read and written in whole sectors; words are
// swizzled by the group of tokens against bank conflicts. The ring's ends and the first slot
// are multiples of 16.
extern "C" __global__ void __launch_bounds__(256) store_values_e4m3(const u16 *x, i64 xs, const int *state, u8 *y, int d, int capacity, int tokens, float factor) {
  __shared__ __attribute__((aligned(16))) u32 tile[128 * 32];
  int t0 = blockIdx.x * 128, c0 = blockIdx.y * 64;
#pragma unroll
  for (int k = 0; k < 4; k++) {
    int i = k * 256 + threadIdx.x, r = i / 8, word = i % 8 * 4;
    V4 v = V4{0, 0, 0, 0};
    if (t0 + r < tokens) v = *(const V4 *)(x + (u64)(t0 + r) * xs + c0 + word * 2);
    *(V4 *)&tile[r * 32 + (word ^ (r / 16 * 4))] = v;
  }
  sync_block();
#pragma unroll
  for (int k = 0; k < 2; k++) {
    int i = k * 256 + threadIdx.x, g = i % 8, c = i / 8, t = t0 + g * 16;
    if (t >= tokens) continue;
    u64 slot = (u64)(state[2] + (state[1] - state[2] + t) % (state[3] - state[2]));
    float v[16];
#pragma unroll
    for (int r = 0; r < 16; r++) {
      int pos = r < 8 ? (r / 2) * 4 + r % 2 : ((r - 8) / 2) * 4 + 2 + r % 2;
      u32 w = tile[(g * 16 + r) * 32 + ((c / 2) ^ (g * 4))];
      v[pos] = (c % 2 ? bf16_hi(w) : bf16_lo(w)) * factor;
    }
    *(V4 *)(y + (u64)(c0 + c) * capacity + slot) = V4{pack_e4m3(v[0], v[1], v[2], v[3]), pack_e4m3(v[4], v[5], v[6], v[7]),
                                                      pack_e4m3(v[8], v[9], v[10], v[11]), pack_e4m3(v[12], v[13], v[14], v[15])};
  }
}
