package kernels

import (
	"math"
	"testing"
)

// TestPhiloxKnownAnswers holds the generator to the published vectors of its definition.
func TestPhiloxKnownAnswers(t *testing.T) {
	ones := uint32(math.MaxUint32)
	for _, c := range []struct {
		counter [4]uint32
		k0, k1  uint32
		want    [4]uint32
	}{
		{[4]uint32{}, 0, 0, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{ones, ones, ones, ones}, ones, ones, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
	} {
		if got := philox(c.counter, c.k0, c.k1); got != c.want {
			t.Errorf("counter %x, key %x %x: %x, want %x", c.counter, c.k0, c.k1, got, c.want)
		}
	}
}

func TestLogarithmSineCosine(t *testing.T) {
	for n := uint32(1); n <= 1<<24; n = n + n/97 + 1 {
		want := math.Log(float64(n) / (1 << 24))
		if got := float64(logUnit(n)); math.Abs(got-want) > 1e-6*max(1, math.Abs(want)) {
			t.Fatalf("log of %d/2^24: %v, want %v", n, got, want)
		}
	}
	for i := range uint32(100000) {
		w := i * 42949
		s, c := sincosTurn(w)
		ws, wc := math.Sincos(2 * math.Pi * float64(w) / (1 << 32))
		if math.Abs(float64(s)-ws) > 3e-7 || math.Abs(float64(c)-wc) > 3e-7 {
			t.Fatalf("turn %d/2^32: %v %v, want %v %v", w, s, c, ws, wc)
		}
	}
}

func TestNoiseIsNormalAndIndependentOfItsSplit(t *testing.T) {
	const n = 400000
	r := Reference{}
	whole, err := r.New(F32, n)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Run(Noise{Y: whole, Seed: 7, Stream: 3, Sigma: 1}); err != nil {
		t.Fatal(err)
	}
	part, _ := r.New(F32, 1000)
	if err := r.Run(Noise{Y: part, Seed: 7, Stream: 3, First: 5000, Sigma: 1}); err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		if part.Get(i) != whole.Get(5000+i) {
			t.Fatalf("element %d depends on the split", 5000+i)
		}
	}
	var m [5]float64
	beyond, neighbours := 0, 0.0
	for i := range n {
		v := whole.Get(i)
		for k, p := 1, v; k <= 4; k, p = k+1, p*v {
			m[k] += p / n
		}
		if math.Abs(v) > 3 {
			beyond++
		}
		if i > 0 {
			neighbours += v * whole.Get(i-1) / n
		}
	}
	// Five standard errors of each statistic for 400,000 draws.
	for _, c := range []struct {
		what             string
		got, want, bound float64
	}{
		{"mean", m[1], 0, 0.008}, {"variance", m[2], 1, 0.0112}, {"skewness", m[3], 0, 0.031}, {"kurtosis", m[4], 3, 0.078},
		{"share beyond 3", float64(beyond) / n, 0.0027, 0.0005}, {"correlation of neighbours", neighbours, 0, 0.008},
	} {
		if math.Abs(c.got-c.want) > c.bound {
			t.Errorf("%s is %v, want %v within %v", c.what, c.got, c.want, c.bound)
		}
	}
}
