// Frames of terrain, byte for byte those of the Go code: it reads the same tables, map and samples and does the same integers. The file
// is whole in itself; NVRTC, nvcc and clang compile it, and a C++ compiler for the processor does too, with TELEFUSER_HOST, which is
// how a machine without a GPU tests it.
//
//   terrain_place   baked blocks -> map; one block of threads a block of the map
//   terrain_march   map -> ground (sums), water (wet) and what it mirrors (mirror); a thread a column of a frame
//   terrain_sky     the sky above the ground; a thread two rows of a column
//   terrain_planes  what water mirrors, then I420; a thread 2 x 2 pixels
//
// sums, wet and mirror are [frame][row][column], so neighbouring threads touch neighbouring words. The limiting resource is the
// latency of the march's gathers, so a thread has four samples under way.
#if defined(TELEFUSER_HOST)
#define DEV static inline
#define KERNEL(threads) extern "C" void
struct Index { unsigned x, y, z; };
static thread_local Index threadIdx, blockIdx, blockDim;
#else
#ifdef __clang__
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __forceinline__ __attribute__((always_inline)) inline
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#include <__clang_cuda_builtin_vars.h>
#endif
#define DEV static __device__ __forceinline__
#define KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads)
#endif
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
typedef signed char i8;
typedef int i32;
typedef long long i64;

// Sizes and fixed-point scales, as in view.go, levels.go, colour.go, water.go and clouds.go.
#define LEVELS_MAX 6
#define LEVEL_BITS 10
#define LEVEL_MASK 1023u
#define BLOCK_SIDE 32
#define BLOCKS_MASK 31u
#define POSITION_BITS 16
#define RAY_TO_POSITION 12 // rayBits + depthBits - positionBits
#define SPOT_TO_HEIGHT 8
#define HEIGHT_BITS 14
#define TO_SCREEN 26 // heightBits + inverseBits - screenBits
#define TO_ROW 34    // heightBits + inverseBits
#define SEA (128 << HEIGHT_BITS)
#define GROUP 8
#define LANE_BITS 21
#define LANE_MASK ((1ull << LANE_BITS) - 1)
#define LANES_MASK (0xfffull | 0xfffull << LANE_BITS | 0xfffull << (2 * LANE_BITS))
#define CLOUD_BITS 9
#define CLOUD_SPACING 22
#define RIPPLES_BITS 7
#define RIPPLES_MASK 127

// The tables; cuda_tables.go writes them.
struct Sample { i32 depth, inverse; };
struct Air { u16 fog, mist; };
struct Column { i32 rayX, rayZ; u32 glare, star; }; // star: the column's first in the list; one more column ends the last
struct SkyRow { u64 colour; i32 reach; u16 fade, glare; u32 level, pad; };
struct WaterRow { i32 depth, shift, swing, gleam; };
struct Star { u32 row, bright; };
struct Frame {
  i64 baseX, baseZ;
  u64 sunLight, cloudBright, cloudDark, distant, before, white;
  double discX, discY, discRadius, discBright, discReach;
  i32 discFrom, discTo;
  i32 x, z, eye, horizon, ceiling, first, time, halfTime;
  u32 gloss, pad;
};
struct Level {
  u16 heights[1 << 2 * LEVEL_BITS];
  u32 colours[1 << 2 * LEVEL_BITS];
  u16 tops[1024];
};
struct World {
  u16 low[256];
  u32 clouds[3][1 << 2 * CLOUD_BITS]; // each level uses a quarter of the one before
  i8 ripples[1 << 2 * RIPPLES_BITS];
};
struct Job {
  i32 width, height, frames, levels;
  i32 starts[8];
  const Sample *samples;
  const Air *air;
  const World *world;
  const Level *map;
  const u8 *tables; // of the first frame; each has its Frame, columns, sky rows, water rows and stars
  u64 tablesStride, columnsAt, skyAt, waterAt, starsAt;
  u64 *sums, *mirror;
  u32 *wet;
  i32 *edges; // [frame][column]: the end of the ground with 8 bits, and WET
  u8 *out;    // [frame] of I420
};
#define WET (1 << 30)
struct Baked { // one baked block on its way to the map
  u32 level, slot, top, pad;
  u16 heights[BLOCK_SIDE * BLOCK_SIDE];
  u32 colours[BLOCK_SIDE * BLOCK_SIDE];
};

