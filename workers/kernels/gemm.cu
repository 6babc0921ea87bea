// D[M, N] = epilogue(A[M, K] * B[N, K]^T), both operands contiguous in K, bf16 or e4m3.
//
// Persistent clusters of two blocks with neighbouring tiles: each fetches half of the operand
// that both need, for both. A block has a producer warp, which keeps the bulk copy engine a few
// stages ahead, and two or three consumer warpgroups, each with 64 rows of the tile in registers.
// Tiles are visited in groups of tile rows, so that operands are read from L2. Factors of the
// epilogue are fetched into shared memory while the products run. The epilogue works on the
// accumulators: row and column scales (e4m3), bias, activation, gate and residual. bf16 without
// residual leaves through shared memory by the copy engine.
// Versions: 1 BN = 256 alone; 2 BN by shape, so that the last wave of tiles is fuller; 3 the
// copy engine writes the output, and clusters share a tile; 4 a second kernel whose warpgroups
// work on alternate tiles; 5 factors in shared memory, and tiles of 192 and 160 x 256.
DEV u32 smem_u32(const void *p) {
  u32 a; asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(a) : "l"(p)); return a;
}

struct Epilogue {
  void *d; i64 ldd;         // output, bf16 or f32
  const u16 *bias;          // [N]
  const float *gate;        // [N], multiplies before the residual is added
  const void *res; i64 ldr; // [M, N], of the output's type
  const float *sa, *sb;     // scales of rows and columns
  int act, f32;
};

// One operation of the special function unit an element: x / (1 + exp(-2u)) takes two. Its error,
// 2^-11 of x, is below a bf16 output's rounding.
DEV float tanh1(float x) { float y; asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
DEV float gelu_tanh(float x) {
  float h = 0.5f * x;
  return h * tanh1(x * (0.7978845608f + 0.0356774081f * x * x)) + h;
}
DEV float silu(float x) { float h = 0.5f * x; return h * tanh1(h) + h; }

// Factors of a warpgroup's tile in shared memory: column scales, gate, bias, row scales.
#define FACTORS(BN, ROWS) (10 * BN + 4 * ROWS)
DEV void copy_async(u32 dst, const void *src, u32 bytes, bool there) { // of 4 or 8 bytes; zeros where there is nothing
  if (bytes == 8) asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(dst), "l"(src), "r"(there ? 8 : 0) : "memory");
  else asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(dst), "l"(src), "r"(there ? 4 : 0) : "memory");
}
template <int BN, int ROWS>
DEV void fetch_factors(const Epilogue &e, u32 at, int m0, int n0, int M, int N) {
  int t = threadIdx.x % 128, col = n0 + 2 * t;
  if (2 * t < BN) {
    bool there = col < N;
    i64 c = there ? col : 0;
    if (e.sa) copy_async(at + 8 * t, e.sb + c, 8, there);
    if (e.gate) copy_async(at + 4 * BN + 8 * t, e.gate + c, 8, there);
    if (e.bias) copy_async(at + 8 * BN + 4 * t, e.bias + c, 4, there);
  }
  if (e.sa)
    for (int r = t; r < ROWS; r += 128) copy_async(at + 10 * BN + 4 * r, e.sa + (m0 + r < M ? m0 + r : 0), 4, m0 + r < M);
}
// Everything but the residual, on all accumulators of a thread: rows r and r + 8 of the factors.
// One pass a kind, so that there is no branch an element.
template <int BN>
DEV void finish(float (&d)[BN / 2], const Epilogue &e, const u8 *factors, int r) {
  int l = threadIdx.x % 32;
#define COLUMNS(j, col) _Pragma("unroll") for (int j = 0; j < BN / 8; j++) if (int col = j * 8 + (l % 4) * 2; true)
  if (e.sa) {
    const float *rows = (const float *)(factors + 10 * BN);
    float s0 = rows[r], s1 = rows[r + 8];
    COLUMNS(j, col) {
      F2 f = *(const F2 *)(factors + 4 * col);
      d[j * 4] *= s0 * f.x; d[j * 4 + 1] *= s0 * f.y; d[j * 4 + 2] *= s1 * f.x; d[j * 4 + 3] *= s1 * f.y;
    }
  }
  if (e.bias) {
    COLUMNS(j, col) {
      u32 f = *(const u32 *)(factors + 8 * BN + 2 * col);
      d[j * 4] += bf16_lo(f); d[j * 4 + 1] += bf16_hi(f); d[j * 4 + 2] += bf16_lo(f); d[j * 4 + 3] += bf16_hi(f);
    }
  }
  if (e.act == 1)
#pragma unroll
    for (int i = 0; i < BN / 2; i++) d[i] = gelu_tanh(d[i]);
  if (e.act == 2)
#pragma unroll
    for (int i = 0; i < BN / 2; i++) d[i] = silu(d[i]);
  if (e.gate) {
    COLUMNS(j, col) {
      F2 f = *(const F2 *)(factors + 4 * BN + 4 * col);
      d[j * 4] *= f.x; d[j * 4 + 1] *= f.y; d[j * 4 + 2] *= f.x; d[j * 4 + 3] *= f.y;
    }
  }
}

