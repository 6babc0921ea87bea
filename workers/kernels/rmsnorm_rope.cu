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
// Rows of about 5120 elements flow through groups of 5 warps (flow.cuh), with the token's (cos, sin).
// Otherwise blocks stay and walk over tokens, as in layernorm.cu. Versions, 6240 x 5120 to bf16 and to e4m3 on an
// H200: 1 the walk, 37.6 and 32.8 us; 2 groups, 37.7 and 28.7; 3 begun while the kernel before ends,
// 35.6 and 26.6. A (cos, sin) fetched by every thread that needs it, from memory, cost 0.8 us. A thread's columns are the same part of
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
#ifdef FLOW
template <int OUT, int W, int NV>
DEV void rmsnorm_rope_flow(const u16 *x, i64 xs, const float *weight, const F2 *table, const int *state, void *y, int ring_on, int tokens, int d,
                           int gh, int gw, int pf, int ph, float eps, float factor) {
  extern __shared__ __attribute__((aligned(16))) u8 ring_raw[];
  __shared__ F2 sums[2][32];
  const int T = 32 * W, PLANE = NV * T * 16, TURNS = 64 * 8, PLACE = PLANE + 2 * TURNS;
  int i = threadIdx.x % T, group = threadIdx.x / T, groups = blockDim.x / T;
  int t = blockIdx.x + gridDim.x * group, dt = gridDim.x * groups, round = 0;
  // Where a token stands moves by the same step from one of the group's tokens to the next.
  Place at = {t / (gh * gw), t / gw % gh, t % gw}, step = {dt / (gh * gw), dt / gw % gh, dt % gw};
  u32 factors = shared_u32(ring_raw), place = factors + 2 * PLANE + group * PLACE, ring = place + i * 16, turn = place + PLANE;
  // The first 64 threads of a group copy one (cos, sin) each of the next token, for all to read behind a barrier.
  auto turns_copy = [&](int half) {
    if (i < 64) {
      int row = i < pf ? at.frame : i < pf + ph ? at.line : at.col;
      asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(turn + half * TURNS + i * 8), "l"(table + (u64)row * 64 + i) : "memory");
    }
    at.col += step.col; at.line += step.line; at.frame += step.frame;
    if (at.col >= gw) { at.col -= gw; at.line++; }
    if (at.line >= gh) { at.line -= gh; at.frame++; }
  };
  overlap();
  if (t < tokens) flow_copy<W, NV>(ring, x + (u64)t * xs, i, d);
  int first = state[2], end = state[3], from = state[1];
  at.frame += state[0];
  if (t < tokens) turns_copy(0);
  flow_commit();
  for (int k = threadIdx.x; k < NV * T && k * 8 < d; k += blockDim.x) {
    float w[8];
    load8<T_F32>(weight, k * 8, w);
    planes_set<PLANE>(factors, k, w);
  }
  float n = 1.f / (float)d;
  int slot = ring_on ? first + (from - first + t) % (end - first) : t, dslot = ring_on ? dt % (end - first) : dt;
  sync_block();
  for (; t < tokens; t += dt, round ^= 1) {
    V4 raw[NV];
    float v[8], sq;
    flow_wait();
    flow_read<W, NV>(ring, raw);
    sq = flow_sums<W>(flow_squares<NV>(raw), 0.f, sums[round] + group * W).x;
    V4 c0 = shared_v4(turn + round * TURNS + i % 16 * 32), c1 = shared_v4(turn + round * TURNS + i % 16 * 32 + 16);
    if (t + dt < tokens) {
      flow_copy<W, NV>(ring, x + (u64)(t + dt) * xs, i, d);
      turns_copy(round ^ 1);
    }
    flow_commit();
    float inv = rsqrt1(sq * n + eps) * factor;
    F2 cs[4] = {{bits_f32(c0.x) * inv, bits_f32(c0.y) * inv}, {bits_f32(c0.z) * inv, bits_f32(c0.w) * inv},
                {bits_f32(c1.x) * inv, bits_f32(c1.y) * inv}, {bits_f32(c1.z) * inv, bits_f32(c1.w) * inv}};
#pragma unroll
    for (int k = 0; k < NV; k++) {
      float w[8];
      unpack_v4(raw[k], v);
      planes_get<PLANE>(factors, k * T + i, w);
      rotate(v, w, cs, 1.f);
      if ((k * T + i) * 8 < d) store8<OUT>(y, (u64)slot * d + (k * T + i) * 8, v);
    }
    slot += dslot;
    if (ring_on && slot >= end) slot -= end - first;
  }
}
#endif
#define RMSNORM_ROPE(name, WHAT, THREADS, BLOCKS)                                                                                 \
  extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) name(const void *x, i64 xs, const float *weight, const F2 *table, \
      const int *state, void *y, int ring, int tokens, int d, int gh, int gw, int pf, int ph, float eps, float factor) {          \
    overlap();                                                                                                                    \
    WHAT(x, xs, weight, table, state, y, ring, tokens, d, gh, gw, pf, ph, eps, factor);                                           \
  }