DEV i32 min2(i32 a, i32 b) { return a < b ? a : b; }
DEV i32 max2(i32 a, i32 b) { return a > b ? a : b; }
DEV u64 blend(u64 a, u64 b, u32 weight) { return ((a * (256 - weight) + b * weight) >> 8) & LANES_MASK; }
DEV u64 unpack(u32 c) {
  return (u64)(c & 0x7ff) << 1 | (u64)(c >> 11 & 0x3ff) << (LANE_BITS + 2) | (u64)(c >> 21 & 0x3ff) << (2 * LANE_BITS + 2);
}

// Doubles that no compiler may fuse.
#if defined(TELEFUSER_HOST)
DEV double mul(double a, double b) { return a * b; }
DEV double add(double a, double b) { return a + b; }
DEV double sub(double a, double b) { return a - b; }
DEV double quotient(double a, double b) { return a / b; }
#else
DEV double mul(double a, double b) { double c; asm("mul.rn.f64 %0, %1, %2;" : "=d"(c) : "d"(a), "d"(b)); return c; }
DEV double add(double a, double b) { double c; asm("add.rn.f64 %0, %1, %2;" : "=d"(c) : "d"(a), "d"(b)); return c; }
DEV double sub(double a, double b) { double c; asm("sub.rn.f64 %0, %1, %2;" : "=d"(c) : "d"(a), "d"(b)); return c; }
DEV double quotient(double a, double b) { double c; asm("div.rn.f64 %0, %1, %2;" : "=d"(c) : "d"(a), "d"(b)); return c; }
#endif
DEV double smooth(double low, double high, double x) {
  double t = quotient(sub(x, low), sub(high, low));
  if (t <= 0) return 0;
  if (t >= 1) return 1;
  return mul(mul(t, t), sub(3, mul(2, t)));
}
DEV double exp_negative(double x) {
  if (x > 40) return 0;
  double t = mul(x, -1.0 / 4096);
  double y = add(mul(t, 1.0 / 24), 1.0 / 6);
  y = add(mul(y, t), 0.5);
  y = add(mul(y, t), 1);
  y = add(mul(y, t), 1);
  for (int i = 0; i < 12; i++) y = mul(y, y);
  return y;
}

KERNEL(256) terrain_place(const Baked *baked, Level *map) {
  const Baked *b = baked + blockIdx.x;
  Level *l = map + b->level;
  u32 corner = (b->slot >> 5) * BLOCK_SIDE << LEVEL_BITS | (b->slot & BLOCKS_MASK) * BLOCK_SIDE;
  for (u32 i = threadIdx.x; i < BLOCK_SIDE * BLOCK_SIDE; i += blockDim.x) {
    u32 at = corner + (i >> 5 << LEVEL_BITS) + (i & 31);
    l->heights[at] = b->heights[i];
    l->colours[at] = b->colours[i];
  }
  if (threadIdx.x == 0) l->tops[b->slot] = (u16)b->top;
}

// Place is a point of the map: its cells and the weights between them.
struct Place { u32 i00, i01, i10, i11, fx, fz; };
DEV u32 along(i32 start, i32 ray, i32 depth) { return (u32)start + (u32)(i32)((i64)ray * depth >> RAY_TO_POSITION); }
DEV Place place(i32 x, i32 z, i32 rayX, i32 rayZ, i32 depth, u32 shift) {
  u32 px = along(x, rayX, depth), pz = along(z, rayZ, depth);
  u32 cx = px >> shift, cz = pz >> shift;
  u32 row0 = (cz & LEVEL_MASK) << LEVEL_BITS, row1 = ((cz + 1) & LEVEL_MASK) << LEVEL_BITS;
  u32 c0 = cx & LEVEL_MASK, c1 = (cx + 1) & LEVEL_MASK;
  return {row0 | c0, row0 | c1, row1 | c0, row1 | c1, px >> (shift - 8) & 255, pz >> (shift - 8) & 255};
}
// height_at has 22 bits after the point of a 1/64 cell's integer: all of 32 bits, so the arithmetic may wrap around.
DEV u32 height_at(const u16 *heights, const Place &p) {
  u32 a = heights[p.i00], b = heights[p.i01], c = heights[p.i10], d = heights[p.i11];
  u32 top = (a << 8) + (b - a) * p.fx;
  return (top << 8) + ((c << 8) + (d - c) * p.fx - top) * p.fz;
}

