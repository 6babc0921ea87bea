package kernels_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"telefuser/workers/gpu"
	"telefuser/workers/gpu/gputest"
	"telefuser/workers/kernels"
)

// onRanks runs work on groups of 1, 2, 4 and 8 GPUs: the machine's own as far as it has them, made-up ones for the rest.
func onRanks(t *testing.T, work func(t *testing.T, r *kernels.Ranks, cs []*kernels.CUDA)) {
	t.Helper()
	for _, n := range []int{1, 2, 4, 8} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			ordinals := make([]int, n)
			for i := range ordinals {
				ordinals[i] = i
			}
			g, err := enoughGPUs(t, n).OpenGroup(context.Background(), ordinals...)
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			err = g.Do(context.Background(), func(xs []*gpu.Context) error {
				var cs []*kernels.CUDA
				for _, x := range xs {
					c, err := kernels.NewCUDA(x, kernels.CUDAOptions{})
					if err != nil {
						return err
					}
					defer func() { err = errors.Join(err, c.Close()) }()
					cs = append(cs, c)
				}
				r, err := kernels.NewRanks(cs)
				if err != nil {
					return err
				}
				work(t, r, cs)
				return r.Close()
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// enoughGPUs is a driver with at least n GPUs.
func enoughGPUs(t *testing.T, n int) *gpu.Driver {
	t.Helper()
	if d, err := gpu.Open(); err == nil {
		if count, err := d.Count(); err == nil && count >= n {
			return d
		}
	}
	m, err := gputest.New(t.TempDir(), n, 1<<28)
	if errors.Is(err, gputest.ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	d, err := gpu.Open(m.Driver())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// matrix makes a bf16 matrix on a rank; element (r, c) is of(r, c), small whole numbers, so that sums are exact.
func matrix(t *testing.T, c *kernels.CUDA, rows, columns int, of func(r, c int) float64) kernels.Tensor {
	t.Helper()
	x, err := c.New(kernels.BF16, rows, columns)
	if err != nil {
		t.Fatal(err)
	}
	h := kernels.Layout(kernels.BF16, rows, columns)
	h.Host = make([]byte, h.Span())
	for i := range h.Len() {
		h.Set(i, of(i/columns, i%columns))
	}
	if err := c.Write(x, h.Host); err != nil {
		t.Fatal(err)
	}
	return x
}

// same compares a rank's matrix with what it should hold.
func same(t *testing.T, what string, c *kernels.CUDA, x kernels.Tensor, of func(r, c int) float64) {
	t.Helper()
	x.Host = make([]byte, x.Span())
	if err := c.Read(x.Host, x); err != nil {
		t.Fatal(err)
	}
	for i := range x.Len() {
		if got, want := x.Get(i), of(i/x.Dim(1), i%x.Dim(1)); got != want {
			t.Fatalf("%s: element %d, %d is %v, not %v", what, i/x.Dim(1), i%x.Dim(1), got, want)
		}
	}
}

func value(r, c int) float64 { return float64((r*7+c*3)%251 - 125) }

func poison(int, int) float64 { return -1000 }

func TestExchangeThereAndBack(t *testing.T) {
	onRanks(t, func(t *testing.T, r *kernels.Ranks, cs []*kernels.CUDA) {
		const rows, columns = 29, 8 * 16 // rows do not divide
		n := r.Size()
		var tokens, heads, back []kernels.Tensor
		start := func(i int) int { return i * rows / n }
		for i, c := range cs {
			share := start(i+1) - start(i)
			// The rows are a part of wider ones, as q is of q, k and v.
			wide := matrix(t, c, share, 3*columns, func(r, c int) float64 { return value(start(i)+r, c-columns) })
			tokens = append(tokens, wide.Columns(columns, 2*columns))
			heads = append(heads, matrix(t, c, rows, columns/n, poison))
			back = append(back, matrix(t, c, share, columns, poison))
		}
		if err := r.TokensToHeads(tokens, heads); err != nil {
			t.Fatal(err)
		}
		for i, c := range cs {
			same(t, fmt.Sprintf("heads of rank %d", i), c, heads[i], func(r, c int) float64 { return value(r, i*columns/n+c) })
		}
		if err := r.HeadsToTokens(heads, back); err != nil {
			t.Fatal(err)
		}
		for i, c := range cs {
			same(t, fmt.Sprintf("tokens of rank %d", i), c, back[i], func(r, c int) float64 { return value(start(i)+r, c) })
		}
	})
}

func TestAllReduce(t *testing.T) {
	onRanks(t, func(t *testing.T, r *kernels.Ranks, cs []*kernels.CUDA) {
		n := r.Size()
		for _, rows := range []int{1, 5, 16} { // fewer than ranks, uneven, even
			const columns = 24
			var x, scratch []kernels.Tensor
			for i, c := range cs {
				x = append(x, matrix(t, c, rows, columns, func(r, c int) float64 { return float64((r+c*5+i*11)%16 - 8) }))
				scratch = append(scratch, matrix(t, c, max((rows+n-1)/n*(n-1), 1), columns, poison))
			}
			if err := r.AllReduce(x, scratch); err != nil {
				t.Fatal(err)
			}
			for i, c := range cs {
				same(t, fmt.Sprintf("rank %d of %d rows", i, rows), c, x[i], func(r, c int) float64 {
					sum := 0.0
					for k := range n {
						sum += float64((r+c*5+k*11)%16 - 8)
					}
					return sum
				})
			}
		}
	})
}

// TestOneGraphHoldsTheGroup replays an exchange and a sum; what is in the tensors at the time counts.
func TestOneGraphHoldsTheGroup(t *testing.T) {
	onRanks(t, func(t *testing.T, r *kernels.Ranks, cs []*kernels.CUDA) {
		const rows, columns = 16, 64
		n := r.Size()
		random := rand.New(rand.NewPCG(1, 2))
		var tokens, heads, scratch []kernels.Tensor
		for _, c := range cs {
			tokens = append(tokens, matrix(t, c, rows/n, columns, poison))
			heads = append(heads, matrix(t, c, rows, columns/n, poison))
			scratch = append(scratch, matrix(t, c, rows, columns/n, poison))
		}
		graph, err := cs[0].Stream().Capture(func() error {
			return errors.Join(r.TokensToHeads(tokens, heads), r.AllReduce(heads, scratch))
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			shift := random.IntN(5)
			for i, c := range cs {
				h := kernels.Layout(kernels.BF16, rows/n, columns)
				h.Host = make([]byte, h.Span())
				for k := range h.Len() {
					h.Set(k, float64((i*rows/n+k/columns+k%columns+shift)%16))
				}
				if err := c.Write(tokens[i], h.Host); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(graph.Launch(cs[0].Stream()), cs[0].Stream().Synchronize()); err != nil {
				t.Fatal(err)
			}
			for i, c := range cs {
				same(t, fmt.Sprintf("rank %d", i), c, heads[i], func(r, c int) float64 {
					sum := 0.0
					for k := range n {
						sum += float64((r + k*columns/n + c + shift) % 16)
					}
					return sum
				})
			}
		}
		if err := graph.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestRanksRefuseWhatDoesNotFit(t *testing.T) {
	onRanks(t, func(t *testing.T, r *kernels.Ranks, cs []*kernels.CUDA) {
		n := r.Size()
		all := func(d kernels.DType, rows, columns int) []kernels.Tensor {
			var ts []kernels.Tensor
			for range n {
				ts = append(ts, kernels.Layout(d, rows, columns))
			}
			return ts
		}
		bf16, f32 := kernels.BF16, kernels.F32
		for name, err := range map[string]error{
			"too few":         r.TokensToHeads(all(bf16, 4, 64)[:n-1], all(bf16, 4*n, 64/n)),
			"rows":            r.TokensToHeads(all(bf16, 5, 64), all(bf16, 4*n, 64/n)),
			"columns":         r.HeadsToTokens(all(bf16, 4*n, 64/n+1), all(bf16, 4, 64)),
			"types":           r.TokensToHeads(all(f32, 4, 64), all(bf16, 4*n, 64/n)),
			"scratch":         r.AllReduce(all(bf16, 4, 64), all(bf16, n*2-2, 8)),
			"sums of another": r.AllReduce(all(f32, 4, 64), all(bf16, 4*n, 64)),
		} {
			if !errors.Is(err, kernels.ErrShape) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
