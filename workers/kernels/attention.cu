// O = softmax(scale * Q K^T) V, heads of 128, flash style: no score leaves the chip.
//
// A block takes 128 queries of one head (two consumer warpgroups of 64 and a producer warp) and
// walks over the keys in steps of KB. The product Q K^T of a step runs beside P V of the step
// before and that step's softmax; accumulators are rescaled only where a maximum moved.
// bf16: K and V [keys][heads][128]. e4m3: V transposed, [heads * 128][keys], the keys of each
// group of 16 in the order in which probabilities lie in registers, so that they pass from
// accumulators to operands without a shuffle; the scales of Q and K are part of scale, that
// of V is vscale.
DEV u32 smem_u32(const void *p) {
  u32 a; asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(a) : "l"(p)); return a;
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
// Running maximum and, with SUM, sum of two rows; s becomes the unnormalised probabilities, a0
// and a1 the rescaling of what came before. off keeps e4m3 probabilities in the normal range.
template <int SUM, int R>
DEV void softmax_step(float (&s)[R], float &m0, float &m1, float &l0, float &l1, float &a0, float &a1, float sl, float off) {
  float n0 = m0, n1 = m1;
#pragma unroll
  for (int i = 0; i < R / 4; i++) {
    n0 = fmax2(n0, fmax2(s[i * 4], s[i * 4 + 1]));
    n1 = fmax2(n1, fmax2(s[i * 4 + 2], s[i * 4 + 3]));
  }
  n0 = fmax2(n0, shfl_xor(n0, 1)); n0 = fmax2(n0, shfl_xor(n0, 2));
  n1 = fmax2(n1, shfl_xor(n1, 1)); n1 = fmax2(n1, shfl_xor(n1, 2));
  a0 = ex2((m0 - n0) * sl); a1 = ex2((m1 - n1) * sl);
  m0 = n0; m1 = n1;
  float b0 = off - n0 * sl, b1 = off - n1 * sl, t0 = 0.f, t1 = 0.f;
#pragma unroll
  for (int i = 0; i < R / 4; i++) {
    s[i * 4] = ex2(s[i * 4] * sl + b0); s[i * 4 + 1] = ex2(s[i * 4 + 1] * sl + b0);
    s[i * 4 + 2] = ex2(s[i * 4 + 2] * sl + b1); s[i * 4 + 3] = ex2(s[i * 4 + 3] * sl + b1);
    if (SUM) {
      t0 += s[i * 4] + s[i * 4 + 1];
      t1 += s[i * 4 + 2] + s[i * 4 + 3];
    }
  }
  if (SUM) { l0 = l0 * a0 + t0; l1 = l1 * a1 + t1; }
}
DEV u32 any_sync(bool p) {
  u32 r; asm volatile("{ .reg .pred q, r; setp.ne.u32 q, %1, 0; vote.sync.any.pred r, q, 0xffffffff; selp.u32 %0, 1, 0, r; }" : "=r"(r) : "r"((u32)p)); return r;
}