#define OUT_BF16 0     // by the copy engine
#define OUT_BF16_RES 1 // plain stores
#define OUT_F32 2      // plain stores

// CH columns at a time of a warpgroup's rows, through BUFS buffers of shared memory in turn; FIRST
// pieces of the same tile went before. The pieces of a tile are a multiple of BUFS.
template <int BN, int CH, int BUFS, int FIRST>
DEV void store_tile(float (&d)[BN / 2], const TMap *td, u32 out, int wg, int m0, int n0) {
  int w = (threadIdx.x % 128) / 32, l = threadIdx.x % 32, row = w * 16 + l / 4;
  bool lead = threadIdx.x % 128 == 0;
#pragma unroll
  for (int c = 0; c < BN / CH; c++) {
    u32 buf = out + ((wg - 1) * BUFS + (FIRST + c) % BUFS) * 64 * CH * 2;
    if (lead) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(BUFS - 1) : "memory");
    asm volatile("bar.sync %0, 128;" ::"r"(wg) : "memory");
#pragma unroll
    for (int q = 0; q < CH / 8; q++) {
      int j = c * (CH / 8) + q;
      // rows of CH * 2 bytes, their 16-byte pieces swizzled as the tensor map says; row + 8 swizzles alike
      u32 piece = CH == 64 ? q ^ (row & 7) : q ^ ((row >> 1) & 3);
      u32 at = buf + row * CH * 2 + piece * 16 + (l % 4) * 4;
      asm volatile("st.shared.b32 [%0], %1;" ::"r"(at), "r"(pack_bf16(d[j * 4], d[j * 4 + 1])) : "memory");
      asm volatile("st.shared.b32 [%0], %1;" ::"r"(at + 8 * CH * 2), "r"(pack_bf16(d[j * 4 + 2], d[j * 4 + 3])) : "memory");
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("bar.sync %0, 128;" ::"r"(wg) : "memory");
    if (lead) {
      asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
                   ::"l"(td), "r"(n0 + c * CH), "r"(m0 + (wg - 1) * 64), "r"(buf) : "memory");
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
  }
}

template <int BN, int OUT>
DEV void store_direct(float (&d)[BN / 2], const Epilogue &e, i64 r0, int n0, int M, int N) {
  int l = threadIdx.x % 32;
#pragma unroll
  for (int half = 0; half < 2; half++) {
    i64 row = r0 + half * 8;
    if (row >= M) continue;
    u8 *out = (u8 *)e.d + row * e.ldd * (OUT == OUT_F32 ? 4 : 2);
    const u8 *res = (const u8 *)e.res + row * e.ldr * (OUT == OUT_F32 ? 4 : 2);
    if (e.res) {
#pragma unroll
      for (int j = 0; j < BN / 8; j++) {
        int col = n0 + j * 8 + (l % 4) * 2;
        col = col < N ? col : 0;
        float &a = d[j * 4 + 2 * half], &b = d[j * 4 + 2 * half + 1];
        if (OUT == OUT_F32) { F2 r = ((const F2 *)res)[col / 2]; a += r.x; b += r.y; }
        else { u32 r = ((const u32 *)res)[col / 2]; a += bf16_lo(r); b += bf16_hi(r); }
      }
    }
#pragma unroll
    for (int j = 0; j < BN / 8; j++) {
      int col = n0 + j * 8 + (l % 4) * 2;
      if (col < N) { // N is a multiple of 8
        if (OUT == OUT_F32) ((F2 *)out)[col / 2] = F2{d[j * 4 + 2 * half], d[j * 4 + 2 * half + 1]};
        else ((u32 *)out)[col / 2] = pack_bf16(d[j * 4 + 2 * half], d[j * 4 + 2 * half + 1]);
      }
    }
  }
}