// March is a column's walk away from the eye. acc and wetAcc are the sums of the row that the edge lies in.
struct March {
  u64 *sums, *mirror;
  u32 *wet;
  const u16 *low;
  i32 width, height;
  i32 eye, horizon, x, z, rayX, rayZ;
  u64 fogColour;
  u32 gloss;
  i32 edge, row;
  u64 last, acc;
  u32 wetAcc;
  bool seen, isWet;
  i32 upper, lower;
};

DEV bool hides(March &m, const Level *l, u32 shift, Sample near, Sample far) {
  u32 x0 = along(m.x, m.rayX, near.depth) >> shift, x1 = along(m.x, m.rayX, far.depth) >> shift;
  u32 z0 = along(m.z, m.rayZ, near.depth) >> shift, z1 = along(m.z, m.rayZ, far.depth) >> shift;
  // The far end is the lower one where the ray goes down.
  if (m.rayX < 0) { u32 t = x0; x0 = x1; x1 = t; }
  if (m.rayZ < 0) { u32 t = z0; z0 = z1; z1 = t; }
  x0 = x0 >> 5 & BLOCKS_MASK, x1 = (x1 + 1) >> 5 & BLOCKS_MASK, z0 = z0 >> 5 & BLOCKS_MASK, z1 = (z1 + 1) >> 5 & BLOCKS_MASK;
  i32 roof = max2(max2(l->tops[z0 << 5 | x0], l->tops[z0 << 5 | x1]), max2(l->tops[z1 << 5 | x0], l->tops[z1 << 5 | x1]));
  if (m.isWet) {
    if (roof > 128 * 64 + 16) return false;
    m.upper = 0, m.lower = -1;
  }
  i32 over = m.eye - (roof << (HEIGHT_BITS - 6));
  i64 inverse = over < 0 ? near.inverse : far.inverse;
  return m.horizon + (i32)(over * inverse >> TO_SCREEN) >= m.edge;
}

struct Rows { i32 base, end; };
DEV Rows mirror_rows(const March &m, i32 over, i32 inverse) {
  i32 horizon = m.horizon >> 8;
  i32 base = horizon + (i32)((i64)(m.eye - SEA) * inverse >> TO_ROW) + 1;
  i32 end = horizon + (i32)((i64)(m.eye - SEA + over) * inverse >> TO_ROW);
  return {max2(base, 0), min2(end, m.height - 1)};
}
DEV bool mirrors(March &m, i32 over, i32 inverse) {
  if (over <= 1 << (HEIGHT_BITS - 2)) {
    m.upper = 0, m.lower = -1;
    return false;
  }
  Rows r = mirror_rows(m, over, inverse);
  return r.base <= r.end && (m.lower < m.upper || r.base < m.upper || r.end > m.lower);
}
DEV void reflect_row(March &m, i32 row, u64 colour) {
  u64 *p = m.mirror + (u64)row * m.width;
  if (*p == 0) *p = colour;
}
DEV void reflect(March &m, i32 over, i32 inverse, u64 colour) {
  Rows r = mirror_rows(m, over, inverse);
  if (m.lower < m.upper || r.end < m.upper - 1) m.upper = r.base, m.lower = r.base - 1;
  for (i32 row = min2(m.upper - 1, r.end); row >= r.base; row--) reflect_row(m, row, colour);
  for (i32 row = m.lower + 1; row <= r.end; row++) reflect_row(m, row, colour);
  m.upper = min2(m.upper, r.base), m.lower = max2(m.lower, r.end);
}

