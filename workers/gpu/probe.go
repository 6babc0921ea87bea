package gpu

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
)

//go:embed probe.ptx
var probePTX []byte

// probeWords is how many 32-bit words the health probe computes.
const probeWords = 1 << 16

// Probe runs a small real kernel through copies in and out and checks every word. An
// error means that the GPU cannot be trusted with work. ctx bounds the wait, so that a
// card that hangs is noticed.
func (c *Context) Probe(ctx context.Context) error {
	m, err := c.load("probe", "ptx", append(append([]byte{}, probePTX...), 0))
	if err != nil {
		return err
	}
	s, err := c.NewStream()
	if err != nil {
		return joinFirst(err, m.Unload())
	}
	mem, err := c.Alloc(2 * 4 * probeWords)
	if err != nil {
		return joinFirst(err, s.Close(), m.Unload())
	}
	err = c.probe(ctx, m, s, mem)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return err // the kernel may still run: giving anything back would wait for it
	}
	return joinFirst(err, c.Free(mem), s.Close(), m.Unload())
}

func (c *Context) probe(ctx context.Context, m *Module, s *Stream, mem Ptr) error {
	f, err := m.Function("probe")
	if err != nil {
		return err
	}
	in, out := make([]byte, 4*probeWords), make([]byte, 4*probeWords)
	for i := range probeWords {
		binary.LittleEndian.PutUint32(in[4*i:], uint32(i)*2654435761)
	}
	const threads = 256
	outPtr := mem + 4*probeWords
	err = joinFirst(s.CopyIn(mem, in), s.Fill(outPtr, 0xff, 4*probeWords),
		s.Launch(f, Grid{X: probeWords / threads, Threads: threads}, NewArgs().Ptr(mem).Ptr(outPtr).I32(probeWords)))
	if err != nil {
		return err
	}
	if err := s.Wait(ctx); err != nil {
		return err // behind a kernel that hangs, a copy would wait for ever
	}
	if err := s.Read(out, outPtr); err != nil {
		return err
	}
	for i := range probeWords {
		want := uint32(i)*2654435761*3 + uint32(i)
		if got := binary.LittleEndian.Uint32(out[4*i:]); got != want {
			return &Error{Op: "probe", Code: codeUnknown, Detail: fmt.Sprintf("word %d is %#x, not %#x", i, got, want)}
		}
	}
	return nil
}
