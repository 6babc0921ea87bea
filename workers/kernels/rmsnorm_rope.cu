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
// Blocks stay and walk over tokens, as in layernorm.cu.
template <int OUT, int NV>
DEV void rmsnorm_rope(const void *x, i64 xs, const float *weight, const F2 *table, const int *state, void *y, int ring, int tokens, int d,
                      int gh, int gw, int pf, int ph, float eps, float factor) {
  __shared__ float scratch[2][32];
  extern __shared__ __attribute__((aligned(16))) float factors[]; // the weight; a thread reads what it wrote
  float v[NV][8];
  Raw8<T_BF16> next[NV];
#pragma unroll
  for (int k = 0; k < NV; k++) {
    int c = (k * blockDim.x + threadIdx.x) * 8;
    if (c < d) {
#pragma unroll
      for (int j = 0; j < 8; j++) factors[c + j] = weight[c + j];
      next[k] = fetch8<T_BF16>(x, (u64)blockIdx.x * xs + c);
    }
  }
  // Where a token stands moves by the same step from one of the block's tokens to the next:
  // additions with carries, where divisions would cost more than the rest.
  float n = 1.f / (float)d;
  int first = state[2], end = state[3], round = 0, t0 = blockIdx.x, dt = gridDim.x;
  int frame = state[0] + t0 / (gh * gw), r = t0 / gw % gh, col = t0 % gw;
  int dframe = dt / (gh * gw), dr = dt / gw % gh, dcol = dt % gw;
  int slot = ring ? first + (state[1] - first + t0) % (end - first) : t0, dslot = ring ? dt % (end - first) : dt;
  for (int t = t0; t < tokens; t += dt, round ^= 1) {
    F2 cs[NV][4];
    float sq = 0.f;
#pragma unroll
    for (int k = 0; k < NV; k++) {
      int c = (k * blockDim.x + threadIdx.x) * 8;
      if (c < d) {
        unpack8<T_BF16>(next[k], v[k]);
#pragma unroll
        for (int j = 0; j < 8; j++) sq += v[k][j] * v[k][j];
        if (t + (int)gridDim.x < tokens) next[k] = fetch8<T_BF16>(x, (u64)(t + gridDim.x) * xs + c);
        // Four pairs are 32 bytes of the table's row of one axis, seldom of two.
        int pair = c % 128 / 2;
        const F4 *lo = (const F4 *)(table + (u64)(pair < pf ? frame : pair < pf + ph ? r : col) * 64 + pair);
        F4 a = lo[0], b = lo[1];
        cs[k][0] = F2{a.x, a.y}; cs[k][1] = F2{a.z, a.w}; cs[k][2] = F2{b.x, b.y}; cs[k][3] = F2{b.z, b.w};
        if ((pair < pf && pair + 3 >= pf) || (pair < pf + ph && pair + 3 >= pf + ph)) {
#pragma unroll
          for (int j = 1; j < 4; j++) cs[k][j] = table[(u64)(pair + j < pf ? frame : pair + j < pf + ph ? r : col) * 64 + pair + j];
        }
      }
    }
    float inv = rsqrt1(block_reduce<0>(sq, scratch[round]) * n + eps);
#pragma unroll
    for (int k = 0; k < NV; k++) {
      int c = (k * blockDim.x + threadIdx.x) * 8;
      if (c < d) {
        float w[8];
        load8<T_F32>(factors, c, w);
#pragma unroll
        for (int j = 0; j < 4; j++) {
          float a = v[k][2 * j] * inv * w[2 * j], b = v[k][2 * j + 1] * inv * w[2 * j + 1];
          v[k][2 * j] = (a * cs[k][j].x - b * cs[k][j].y) * factor;
          v[k][2 * j + 1] = (a * cs[k][j].y + b * cs[k][j].x) * factor;
        }
        store8<OUT>(y, (u64)slot * d + c, v[k]);
      }
    }
    col += dcol; r += dr; frame += dframe; slot += dslot;
    if (col >= gw) { col -= gw; r++; }
    if (r >= gh) { r -= gh; frame++; }
    if (ring && slot >= end) slot -= end - first;
  }
}
#define RMSNORM_ROPE(name, OUT, NV)                                                                                               \
  extern "C" __global__ void __launch_bounds__(320, NV == 2 ? 3 : 1) name(const void *x, i64 xs, const float *weight, const F2 *table,              \
      const int *state, void *y, int ring, int tokens, int d, int gh, int gw, int pf, int ph, float eps, float factor) {          \
    rmsnorm_rope<OUT, NV>(x, xs, weight, table, state, y, ring, tokens, d, gh, gw, pf, ph, eps, factor);                          \
  }
RMSNORM_ROPE(rmsnorm_rope_bf16_2, T_BF16, 2)
RMSNORM_ROPE(rmsnorm_rope_e4m3_2, T_E4M3, 2)
RMSNORM_ROPE(rmsnorm_rope_bf16_6, T_BF16, 6)
RMSNORM_ROPE(rmsnorm_rope_e4m3_6, T_E4M3, 6)

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
