package weights_test

import (
	"bytes"
	"hash/fnv"
	"math"
	"testing"

	"telefuser/workers/kernels"
	"telefuser/workers/models/weights"
)

func TestRandomValuesAreTheSameWhateverTheOrder(t *testing.T) {
	b := weights.Blueprint{Model: "toy", Parameters: []weights.Parameter{
		{Name: "a", Shape: []int{7, 11}, Sigma: 0.5}, {Name: "b", Shape: []int{7, 11}, Sigma: 0.5}, {Name: "n", Shape: []int{77}, Centre: 1, Sigma: 0.1},
	}}
	s := weights.Random(42, b)
	if !s.Random() || s.Origin() != "random:42" {
		t.Errorf("origin %q", s.Origin())
	}
	for _, p := range b.Parameters {
		whole := make([]byte, 2*77)
		if err := s.Bytes(whole, kernels.BF16, p.Name, 0); err != nil {
			t.Fatal(err)
		}
		for from := 76; from >= 0; from-- {
			part := make([]byte, 2*(77-from))
			if err := weights.Random(42, b).Bytes(part, kernels.BF16, p.Name, from); err != nil || !bytes.Equal(part, whole[2*from:]) {
				t.Fatalf("%s from %d on: %v", p.Name, from, err)
			}
		}
		x, err := s.Tensor(kernels.Reference{}, kernels.BF16, p.Name)
		if err != nil || !bytes.Equal(x.Host, whole) {
			t.Errorf("%s on a backend: %v", p.Name, err)
		}
		floats, err := s.Floats(p.Name)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range floats {
			if float64(v) != x.Get(i) {
				t.Fatalf("%s: element %d is %g as float, %g as bf16", p.Name, i, v, x.Get(i))
			}
		}
	}
}

// TestRandomValuesAreThoseOfTheNoise holds a set to the operation that makes the same values on a GPU.
func TestRandomValuesAreThoseOfTheNoise(t *testing.T) {
	b := weights.Blueprint{Model: "toy", Parameters: []weights.Parameter{{Name: "blocks.0.q.weight", Shape: []int{30, 11}, Sigma: 0.3}}}
	h := fnv.New64a()
	h.Write([]byte("blocks.0.q.weight"))
	want, err := kernels.Reference{}.New(kernels.BF16, 330)
	if err != nil {
		t.Fatal(err)
	}
	if err := (kernels.Reference{}).Run(kernels.Noise{Y: want, Seed: 42, Stream: h.Sum64(), Sigma: 0.3}); err != nil {
		t.Fatal(err)
	}
	got, err := weights.Random(42, b).Tensor(kernels.Reference{}, kernels.BF16, "blocks.0.q.weight")
	if err != nil || !bytes.Equal(got.Host, want.Host) {
		t.Errorf("the values differ: %v", err)
	}
}

func TestRandomValuesHangOnSeedAndName(t *testing.T) {
	b := weights.Blueprint{Model: "toy", Parameters: []weights.Parameter{
		{Name: "a", Shape: []int{1000}, Sigma: 0.5}, {Name: "b", Shape: []int{1000}, Sigma: 0.5}, {Name: "n", Shape: []int{1000}, Centre: 1, Sigma: 0.1},
	}}
	get := func(seed uint64, name string) []float32 {
		v, err := weights.Random(seed, b).Floats(name)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	a := get(1, "a")
	for what, other := range map[string][]float32{"seed": get(2, "a"), "name": get(1, "b")} {
		equal := 0
		for i := range a {
			if a[i] == other[i] {
				equal++
			}
		}
		if equal > 50 {
			t.Errorf("another %s, and %d of 1000 values are the same", what, equal)
		}
	}
	for name, want := range map[string][2]float64{"a": {0, 0.5}, "n": {1, 0.1}} {
		var sum, squares float64
		for _, v := range get(1, name) {
			sum += float64(v)
			squares += float64(v) * float64(v)
		}
		mean := sum / 1000
		if d := math.Sqrt(squares/1000 - mean*mean); math.Abs(mean-want[0]) > 0.15*want[1] || math.Abs(d-want[1]) > 0.1*want[1] {
			t.Errorf("%s: mean %g, deviation %g, want %v", name, mean, d, want)
		}
	}
	// A file of facts names a seed, so the values of a seed may never change.
	if got := [3]float32(a[:3]); got != [3]float32{-0.36523438, -0.010192871, 0.63671875} {
		t.Errorf("the first values of seed 1 are %v", got)
	}
}

func TestParseRandom(t *testing.T) {
	for text, want := range map[string]uint64{"random:0": 0, "random:18446744073709551615": math.MaxUint64} {
		if seed, ok, err := weights.ParseRandom(text); seed != want || !ok || err != nil {
			t.Errorf("%s: %d %v %v", text, seed, ok, err)
		}
	}
	for _, text := range []string{"random:", "random:-1", "random:x", "random:18446744073709551616"} {
		if _, ok, err := weights.ParseRandom(text); !ok || err == nil {
			t.Errorf("%s was taken", text)
		}
	}
	if _, ok, err := weights.ParseRandom("/models/wan"); ok || err != nil {
		t.Errorf("a path: %v %v", ok, err)
	}
}

// faraway is a backend whose memory no host reads: it notes what it shall make and what is brought to it.
type faraway struct {
	kernels.Reference
	made    []kernels.Noise
	written int
}

func (f *faraway) Run(op kernels.Op) error {
	f.made = append(f.made, op.(kernels.Noise))
	return op.Check()
}

func (f *faraway) Write(_ kernels.Tensor, src []byte) error {
	f.written += len(src)
	return nil
}

// TestRandomValuesAreMadeWhereTheyAreUsed fills the lower half of a matrix on a GPU, as a layer of several parts does.
func TestRandomValuesAreMadeWhereTheyAreUsed(t *testing.T) {
	s := weights.Random(42, weights.Blueprint{Model: "toy", Parameters: []weights.Parameter{
		{Name: "w", Shape: []int{4, 16}, Sigma: 0.5}, {Name: "n", Shape: []int{64}, Centre: 1, Sigma: 0.5},
	}})
	x := kernels.Layout(kernels.BF16, 8, 16)
	x.Dev = 4096
	far := &faraway{}
	if err := s.Upload(far, x.Rows(4, 8), "w"); err != nil {
		t.Fatal(err)
	}
	if len(far.made) != 1 || far.written != 0 {
		t.Fatalf("%d operations, %d bytes written", len(far.made), far.written)
	}
	if y := far.made[0].Y; y.Dev != 4096+4*16*2 || y.Len() != 64 || far.made[0].Sigma != 0.5 || far.made[0].Seed != 42 {
		t.Errorf("made %+v", far.made[0])
	}
	if err := s.Upload(far, x.Rows(4, 8).Reshape(64), "n"); err != nil || far.written != 128 || len(far.made) != 1 {
		t.Errorf("what lies around one is brought: %v, %d bytes", err, far.written)
	}
}