// Which tile is a cluster's t-th: groups of tile rows, in them column by column. Blocks of a
// cluster stand beside each other and share a tile of A.
template <int BM, int BN>
struct Raster {
  int rows, cols, group;
  __device__ __forceinline__ Raster(int M, int N, int g) {
    rows = (M + BM - 1) / BM; cols = ((N + BN - 1) / BN + 1) / 2; group = g;
  }
  __device__ __forceinline__ int tiles() const { return rows * cols; }
  __device__ __forceinline__ void place(int t, u32 rank, int &m0, int &n0) const {
    int g = t / (group * cols), gm = g * group, gs = rows - gm < group ? rows - gm : group, r = t - gm * cols;
    int row = gm + r % gs, col = r / gs;
    m0 = row * BM;
    n0 = (col * 2 + (int)rank) * BN;
  }
};

// The producer's thread: every stage of every tile of this block.
template <int BM, int BN, int KE, int STAGES>
DEV void produce(const Raster<BM, BN> &raster, const TMap *ta, const TMap *tb, u32 base, u32 full, u32 empty, u32 rank, int kt) {
  const u32 STAGE = (BM + BN) * 128;
  u32 it = 0;
  for (int t = blockIdx.x / 2; t < raster.tiles(); t += gridDim.x / 2) {
    int m0, n0;
    raster.place(t, rank, m0, n0);
    for (int k = 0; k < kt; k++, it++) {
      u32 s = it % STAGES, ph = (it / STAGES) & 1, at = base + s * STAGE;
      mbar_wait(empty + s * 8, ph ^ 1);
      mbar_expect(full + s * 8, STAGE);
      tma2d_both(at + rank * (BM / 2 * 128), ta, full + s * 8, k * KE, m0 + rank * (BM / 2));
      tma2d(at + BM * 128, tb, full + s * 8, k * KE, n0);
    }
  }
}

