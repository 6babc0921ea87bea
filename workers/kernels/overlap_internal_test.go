package kernels

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"telefuser/workers/gpu"
)

// TestOverlapKeepsTheOrder runs a chain of kernels that need each other's results, with copies on another stream
// between them, one after the other and begun while the one before ends: directly and as a graph, the same bits.
func TestOverlapKeepsTheOrder(t *testing.T) {
	d, err := gpu.Open()
	if errors.Is(err, gpu.ErrNoDriver) || errors.Is(err, gpu.ErrNoDevice) {
		t.Skipf("needs an NVIDIA GPU: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	dev, err := d.OpenDevice(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dev.Close() }()
	err = dev.Do(context.Background(), func(x *gpu.Context) error {
		c, err := NewCUDA(x, CUDAOptions{})
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		if !c.overlaps {
			t.Skip("needs a GPU of capability 9.0")
		}
		return chainOfKernels(t, c)
	})
	if err != nil {
		t.Error(err)
	}
}

// chained is the tensors of the chain and the other stream.
type chained struct {
	c                      *CUDA
	x, y, z, q, s, kept, g Tensor
	other                  *gpu.Stream
	forth, back            *gpu.Event
}

func newChained(c *CUDA) (*chained, error) {
	const rows, columns = 2500, 5120
	k := &chained{c: c}
	var errs [8]error
	k.x, errs[0] = c.New(BF16, rows, columns)
	k.y, errs[1] = c.New(BF16, rows, columns)
	k.z, errs[2] = c.New(BF16, rows, columns)
	k.q, errs[3] = c.New(E4M3, rows, columns)
	k.s, errs[4] = c.New(F32, rows)
	k.kept, errs[5] = c.New(BF16, rows, columns)
	k.g, errs[6] = c.New(F32, columns)
	k.other, errs[7] = c.ctx.NewStream()
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	var err error
	if k.forth, err = c.ctx.NewEvent(); err != nil {
		return nil, err
	}
	k.back, err = c.ctx.NewEvent()
	return k, errors.Join(err, c.Run(Noise{Y: k.kept, Seed: 1, Sigma: 3}), c.Run(Noise{Y: k.g, Seed: 2, Sigma: 1}))
}

func (k *chained) run() error {
	c := k.c
	err := c.stream.Copy(k.x.Dev, k.kept.Dev, int64(k.x.Span()))
	for range 6 {
		err = errors.Join(err,
			c.Run(LayerNorm{X: k.x, Y: k.y, Gain: k.g, Eps: 1e-6}),
			c.stream.Record(k.forth), k.other.WaitEvent(k.forth),
			k.other.Copy(k.z.Dev, k.y.Dev, int64(k.z.Span())),
			k.other.Record(k.back), c.stream.WaitEvent(k.back),
			c.Run(Softmax{X: k.z, Y: k.y, Factor: 1}),
			c.Run(LayerNorm{X: k.y, Y: k.q, Scale: k.s, Gain: k.g, Eps: 1e-12}),
			c.Run(Dequantise{X: k.q, Scale: k.s, Y: k.x}),
			c.Run(Quantise{X: k.x, Y: k.q, Scale: k.s}),
			c.Run(Dequantise{X: k.q, Scale: k.s, Y: k.x}))
	}
	return err
}

func chainOfKernels(t *testing.T, c *CUDA) error {
	t.Helper()
	k, err := newChained(c)
	if err != nil {
		return err
	}
	var want []byte
	for _, overlaps := range []bool{false, true} {
		c.overlaps = overlaps
		g, err := c.stream.Capture(k.run)
		if err != nil {
			return err
		}
		for i := range 12 {
			run := k.run
			if i%2 == 1 {
				run = func() error { return g.Launch(c.stream) }
			}
			got := make([]byte, k.x.Span())
			if err := errors.Join(run(), c.Read(got, k.x)); err != nil {
				return err
			}
			if want == nil {
				want = got
			}
			if !bytes.Equal(got, want) {
				t.Errorf("overlapped %v, run %d: other bits", overlaps, i)
			}
		}
		if err := g.Close(); err != nil {
			return err
		}
	}
	return errors.Join(k.forth.Close(), k.back.Close(), k.other.Close())
}