struct Shade { u64 colour; u32 haze, water; };
DEV Shade shade(const March &m, const u32 *colours, const Place &p, i32 over, Air air) {
  u32 c00 = colours[p.i00], c01 = colours[p.i01], c10 = colours[p.i10], c11 = colours[p.i11];
  u32 w11 = p.fx * p.fz >> 8, w01 = p.fx - w11, w10 = p.fz - w11, w00 = 256 - p.fx - w10;
  u64 colour = ((unpack(c00) * w00 + unpack(c01) * w01 + unpack(c10) * w10 + unpack(c11) * w11) >> 8) & LANES_MASK;
  u32 haze = air.fog;
  if (air.mist > 0) {
    u32 low = m.low[max2(over >> (HEIGHT_BITS + 2), 0) & 255];
    haze += ((256 - haze) * (air.mist * low >> 8)) >> 8;
  }
  u32 water = (c00 >> 31) * w00 + (c01 >> 31) * w01 + (c10 >> 31) * w10 + (c11 >> 31) * w11;
  return {blend(colour, m.fogColour, haze), haze, water};
}

// soak_weight is how much of a spot mirrors.
DEV u32 soak_weight(const March &m, Shade s, i32 over, i32 depth) {
  u32 steep = (u32)max2(over, 0) * 4 / (u32)depth;
  u32 shine = 26;
  if (steep < 256) {
    u32 flat = 256 - steep, flat2 = flat * flat >> 8;
    shine += 205 * (flat2 * flat2 >> 8) >> 8;
  }
  return ((shine * m.gloss >> 8) * s.water >> 8) * (256 - s.haze) >> 8;
}

// draw shows a colour in the rows from y to the edge, which becomes y; weight of it mirrors.
DEV void draw(March &m, i32 y, u64 colour, u32 weight) {
  i32 first = y >> 8, last = m.edge >> 8;
  if (weight && !m.isWet) m.isWet = true, m.upper = 0, m.lower = -1;
  if (first == last) {
    m.acc += colour * (u64)(m.edge - y);
    m.wetAcc += weight * (u32)(m.edge - y);
    return;
  }
  u64 from = m.seen ? m.last : colour;
  u32 part = m.edge & 255;
  if (last < m.height) {
    m.sums[(u64)last * m.width] = m.acc + from * part;
    if (m.isWet) m.wet[(u64)last * m.width] = m.wetAcc + weight * part;
  }
  m.acc = colour * (u64)(((first + 1) << 8) - y);
  m.wetAcc = weight * (u32)(((first + 1) << 8) - y);
  u32 step = (256u << 8) / (u32)(last - first), at = step;
  for (i32 row = last - 1; row > first; row--, at += step) {
    m.sums[(u64)row * m.width] = blend(from, colour, at >> 8) << 8;
    if (weight) m.wet[(u64)row * m.width] = weight << 8;
  }
}

// spot handles one sample of a height; it answers whether the picture is full.
DEV bool spot(March &m, const Level *l, u32 shift, Sample s, const Air *air, u32 height) {
  i32 over = m.eye - (i32)(height >> SPOT_TO_HEIGHT), above = (i32)(height >> SPOT_TO_HEIGHT) - SEA;
  i32 y = m.horizon + (i32)((i64)over * s.inverse >> TO_SCREEN);
  bool hidden = y >= m.edge, mirrored = m.isWet && mirrors(m, above, s.inverse);
  if (hidden) {
    m.seen = false;
    if (!mirrored) return false;
  }
  Place p = place(m.x, m.z, m.rayX, m.rayZ, s.depth, shift);
  Shade c = shade(m, l->colours, p, above, *air);
  if (mirrored) reflect(m, above, s.inverse, c.colour);
  if (hidden) return false;
  draw(m, max2(y, 0), c.colour, c.water ? soak_weight(m, c, over, s.depth) : 0);
  m.last = c.colour, m.seen = true, m.edge = max2(y, 0);
  return y <= 0;
}

// walk_level answers whether the column is done.
DEV bool walk_level(March &m, const Level *l, u32 shift, const Sample *samples, const Air *air, i32 count) {
  for (i32 start = 0; start < count; start += GROUP) {
    i32 end = min2(start + GROUP, count);
    if (hides(m, l, shift, samples[start], samples[end - 1])) {
      m.seen = false;
      continue;
    }
    for (i32 i = start; i < end; i += 4) {
      u32 heights[4];
      Sample s[4];
#pragma unroll
      for (int n = 0; n < 4; n++) {
        s[n] = samples[min2(i + n, end - 1)];
        heights[n] = height_at(l->heights, place(m.x, m.z, m.rayX, m.rayZ, s[n].depth, shift));
      }
#pragma unroll
      for (int n = 0; n < 4; n++)
        if (i + n < end && spot(m, l, shift, s[n], air + i + n, heights[n])) return true;
    }
  }
  return m.edge <= 0;
}