// WGS consumer warpgroups side by side on one tile of 64 * WGS rows.
template <int FP8, int WGS, int BN, int STAGES, int OUT, int CH, int BUFS>
DEV void gemm(const TMap *ta, const TMap *tb, const TMap *td, const Epilogue &e, int M, int N, int K, int group) {
  extern __shared__ __attribute__((aligned(1024))) u8 smem_raw[];
  const int BM = 64 * WGS, KE = FP8 ? 128 : 64; // elements of K in a stage: 128 bytes
  const u32 STAGE = (BM + BN) * 128;
  u32 base = (smem_u32(smem_raw) + 1023) & ~1023u, out = base + STAGES * STAGE;
  u32 factors = out + (OUT == OUT_BF16 ? WGS * BUFS * 64 * CH * 2 : 0), full = factors + WGS * FACTORS(BN, 64), empty = full + STAGES * 8;
  u32 rank = cluster_rank();
  Raster<BM, BN> raster(M, N, group);
  int kt = (K + KE - 1) / KE, wg = threadIdx.x / 128;
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; s++) { mbar_init(full + s * 8, 1); mbar_init(empty + s * 8, 2 * WGS); } // warpgroups of the cluster
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  cluster_sync();
  if (wg == 0) {
    if (WGS == 3) asm volatile("setmaxnreg.dec.sync.aligned.u32 32;");
    else asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0) produce<BM, BN, KE, STAGES>(raster, ta, tb, base, full, empty, rank, kt);
  } else {
    if (WGS == 3) asm volatile("setmaxnreg.inc.sync.aligned.u32 160;");
    else asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    u32 it = 0, other = rank ^ 1, mine = factors + (wg - 1) * FACTORS(BN, 64);
    bool lead = threadIdx.x % 128 == 0;
    for (int t = blockIdx.x / 2; t < raster.tiles(); t += gridDim.x / 2) {
      int m0, n0;
      raster.place(t, rank, m0, n0);
      fetch_factors<BN, 64>(e, mine, m0 + (wg - 1) * 64, n0, M, N);
      float d[BN / 2];
      for (int k = 0; k < kt; k++, it++) {
        u32 s = it % STAGES, ph = (it / STAGES) & 1;
        mbar_wait(full + s * 8, ph);
        u64 da = desc128(base + s * STAGE + (wg - 1) * 64 * 128);
        u64 db = desc128(base + s * STAGE + BM * 128);
        WG_FENCE();
#pragma unroll
        for (int q = 0; q < 4; q++) { // 4 x 32 bytes of K
          if (FP8) wgmma_e4m3(d, da + 2 * q, db + 2 * q, (k | q) != 0);
          else wgmma_bf16(d, da + 2 * q, db + 2 * q, (k | q) != 0);
        }
        WG_COMMIT();
        // one group stays in flight; the stage before is free once only this one is pending
        WG_WAIT(1);
        if (k > 0 && lead) release(empty + (it - 1) % STAGES * 8, other);
      }
      WG_WAIT(0);
      fence_regs(d);
      if (lead) release(empty + (it - 1) % STAGES * 8, other);
      asm volatile("cp.async.wait_all;" ::: "memory");
      asm volatile("bar.sync %0, 128;" ::"r"(wg) : "memory");
      int r = (threadIdx.x % 128) / 32 * 16 + threadIdx.x % 32 / 4;
      finish<BN>(d, e, smem_raw + (mine - smem_u32(smem_raw)), r);
      if (OUT == OUT_BF16) store_tile<BN, CH, BUFS, 0>(d, td, out, wg, m0, n0);
      else {
        asm volatile("bar.sync %0, 128;" ::"r"(wg) : "memory"); // all have read their factors
        store_direct<BN, OUT>(d, e, m0 + (wg - 1) * 64 + r, n0, M, N);
      }
    }
    if (OUT == OUT_BF16 && lead) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
  cluster_sync(); // the other block may still signal this one's barriers
}

