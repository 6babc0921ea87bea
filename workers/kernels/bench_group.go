package kernels

import (
	"context"
	"errors"
	"fmt"
	"time"

	"telefuser/workers/gpu"
)

// groupRank is one GPU's part of a layer split over heads: a share of the tokens for products,
// a share of the heads for attention.
type groupRank struct {
	c        *CUDA
	products []Gemm
	attn     Attention
	out      Tensor    // attention's output of all tokens and this GPU's heads
	received [4]Tensor // what the others send: q, k, v, and the output of this GPU's tokens
	sent     [2]*gpu.Event
	timing   [2]*gpu.Event
}

// BenchGroup measures a layer's products, attention and exchanges on one GPU and split over
// all of them (Ulysses: tokens for products, heads for attention), driven from one thread.
// cs are backends of the contexts of one group, in order; the heads divide by their number.
func BenchGroup(ctx context.Context, cs []*CUDA, o BenchOptions) ([]BenchRow, error) {
	b := &bench{ctx: ctx, c: cs[0], o: o}
	for _, d := range []DType{BF16, E4M3} {
		var times []time.Duration
		for _, n := range []int{1, len(cs)} {
			t, err := b.group(d, cs[:n])
			if err != nil {
				return b.rows, fmt.Errorf("kernels: bench group of %d: %w", n, err)
			}
			times = append(times, t)
			l := load{name: "layer " + d.String() + " with exchange", shape: fmt.Sprintf("%d GPUs", n), by: "chosen", flop: layerFLOP()}
			if err := b.add(l, "sustained", t); err != nil {
				return b.rows, err
			}
		}
		v := float64(times[0]) / float64(times[1])
		if o.Report != nil {
			o.Report(BenchRow{Name: "speed-up " + d.String(), Shape: fmt.Sprintf("%d GPUs: %.3f x", len(cs), v), Kind: "sustained"})
		}
	}
	return b.rows, nil
}

func layerFLOP() float64 {
	flop := 4 * float64(benchTokens) * benchKeys * benchDim
	for _, s := range benchGemms() {
		flop += 2 * float64(benchTokens) * float64(s.n) * float64(s.k)
	}
	return flop
}

// group measures the time of one layer on the given GPUs.
func (b *bench) group(d DType, cs []*CUDA) (time.Duration, error) {
	ranks := make([]*groupRank, len(cs))
	for i, c := range cs {
		mark := c.Mark()
		defer func() { _ = c.Release(mark) }()
		r, err := b.rank(d, c, len(cs))
		if err != nil {
			return 0, err
		}
		ranks[i] = r
	}
	var last time.Duration
	for start := time.Now(); last == 0 || time.Since(start) < b.o.Sustain; {
		if err := b.ctx.Err(); err != nil {
			return 0, err
		}
		const layers = 40
		for _, r := range ranks {
			if err := errors.Join(r.c.stream.Synchronize(), r.c.stream.Record(r.timing[0])); err != nil {
				return 0, err
			}
		}
		for range layers {
			if err := groupLayer(d, ranks); err != nil {
				return 0, err
			}
		}
		for _, r := range ranks {
			if err := r.c.stream.Record(r.timing[1]); err != nil {
				return 0, err
			}
		}
		last = 0
		for _, r := range ranks {
			if err := r.timing[1].Synchronize(); err != nil {
				return 0, err
			}
			t, err := r.timing[1].Since(r.timing[0])
			if err != nil {
				return 0, err
			}
			last = max(last, t/layers)
		}
	}
	return last, nil
}

// rank prepares one GPU's part.
func (b *bench) rank(d DType, c *CUDA, n int) (*groupRank, error) {
	mine := &bench{ctx: b.ctx, c: c, o: b.o, seed: b.seed}
	r := &groupRank{c: c}
	tokens, width := benchTokens/n, benchDim/n
	for _, s := range benchGemms() {
		o, err := mine.productOf(d, s, tokens)
		if err != nil {
			return nil, err
		}
		if err := tuneOnce(c, o, b.o.Sustain); err != nil {
			return nil, err
		}
		r.products = append(r.products, o)
	}
	var err error
	if r.attn, err = mine.attention(d, benchTokens, benchKeys, benchHeads/n); err != nil {
		return nil, err
	}
	if err := tuneOnce(c, r.attn, b.o.Sustain); err != nil {
		return nil, err
	}
	r.out = r.attn.O
	for i := range r.received {
		t := d
		if i == 3 {
			t = BF16 // the output is sent as the kernel makes it
		}
		if r.received[i], err = c.New(t, benchTokens, width); err != nil {
			return nil, err
		}
	}
	for i := range 2 {
		var e1, e2 error
		r.sent[i], e1 = c.ctx.NewEvent()
		r.timing[i], e2 = c.ctx.NewEvent()
		if err := errors.Join(e1, e2); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// tuneOnce tunes what has not been: at the power cap if the load will be sustained.
func tuneOnce(c *CUDA, o Choosable, sustain time.Duration) error {
	if c.choices.Best(o.key()) != "" {
		return nil
	}
	if sustain == 0 {
		_, err := c.Tune(o)
		return err
	}
	const hold = 200 * time.Millisecond
	_, err := c.TuneHeld(o, hold)
	return err
}

// groupLayer queues one layer on all GPUs.
func groupLayer(d DType, ranks []*groupRank) error {
	n := len(ranks)
	tokens, width := benchTokens/n, benchDim/n
	for i, r := range ranks {
		if err := r.c.Run(r.products[0]); err != nil {
			return err
		}
		for j := range ranks { // the heads of j, of this GPU's tokens, of q, k and v
			if i == j {
				continue
			}
			for k := range 3 {
				size := int64(d.Bytes())
				err := r.c.stream.CopyRows(gpu.Rows{
					Dst: ranks[j].received[k].Dev + gpu.Ptr(int64(i*tokens*width)*size), DstPitch: int64(width) * size,
					Src: r.products[0].D.Dev + gpu.Ptr(int64(k*benchDim+j*width)*size), SrcPitch: 3 * benchDim * size,
					Width: int64(width) * size, Count: int64(tokens),
				})
				if err != nil {
					return err
				}
			}
		}
		if err := r.c.stream.Record(r.sent[0]); err != nil {
			return err
		}
	}
	if err := await(ranks, 0); err != nil {
		return err
	}
	for i, r := range ranks {
		if err := r.c.Run(r.attn); err != nil {
			return err
		}
		for j := range ranks { // this GPU's heads of the tokens of j
			if i == j {
				continue
			}
			const size = 2
			err := r.c.stream.CopyRows(gpu.Rows{
				Dst: ranks[j].received[3].Dev, DstPitch: int64(width) * size,
				Src: r.out.Dev + gpu.Ptr(j*tokens*width*size), SrcPitch: int64(width) * size, Width: int64(width) * size, Count: int64(tokens),
			})
			if err != nil {
				return err
			}
		}
		if err := r.c.stream.Record(r.sent[1]); err != nil {
			return err
		}
	}
	if err := await(ranks, 1); err != nil {
		return err
	}
	for _, r := range ranks {
		for _, o := range r.products[1:] {
			if err := r.c.Run(o); err != nil {
				return err
			}
		}
	}
	return nil
}

// await lets every GPU wait for what the others sent.
func await(ranks []*groupRank, event int) error {
	for i, r := range ranks {
		for j, other := range ranks {
			if i == j {
				continue
			}
			if err := r.c.stream.WaitEvent(other.sent[event]); err != nil {
				return err
			}
		}
	}
	return nil
}