KERNEL(64) terrain_march(const Job *j, u64) {
  i32 x = blockIdx.x * blockDim.x + threadIdx.x, frame = blockIdx.y;
  if (x >= j->width) return;
  const u8 *tables = j->tables + frame * j->tablesStride;
  const Frame *f = (const Frame *)tables;
  Column c = ((const Column *)(tables + j->columnsAt))[x];
  u64 at = (u64)frame * j->width * j->height + x;
  March m;
  m.sums = j->sums + at, m.mirror = j->mirror + at, m.wet = j->wet + at, m.low = j->world->low;
  m.width = j->width, m.height = j->height;
  m.eye = f->eye, m.horizon = f->horizon, m.x = f->x, m.z = f->z, m.rayX = c.rayX, m.rayZ = c.rayZ;
  m.fogColour = blend(f->distant, f->before, c.glare), m.gloss = f->gloss;
  m.edge = j->height << 8, m.last = 0, m.acc = 0, m.wetAcc = 0, m.seen = false, m.isWet = false, m.upper = 0, m.lower = 0;
  for (i32 k = 0; k < j->levels; k++) {
    i32 from = max2(j->starts[k], f->first), to = j->starts[k + 1];
    if (from >= to) continue;
    if (walk_level(m, j->map + k, POSITION_BITS + k, j->samples + from, j->air + from, to - from)) break;
    // No ground further away can reach over what is drawn.
    i32 sky = m.horizon + (i32)((i64)(m.eye - f->ceiling) * j->samples[to - 1].inverse >> TO_SCREEN);
    if (min2(m.horizon, sky) >= m.edge) break;
  }
  i32 row = m.edge >> 8;
  if (row < m.height) {
    m.sums[(u64)row * m.width] = m.acc;
    if (m.isWet) m.wet[(u64)row * m.width] = m.wetAcc;
  }
  j->edges[frame * j->width + x] = m.edge | (m.isWet ? WET : 0);
}

DEV u64 sky_at(const Job *j, const Frame *f, const SkyRow *rows, Column c, i32 row) {
  SkyRow r = rows[max2(row + j->height, 0)];
  u32 lit = c.glare * r.glare >> 8;
  u64 colour = blend(r.colour, f->sunLight, lit);
  if (r.fade == 0) return colour;
  i64 u = (f->baseX + ((i64)c.rayX * r.reach >> 20)) / CLOUD_SPACING >> r.level;
  i64 v = (f->baseZ + ((i64)c.rayZ * r.reach >> 20)) / CLOUD_SPACING >> r.level;
  u32 bits = CLOUD_BITS - r.level, mask = (1u << bits) - 1;
  u32 i = (u32)(u >> 8) & mask, k = (u32)(v >> 8) & mask, i1 = (i + 1) & mask, k1 = (k + 1) & mask;
  u32 fu = (u32)u & 255, fv = (u32)v & 255;
  const u32 *cloud = j->world->clouds[r.level];
  u64 top = (u64)cloud[k << bits | i] * (256 - fu) + (u64)cloud[k << bits | i1] * fu;
  u64 bottom = (u64)cloud[k1 << bits | i] * (256 - fu) + (u64)cloud[k1 << bits | i1] * fu;
  u32 dense = (((u32)top & 0xffff) >> 8) * (256 - fv) + (((u32)bottom & 0xffff) >> 8) * fv;
  dense >>= 8;
  u32 bright = ((u32)(top >> 24) * (256 - fv) + (u32)(bottom >> 24) * fv) >> 8;
  u64 tone = blend(f->cloudDark, f->cloudBright, bright < 256 ? bright : 256);
  tone = blend(tone, f->sunLight, lit * bright >> 9);
  return blend(colour, tone, dense * r.fade >> 8);
}