// s = Q K^T of a tile: 64 queries by KB keys.
template <int FP8, int KB>
DEV void scores(float (&s)[KB / 2], u32 qb, u32 kb) {
  if (FP8) {
#pragma unroll
    for (int k = 0; k < 4; k++) wgmma_e4m3(s, desc128(qb + k * 32), desc128(kb + k * 32), k != 0);
  } else {
#pragma unroll
    for (int k = 0; k < 8; k++) wgmma_bf16(s, desc128(qb + (k / 4) * 16384 + (k % 4) * 32), desc128(kb + (k / 4) * KB * 128 + (k % 4) * 32), k != 0);
  }
  WG_COMMIT();
}
// o += P V of a tile. e4m3: V's tile is [128][128 keys] and, behind it, [128][64 keys] where KB is 192.
// With ONES (e4m3), sums are the tile's sums of the probabilities, a product with a column of
// ones, which would otherwise be an addition a score. They start anew with every tile: e4m3
// products add up with about 13 bits, too few for thousands of positive terms.
template <int FP8, int KB, int ONES, int P>
DEV void values(float (&o)[64], float (&sums)[4], u32 (&p)[P], u32 vb, u32 ones) {
#pragma unroll
  for (int k = 0; k < P / 4; k++) {
    if (FP8) wgmma_rs_e4m3(o, p[k * 4], p[k * 4 + 1], p[k * 4 + 2], p[k * 4 + 3], k < 4 ? desc128(vb + k * 32) : desc64(vb + 16384 + (k - 4) * 32), 1);
    else wgmma_rs_bf16(o, p[k * 4], p[k * 4 + 1], p[k * 4 + 2], p[k * 4 + 3], desc_mn128(vb + k * 2048, KB * 128), 1);
    if (ONES) wgmma_rs_e4m3(sums, p[k * 4], p[k * 4 + 1], p[k * 4 + 2], p[k * 4 + 3], desc128(ones), k != 0);
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

template <int FP8, int KB, int NST, int ONES>
DEV void attention(const TMap *tq, const TMap *tk, const TMap *tv, const TMap *tv2, u16 *O, i64 ldo, int Sq, int Skv, float sl, float vscale) {
  extern __shared__ __attribute__((aligned(1024))) u8 smem_raw[];
  const u32 QB = FP8 ? 16384 : 32768, TB = KB * 128 * (FP8 ? 1 : 2); // bytes of Q's tile, of one of K or V
  u32 sq = (smem_u32(smem_raw) + 1023) & ~1023u, sk = sq + QB, sv = sk + NST * TB, ones = sv + NST * TB, bars = ones + (ONES ? 1024 : 0);
  u32 fK = bars + 8, eK = fK + NST * 8, fV = eK + NST * 8, eV = fV + NST * 8; // full and empty, of K and V
  int h = blockIdx.y, q0 = blockIdx.x * 128, nb = (Skv + KB - 1) / KB;
  if (threadIdx.x == 0) {
    mbar_init(bars, 1);
    for (int s = 0; s < NST; s++) { mbar_init(fK + s * 8, 1); mbar_init(eK + s * 8, 2); mbar_init(fV + s * 8, 1); mbar_init(eV + s * 8, 2); }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  if (ONES) { // eight rows, the first of ones; swizzling does not leave a row
    for (u32 i = threadIdx.x; i < 256; i += 384) asm volatile("st.shared.b32 [%0], %1;" ::"r"(ones + i * 4), "r"(i < 32 ? 0x38383838u : 0u) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  sync_block();
  int wg = threadIdx.x / 128;
  if (wg == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    if (threadIdx.x == 0) {
      mbar_expect(bars, QB);
      tma3d(sq, tq, bars, 0, h, q0);
      if (!FP8) tma3d(sq + 16384, tq, bars, 64, h, q0);
      for (int j = 0; j <= nb; j++) {
        if (j < nb) {
          u32 s = j % NST, ph = (j / NST) & 1, d = sk + s * TB;
          mbar_wait(eK + s * 8, ph ^ 1);
          mbar_expect(fK + s * 8, TB);
          tma3d(d, tk, fK + s * 8, 0, h, j * KB);
          if (!FP8) tma3d(d + KB * 128, tk, fK + s * 8, 64, h, j * KB);
        }
        if (j > 0) {
          int i = j - 1;
          u32 s = i % NST, ph = (i / NST) & 1, d = sv + s * TB;
          mbar_wait(eV + s * 8, ph ^ 1);
          mbar_expect(fV + s * 8, TB);
          if (FP8) {
            tma3d(d, tv, fV + s * 8, i * KB, 0, h);
            if (KB > 128) tma3d(d + 16384, tv2, fV + s * 8, i * KB + 128, 0, h);
          } else {
            tma3d(d, tv, fV + s * 8, 0, h, i * KB);
            tma3d(d + KB * 128, tv, fV + s * 8, 64, h, i * KB);
          }
        }
      }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    int c = wg - 1, w = (threadIdx.x % 128) / 32, l = threadIdx.x % 32;
    bool lead = threadIdx.x % 128 == 0;
    float o[64], s[KB / 2], sums[4] = {0.f, 0.f, 0.f, 0.f};
    u32 p[FP8 ? KB / 8 : KB / 4];
    float m0 = -1e30f, m1 = -1e30f, l0 = 0.f, l1 = 0.f, a0, a1;
    const float OFF = FP8 ? 8.f : 0.f;
#pragma unroll
    for (int i = 0; i < 64; i++) o[i] = 0.f;
    u32 qb = sq + c * 64 * 128; // 64 rows of 128 bytes
    mbar_wait(bars, 0);
    mbar_wait(fK, 0);
    WG_FENCE();
    scores<FP8, KB>(s, qb, sk);
    WG_WAIT(0);
    fence_regs(s);
    if (lead) mbar_arrive(eK);
    if (nb == 1) mask_tail(s, Skv, l);
    softmax_step<!ONES>(s, m0, m1, l0, l1, a0, a1, sl, OFF);
    pack<FP8>(p, s);
    for (int j = 1; j < nb; j++) {
      mbar_wait(fK + (j % NST) * 8, (j / NST) & 1);
      mbar_wait(fV + ((j - 1) % NST) * 8, ((j - 1) / NST) & 1);
      WG_FENCE();
      scores<FP8, KB>(s, qb, sk + j % NST * TB);
      values<FP8, KB, ONES>(o, sums, p, sv + (j - 1) % NST * TB, ones);
      WG_WAIT(1);
      fence_regs(s);
      if (lead) mbar_arrive(eK + (j % NST) * 8);
      if (j == nb - 1) mask_tail(s, Skv - j * KB, l);
      softmax_step<!ONES>(s, m0, m1, l0, l1, a0, a1, sl, OFF);
      WG_WAIT(0);
      fence_regs(o);
      if (lead) mbar_arrive(eV + ((j - 1) % NST) * 8);
      if (ONES) { fence_regs(sums); l0 = (l0 + sums[0]) * a0; l1 = (l1 + sums[2]) * a1; }
      if (any_sync(a0 != 1.f || a1 != 1.f)) { // a maximum seldom moves after the first steps
#pragma unroll
        for (int i = 0; i < 16; i++) { o[i * 4] *= a0; o[i * 4 + 1] *= a0; o[i * 4 + 2] *= a1; o[i * 4 + 3] *= a1; }
      }
      pack<FP8>(p, s); // not before the wait: registers of a wgmma in flight may not be redefined
    }
    mbar_wait(fV + ((nb - 1) % NST) * 8, ((nb - 1) / NST) & 1);
    WG_FENCE();
    values<FP8, KB, ONES>(o, sums, p, sv + (nb - 1) % NST * TB, ones);
    WG_WAIT(0);
    fence_regs(o);
    if (ONES) { // column 0 is the first lane's of four
      fence_regs(sums);
      l0 = l % 4 == 0 ? l0 + sums[0] : 0.f;
      l1 = l % 4 == 0 ? l1 + sums[2] : 0.f;
    }
    l0 += shfl_xor(l0, 1); l0 += shfl_xor(l0, 2);
    l1 += shfl_xor(l1, 1); l1 += shfl_xor(l1, 2);
    float r0 = vscale / l0, r1 = vscale / l1;
    int row = q0 + c * 64 + w * 16 + l / 4;
    u32 *o0 = (u32 *)(O + (u64)row * ldo + h * 128 + (l % 4) * 2);
    u32 *o1 = (u32 *)(O + (u64)(row + 8) * ldo + h * 128 + (l % 4) * 2);
#pragma unroll
    for (int i = 0; i < 16; i++) {
      if (row < Sq) o0[i * 4] = pack_bf16(o[i * 4] * r0, o[i * 4 + 1] * r0);
      if (row + 8 < Sq) o1[i * 4] = pack_bf16(o[i * 4 + 2] * r1, o[i * 4 + 3] * r1);
    }
  }
}
#define ATTENTION(name, FP8, KB, NST, ONES)                                                                                      \
  extern "C" __global__ void __launch_bounds__(384, 1) name(const __grid_constant__ TMap tq, const __grid_constant__ TMap tk,      \
      const __grid_constant__ TMap tv, const __grid_constant__ TMap tv2, u16 *O, i64 ldo, int Sq, int Skv, float sl, float vscale) { \
    attention<FP8, KB, NST, ONES>(&tq, &tk, &tv, &tv2, O, ldo, Sq, Skv, sl, vscale);                                             \
  }
ATTENTION(attention_bf16_128, 0, 128, 2, 0)
ATTENTION(attention_bf16_176, 0, 176, 2, 0)
ATTENTION(attention_e4m3_128, 1, 128, 4, 0)
ATTENTION(attention_e4m3_192, 1, 192, 4, 0)
ATTENTION(attention_e4m3_192_ones, 1, 192, 4, 1)
