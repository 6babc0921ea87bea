package kernels

import (
	"unsafe"

	"telefuser/workers/kernels/simd"
)

// panels is the right factor of a product, packed for tiles: columns in groups of a tile's width,
// each group [units][width], a unit being 32 bits (see simd.Tile).
type panels struct {
	level   simd.Level
	data    []byte
	columns int
	units   int
}

// unit is how many elements a unit holds.
func unitOf(l simd.Level) int {
	if l.Pairs() {
		return 2
	}
	return 1
}

// padded is the columns with those that fill the last group.
func (p panels) padded() int {
	n := 0
	for n < p.columns {
		n += p.level.Columns(p.columns - n)
	}
	return n
}

// group is one panel's place and width.
type group struct{ column, width int }

func (p panels) groups() []group {
	var all []group
	for n := 0; n < p.columns; {
		w := p.level.Columns(p.columns - n)
		all = append(all, group{n, w})
		n += w
	}
	return all
}

// at is where a group begins; columns before it make up whole groups.
func (p panels) at(g group) unsafe.Pointer {
	return unsafe.Pointer(&p.data[g.column*p.units*4])
}

// tiles is the level at which products of a type are computed: pairs are of bf16 alone.
func (c *CPU) tiles(t DType) simd.Level {
	if t == F32 {
		return min(c.level, simd.AVX512)
	}
	return c.level
}

// panels are those of a right factor of a type, in memory of a slot of the shared scratch, which
// holds count of them one after the other.
func (c *CPU) panels(slot, count int, t DType, columns, k int) []panels {
	p := panels{level: c.tiles(t), columns: columns}
	per := unitOf(p.level)
	p.units = (k + per - 1) / per
	size := p.padded() * p.units * 4
	data, all := c.shared.bytes(slot, count*size), make([]panels, count)
	for i := range all {
		all[i] = p
		all[i].data = data[i*size:][:size]
	}
	return all
}

// pack fills panels from rows, which become columns: row j is the k elements of src from j*stride on, bf16 or f32.
func (c *CPU) pack(slot int, src Tensor, columns, k, stride int) panels {
	p := c.panels(slot, 1, src.Type, columns, k)[0]
	all := p.groups()
	c.each(len(all), columns*k/4, func(w *scratch, i int) { c.packGroup(w, p, all[i], src, k, stride) })
	return p
}

func (c *CPU) packGroup(w *scratch, p panels, g group, src Tensor, k, stride int) {
	for j := 0; j < g.width; j += 8 {
		first := min(g.column+j, p.columns-1) // a group's last eight may all lie beyond
		c.packEight(w, p, g, j, src.offset(first*stride), k, stride)
	}
}

// packEight turns eight rows into eight columns of a group, from its column j on; rows are a whole
// number of units long and apart, as every operation demands. Columns beyond the last hold anything:
// nobody reads their sums.
func (c *CPU) packEight(w *scratch, p panels, g group, j int, src Tensor, k, stride int) {
	const eight = 8
	dst := view[uint32](p.data[g.column*p.units*4:])[j : p.units*g.width]
	count := min(eight, p.columns-g.column-j)
	per := unitOf(p.level)
	if count == eight && (per == 2 || src.Type == F32) {
		c.level.Transpose(dst, g.width, view[uint32](src.Host[:len(src.Host)/4*4]), stride/per, p.units)
		return
	}
	buffer := w.bytes(0, eight*p.units*4)
	for r := range count {
		c.stage(p.level, buffer[r*p.units*4:], src, r*stride, k)
	}
	c.level.Transpose(dst, g.width, view[uint32](buffer), p.units, p.units)
}

// stage copies n elements from at on, bf16 or f32, as units for a level's tiles.
func (c *CPU) stage(l simd.Level, dst []byte, src Tensor, at, n int) {
	size := src.Type.Bytes()
	if l.Pairs() || src.Type == F32 {
		copy(dst, src.Host[at*size:(at+n)*size])
		return
	}
	c.level.Widen(view[float32](dst)[:n], view[uint16](src.Host)[at:at+n])
}

// pitchOf is the bytes between staged rows of so many units: never a multiple of a page, whose
// rows would all fall into the same places of the cache.
func pitchOf(units int) int {
	b := (units*4 + line - 1) / line * line
	if b%1024 == 0 {
		b += line
	}
	return b
}
