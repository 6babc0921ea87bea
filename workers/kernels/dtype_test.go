package kernels_test

import (
	"math"
	"testing"

	"telefuser/workers/kernels"
)

func TestE4M3RoundTripsEveryCode(t *testing.T) {
	for c := range 256 {
		v := kernels.E4M3ToFloat(uint8(c))
		if math.IsNaN(v) {
			if c&0x7f != 0x7f {
				t.Errorf("code %#x is NaN", c)
			}
			continue
		}
		if got := kernels.E4M3FromFloat(v); got != uint8(c) {
			t.Errorf("code %#x is %v, which rounds to %#x", c, v, got)
		}
	}
}

func TestE4M3RoundsToTheNearestEven(t *testing.T) {
	for c := range 0x7e { // positive codes in order of value
		a, b := kernels.E4M3ToFloat(uint8(c)), kernels.E4M3ToFloat(uint8(c+1))
		mid := (a + b) / 2
		want := uint8(c)
		if c%2 == 1 {
			want++
		}
		if got := kernels.E4M3FromFloat(mid); got != want {
			t.Errorf("%v lies between codes %#x and %#x and rounds to %#x, want %#x", mid, c, c+1, got, want)
		}
		if got := kernels.E4M3FromFloat(math.Nextafter(mid, 0)); got != uint8(c) {
			t.Errorf("just under %v: %#x, want %#x", mid, got, c)
		}
	}
	for v, want := range map[float64]uint8{449: 0x7e, 1e9: 0x7e, math.Inf(1): 0x7e, -1e9: 0xfe, 0: 0, math.Copysign(0, -1): 0x80} {
		if got := kernels.E4M3FromFloat(v); got != want {
			t.Errorf("%v: %#x, want %#x", v, got, want)
		}
	}
}

func TestBF16Rounding(t *testing.T) {
	for v, want := range map[float64]uint16{1: 0x3f80, 1.00390625: 0x3f80, 1.01171875: 0x3f82, -2: 0xc000, 3.3895e38: 0x7f7f} {
		if got := kernels.BF16FromFloat(v); got != want {
			t.Errorf("%v: %#x, want %#x", v, got, want)
		}
	}
	if !math.IsNaN(kernels.BF16ToFloat(kernels.BF16FromFloat(math.NaN()))) {
		t.Error("NaN does not stay NaN")
	}
}
