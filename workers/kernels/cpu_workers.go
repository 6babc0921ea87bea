package kernels

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// worthwhile is the work, in nanoseconds of one core, from which several are used: handing it out
// and waiting for the last costs 25 to 35 microseconds.
const worthwhile = 60_000

// each calls do for every i below n, by all workers where the work of so many nanoseconds is worth
// it; the worker's number says whose scratch to use. Goroutines start and end with the operation,
// which costs about as much as waking ones that wait, and leaves nothing to close.
func (c *CPU) each(n, nanoseconds int, do func(w *scratch, i int)) {
	if c.workers == 1 || n <= 1 || nanoseconds < worthwhile && !c.eager {
		for i := range n {
			do(&c.scratch[0], i)
		}
		return
	}
	var next atomic.Int64
	work := func(w *scratch) {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			do(w, i)
		}
	}
	var wg sync.WaitGroup
	for i := 1; i < min(c.workers, n); i++ {
		wg.Go(func() { work(&c.scratch[i]) })
	}
	work(&c.scratch[0])
	wg.Wait()
}

// rows calls do for the ranges that n rows are cut into, of about so many elements each.
func (c *CPU) rows(n, columns int, do func(w *scratch, from, to int)) {
	const elements = 16 << 10 // of a range: some microseconds, more than it costs to take it
	step := max(1, elements/columns)
	if rest := n / (2 * c.workers); step > rest && n*columns > 2*elements {
		step = max(1, rest)
	}
	c.each((n+step-1)/step, n*columns/2, func(w *scratch, i int) { do(w, i*step, min((i+1)*step, n)) })
}

// sumsTime is about how long so many products and sums take on one core.
func sumsTime(products int) int { return products / 50 }

// scratch is memory for intermediate results, by slot, kept between operations.
type scratch struct{ slots [8][]byte }

const line = 64 // bytes of a cache line

// aligned makes memory that starts at a cache line.
func aligned(bytes int) []byte {
	b := make([]byte, bytes+line)
	skip := -int(uintptr(unsafe.Pointer(&b[0]))) & (line - 1)
	return b[skip : skip+bytes : skip+bytes]
}

// bytes gives a slot's memory, with what its last use left in it.
func (s *scratch) bytes(slot, n int) []byte {
	if len(s.slots[slot]) < n {
		s.slots[slot] = aligned(n + n/4)
	}
	return s.slots[slot][:n]
}

func (s *scratch) floats(slot, n int) []float32 { return view[float32](s.bytes(slot, 4*n)) }

// view reads memory as numbers.
func view[T uint16 | uint32 | float32 | int32](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), len(b)/int(unsafe.Sizeof(t)))
}

// loadRow reads n elements at an offset, bf16 or f32, as float32: in place where it can.
func (c *CPU) loadRow(t Tensor, at, n int, buffer []float32) []float32 {
	if t.Type == F32 {
		return view[float32](t.Host)[at : at+n]
	}
	c.level.Widen(buffer[:n], view[uint16](t.Host)[at:at+n])
	return buffer[:n]
}

// target is where a row of n elements at an offset is computed: in place where the tensor is f32, else in a buffer.
func target(t Tensor, at, n int, buffer []float32) []float32 {
	if t.Type == F32 {
		return view[float32](t.Host)[at : at+n]
	}
	return buffer[:n]
}

// storeRow rounds a row into a tensor at an offset, bf16 or f32; a target in place is there already.
func (c *CPU) storeRow(t Tensor, at int, v []float32) {
	if t.Type == BF16 {
		c.level.Narrow(view[uint16](t.Host)[at:at+len(v)], v)
	} else if dst := view[float32](t.Host)[at:]; len(v) > 0 && &dst[0] != &v[0] {
		copy(dst, v)
	}
}
