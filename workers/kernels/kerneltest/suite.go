package kerneltest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"telefuser/workers/kernels"
)

// Case is one operation at one shape.
type Case struct {
	Name  string
	Build func(s *Side) kernels.Op
	Heavy bool // for GPUs alone: too slow for every push
}

// poisons fill outputs before an operation. The first reads as NaN in every float type.
var poisons = []byte{0xff, 0x5a} //nolint:gochecknoglobals // constant table

// Options narrow a run.
type Options struct {
	Quick bool // one seed and the small shapes, for tools that slow a kernel down a hundredfold
	Only  string
	Not   string             // only cases whose name does not contain this; "": all
	After func(t *testing.T) // runs after each case, to give memory back
	Known *Known             // nil: the reference computes anew
}

// Known keeps what the reference has computed, which costs more than all else, for the next backend.
type Known struct{ sides map[string]*Side }

// reference gives a case's outputs by the reference.
func (k *Known) reference(t *testing.T, c Case, seed uint64) *Side {
	t.Helper()
	if k == nil {
		return run(t, kernels.Reference{}, c, seed, poisons[0])
	}
	key := fmt.Sprint(c.Name, " ", seed)
	if s, ok := k.sides[key]; ok {
		return s
	}
	s := run(t, kernels.Reference{}, c, seed, poisons[0])
	if k.sides == nil {
		k.sides = map[string]*Side{}
	}
	k.sides[key] = s
	return s
}

// Run holds a backend to the suite's promises.
func Run(t *testing.T, b kernels.Backend, o Options) {
	t.Helper()
	seeds := 2
	onHost := b.Name() != (*kernels.CUDA)(nil).Name()
	if o.Quick || onHost { // every push runs it
		seeds = 1
	}
	for _, c := range Cases(o.Quick) {
		if c.Heavy && onHost {
			continue
		}
		if o.Only != "" && !strings.HasPrefix(c.Name, o.Only) {
			continue
		}
		if o.Not != "" && strings.Contains(c.Name, o.Not) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			for seed := range uint64(seeds) {
				check(t, b, c, seed, o.Known)
			}
			if o.After != nil {
				o.After(t)
			}
		})
	}
	t.Run("misfits", func(t *testing.T) { refuse(t, b) })
}

// check runs a case on the reference and twice, differently poisoned, on the backend.
func check(t *testing.T, b kernels.Backend, c Case, seed uint64, known *Known) {
	t.Helper()
	ref := known.reference(t, c, seed)
	var first [][]byte
	for _, p := range poisons {
		s := ref
		if p != poisons[0] || b.Name() != (kernels.Reference{}).Name() { // else that is what ref is
			s = run(t, b, c, seed, p)
		}
		if s == nil {
			return
		}
		for i, o := range s.outs {
			got := make([]byte, o.whole.Span())
			if err := b.Read(got, o.whole); err != nil {
				t.Fatal(err)
			}
			surroundings(t, i, o, got)
			values := inside(o.view, got)
			if p == poisons[0] {
				first = append(first, values)
				compare(t, fmt.Sprintf("seed %d, output %d", seed, i), ref.outs[i].view, o.view, got, o.bound)
			} else if !bytes.Equal(first[i], values) {
				t.Errorf("seed %d, output %d: other bits on the second run, at element %d", seed, i, differAt(first[i], values)/o.view.Type.Bytes())
			}
		}
	}
}

func run(t *testing.T, b kernels.Backend, c Case, seed uint64, poison byte) *Side {
	t.Helper()
	s := &Side{t: t, backend: b, rand: rand.New(rand.NewPCG(seed, 2)), poison: poison}
	err := b.Run(c.Build(s))
	if errors.Is(err, kernels.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// offsets calls f with the offset of every element of the view, in elements.
func offsets(x kernels.Tensor, f func(at int)) {
	index := make([]int, x.Rank())
	for range x.Len() {
		at := 0
		for d, i := range index {
			at += i * x.Stride[d]
		}
		f(at)
		for d := len(index) - 1; d >= 0; d-- {
			if index[d]++; index[d] < x.Shape[d] {
				break
			}
			index[d] = 0
		}
	}
}

func inside(x kernels.Tensor, whole []byte) []byte {
	n := x.Type.Bytes()
	out := make([]byte, 0, x.Len()*n)
	offsets(x, func(at int) { out = append(out, whole[at*n:(at+1)*n]...) })
	return out
}

// surroundings checks that nothing beside the output changed.
func surroundings(t *testing.T, i int, o output, got []byte) {
	t.Helper()
	n := o.view.Type.Bytes()
	mine := make([]bool, len(got)/n)
	offsets(o.view, func(at int) { mine[at] = true })
	for e := range mine {
		if !mine[e] && !bytes.Equal(got[e*n:(e+1)*n], o.before[e*n:(e+1)*n]) {
			t.Fatalf("output %d: element %d beside the output was written", i, e)
		}
	}
}

func compare(t *testing.T, what string, ref, view kernels.Tensor, got []byte, b Bound) {
	t.Helper()
	g := view
	g.Host = got
	var num, den, worst, top float64
	bad, at0 := 0, -1
	offsets(view, func(at int) {
		want, have := ref.Get(at), g.Get(at)
		if math.IsNaN(have) || b.Exact && math.Float64bits(want) != math.Float64bits(have) {
			if bad++; at0 < 0 {
				at0 = at
			}
			return
		}
		d := want - have
		num, den = num+d*d, den+want*want
		worst, top = max(worst, math.Abs(d)), max(top, math.Abs(want))
	})
	if bad > 0 {
		t.Fatalf("%s: %d of %d elements unwritten or different, the first at %d: %v, want %v", what, bad, view.Len(), at0, g.Get(at0), ref.Get(at0))
	}
	if b.Exact {
		return
	}
	if rel := math.Sqrt(num / max(den, 1e-30)); rel > b.Relative || worst > b.Largest*max(top, 1e-30) {
		t.Fatalf("%s: relative error %.3g (bound %.3g), largest %.3g of %.3g (bound %.3g)", what, rel, b.Relative, worst, top, b.Largest*top)
	}
}

func differAt(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return len(a)
}

// refuse checks that shapes that do not fit are refused, by the right error.
func refuse(t *testing.T, b kernels.Backend) {
	t.Helper()
	for _, m := range misfits(&Side{t: t, backend: b, rand: rand.New(rand.NewPCG(1, 1))}) {
		if err := b.Run(m); !errors.Is(err, kernels.ErrShape) {
			t.Errorf("%T %+v: %v, want ErrShape", m, m, err)
		}
	}
}
