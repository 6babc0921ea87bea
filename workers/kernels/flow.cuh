// Rows that flow through groups of warps. A block stays on its multiprocessor; W of its warps
// share a row of up to 8 * 32 * W * NV elements, which lies in their registers as it was read
// while the next one is on its way to shared memory. What all rows need (gain, shift, weights)
// lies in shared memory once. Only the warps of one row ever wait for each other. Work on
// columns past a row's end is done on zeros and not stored: without branches the compiler reads
// ahead over all of a thread's vectors.

// Lets the kernel queued next take its place block by block, and waits for the work queued
// before: nothing unless the launch allows it (gpu.Grid.Overlap). Before any access to memory.
DEV void overlap() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
// From here on for GPUs of compute capability 9.0.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define FLOW 1
DEV void flow_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
DEV void flow_wait() { asm volatile("cp.async.wait_group 0;" ::: "memory"); }
// Starts the copy of a row of bf16. A thread copies the vectors t, t + 32 W, ... that it will read
// back itself, so no barrier is needed; what is past the row's end reads as zeros.
template <int W, int NV>
DEV void flow_copy(u32 at, const u16 *row, int t, int d) {
#pragma unroll
  for (int k = 0; k < NV; k++) {
    int c = (k * 32 * W + t) * 8;
    u32 bytes = c < d ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at + k * 32 * W * 16), "l"(row + (bytes ? c : 0)), "r"(bytes) : "memory");
  }
}
DEV V4 shared_v4(u32 at) {
  V4 a; asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a.x), "=r"(a.y), "=r"(a.z), "=r"(a.w) : "r"(at)); return a;
}
template <int W, int NV>
DEV void flow_read(u32 at, V4 (&raw)[NV]) {
#pragma unroll
  for (int k = 0; k < NV; k++) raw[k] = shared_v4(at + k * 32 * W * 16);
}
DEV void unpack_v4(const V4 &a, float (&v)[8]) {
  v[0] = bf16_lo(a.x); v[1] = bf16_hi(a.x); v[2] = bf16_lo(a.y); v[3] = bf16_hi(a.y);
  v[4] = bf16_lo(a.z); v[5] = bf16_hi(a.z); v[6] = bf16_lo(a.w); v[7] = bf16_hi(a.w);
}
// Factors that all rows share lie in two planes, the first four of each vector in one and the
// others in the next, so that neighbouring threads read neighbouring 16 bytes.
template <int PLANE>
DEV void planes_set(u32 at, int i, const float (&v)[8]) {
#pragma unroll
  for (int h = 0; h < 2; h++)
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(at + h * PLANE + i * 16), "f"(v[4 * h]), "f"(v[4 * h + 1]), "f"(v[4 * h + 2]), "f"(v[4 * h + 3]) : "memory");
}
template <int PLANE>
DEV void planes_get(u32 at, int i, float (&v)[8]) {
#pragma unroll
  for (int h = 0; h < 2; h++) {
    V4 a = shared_v4(at + h * PLANE + i * 16);
    v[4 * h] = bits_f32(a.x); v[4 * h + 1] = bits_f32(a.y); v[4 * h + 2] = bits_f32(a.z); v[4 * h + 3] = bits_f32(a.w);
  }
}
// Reductions over the W warps of a row; every thread gets the result. scratch is the group's own W
// values, not those of the reduction before.
template <int W>
DEV void flow_sync() { asm volatile("bar.sync %0, %1;" ::"r"(threadIdx.x / (32 * W) + 1), "n"(32 * W) : "memory"); }
template <int W>
DEV F2 flow_sums(float a, float b, F2 *scratch) {
#pragma unroll
  for (u32 m = 16; m > 0; m >>= 1) { a += shfl_xor(a, m); b += shfl_xor(b, m); }
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32 % W] = F2{a, b};
  flow_sync<W>();
  F2 s = scratch[0];
#pragma unroll
  for (int i = 1; i < W; i++) { F2 p = scratch[i]; s.x += p.x; s.y += p.y; }
  return s;
}
template <int W>
DEV float flow_top(float v, float *scratch) { // v is the warp's largest already
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32 % W] = v;
  flow_sync<W>();
  v = scratch[0];
#pragma unroll
  for (int i = 1; i < W; i++) v = fmax2(v, scratch[i]);
  return v;
}
// The largest of a warp's values that are not negative: their bits order like integers.
DEV float warp_top(float v) {
  u32 r; asm volatile("redux.sync.max.u32 %0, %1, 0xffffffff;" : "=r"(r) : "r"(f32_bits(v))); return bits_f32(r);
}
// Sums by the tensor cores, 3 instructions for 8 elements where adding takes 24. The eight values of
// each lane are a part of a matrix of 16 x 16, P over Q: times ones, its rows add up; the
// diagonals of P P^T and Q Q^T hold the squares. All lanes of a warp must take part.
DEV void mma_bf16(float (&c)[4], const V4 &a, u32 b0, u32 b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
}
// A lane's share of the sum of squares of what its warp holds.
template <int NV>
DEV float flow_squares(const V4 (&raw)[NV]) {
  float p[4] = {0.f, 0.f, 0.f, 0.f}, q[4] = {0.f, 0.f, 0.f, 0.f};
#pragma unroll
  for (int k = 0; k < NV; k++) {
    mma_bf16(p, raw[k], raw[k].x, raw[k].z);
    mma_bf16(q, raw[k], raw[k].y, raw[k].w);
  }
  u32 lane = threadIdx.x % 32, i = lane / 4, j = lane % 4 * 2;
  return i == j ? p[0] + q[2] : i == j + 1 ? p[1] + q[3] : 0.f;
}
// A lane's share of the sum.
template <int NV>
DEV float flow_total(const V4 (&raw)[NV]) {
  float p[4] = {0.f, 0.f, 0.f, 0.f};
#pragma unroll
  for (int k = 0; k < NV; k++) mma_bf16(p, raw[k], 0x3f803f80u, 0x3f803f80u);
  return threadIdx.x % 4 ? 0.f : p[0] + p[2];
}
DEV u32 pack_f16(float lo, float hi) { u32 r; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo)); return r; }
// Four f16 times the pair f, as e4m3.
DEV u32 scaled_e4m3(u32 a, u32 b, u32 f) {
  u32 r;
  asm("{ .reg .b32 x, y; .reg .b16 l, h; mul.rn.f16x2 x, %1, %3; mul.rn.f16x2 y, %2, %3;\n"
      " cvt.rn.satfinite.e4m3x2.f16x2 l, x; cvt.rn.satfinite.e4m3x2.f16x2 h, y; mov.b32 %0, {l, h}; }" : "=r"(r) : "r"(a), "r"(b), "r"(f));
  return r;
}
#endif
