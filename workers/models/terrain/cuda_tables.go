package terrain

import (
	"encoding/binary"
	"math"
	"slices"
	"unsafe"

	"telefuser/workers/gpu"
)

// The sizes of terrain.cu's structures, in bytes.
const (
	jobBytes      = 168
	frameBytes    = 152
	columnBytes   = 16
	skyRowBytes   = 24
	waterRowBytes = 16
	starBytes     = 8
	sampleBytes   = 8
	airBytes      = 4
	levelBytes    = levelSide*levelSide*(2+4) + blocksSide*blocksSide*2
	worldBytes    = 256*2 + cloudLevels*cloudSide*cloudSide*4 + ripplesSide*ripplesSide
	bakedBytes    = 16 + blockSide*blockSide*(2+4)
)

// words writes a structure field by field.
type words struct{ b []byte }

func (w *words) i32(v int64)     { w.b = binary.LittleEndian.AppendUint32(w.b, uint32(v)) }
func (w *words) u64(v uint64)    { w.b = binary.LittleEndian.AppendUint64(w.b, v) }
func (w *words) f64(v float64)   { w.u64(math.Float64bits(v)) }
func (w *words) u16(v uint64)    { w.b = binary.LittleEndian.AppendUint16(w.b, uint16(v)) }
func (w *words) ptr(p gpu.Ptr)   { w.u64(uint64(p)) }
func (w *words) pad(upTo int)    { w.b = append(w.b, make([]byte, upTo-len(w.b))...) }
func (w *words) grow(bytes int)  { w.b = slices.Grow(w.b[:0], bytes) }
func (w *words) bytes(at []byte) { w.b = append(w.b, at...) }

// tableLayout says where a frame's tables lie behind its Frame, in bytes, and how far the next frame's are.
type tableLayout struct {
	columns, sky, water, stars, stride int
}

func layoutOf(v *view) tableLayout {
	l := tableLayout{columns: frameBytes}
	l.sky = l.columns + (v.width+1)*columnBytes
	l.water = l.sky + 2*v.height*skyRowBytes
	l.stars = l.water + v.height*waterRowBytes
	const align = 256
	l.stride = (l.stars + starsCount*starBytes + align - 1) / align * align
	return l
}

// packTables writes all tables of a prepared frame.
func (s *scene) packTables(w *words, l tableLayout) {
	w.grow(l.stride)
	s.packFrame(w)
	w.pad(l.columns)
	stars := s.starsByColumn()
	next := 0
	for x := range s.view.width + 1 {
		for next < len(stars) && stars[next].column < x {
			next++
		}
		var rayX, rayZ, glare int64
		if x < s.view.width {
			rayX, rayZ = s.rayOf(x)
			glare = int64(s.glareX[x])
		}
		w.i32(rayX)
		w.i32(rayZ)
		w.i32(glare)
		w.i32(int64(next))
	}
	for y := range s.sky.colours {
		w.u64(s.sky.colours[y])
		w.i32(s.sky.reach[y])
		w.u16(s.sky.fade[y])
		w.u16(s.glareY[y])
		w.u64(uint64(s.sky.level[y]))
	}
	for y := range s.water.depth {
		w.i32(s.water.depth[y])
		w.i32(int64(s.water.shift[y]))
		w.i32(s.water.swing[y])
		w.i32(s.water.gleam[y])
	}
	for _, star := range stars {
		w.i32(int64(star.row))
		w.i32(int64(star.bright))
	}
	w.pad(l.stride)
}

// packFrame writes terrain.cu's Frame.
func (s *scene) packFrame(w *words) {
	sky := s.skyOf(ray{})
	w.u64(uint64(sky.baseX))
	w.u64(uint64(sky.baseZ))
	for _, c := range []packed{s.sunLight, s.cloudBright, s.cloudDark, s.air.distant, s.air.glare, s.discColour()} {
		w.u64(c)
	}
	reach := float64(s.sun.radius * 5)
	for _, v := range []float64{s.sun.x, s.sun.y, s.sun.radius, s.sun.bright, reach} {
		w.f64(v)
	}
	from, to := int64(0), int64(0)
	if s.sun.radius > 0 {
		from, to = max(int64(s.sun.y-reach), 0), max(min(int64(s.sun.y+reach)+1, int64(s.view.height)), 0)
	}
	for _, v := range []int64{
		from, to, s.x, s.z, s.eye, s.horizon, s.ceiling, int64(s.first), s.time, s.time >> 1, int64(float64(s.world.look.mirror * 256)), 0,
	} {
		w.i32(v)
	}
}

// starsByColumn sorts the stars that are in the picture.
func (s *scene) starsByColumn() []starPoint {
	stars := slices.Clone(s.stars)
	slices.SortStableFunc(stars, func(a, b starPoint) int { return a.column - b.column })
	return stars
}

// packWorld writes terrain.cu's World.
func packWorld(w *words, world *World, a *air) {
	w.grow(worldBytes)
	for _, v := range a.low {
		w.u16(v)
	}
	for i, m := range world.clouds.maps {
		for _, v := range m {
			w.i32(int64(v))
		}
		w.pad(256*2 + (i+1)*cloudSide*cloudSide*4)
	}
	for _, v := range world.ripples {
		w.b = append(w.b, byte(v))
	}
}

// packSamples writes the samples of a view, and after all of them what the air does at each.
func packSamples(w *words, v *view, a *air) {
	w.grow(len(v.depths) * (sampleBytes + airBytes))
	for i, depth := range v.depths {
		w.i32(depth)
		w.i32(v.inverses[i])
	}
	for i := range v.depths {
		w.u16(a.fog[i])
		w.u16(a.mist[i])
	}
}

// bakedBlock is the place of one baked block in the bytes that go to the device.
type bakedBlock []byte

// bake fills the block in.
func (b bakedBlock) bake(by *baker, job blockJob) {
	heights := unsafe.Slice((*uint16)(unsafe.Pointer(&b[16])), blockSide*blockSide)
	colours := unsafe.Slice((*uint32)(unsafe.Pointer(&b[16+2*blockSide*blockSide])), blockSide*blockSide)
	top := by.fill(job, heights, colours, blockSide)
	for i, v := range []uint32{uint32(job.level), uint32(job.key.slot()), uint32(top), 0} {
		binary.LittleEndian.PutUint32(b[4*i:], v)
	}
}