// The same with 128 rows a tile, of which the warpgroups work on alternate ones: the epilogue of
// one runs beside the products of the other.
template <int FP8, int BN, int STAGES, int OUT, int CH, int BUFS>
DEV void gemm_alternate(const TMap *ta, const TMap *tb, const TMap *td, const Epilogue &e, int M, int N, int K, int group) {
  extern __shared__ __attribute__((aligned(1024))) u8 smem_raw[];
  const int BM = 128, KE = FP8 ? 128 : 64;
  const u32 STAGE = (BM + BN) * 128;
  u32 base = (smem_u32(smem_raw) + 1023) & ~1023u, out = base + STAGES * STAGE;
  u32 factors = out + (OUT == OUT_BF16 ? 2 * BUFS * 64 * CH * 2 : 0), full = factors + 2 * FACTORS(BN, BM), empty = full + STAGES * 8;
  u32 rank = cluster_rank();
  Raster<BM, BN> raster(M, N, group);
  int kt = (K + KE - 1) / KE, wg = threadIdx.x / 128;
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; s++) { mbar_init(full + s * 8, 1); mbar_init(empty + s * 8, 2); } // a warpgroup of each block
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  cluster_sync();
  if (wg == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    if (threadIdx.x == 0) produce<BM, BN, KE, STAGES>(raster, ta, tb, base, full, empty, rank, kt);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    u32 it = 0, other = rank ^ 1, mine = factors + (wg - 1) * FACTORS(BN, BM);
    bool lead = threadIdx.x % 128 == 0;
    int turn = wg - 1;
    if (wg == 2) asm volatile("bar.arrive 3, 256;" ::: "memory"); // the first turn is warpgroup 1's
    for (int t = blockIdx.x / 2; t < raster.tiles(); t += gridDim.x / 2, turn ^= 1) {
      if (turn) { it += kt; continue; }
      int m0, n0;
      raster.place(t, rank, m0, n0);
      fetch_factors<BN, BM>(e, mine, m0, n0, M, N);
      // Not before the other has seen its last stage: a barrier tells only this phase from the one before.
      asm volatile("bar.sync %0, 256;" ::"r"(wg + 2) : "memory");
      float d[2][BN / 2];
      for (int k = 0; k < kt; k++, it++) {
        u32 s = it % STAGES, ph = (it / STAGES) & 1;
        mbar_wait(full + s * 8, ph);
        u64 da = desc128(base + s * STAGE), db = desc128(base + s * STAGE + BM * 128);
        WG_FENCE();
#pragma unroll
        for (int q = 0; q < 4; q++)
#pragma unroll
          for (int i = 0; i < 2; i++) {
            if (FP8) wgmma_e4m3(d[i], da + i * 512 + 2 * q, db + 2 * q, (k | q) != 0);
            else wgmma_bf16(d[i], da + i * 512 + 2 * q, db + 2 * q, (k | q) != 0);
          }
        WG_COMMIT();
        WG_WAIT(1);
        if (k > 0 && lead) release(empty + (it - 1) % STAGES * 8, other);
      }
      asm volatile("bar.arrive %0, 256;" ::"r"(5 - wg) : "memory"); // ids 3 and 4: the other's turn
      WG_WAIT(0);
      fence_regs(d[0]);
      fence_regs(d[1]);
      if (lead) release(empty + (it - 1) % STAGES * 8, other);
      asm volatile("cp.async.wait_all;" ::: "memory");
      asm volatile("bar.sync %0, 128;" ::"r"(wg) : "memory");
      int r = (threadIdx.x % 128) / 32 * 16 + threadIdx.x % 32 / 4;
      const u8 *mf = smem_raw + (mine - smem_u32(smem_raw));
      finish<BN>(d[0], e, mf, r);
      if (OUT == OUT_BF16) store_tile<BN, CH, BUFS, 0>(d[0], td, out, wg, m0 - (wg - 1) * 64, n0);
      else store_direct<BN, OUT>(d[0], e, m0 + r, n0, M, N);
      finish<BN>(d[1], e, mf, r + 64);
      if (OUT == OUT_BF16) store_tile<BN, CH, BUFS, BN / CH>(d[1], td, out, wg, m0 + 64 - (wg - 1) * 64, n0);
      else store_direct<BN, OUT>(d[1], e, m0 + 64 + r, n0, M, N);
      if (OUT != OUT_BF16) asm volatile("bar.sync %0, 128;" ::"r"(wg) : "memory"); // all have read their factors
    }
    if (OUT == OUT_BF16 && lead) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
  cluster_sync();
}
// The product the other way round: rows of the weights B are the instructions' rows, 128 of them
// a warpgroup, and BT rows of A their columns. A tile of BT x 256 with the registers of two
// warpgroups moves fewer bytes for a product than 128 x 256 does. The output is turned on its way
// through shared memory. Factors of columns are a thread's own here, those of rows are read.
template <int BT>
DEV void finish_turned(float (&d)[BT / 2], const Epilogue &e, const u8 *factors, int r) {
  int l = threadIdx.x % 32;
#define TOKENS(j, col) _Pragma("unroll") for (int j = 0; j < BT / 8; j++) if (int col = j * 8 + (l % 4) * 2; true)
  if (e.sa) {
    float s0 = *(const float *)(factors + 4 * r), s1 = *(const float *)(factors + 4 * r + 32);
    TOKENS(j, col) {
      F2 f = *(const F2 *)(factors + 10 * 256 + 4 * col);
      d[j * 4] *= s0 * f.x; d[j * 4 + 1] *= s0 * f.y; d[j * 4 + 2] *= s1 * f.x; d[j * 4 + 3] *= s1 * f.y;
    }
  }
  if (e.bias) {
    float b0 = bf16_f32(*(const u16 *)(factors + 8 * 256 + 2 * r)), b1 = bf16_f32(*(const u16 *)(factors + 8 * 256 + 2 * r + 16));
#pragma unroll
    for (int j = 0; j < BT / 8; j++) { d[j * 4] += b0; d[j * 4 + 1] += b0; d[j * 4 + 2] += b1; d[j * 4 + 3] += b1; }
  }
  if (e.act == 1)
#pragma unroll
    for (int i = 0; i < BT / 2; i++) d[i] = gelu_tanh(d[i]);
  if (e.act == 2)
#pragma unroll
    for (int i = 0; i < BT / 2; i++) d[i] = silu(d[i]);
  if (e.gate) {
    float g0 = *(const float *)(factors + 4 * 256 + 4 * r), g1 = *(const float *)(factors + 4 * 256 + 4 * r + 32);
#pragma unroll
    for (int j = 0; j < BT / 8; j++) { d[j * 4] *= g0; d[j * 4 + 1] *= g0; d[j * 4 + 2] *= g1; d[j * 4 + 3] *= g1; }
  }
}
// 64 columns of the output, in pieces of ROWS rows through BUFS buffers, as above.
template <int BT, int ROWS, int BUFS, int FIRST>
DEV void store_turned(float (&d)[BT / 2], const TMap *td, u32 out, int wg, int m0, int n0) {
  int w = (threadIdx.x % 128) / 32, l = threadIdx.x % 32, q = l / 8;
  bool lead = threadIdx.x % 128 == 0;
#pragma unroll
  for (int c = 0; c < BT / ROWS; c++) {
    u32 buf = out + ((wg - 1) * BUFS + (FIRST + c) % BUFS) * ROWS * 128;
    if (lead) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(BUFS - 1) : "memory");
    asm volatile("bar.sync %0, 128;" ::"r"(wg) : "memory");
#pragma unroll
    for (int p = 0; p < ROWS / 16; p++) { // two 8 x 8 blocks of rows by two of columns
      int j = (c * (ROWS / 16) + p) * 2;
      u32 at = buf + (p * 16 + q / 2 * 8 + l % 8) * 128 + (((w * 2 + q % 2) ^ (l % 8)) * 16);
      asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(pack_bf16(d[j * 4], d[j * 4 + 1])),
                   "r"(pack_bf16(d[j * 4 + 2], d[j * 4 + 3])), "r"(pack_bf16(d[j * 4 + 4], d[j * 4 + 5])), "r"(pack_bf16(d[j * 4 + 6], d[j * 4 + 7])) : "memory");
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("bar.sync %0, 128;" ::"r"(wg) : "memory");
    if (lead) {
      asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
                   ::"l"(td), "r"(n0), "r"(m0 + c * ROWS), "r"(buf) : "memory");
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
  }
}
template <int FP8, int BT, int STAGES, int ROWS, int BUFS>
DEV void gemm_turned(const TMap *ta, const TMap *tb, const TMap *td, const Epilogue &e, int M, int N, int K, int group) {
  extern __shared__ __attribute__((aligned(1024))) u8 smem_raw[];
  const int BN = 256, KE = FP8 ? 128 : 64;
  const u32 STAGE = (BT + BN) * 128;
  u32 base = (smem_u32(smem_raw) + 1023) & ~1023u, out = base + STAGES * STAGE;
  u32 factors = out + 2 * BUFS * ROWS * 128, full = factors + 2 * FACTORS(BN, BT), empty = full + STAGES * 8;
  u32 rank = cluster_rank();
  Raster<BT, BN> raster(M, N, group);
  int kt = (K + KE - 1) / KE, wg = threadIdx.x / 128;
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; s++) { mbar_init(full + s * 8, 1); mbar_init(empty + s * 8, 4); } // warpgroups of the cluster
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  cluster_sync();
  if (wg == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0) produce<BT, BN, KE, STAGES>(raster, ta, tb, base, full, empty, rank, kt);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    u32 it = 0, other = rank ^ 1, mine = factors + (wg - 1) * FACTORS(BN, BT);
    bool lead = threadIdx.x % 128 == 0;
    for (int t = blockIdx.x / 2; t < raster.tiles(); t += gridDim.x / 2) {
      int m0, n0;
      raster.place(t, rank, m0, n0);
      fetch_factors<BN, BT>(e, mine, m0, n0, M, N);
      float d[2][BT / 2];
      for (int k = 0; k < kt; k++, it++) {
        u32 s = it % STAGES, ph = (it / STAGES) & 1;
        mbar_wait(full + s * 8, ph);
        u64 da = desc128(base + s * STAGE), db = desc128(base + s * STAGE + BT * 128 + (wg - 1) * 128 * 128);
        WG_FENCE();
#pragma unroll
        for (int q = 0; q < 4; q++)
#pragma unroll
          for (int i = 0; i < 2; i++) {
            if (FP8) wgmma_e4m3(d[i], db + i * 512 + 2 * q, da + 2 * q, (k | q) != 0);
            else wgmma_bf16(d[i], db + i * 512 + 2 * q, da + 2 * q, (k | q) != 0);
          }
        WG_COMMIT();
        WG_WAIT(1);
        if (k > 0 && lead) release(empty + (it - 1) % STAGES * 8, other);
      }
      WG_WAIT(0);
      fence_regs(d[0]);
      fence_regs(d[1]);
      if (lead) release(empty + (it - 1) % STAGES * 8, other);
      asm volatile("cp.async.wait_all;" ::: "memory");
      asm volatile("bar.sync %0, 128;" ::"r"(wg) : "memory");
      int r = (wg - 1) * 128 + (threadIdx.x % 128) / 32 * 16 + threadIdx.x % 32 / 4;
      const u8 *mf = smem_raw + (mine - smem_u32(smem_raw));
      finish_turned<BT>(d[0], e, mf, r);
      store_turned<BT, ROWS, BUFS, 0>(d[0], td, out, wg, m0, n0 + (wg - 1) * 128);
      finish_turned<BT>(d[1], e, mf, r + 64);
      store_turned<BT, ROWS, BUFS, BT / ROWS>(d[1], td, out, wg, m0, n0 + (wg - 1) * 128 + 64);
    }
    if (lead) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
  cluster_sync();
}
#define PARAMETERS                                                                                                              \
  const __grid_constant__ TMap ta, const __grid_constant__ TMap tb, const __grid_constant__ TMap td, void *d, i64 ldd,          \
  const u16 *bias, const float *gate, const void *res, i64 ldr, const float *sa, const float *sb, int act, int f32, int M, int N, int K, int group