// lights adds stars and the disc to a pixel of pure sky.
DEV u64 lights(const Frame *f, const Column *c, const Star *stars, i32 x, i32 y, u64 sum) {
  for (u32 i = c[0].star; i < c[1].star; i++)
    if ((i32)stars[i].row == y) {
      u64 luma = (sum & LANE_MASK) + ((u64)stars[i].bright << 11);
      u64 most = 235ull << 12;
      sum = (sum & ~LANE_MASK) | (luma < most ? luma : most);
    }
  if (f->discRadius == 0 || y < f->discFrom || y >= f->discTo) return sum;
  double dx = sub(add((double)x, 0.5), f->discX), dy = sub(add((double)y, 0.5), f->discY);
  if ((dx < 0 ? -dx : dx) > f->discReach) return sum;
  double away = quotient(add(mul(dx, dx), mul(dy, dy)), mul(f->discRadius, f->discRadius));
  double glow = mul(add(smooth(1.15, 0.85, away), mul(0.55, exp_negative(mul(away, 0.22)))), f->discBright);
  glow = glow < 0 ? 0 : glow > 1 ? 1 : glow;
  return blend(sum >> 8 & LANES_MASK, f->white, (u32)mul(256, glow)) << 8;
}

KERNEL(256) terrain_sky(const Job *j, u64) {
  i32 i = blockIdx.x * blockDim.x + threadIdx.x, frame = blockIdx.y, w = j->width;
  i32 x = i % w, y = i / w * 2;
  if (y >= j->height) return;
  i32 edge = j->edges[frame * w + x] & ~WET, full = edge >> 8, part = edge & 255;
  if (y >= full + (part > 0)) return;
  const u8 *tables = j->tables + frame * j->tablesStride;
  const Frame *f = (const Frame *)tables;
  const Column *column = (const Column *)(tables + j->columnsAt) + x;
  const SkyRow *rows = (const SkyRow *)(tables + j->skyAt);
  const Star *stars = (const Star *)(tables + j->starsAt);
  u64 *sums = j->sums + (u64)frame * w * j->height + x;
  u64 here = sky_at(j, f, rows, *column, y);
  u64 colours[2] = {here, 0};
  if (y + 1 < full + (part > 0)) colours[1] = (here + sky_at(j, f, rows, *column, min2(y + 2, j->height - 1))) >> 1 & LANES_MASK;
  for (int n = 0; n < 2; n++) {
    i32 row = y + n;
    if (row < full) sums[(u64)row * w] = lights(f, column, stars, x, row, colours[n] << 8);
    else if (row == full && part > 0) sums[(u64)row * w] += colours[n] * (u64)part;
  }
}

// mirrored adds to a pixel of water what it mirrors, moved by ripples.
DEV u64 mirrored(const Job *j, const u8 *tables, i32 frame, i32 x, i32 y, i32 edge, u64 sum) {
  i32 w = j->width;
  u64 plane = (u64)frame * w * j->height + x;
  u32 weight = j->wet[plane + (u64)y * w] >> 8;
  if (weight == 0) return sum;
  const Frame *f = (const Frame *)tables;
  Column c = ((const Column *)(tables + j->columnsAt))[x];
  WaterRow r = ((const WaterRow *)(tables + j->waterAt))[y];
  u32 shift = POSITION_BITS + r.shift - 1;
  i32 px = (i32)(along(f->x, c.rayX, r.depth) >> shift), pz = (i32)(along(f->z, c.rayZ, r.depth) >> shift);
  const i8 *ripples = j->world->ripples;
  i32 slope = ripples[((pz + f->halfTime) & RIPPLES_MASK) << RIPPLES_BITS | ((px + f->time) & RIPPLES_MASK)] +
              ripples[((px - f->halfTime) & RIPPLES_MASK) << RIPPLES_BITS | ((pz - f->time + 41) & RIPPLES_MASK)];
  i32 moved = y + (i32)((i64)slope * r.swing >> 11);
  moved = max2(min2(moved, j->height - 1), 0);
  u64 seen = j->mirror[plane + (u64)moved * w];
  if (seen == 0) {
    i32 horizon = f->horizon >> 8;
    i32 row = min2(min2(2 * horizon - moved, horizon - 1), j->height - 1);
    if (row >= 0 && row < edge >> 8) seen = j->sums[plane + (u64)row * w] >> 8 & LANES_MASK;
    else seen = sky_at(j, f, (const SkyRow *)(tables + j->skyAt), c, row);
  }
  u64 colour = blend(sum >> 8 & LANES_MASK, seen, weight < 256 ? weight : 256);
  i32 light = (i32)(colour & LANE_MASK) + (slope * r.gleam >> 8);
  light = max2(min2(light, 235 << 4), 16 << 4);
  return ((colour & ~LANE_MASK) | (u64)light) << 8;
}

