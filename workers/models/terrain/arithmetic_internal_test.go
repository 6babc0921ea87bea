package terrain

import (
	"math"
	"testing"
	"unsafe"
)

func TestSinCosAndExp(t *testing.T) {
	for angle := -2000.0; angle < 2000; angle += 0.377 {
		sin, cos := sinCos(angle)
		if math.Abs(sin-math.Sin(angle)) > 1e-9 || math.Abs(cos-math.Cos(angle)) > 1e-9 {
			t.Fatalf("angle %g: %g %g, want %g %g", angle, sin, cos, math.Sin(angle), math.Cos(angle))
		}
	}
	for x := 0.0; x < 39; x += 0.0137 {
		if got, want := expNegative(x), math.Exp(-x); math.Abs(got-want) > 1e-8*want {
			t.Fatalf("x %g: %g, want %g", x, got, want)
		}
	}
	for _, x := range []float64{-2.5, -2, -0.1, 0, 0.9, 7, 1e12 + 0.5} {
		if got := floor(x); got != int64(math.Floor(x)) {
			t.Errorf("floor(%g) = %d", x, got)
		}
	}
}

func TestNoiseSlopesAreItsOwn(t *testing.T) {
	n := newNoise(newDice("slopes", 1))
	const step = 1e-5
	for x := -3.05; x < 3; x += 0.21 {
		z := x*1.7 + 0.3
		value, slopeX, slopeZ := n.sloped(x, z)
		if value != n.at(x, z) || math.Abs(value) > 1 {
			t.Fatalf("value %g at %g is not %g", value, x, n.at(x, z))
		}
		dx := (n.at(x+step, z) - n.at(x-step, z)) / (2 * step)
		dz := (n.at(x, z+step) - n.at(x, z-step)) / (2 * step)
		if math.Abs(dx-slopeX) > 1e-4 || math.Abs(dz-slopeZ) > 1e-4 {
			t.Fatalf("slopes %g %g at %g, want %g %g", slopeX, slopeZ, x, dx, dz)
		}
	}
}

func TestPackedColoursBlendLaneByLane(t *testing.T) {
	a, b := colour{0.9, 0.1, 0.4}.pack(), colour{0.1, 0.8, 0.9}.pack()
	for weight := uint64(0); weight <= 256; weight += 32 {
		got := blend(a, b, weight)
		for lane := range 3 {
			p, q := a>>(lane*laneBits)&laneMask, b>>(lane*laneBits)&laneMask
			if want := (p*(256-weight) + q*weight) >> 8; got>>(lane*laneBits)&laneMask != want {
				t.Fatalf("weight %d lane %d: %d, want %d", weight, lane, got>>(lane*laneBits)&laneMask, want)
			}
		}
	}
	c := colour{0.3, 0.6, 0.2}
	full, small := c.pack(), unpackCell(c.cell())
	for lane := range 3 {
		if d := int(full>>(lane*laneBits)&laneMask) - int(small>>(lane*laneBits)&laneMask); d < 0 || d > 4 {
			t.Errorf("lane %d of a cell is off by %d", lane, d)
		}
	}
}

func TestRoofHoldsOverTheLand(t *testing.T) {
	for _, prompt := range []string{"alps", "desert", "volcano", "canyon", "islands", "plains"} {
		w, err := NewWorld(WorldConfig{Prompt: prompt, Seed: 5, HourOfDay: -1})
		if err != nil {
			t.Fatal(err)
		}
		d := newDice("points", 1)
		for range 3000 {
			x, z := d.between(-9000, 9000), d.between(-9000, 9000)
			if height := w.height(x, z, 1); height > w.highest-12 || height < 0 {
				t.Fatalf("%s: height %g at %g %g is over the roof of %g", prompt, height, x, z, w.highest)
			}
			if eye := w.eyeHeight(x, z, 0.25, 0); eye < max(w.height(x, z, 1), seaLevel)+2 {
				t.Errorf("%s: the eye at %g is in the ground of %g", prompt, eye, w.height(x, z, 1))
			}
		}
	}
}

func TestStyleKeepsTheLand(t *testing.T) {
	plain, err := NewWorld(WorldConfig{Prompt: "alpine lake", Seed: 5, HourOfDay: -1})
	if err != nil {
		t.Fatal(err)
	}
	for _, style := range []string{"snow at night", "mars", "make it sunset", "hello"} {
		styled, err := NewWorld(WorldConfig{Prompt: "alpine lake", StylePrompt: style, Seed: 5, HourOfDay: -1})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 50 {
			x, z := float64(i*37), float64(i*-91)
			if plain.height(x, z, 1) != styled.height(x, z, 1) || plain.eyeHeight(x, z, 1, 0) != styled.eyeHeight(x, z, 1, 0) || plain.heading != styled.heading {
				t.Fatalf("style %q moves the land", style)
			}
		}
		if changed := plain.look != styled.look || plain.light != styled.light; changed != (style != "hello") {
			t.Errorf("style %q: look changed %v", style, changed)
		}
	}
}

func TestMemoryOfARendererIsBounded(t *testing.T) {
	// Six levels of 2 + 4 bytes a cell, the index of their blocks, and three plans with all that is baked ahead.
	const budget = 64 << 20
	levels := levelsMax * int(unsafe.Sizeof(level{})+blocksSide*blocksSide*unsafe.Sizeof(blockSlot{}))
	if size := levels + (plansSpare+1)*blocksAheadMax*int(unsafe.Sizeof(bakedCells{})); size > budget {
		t.Fatalf("a renderer takes %d bytes", size)
	}
	w, err := NewWorld(WorldConfig{Prompt: "x", HourOfDay: -1})
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range [][2]int{{64, 64}, {832, 480}, {1920, 1088}, {1088, 1920}} {
		r, err := NewRenderer(w, size[0], size[1], 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.levels) > levelsMax || r.view.borders[len(r.levels)] < farDepth {
			t.Errorf("%v: %d levels reach %g", size, len(r.levels), r.view.borders[len(r.levels)])
		}
	}
}

func TestWordsOfAPrompt(t *testing.T) {
	for prompt, want := range map[string]string{
		"Snowy mountains": "arctic", "hello world": "temperate", "a season of searching": "temperate", "the icy coast": "arctic",
		"DESERT, with dunes": "desert", "volcanoes": "volcano", "tropical islands": "islands", "沙漠": "desert", "": "temperate",
		"misty forest": "forest", "mistake": "temperate", "autumnal": "temperate", "Autumn leaves": "autumn",
	} {
		if got := readPrompt(prompt, newDice(prompt, 1)); got.name != want {
			t.Errorf("prompt %q is %s, want %s", prompt, got.name, want)
		}
	}
	for prompt, want := range map[string]float64{"lake at sunset": 18.1, "a starry night": 0, "sunrise": 6.3} {
		if got := readPrompt(prompt, newDice(prompt, 1)); got.hour != want {
			t.Errorf("prompt %q is at %g, want %g", prompt, got.hour, want)
		}
	}
}