#define COMMA ,
#define RMSNORM_ROPES(T, OUT)                                                           \
  RMSNORM_ROPE(rmsnorm_rope_##T##_walk, rmsnorm_rope_walk<OUT COMMA 4>, 320, 3)          \
  RMSNORM_ROPE(rmsnorm_rope_##T##_1x4, rmsnorm_rope_row<OUT COMMA 1 COMMA 4>, 128, 8)   \
  RMSNORM_ROPE(rmsnorm_rope_##T##_8x8, rmsnorm_rope_row<OUT COMMA 8 COMMA 8>, 256, 3)
RMSNORM_ROPES(bf16, T_BF16)
RMSNORM_ROPES(e4m3, T_E4M3)
#ifdef FLOW
#define RMSNORM_ROPE_FLOW(T, OUT, W, NV, THREADS)                                                                                        \
  extern "C" __global__ void __launch_bounds__(THREADS, 1) rmsnorm_rope_##T##_flow(const u16 *x, i64 xs, const float *weight, const F2 *table, \
      const int *state, void *y, int ring, int tokens, int d, int gh, int gw, int pf, int ph, float eps, float factor) {                \
    rmsnorm_rope_flow<OUT, W, NV>(x, xs, weight, table, state, y, ring, tokens, d, gh, gw, pf, ph, eps, factor);                         \
  }
RMSNORM_ROPE_FLOW(bf16, T_BF16, 5, 4, 960)
RMSNORM_ROPE_FLOW(e4m3, T_E4M3, 5, 4, 960)
#endif

// The values' way into the cache. bf16: rows as they are, [slots][heads * 128].
extern "C" __global__ void __launch_bounds__(1024) store_values_bf16(const void *x, i64 xs, const int *state, void *y, int d, float factor) {
  overlap();
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
// the attention kernel's probabilities lie in registers. A block turns 256 tokens by 64 columns in
// shared memory, so that both sides are read and written in whole sectors but for the ends of a
// tile's rows; words are swizzled by the group of tokens against bank conflicts. A thread makes
// two columns of a group at once: each word that it reads holds both. The ring's ends and the
// first slot are multiples of 16.
// Versions, 6240 x 5120 on an H200: 1 tiles of 128 tokens, a column a thread, 30.7 us; 2 this one, 29.4
// us, 27.7 begun while the kernel before ends. Longer tiles, and blocks that walk over tiles, were slower.
extern "C" __global__ void __launch_bounds__(512, 4) store_values_e4m3(const u16 *x, i64 xs, const int *state, u8 *y, int d, int capacity, int tokens, float factor) {
  __shared__ __attribute__((aligned(16))) u32 tile[256 * 32];
  int t0 = blockIdx.x * 256, c0 = blockIdx.y * 64;
  overlap();
  V4 v[4];
#pragma unroll
  for (int k = 0; k < 4; k++) {
    int i = k * 512 + threadIdx.x, r = i / 8, word = i % 8 * 4;
    v[k] = V4{0, 0, 0, 0};
    if (t0 + r < tokens) v[k] = *(const V4 *)(x + (u64)(t0 + r) * xs + c0 + word * 2);
  }
  int g = threadIdx.x % 16, pair = threadIdx.x / 16, t = t0 + g * 16;
  u64 slot = (u64)(state[2] + (state[1] - state[2] + t) % (state[3] - state[2]));
#pragma unroll
  for (int k = 0; k < 4; k++) {
    int i = k * 512 + threadIdx.x, r = i / 8, word = i % 8 * 4;
    *(V4 *)&tile[r * 32 + (word ^ (r / 16 % 8 * 4))] = v[k];
  }
  sync_block();
  if (t >= tokens) return;
  float a[16], b[16];
#pragma unroll
  for (int r = 0; r < 16; r++) {
    int pos = r < 8 ? (r / 2) * 4 + r % 2 : ((r - 8) / 2) * 4 + 2 + r % 2;
    u32 w = tile[(g * 16 + r) * 32 + (pair ^ (g % 8 * 4))];
    a[pos] = bf16_lo(w) * factor;
    b[pos] = bf16_hi(w) * factor;
  }
  u8 *at = y + (u64)(c0 + 2 * pair) * capacity + slot;
  *(V4 *)at = V4{pack_e4m3(a[0], a[1], a[2], a[3]), pack_e4m3(a[4], a[5], a[6], a[7]), pack_e4m3(a[8], a[9], a[10], a[11]), pack_e4m3(a[12], a[13], a[14], a[15])};
  *(V4 *)(at + capacity) = V4{pack_e4m3(b[0], b[1], b[2], b[3]), pack_e4m3(b[4], b[5], b[6], b[7]), pack_e4m3(b[8], b[9], b[10], b[11]), pack_e4m3(b[12], b[13], b[14], b[15])};
}
