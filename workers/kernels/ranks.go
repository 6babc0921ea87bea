package kernels

import (
	"errors"
	"fmt"

	"telefuser/workers/gpu"
)

// Ranks are the backends of a group of GPUs, in order, that share one model: tokens are divided for products, heads for attention (Ulysses),
// or the inner dimension of a product, whose parts are then added up (tensor parallel). All of it is copies by the copy engines and events
// between streams, so that one graph can hold it, and it is the same for one GPU, where nothing moves but the own part.
type Ranks struct {
	cs []*CUDA
	// here are the marks by which a rank tells that it has come to a meeting.
	here []*gpu.Event
}

// NewRanks takes the backends of the contexts of one group. They must be used inside its Do, as the backends are.
func NewRanks(cs []*CUDA) (*Ranks, error) {
	r := &Ranks{cs: cs}
	for _, c := range cs {
		e, err := c.ctx.NewEvent()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("kernels: ranks: %w", err), r.Close())
		}
		r.here = append(r.here, e)
	}
	return r, nil
}

// Size is the number of GPUs.
func (r *Ranks) Size() int { return len(r.cs) }

// Close frees the events; the backends stay.
func (r *Ranks) Close() error {
	var errs []error
	for _, e := range r.here {
		errs = append(errs, e.Close())
	}
	return errors.Join(errs...)
}