#define GEMM(name, FP8, WGS, BN, STAGES, OUT, CH, BUFS)                                                      \
  extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(WGS * 128 + 128, 1) name(PARAMETERS) {     \
    Epilogue e = {d, ldd, bias, gate, res, ldr, sa, sb, act, f32};                                                  \
    gemm<FP8, WGS, BN, STAGES, OUT, CH, BUFS>(&ta, &tb, &td, e, M, N, K, group);                             \
  }
#define ALTERNATE(name, FP8, BN, STAGES, OUT, CH, BUFS)                                                      \
  extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(384, 1) name(PARAMETERS) {                 \
    Epilogue e = {d, ldd, bias, gate, res, ldr, sa, sb, act, f32};                                                  \
    gemm_alternate<FP8, BN, STAGES, OUT, CH, BUFS>(&ta, &tb, &td, e, M, N, K, group);                        \
  }
#define TURNED(name, FP8, BT, STAGES, ROWS, BUFS)                                                            \
  extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(384, 1) name(PARAMETERS) {                 \
    Epilogue e = {d, ldd, bias, gate, res, ldr, sa, sb, act, f32};                                                  \
    gemm_turned<FP8, BT, STAGES, ROWS, BUFS>(&ta, &tb, &td, e, M, N, K, group);                              \
  }
