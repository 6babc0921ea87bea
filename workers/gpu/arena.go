package gpu

import (
	"cmp"
	"fmt"
	"slices"
)

// arenaAlign is the alignment of every block in bytes: what tensor maps and the widest
// loads ask for, with room to spare.
const arenaAlign = 256

// Plan lays out the buffers of one pass over a model before anything is allocated.
// Buffers whose steps do not overlap share memory.
type Plan struct {
	blocks []block
	size   int64
}

type block struct {
	name        string
	bytes       int64
	first, last int
	offset      int64
}

// Add asks for a buffer that is live from step first to step last, both included.
func (p *Plan) Add(name string, bytes int64, first, last int) {
	p.blocks = append(p.blocks, block{name: name, bytes: bytes, first: first, last: last})
}

// Layout gives every buffer its place and returns the bytes that the arena needs.
// Larger buffers are placed first, each at the lowest offset where nothing live at the
// same time lies.
func (p *Plan) Layout() (int64, error) {
	order := make([]*block, len(p.blocks))
	names := map[string]bool{}
	for i := range p.blocks {
		b := &p.blocks[i]
		if b.bytes <= 0 || b.last < b.first || names[b.name] {
			return 0, fmt.Errorf("gpu: plan: block %q (%d bytes, steps %d to %d): %w", b.name, b.bytes, b.first, b.last, ErrInvalid)
		}
		names[b.name] = true
		order[i] = b
	}
	slices.SortStableFunc(order, func(a, b *block) int { return cmp.Compare(b.bytes, a.bytes) })
	p.size = 0
	for i, b := range order {
		b.offset = lowestGap(b, order[:i])
		p.size = max(p.size, b.offset+alignUp(b.bytes))
	}
	return p.size, nil
}

// lowestGap finds the lowest offset at which b fits beside the placed blocks that share a step with it.
func lowestGap(b *block, placed []*block) int64 {
	var live []*block
	for _, q := range placed {
		if q.first <= b.last && b.first <= q.last {
			live = append(live, q)
		}
	}
	slices.SortFunc(live, func(x, y *block) int { return cmp.Compare(x.offset, y.offset) })
	var at int64
	for _, q := range live {
		if at+alignUp(b.bytes) <= q.offset {
			break
		}
		at = max(at, q.offset+alignUp(q.bytes))
	}
	return at
}

func alignUp(n int64) int64 { return (n + arenaAlign - 1) / arenaAlign * arenaAlign }

// Arena is one allocation holding all buffers of a plan; nothing is allocated while a
// model runs.
type Arena struct {
	ctx  *Context
	base Ptr
	size int64
	at   map[string]region
}

type region struct {
	offset, bytes int64
}

// NewArena lays the plan out and takes its memory in one piece.
func (c *Context) NewArena(p *Plan) (*Arena, error) {
	size, err := p.Layout()
	if err != nil {
		return nil, err
	}
	base, err := c.Alloc(size)
	if err != nil {
		return nil, fmt.Errorf("gpu: arena of %d bytes: %w", size, err)
	}
	a := &Arena{ctx: c, base: base, size: size, at: map[string]region{}}
	for _, b := range p.blocks {
		a.at[b.name] = region{b.offset, b.bytes}
	}
	return a, nil
}

// Buffer gives a buffer's address and its bytes.
func (a *Arena) Buffer(name string) (Ptr, int64, error) {
	r, ok := a.at[name]
	if !ok {
		return 0, 0, fmt.Errorf("gpu: arena: no block %q: %w", name, ErrInvalid)
	}
	return a.base + Ptr(r.offset), r.bytes, nil
}

// Size is the bytes that the arena holds.
func (a *Arena) Size() int64 { return a.size }

// Free gives the memory back.
func (a *Arena) Free() error { return a.ctx.Free(a.base) }
