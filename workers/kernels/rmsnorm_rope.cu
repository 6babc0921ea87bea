// RMSNorm over a whole row of heads, rotary position embedding in three axes, and the write to
// its place: queries by token, keys into the ring cache. Fused because each stage alone would
// move the row through memory again.
//
// x: [tokens][heads * 128] with row stride xs; weight: [heads * 128]; table: [positions][64] of
// (cos, sin); y: [slots][heads][128]. Token t stands at frame state[0] + t / (gh * gw), row
// t / gw % gh, column t % gw; the pairs of a head turn by frame (first pf), row (next ph) and
// column (the rest). Its slot is state[2] + (state[1] - state[2] + t) mod (state[3] - state[2]).
// state lies in device memory, so that a captured graph serves every position of the ring.
template <int OUT, int NV>
DEV void rmsnorm_rope(const void *x, i64 xs, const float *weight, const F2 *table, const int *state, void *y, int ring, int d,
                      int gh, int gw, int pf, int ph, float eps, float factor) {
  __shared__ float scratch[32];
  int t = blockIdx.x;
  float v[NV][8], sq = 0.f;
#pragma unroll
  for (int k = 0; k < NV; k++) {
    int c = (k * blockDim.x + threadIdx.x) * 8;
    if (c < d) {
      load8<T_BF16>(x, (u64)t * xs + c, v[k]);
#pragma unroll
      for (int j = 0; j < 8; j++) sq += v[k][j] * v[k][j];
    }
  }
  float inv = rsqrt1(block_reduce<0>(sq, scratch) / (float)d + eps);
  int frame = state[0] + t / (gh * gw), r = t / gw % gh, col = t % gw;
  u64 slot = ring ? (u64)(state[2] + (state[1] - state[2] + t) % (state[3] - state[2])) : (u64)t;
#pragma unroll
  for (int k = 0; k < NV; k++) {
    int c = (k * blockDim.x + threadIdx.x) * 8;
    if (c < d) {
      float w[8];
      load8<T_F32>(weight, c, w);
#pragma unroll
      for (int j = 0; j < 8; j += 2) {
        int pair = (c % 128 + j) / 2;
        int pos = pair < pf ? frame : pair < pf + ph ? r : col;
        F2 cs = table[(u64)pos * 64 + pair];
        float a = v[k][j] * inv * w[j], b = v[k][j + 1] * inv * w[j + 1];
        v[k][j] = (a * cs.x - b * cs.y) * factor;
        v[k][j + 1] = (a * cs.y + b * cs.x) * factor;
      }
      store8<OUT>(y, slot * d + c, v[k]);
    }
  }
}
#define RMSNORM_ROPE(name, OUT)                                                                                                   \
  extern "C" __global__ void __launch_bounds__(512) name(const void *x, i64 xs, const float *weight, const F2 *table,             \
      const int *state, void *y, int ring, int d, int gh, int gw, int pf, int ph, float eps, float factor) {                      \
    rmsnorm_rope<OUT, 5>(x, xs, weight, table, state, y, ring, d, gh, gw, pf, ph, eps, factor);                                   \
  }
RMSNORM_ROPE(rmsnorm_rope_bf16, T_BF16)
RMSNORM_ROPE(rmsnorm_rope_e4m3, T_E4M3)

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
// the attention kernel's probabilities lie in registers. Blocks of 64 tokens by 128 columns; the
// ring's ends and the first slot are multiples of 16.
extern "C" __global__ void __launch_bounds__(128) store_values_e4m3(const u16 *x, i64 xs, const int *state, u8 *y, int d, int capacity, int tokens, float factor) {
  int c = blockIdx.y * 128 + threadIdx.x;
#pragma unroll
  for (int g = 0; g < 4; g++) {
    int t0 = blockIdx.x * 64 + g * 16;
    if (t0 >= tokens) return;
    u64 slot = (u64)(state[2] + (state[1] - state[2] + t0) % (state[3] - state[2]));
    float v[16];
#pragma unroll
    for (int r = 0; r < 16; r++) {
      int pos = r < 8 ? (r / 2) * 4 + r % 2 : ((r - 8) / 2) * 4 + 2 + r % 2;
      v[pos] = t0 + r < tokens ? bf16_f32(x[(u64)(t0 + r) * xs + c]) * factor : 0.f;
    }
    *(V4 *)(y + (u64)c * capacity + slot) = V4{pack_e4m3(v[0], v[1], v[2], v[3]), pack_e4m3(v[4], v[5], v[6], v[7]),
                                               pack_e4m3(v[8], v[9], v[10], v[11]), pack_e4m3(v[12], v[13], v[14], v[15])};
  }
}