// dither is the threshold of a pixel in 1/4096 of a step: 4 x 4 hexadecimal digits, first row lowest.
DEV u32 dither(i32 x, i32 y) {
  u64 digits = 0x5d7f91b36e4ca280ull;
  return ((u32)(digits >> (((y & 3) << 2 | (x & 3)) << 2) & 15) * 2 + 1) * 128;
}

KERNEL(256) terrain_planes(const Job *j, u64) {
  i32 i = blockIdx.x * blockDim.x + threadIdx.x, frame = blockIdx.y, w = j->width, half = w / 2;
  i32 x = i % half * 2, y = i / half * 2;
  if (y >= j->height) return;
  const u8 *tables = j->tables + frame * j->tablesStride;
  const u64 *sums = j->sums + (u64)frame * w * j->height;
  u64 pixels = (u64)w * j->height;
  u8 *luma = j->out + frame * (pixels * 3 / 2);
  u64 both[2];
  u8 bytes[2][2];
  for (int column = 0; column < 2; column++) {
    i32 edge = j->edges[frame * w + x + column];
    bool isWet = edge & WET;
    edge &= ~WET;
    both[column] = 0;
    for (int row = 0; row < 2; row++) {
      u64 sum = sums[(u64)(y + row) * w + x + column];
      if (isWet && y + row >= edge >> 8) sum = mirrored(j, tables, frame, x + column, y + row, edge, sum);
      bytes[row][column] = (u8)(((sum & LANE_MASK) + dither(x + column, y + row)) >> 12);
      both[column] += sum;
    }
  }
  for (int row = 0; row < 2; row++) *(u16 *)(luma + (u64)(y + row) * w + x) = (u16)(bytes[row][0] | bytes[row][1] << 8);
  u8 *blue = luma + pixels + (u64)(y / 2) * half + x / 2;
  *blue = (u8)(((both[0] >> LANE_BITS & LANE_MASK) + (both[1] >> LANE_BITS & LANE_MASK) + 8192) >> 14);
  blue[pixels / 4] = (u8)(((both[0] >> 2 * LANE_BITS) + (both[1] >> 2 * LANE_BITS) + 8192) >> 14);
}

// Faults on purpose, for tests of what surrounds the device: a failed assertion, a write out of bounds, a kernel without an end. word is
// memory of the device that holds 0.
#if !defined(TELEFUSER_HOST)
#ifdef __clang__
extern "C" __device__ void __assertfail(const void *message, const void *file, u32 line, const void *function, unsigned long charBytes);
#endif
KERNEL(1) terrain_fault(u32 *word, u64 kind) {
  if (kind == 1) __assertfail("fault on purpose", "terrain.cu", 1, "terrain_fault", 1);
  if (kind == 2) *(volatile u32 *)(word + (1ull << 40)) = 1;
  if (kind == 3)
    while (*(volatile u32 *)word == 0) {}
}
#endif

#if defined(TELEFUSER_HOST)
extern "C" void host_run(u64 kernel, u64 blocks, u64 rows, u64 threads, u64 a, u64 b) {
  blockDim.x = (unsigned)threads;
  for (blockIdx.y = 0; blockIdx.y < rows; blockIdx.y++)
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)
      for (threadIdx.x = 0; threadIdx.x < threads; threadIdx.x++) switch (kernel) {
        case 0: terrain_place((const Baked *)a, (Level *)b); break;
        case 1: terrain_march((const Job *)a, b); break;
        case 2: terrain_sky((const Job *)a, b); break;
        case 3: terrain_planes((const Job *)a, b); break;
        }
}
extern "C" void *host_take(u64 bytes) { return __builtin_malloc(bytes); }
extern "C" void host_give(void *p) { __builtin_free(p); }
#endif
