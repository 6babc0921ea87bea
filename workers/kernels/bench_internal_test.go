package kernels

import (
	"testing"
	"time"
)

func TestQuantile(t *testing.T) {
	var all []time.Duration
	for i := range 101 {
		all = append(all, time.Duration((i*37)%101))
	}
	for _, percent := range []int{0, 50, 99, 100} {
		if got := quantile(all, percent); got != time.Duration(percent) {
			t.Errorf("quantile %d is %d", percent, got)
		}
	}
	if got := quantile([]time.Duration{7}, 99); got != 7 {
		t.Errorf("of one value: %d", got)
	}
}