// meet lets every rank's later work wait for every rank's earlier work. The first rank comes first: where its stream is being captured, that is
// how the others join the capture.
func (r *Ranks) meet() error {
	for i, c := range r.cs {
		if i > 0 {
			if err := c.stream.WaitEvent(r.here[0]); err != nil {
				return err
			}
		}
		if err := c.stream.Record(r.here[i]); err != nil {
			return err
		}
	}
	for i, c := range r.cs {
		for j, e := range r.here {
			if i == j || j == 0 {
				continue
			}
			if err := c.stream.WaitEvent(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// send queues, on a rank's stream, the copy of a matrix into an equal one of any rank.
func (r *Ranks) send(from int, src, dst Tensor) error {
	size := int64(src.Type.Bytes())
	if src.Dim(0) == 0 || src.Dim(1) == 0 {
		return nil
	}
	return r.cs[from].stream.CopyRows(gpu.Rows{
		Dst: dst.Dev, DstPitch: int64(dst.Stride[0]) * size, Src: src.Dev, SrcPitch: int64(src.Stride[0]) * size,
		Width: int64(src.Dim(1)) * size, Count: int64(src.Dim(0)),
	})
}

// part is rank i's share of n things, as a half-open range. Shares differ by one at most.
func (r *Ranks) part(i, n int) (from, to int) { return i * n / len(r.cs), (i + 1) * n / len(r.cs) }

// TokensToHeads goes from a division of tokens to one of heads: rank i has tokens[i], its share of the rows with all columns, and gets
// heads[i], all rows of its share of the columns.
//
//	tokens[i] [T/n, D]   heads[i] [T, D/n], any one type; shares of T may differ by one, D divides by n times a head
func (r *Ranks) TokensToHeads(tokens, heads []Tensor) error { return r.exchange(tokens, heads, true) }

// HeadsToTokens is the way back.
func (r *Ranks) HeadsToTokens(heads, tokens []Tensor) error { return r.exchange(tokens, heads, false) }

// exchange moves every block between the division by tokens and the one by heads: block (i, j) is rank i's tokens of rank j's heads.
func (r *Ranks) exchange(tokens, heads []Tensor, toHeads bool) error {
	if err := r.checkExchange(tokens, heads); err != nil {
		return err
	}
	if err := r.meet(); err != nil { // what is written over may still be read
		return err
	}
	for i := range r.cs {
		for step := range r.cs {
			j := (i + step) % len(r.cs) // so that all GPUs send and receive at every moment
			from, to := r.part(i, heads[0].Dim(0))
			a, b := r.part(j, tokens[0].Dim(1))
			sender, src, dst := i, tokens[i].Columns(a, b), heads[j].Rows(from, to)
			if !toHeads {
				sender, src, dst = j, dst, src
			}
			if err := r.send(sender, src, dst); err != nil {
				return fmt.Errorf("kernels: exchange: %w", err)
			}
		}
	}
	return r.meet()
}

func (r *Ranks) checkExchange(tokens, heads []Tensor) error {
	const op = "exchange"
	n := len(r.cs)
	if len(tokens) != n || len(heads) != n {
		return misfit(op, "%d and %d tensors for %d ranks", len(tokens), len(heads), n)
	}
	for i := range n {
		if tokens[i].Rank() != 2 || heads[i].Rank() != 2 || tokens[i].Type != heads[0].Type || heads[i].Type != heads[0].Type {
			return misfit(op, "rank %d: %v %v and %v %v", i, tokens[i].Type, tokens[i].Shape, heads[i].Type, heads[i].Shape)
		}
		from, to := r.part(i, heads[0].Dim(0))
		columns := tokens[0].Dim(1)
		if columns%n != 0 || tokens[i].Dim(0) != to-from || tokens[i].Dim(1) != columns || heads[i].Dim(0) != heads[0].Dim(0) || heads[i].Dim(1) != columns/n {
			return misfit(op, "rank %d of %d: tokens %v, heads %v", i, n, tokens[i].Shape, heads[i].Shape)
		}
	}
	return nil
}

// AllReduce adds up a matrix over all ranks and leaves the sum with each, the same bits with all. Each rank sums its share of the rows and
// sends it round. scratch[i] takes what comes to rank i: n - 1 times its share of the rows, one behind the other.
//
//	x[i] [T, D] bf16   scratch[i] [at least (n-1) * ceil(T/n), D] bf16
func (r *Ranks) AllReduce(x, scratch []Tensor) error {
	if err := r.checkReduce(x, scratch); err != nil {
		return err
	}
	if len(r.cs) == 1 {
		return nil
	}
	for _, step := range []func() error{
		r.meet,
		func() error { return r.gatherParts(x, scratch) },
		r.meet,
		func() error { return r.sumParts(x, scratch) },
		func() error { return r.shareSums(x) },
		r.meet,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// gatherParts sends every rank's rows to the rank that sums them.
func (r *Ranks) gatherParts(x, scratch []Tensor) error {
	for i := range r.cs {
		for step := 1; step < len(r.cs); step++ {
			j := (i + step) % len(r.cs)
			from, to := r.part(j, x[i].Dim(0))
			if err := r.send(i, x[i].Rows(from, to), r.slot(scratch[j], j, i, x[i].Dim(0))); err != nil {
				return fmt.Errorf("kernels: all-reduce: %w", err)
			}
		}
	}
	return nil
}

// slot is where the rows of rank from lie in rank at's scratch.
func (r *Ranks) slot(scratch Tensor, at, from, rows int) Tensor {
	first, last := r.part(at, rows)
	index := from
	if from > at {
		index--
	}
	return scratch.Rows(index*(last-first), (index+1)*(last-first))
}

// sumParts adds what has come, in the order of the ranks.
func (r *Ranks) sumParts(x, scratch []Tensor) error {
	for j, c := range r.cs {
		from, to := r.part(j, x[j].Dim(0))
		if from == to {
			continue
		}
		for i := range r.cs {
			if i == j {
				continue
			}
			if err := c.Run(GateResidual{X: x[j].Rows(from, to), Y: r.slot(scratch[j], j, i, x[j].Dim(0))}); err != nil {
				return fmt.Errorf("kernels: all-reduce: %w", err)
			}
		}
	}
	return nil
}

// shareSums sends the sums round. Nobody reads the rows that are written over: their owner has had them.
func (r *Ranks) shareSums(x []Tensor) error {
	for i := range r.cs {
		from, to := r.part(i, x[i].Dim(0))
		for step := 1; step < len(r.cs); step++ {
			j := (i + step) % len(r.cs)
			if err := r.send(i, x[i].Rows(from, to), x[j].Rows(from, to)); err != nil {
				return fmt.Errorf("kernels: all-reduce: %w", err)
			}
		}
	}
	return nil
}

func (r *Ranks) checkReduce(x, scratch []Tensor) error {
	const op = "all-reduce"
	n := len(r.cs)
	if len(x) != n || len(scratch) != n {
		return misfit(op, "%d tensors and %d of scratch for %d ranks", len(x), len(scratch), n)
	}
	for i := range n {
		rows := (x[0].Dim(0) + n - 1) / n * (n - 1)
		if x[i].Type != BF16 || scratch[i].Type != BF16 || x[i].Rank() != 2 || scratch[i].Rank() != 2 || x[i].Dim(0) != x[0].Dim(0) ||
			x[i].Dim(1) != x[0].Dim(1) || scratch[i].Dim(0) < rows || scratch[i].Dim(1) != x[0].Dim(1) {
			return misfit(op, "rank %d: %v %v, scratch %v %v, want %d rows", i, x[i].Type, x[i].Shape, scratch[i].Type, scratch[i].Shape, rows)
		}
	}
	return nil
}
