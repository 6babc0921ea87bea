// O = softmax(scale * Q K^T) V, heads of 128, flash style: no score leaves the chip.
//
// A block takes 128 queries of one head (two consumer warpgroups of 64 and a producer warp) and
// walks over the keys in steps of KB. Two blocks of a cluster have neighbouring queries of one
// head, and each fetches half of the keys and values for both. The product Q K^T of a step runs
// beside P V of the step before, and that beside the step's softmax; accumulators are rescaled only
// where a maximum rose by much.
// bf16: K and V [keys][heads][128]. e4m3: V transposed, [heads * 128][keys], the keys of each
// group of 16 in the order in which probabilities lie in registers, so that they pass from
// accumulators to operands without a shuffle; the scales of Q and K are part of scale, that
// of V is vscale.
DEV u32 smem_u32(const void *p) {
  u32 a; asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(a) : "l"(p)); return a;
}
// A copy that lands at the same place in both blocks of a cluster.
DEV void tma3d_both(u32 dst, const TMap *m, u32 bar, int c0, int c1, int c2) {
  asm volatile("{ .reg .b16 mask; mov.b16 mask, 3; cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4, %5}], [%2], mask; }"
               ::"r"(dst), "l"(m), "r"(bar), "r"(c0), "r"(c1), "r"(c2) : "memory");
}
template <int R>
DEV void mask_tail(float (&s)[R], int valid, int l) {
#pragma unroll
  for (int i = 0; i < R / 4; i++) {
    int col = i * 8 + (l % 4) * 2;
    if (col >= valid) { s[i * 4] = -1e30f; s[i * 4 + 2] = -1e30f; }
    if (col + 1 >= valid) { s[i * 4 + 1] = -1e30f; s[i * 4 + 3] = -1e30f; }
  }
}
// Maximum, kept until a score exceeds it by more than rise (base 2), and sum of two rows; s becomes the unnormalised probabilities, a0 and a1 the rescaling of what came
// before, most often 1. off keeps e4m3 probabilities in the normal range.
template <int R>
DEV void softmax_step(float (&s)[R], float &m0, float &m1, float &l0, float &l1, float &a0, float &a1, float sl, float off, float rise) {
  float n0 = m0, n1 = m1;
#pragma unroll
  for (int i = 0; i < R / 4; i++) {
    n0 = fmax2(n0, fmax2(s[i * 4], s[i * 4 + 1]));
    n1 = fmax2(n1, fmax2(s[i * 4 + 2], s[i * 4 + 3]));
  }
  n0 = fmax2(n0, shfl_xor(n0, 1)); n0 = fmax2(n0, shfl_xor(n0, 2));
  n1 = fmax2(n1, shfl_xor(n1, 1)); n1 = fmax2(n1, shfl_xor(n1, 2));
  n0 = (n0 - m0) * sl > rise ? n0 : m0; n1 = (n1 - m1) * sl > rise ? n1 : m1;
  a0 = ex2((m0 - n0) * sl); a1 = ex2((m1 - n1) * sl);
  m0 = n0; m1 = n1;
  float b0 = off - n0 * sl, b1 = off - n1 * sl, t0 = 0.f, t1 = 0.f;
#pragma unroll
  for (int i = 0; i < R / 4; i++) {
    s[i * 4] = ex2(s[i * 4] * sl + b0); s[i * 4 + 1] = ex2(s[i * 4 + 1] * sl + b0);
    s[i * 4 + 2] = ex2(s[i * 4 + 2] * sl + b1); s[i * 4 + 3] = ex2(s[i * 4 + 3] * sl + b1);
    t0 += s[i * 4] + s[i * 4 + 1];
    t1 += s[i * 4 + 2] + s[i * 4 + 3];
  }
  l0 = l0 * a0 + t0; l1 = l1 * a1 + t1;
}
DEV float lg2(float x) { float y; asm("lg2.approx.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
DEV u32 any_sync(bool p) {
  u32 r; asm volatile("{ .reg .pred q, r; setp.ne.u32 q, %1, 0; vote.sync.any.pred r, q, 0xffffffff; selp.u32 %0, 1, 0, r; }" : "=r"(r) : "r"((u32)p)); return r;
}

// s = Q K^T of a tile: 64 queries by KB keys. With e4m3, Q is in registers.
template <int FP8, int KB>
DEV void scores(float (&s)[KB / 2], const u32 (&q)[16], u32 qb, u32 kb) {
  u64 dk = desc128(kb), dq = desc128(qb);
  if constexpr (FP8) {
#pragma unroll
    for (int k = 0; k < 4; k++) wgmma_rs_e4m3(s, q[k * 4], q[k * 4 + 1], q[k * 4 + 2], q[k * 4 + 3], dk + k * 2, k != 0);
  } else {
#pragma unroll
    for (int k = 0; k < 8; k++) wgmma_bf16(s, dq + (k / 4) * 1024 + (k % 4) * 2, dk + (k / 4) * KB * 8 + (k % 4) * 2, k != 0);
  }
  WG_COMMIT();
}
// o += P V of a tile. e4m3: V's tile is [128][128 keys] and, behind it, [128][64 keys] where KB is 192.
template <int FP8, int KB, int P>
DEV void values(float (&o)[64], u32 (&p)[P], u32 vb) {
  u64 d = FP8 ? desc128(vb) : desc_mn128(vb, KB * 128), d2 = desc64(vb + 16384);
#pragma unroll
  for (int k = 0; k < P / 4; k++) {
    if (FP8) wgmma_rs_e4m3(o, p[k * 4], p[k * 4 + 1], p[k * 4 + 2], p[k * 4 + 3], k < 4 ? d + k * 2 : d2 + (k - 4) * 2, 1);
    else wgmma_rs_bf16(o, p[k * 4], p[k * 4 + 1], p[k * 4 + 2], p[k * 4 + 3], d + k * 128, 1);
  }
  WG_COMMIT();
}
// Probabilities from accumulators to operands.
template <int FP8, int P, int R>
DEV void pack(u32 (&p)[P], const float (&s)[R]) {
#pragma unroll
  for (int k = 0; k < P / 4; k++) {
    if (FP8) {
      p[k * 4] = pack_e4m3(s[k * 16], s[k * 16 + 1], s[k * 16 + 4], s[k * 16 + 5]);
      p[k * 4 + 1] = pack_e4m3(s[k * 16 + 2], s[k * 16 + 3], s[k * 16 + 6], s[k * 16 + 7]);
      p[k * 4 + 2] = pack_e4m3(s[k * 16 + 8], s[k * 16 + 9], s[k * 16 + 12], s[k * 16 + 13]);
      p[k * 4 + 3] = pack_e4m3(s[k * 16 + 10], s[k * 16 + 11], s[k * 16 + 14], s[k * 16 + 15]);
    } else {
#pragma unroll
      for (int i = 0; i < 4; i++) p[k * 4 + i] = pack_bf16(s[k * 8 + i * 2], s[k * 8 + i * 2 + 1]);
    }
  }
}

// The first or second half of a tile of keys or values, for this block or for both.
template <int FP8, int KB>
DEV void fetch_keys(u32 dst, const TMap *tk, u32 bar, int half, int both, int h, int k0) {
  const int HB = KB / 2 * 128; // bytes of half a tile's rows
#pragma unroll
  for (int i = 0; i < (FP8 ? 1 : 2); i++) { // bf16: 64 elements at a time
    u32 at = dst + i * KB * 128 + half * HB;
    if (both) tma3d_both(at, tk, bar, i * 64, h, k0 + half * (KB / 2));
    else tma3d(at, tk, bar, i * 64, h, k0 + half * (KB / 2));
  }
}
template <int FP8, int KB>
DEV void fetch_values(u32 dst, const TMap *tv, const TMap *tv2, u32 bar, int half, int both, int h, int k0) {
  if (!FP8) { fetch_keys<0, KB>(dst, tv, bar, half, both, h, k0); return; }
  if (both) {
    tma3d_both(dst + half * 64 * 128, tv, bar, k0, half * 64, h);
    if (KB > 128) tma3d_both(dst + 16384 + half * 64 * 64, tv2, bar, k0 + 128, half * 64, h);
  } else {
    tma3d(dst + half * 64 * 128, tv, bar, k0, half * 64, h);
    if (KB > 128) tma3d(dst + 16384 + half * 64 * 64, tv2, bar, k0 + 128, half * 64, h);
  }
}
// A stage is free for whoever fills it: both blocks, or this one alone.
DEV void release_stage(u32 bar, u32 other, int both) {
  if (both) release(bar, other);
  else asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], 2;" ::"r"(bar) : "memory");
}

// What a block does. Clusters take pairs of query tiles of one head, then the odd tiles of two heads each.
struct Item { int head, q0, both; bool idle; }; // idle: an odd number of odd tiles
DEV Item item_of(int cluster, int rank, int Sq, int heads) {
  int tiles = (Sq + 127) / 128, pairs = tiles / 2, both = cluster < heads * pairs;
  int h = both ? cluster / pairs : (cluster - heads * pairs) * 2 + rank;
  return Item{h, both ? (cluster % pairs * 2 + rank) * 128 : (tiles - 1) * 128, both, h >= heads};
}
// Clusters from the full-th on, too few to fill the GPU, are done by split of them each, which
// share the keys; what they make is put in parts, f32, with the logarithms (base 2) of the sums.
struct Split { int full, split; float *parts; };

template <int FP8, int KB, int NST>
DEV void attention(const TMap *tq, const TMap *tk, const TMap *tv, const TMap *tv2, u16 *O, i64 ldo, int Sq, int Skv, int heads, float sl, float vscale, const Split &split) {
  extern __shared__ __attribute__((aligned(1024))) u8 smem_raw[];
  const u32 QB = FP8 ? 16384 : 32768, TB = KB * 128 * (FP8 ? 1 : 2); // bytes of Q's tile, of one of K or V
  u32 sq = (smem_u32(smem_raw) + 1023) & ~1023u, sk = sq + QB, sv = sk + NST * TB, bars = sv + NST * TB;
  u32 fK = bars + 8, eK = fK + NST * 8, fV = eK + NST * 8, eV = fV + NST * 8; // full and empty, of K and V
  u32 rank = cluster_rank(), other = rank ^ 1;
  int cluster = blockIdx.x / 2, nb = (Skv + KB - 1) / KB, k0 = 0, slot = -1;
  if (cluster >= split.full) {
    int i = cluster - split.full, part = i % split.split, from = nb * part / split.split;
    nb = nb * (part + 1) / split.split - from;
    k0 = from * KB; Skv -= k0; slot = i * 2 + rank;
    cluster = split.full + i / split.split;
  }
  Item item = item_of(cluster, rank, Sq, heads);
  int h = item.head, q0 = item.q0, both = item.both;
  bool idle = item.idle;
  if (threadIdx.x == 0) {
    mbar_init(bars, 1);
    for (int s = 0; s < NST; s++) { mbar_init(fK + s * 8, 1); mbar_init(eK + s * 8, 4); mbar_init(fV + s * 8, 1); mbar_init(eV + s * 8, 4); }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  cluster_sync();
  int wg = threadIdx.x / 128;
  if (wg == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    if (threadIdx.x == 0 && !idle) {
      mbar_expect(bars, QB);
      tma3d(sq, tq, bars, 0, h, q0);
      if (!FP8) tma3d(sq + 16384, tq, bars, 64, h, q0);
      for (int j = 0; j <= nb; j++) {
        if (j < nb) {
          u32 s = j % NST, ph = (j / NST) & 1, d = sk + s * TB;
          mbar_wait(eK + s * 8, ph ^ 1);
          mbar_expect(fK + s * 8, TB);
          fetch_keys<FP8, KB>(d, tk, fK + s * 8, rank, both, h, k0 + j * KB);
          if (!both) fetch_keys<FP8, KB>(d, tk, fK + s * 8, other, 0, h, k0 + j * KB);
        }
        if (j > 0) {
          int i = j - 1;
          u32 s = i % NST, ph = (i / NST) & 1, d = sv + s * TB;
          mbar_wait(eV + s * 8, ph ^ 1);
          mbar_expect(fV + s * 8, TB);
          fetch_values<FP8, KB>(d, tv, tv2, fV + s * 8, rank, both, h, k0 + i * KB);
          if (!both) fetch_values<FP8, KB>(d, tv, tv2, fV + s * 8, other, 0, h, k0 + i * KB);
        }
      }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    if (!idle) {
      int c = wg - 1, w = (threadIdx.x % 128) / 32, l = threadIdx.x % 32;
      bool lead = threadIdx.x % 128 == 0;
      float o[64], s[KB / 2];
      u32 p[FP8 ? KB / 8 : KB / 4];
      float m0 = -1e30f, m1 = -1e30f, l0 = 0.f, l1 = 0.f, a0, a1;
      const float OFF = FP8 ? 6.f : 0.f, RISE = FP8 ? 2.f : 8.f;
#pragma unroll
      for (int i = 0; i < 64; i++) o[i] = 0.f;
      u32 qb = sq + c * 64 * 128; // 64 rows of 128 bytes
      u32 q[16];
      mbar_wait(bars, 0);
      if (FP8) { // rows l / 4 and l / 4 + 8 of the warp's 16, bytes l % 4 * 4 and 16 further, of each 32
        int row = w * 16 + l / 4;
#pragma unroll
        for (int k = 0; k < 4; k++)
#pragma unroll
          for (int i = 0; i < 4; i++) {
            u32 at = qb + (row + i % 2 * 8) * 128 + (((k * 2 + i / 2) ^ (row & 7)) * 16) + l % 4 * 4;
            asm volatile("ld.shared.b32 %0, [%1];" : "=r"(q[k * 4 + i]) : "r"(at) : "memory");
          }
      }
      mbar_wait(fK, 0);
      WG_FENCE();
      scores<FP8, KB>(s, q, qb, sk);
      WG_WAIT(0);
      fence_regs(s);
      if (lead) release_stage(eK, other, both);
      if (nb == 1) mask_tail(s, Skv, l);
      softmax_step(s, m0, m1, l0, l1, a0, a1, sl, OFF, RISE);
      pack<FP8>(p, s);
      mbar_wait(fV, 0);
      for (int j = 1; j < nb; j++) {
        mbar_wait(fK + (j % NST) * 8, (j / NST) & 1);
        WG_FENCE();
        scores<FP8, KB>(s, q, qb, sk + j % NST * TB);
        values<FP8, KB>(o, p, sv + (j - 1) % NST * TB);
        WG_WAIT(1);
        fence_regs(s);
        if (lead) release_stage(eK + (j % NST) * 8, other, both);
        if (j == nb - 1) mask_tail(s, Skv - j * KB, l);
        softmax_step(s, m0, m1, l0, l1, a0, a1, sl, OFF, RISE);
        // The values of this step are there by now. The loop that waits for them keeps the wait below
        // behind the softmax: ptxas moves a wait upwards as far as it finds no branch. With bf16 it also
        // moves exponentials downwards, unless the loop depends on their sums.
        mbar_wait(fV + (j % NST) * 8, ((j / NST) & 1) ^ (u32)(!FP8 && l0 + l1 < 0.f));
        WG_WAIT(0);
        fence_regs(o);
        if (lead) release_stage(eV + ((j - 1) % NST) * 8, other, both);
        if (any_sync(a0 != 1.f || a1 != 1.f)) { // a maximum seldom moves after the first steps
#pragma unroll
          for (int i = 0; i < 16; i++) { o[i * 4] *= a0; o[i * 4 + 1] *= a0; o[i * 4 + 2] *= a1; o[i * 4 + 3] *= a1; }
        }
        pack<FP8>(p, s); // not before the wait: registers of a wgmma in flight may not be redefined
      }
      WG_FENCE();
      values<FP8, KB>(o, p, sv + (nb - 1) % NST * TB);
      WG_WAIT(0);
      fence_regs(o);
      l0 += shfl_xor(l0, 1); l0 += shfl_xor(l0, 2);
      l1 += shfl_xor(l1, 1); l1 += shfl_xor(l1, 2);
      float r0 = vscale / l0, r1 = vscale / l1;
      int row = c * 64 + w * 16 + l / 4;
      if (slot >= 0) {
        float *at = split.parts + (u64)slot * 16384 + row * 128 + l % 4 * 2, *sums = split.parts + (u64)(gridDim.x - 2 * split.full) * 16384 + slot * 128 + row;
#pragma unroll
        for (int i = 0; i < 16; i++) {
          *(F2 *)(at + i * 8) = F2{o[i * 4] * r0, o[i * 4 + 1] * r0};
          *(F2 *)(at + 1024 + i * 8) = F2{o[i * 4 + 2] * r1, o[i * 4 + 3] * r1};
        }
        if (l % 4 == 0) { sums[0] = m0 * sl + lg2(l0); sums[8] = m1 * sl + lg2(l1); }
      } else {
        row += q0;
        u32 *o0 = (u32 *)(O + (u64)row * ldo + h * 128 + (l % 4) * 2);
        u32 *o1 = (u32 *)(O + (u64)(row + 8) * ldo + h * 128 + (l % 4) * 2);
#pragma unroll
        for (int i = 0; i < 16; i++) {
          if (row < Sq) o0[i * 4] = pack_bf16(o[i * 4] * r0, o[i * 4 + 1] * r0);
          if (row + 8 < Sq) o1[i * 4] = pack_bf16(o[i * 4 + 2] * r1, o[i * 4 + 3] * r1);
        }
      }
    }
  }
  cluster_sync(); // the other block may still copy to this one and signal its barriers
}
// Joins the parts of what was split: a block for each block of the clusters that were.
extern "C" __global__ void __launch_bounds__(256) attention_join(const float *parts, u16 *O, i64 ldo, int Sq, int heads, int full, int split) {
  int i = blockIdx.x / 2, rank = blockIdx.x % 2;
  Item item = item_of(full + i, rank, Sq, heads);
  if (item.idle) return;
  const float *sums = parts + (u64)gridDim.x * split * 16384;
  for (int k = threadIdx.x; k < 2048; k += 256) {
    int row = k / 16, c = k % 16 * 8;
    if (item.q0 + row >= Sq) continue;
    float top = -3.4e38f, all = 0.f, v[8], y[8] = {0.f, 0.f, 0.f, 0.f, 0.f, 0.f, 0.f, 0.f};
    for (int s = 0; s < split; s++) top = fmax2(top, sums[((i * split + s) * 2 + rank) * 128 + row]);
    for (int s = 0; s < split; s++) {
      int slot = (i * split + s) * 2 + rank;
      float w = ex2(sums[slot * 128 + row] - top);
      all += w;
      load8<T_F32>(parts, (u64)slot * 16384 + row * 128 + c, v);
#pragma unroll
      for (int j = 0; j < 8; j++) y[j] += w * v[j];
    }
    all = 1.f / all;
#pragma unroll
    for (int j = 0; j < 8; j++) y[j] *= all;
    store8<T_BF16>(O, (u64)(item.q0 + row) * ldo + item.head * 128 + c, y);
  }
}
#define ATTENTION(name, FP8, KB, NST)                                                                         \
  extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(384, 1) name(const __grid_constant__ TMap tq, const __grid_constant__ TMap tk,      \
      const __grid_constant__ TMap tv, const __grid_constant__ TMap tv2, u16 *O, i64 ldo, int Sq, int Skv, int heads, float sl, float vscale, \
      int full, int split, float *parts) { \
    attention<FP8, KB, NST>(&tq, &tk, &tv, &tv2, O, ldo, Sq, Skv, heads, sl, vscale, Split{full, split, parts});                                \
  }
ATTENTION(attention_bf16_128, 0, 128, 2)
ATTENTION(attention_bf16_176, 0, 176, 2)
ATTENTION(attention_e4m3_128, 1, 128, 4)
ATTENTION(attention_e4m3_192, 1, 192, 4)