#define GEMMS(T, FP8)                                                       \
  TURNED(gemm_##T##_192x256, FP8, 192, 3, 64, 2)                         \
  TURNED(gemm_##T##_160x256, FP8, 160, 3, 32, 2)                         \
  GEMM(gemm_##T##_192x192, FP8, 3, 192, 4, OUT_BF16, 64, 1)              \
  GEMM(gemm_##T##_128x256, FP8, 2, 256, 4, OUT_BF16, 64, 1)              \
  GEMM(gemm_##T##_128x256_res, FP8, 2, 256, 4, OUT_BF16_RES, 64, 1)      \
  GEMM(gemm_##T##_128x256_f32, FP8, 2, 256, 4, OUT_F32, 64, 1)           \
  ALTERNATE(gemm_##T##_128x192a, FP8, 192, 4, OUT_BF16, 64, 2)           \
  ALTERNATE(gemm_##T##_128x128a, FP8, 128, 6, OUT_BF16, 64, 1)           \
  ALTERNATE(gemm_##T##_128x128a_res, FP8, 128, 6, OUT_BF16_RES, 64, 1)   \
  ALTERNATE(gemm_##T##_128x128a_f32, FP8, 128, 6, OUT_F32, 64, 1)
GEMMS(bf16, 0)
GEMMS(e4m3, 1)
