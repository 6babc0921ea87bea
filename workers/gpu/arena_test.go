package gpu_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"telefuser/workers/gpu"
)

func TestPlanReusesMemoryOfDeadBuffers(t *testing.T) {
	var p gpu.Plan
	p.Add("a", 1000, 0, 1)
	p.Add("b", 1000, 1, 2)
	p.Add("c", 1000, 2, 3)
	size, err := p.Layout()
	if err != nil || size != 2*1024 {
		t.Errorf("three buffers in a chain need %d bytes (%v), want 2048", size, err)
	}
}

func TestPlanRefusesNonsense(t *testing.T) {
	for name, add := range map[string]func(*gpu.Plan){
		"empty":    func(p *gpu.Plan) { p.Add("a", 0, 0, 0) },
		"backward": func(p *gpu.Plan) { p.Add("a", 1, 2, 1) },
		"twice":    func(p *gpu.Plan) { p.Add("a", 1, 0, 0); p.Add("a", 1, 1, 1) },
	} {
		var p gpu.Plan
		add(&p)
		if _, err := p.Layout(); !errors.Is(err, gpu.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
}

func TestPlanNeverOverlapsLiveBuffers(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var p gpu.Plan
		var sum int64
		for i := range 2 + r.IntN(40) {
			first := r.IntN(10)
			bytes := 1 + r.Int64N(5000)
			p.Add(string(rune('A'+i)), bytes, first, first+r.IntN(4))
			sum += (bytes + 255) / 256 * 256
		}
		size, err := p.Layout()
		if err != nil {
			t.Fatal(err)
		}
		if size > sum {
			t.Errorf("seed %d: %d bytes, more than without reuse (%d)", seed, size, sum)
		}
		if a, b, ok := p.Overlap(); ok {
			t.Errorf("seed %d: %s and %s are live together at the same place", seed, a, b)
		}
	}
}
