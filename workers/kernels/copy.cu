// y = x over up to five dimensions, one unit a thread: 16, 4, 2 or 1 bytes where the types are the same; one
// element or eight where they are rounded between f32 and bf16. The last dimension has n units side by side; the four
// outside of it have sizes a to d (a is what is left) and strides in units.
struct Place { i64 x, y; };
DEV Place place(u32 i, u32 n, u32 b, u32 c, u32 d, i64 xa, i64 xb, i64 xc, i64 xd, i64 ya, i64 yb, i64 yc, i64 yd) {
  u32 u = i % n, k = i / n;
  u32 id = k % d; k /= d;
  u32 ic = k % c; k /= c;
  u32 ib = k % b; k /= b;
  return Place{k * xa + ib * xb + ic * xc + id * xd + u, k * ya + ib * yb + ic * yc + id * yd + u};
}
template <typename U>
DEV void move_unit(const void *x, void *y, Place p) { ((U *)y)[p.y] = ((const U *)x)[p.x]; }
template <int X, int Y>
DEV void round8(const void *x, void *y, Place p) {
  float v[8];
  load8<X>(x, (u64)p.x * 8, v);
  store8<Y>(y, (u64)p.y * 8, v);
}
#define COPY(NAME, MOVE)                                                                                                      \
  extern "C" __global__ void __launch_bounds__(256) copy_##NAME(const void *x, void *y, u32 total, u32 n, u32 b, u32 c, u32 d, \
      i64 xa, i64 xb, i64 xc, i64 xd, i64 ya, i64 yb, i64 yc, i64 yd) {                                                       \
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;                                                                            \
    if (i >= total) return;                                                                                                   \
    Place p = place(i, n, b, c, d, xa, xb, xc, xd, ya, yb, yc, yd);                                                           \
    MOVE;                                                                                                                     \
  }
COPY(16, move_unit<V4>(x, y, p))
COPY(4, move_unit<u32>(x, y, p))
COPY(2, move_unit<u16>(x, y, p))
COPY(1, move_unit<u8>(x, y, p))
COPY(f32_bf16_8, (round8<T_F32, T_BF16>(x, y, p)))
COPY(bf16_f32_8, (round8<T_BF16, T_F32>(x, y, p)))
COPY(f32_bf16_1, ((u16 *)y)[p.y] = f32_bf16(((const float *)x)[p.x]))
COPY(bf16_f32_1, ((float *)y)[p.y] = bf16_f32(((const u16 *)x)[p.x]))
