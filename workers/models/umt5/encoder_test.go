package umt5_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"telefuser/workers/kernels"
	"telefuser/workers/models/umt5"
	"telefuser/workers/models/weights"
)

// small opens the encoder that testdata/make_encoder.py made.
func small(t *testing.T) (*weights.Set, weights.UMT5Config) {
	t.Helper()
	c, err := weights.ReadConfig("testdata/config.json")
	if err != nil {
		t.Fatal(err)
	}
	shape, err := c.UMT5()
	if err != nil {
		t.Fatal(err)
	}
	s, err := weights.Load("testdata/encoder.safetensors", shape.Blueprint())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, shape
}

// features reads tokens and the rows that float64 makes of them.
func features(t *testing.T, n int) (umt5.Tokens, []float32) {
	t.Helper()
	f, err := weights.OpenFile("testdata/features.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tokens, rows := umt5.Tokens{IDs: make([]int32, n+7), Length: n}, []float32(nil) // seven of padding
	for _, e := range f.Entries() {
		for i := range e.Len() {
			word := binary.LittleEndian.Uint32(f.Data(e)[4*i:])
			switch e.Name {
			case fmt.Sprintf("ids.%d", n):
				tokens.IDs[i] = int32(word)
			case fmt.Sprintf("rows.%d", n):
				rows = append(rows, math.Float32frombits(word))
			}
		}
	}
	return tokens, rows
}

// backends are all that run on the host.
func backends() []kernels.Backend {
	return []kernels.Backend{kernels.Reference{}, kernels.NewCPU(kernels.CPUOptions{})}
}

func TestFeaturesAreThoseOfTheReference(t *testing.T) {
	for _, b := range backends() {
		for _, o := range []umt5.Options{
			{Type: kernels.F32, Resident: true, TokensMax: 48}, {Type: kernels.F32, TokensMax: 48}, {Type: kernels.BF16, TokensMax: 48},
		} {
			set, shape := small(t)
			e, err := umt5.NewEncoder(b, set, shape, o)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range []int{41, 1, 16, 41} {
				tokens, want := features(t, n)
				got, err := e.Encode(tokens)
				if err != nil || len(got) != len(want) {
					t.Fatalf("%s %v: %d numbers, want %d: %v", b.Name(), o, len(got), len(want), err)
				}
				bound := 2e-5
				if o.Type == kernels.BF16 {
					bound = 2e-2
				}
				if d := distance(got, want); !(d < bound) {
					t.Errorf("%s %v: %d tokens are off by %.2g", b.Name(), o, n, d)
				}
			}
		}
	}
}

// distance is the relative error of a whole output.
func distance(got, want []float32) float64 {
	var d, n float64
	for i := range want {
		d += math.Pow(float64(got[i])-float64(want[i]), 2)
		n += math.Pow(float64(want[i]), 2)
	}
	return math.Sqrt(d / n)
}

func TestWhatAnEncoderRefuses(t *testing.T) {
	set, shape := small(t)
	e, err := umt5.NewEncoder(kernels.Reference{}, set, shape, umt5.Options{Type: kernels.F32, TokensMax: 16})
	if err != nil {
		t.Fatal(err)
	}
	for what, k := range map[string]umt5.Tokens{
		"too long": {IDs: make([]int32, 17), Length: 17}, "empty": {}, "no piece": {IDs: []int32{40}, Length: 1}, "negative": {IDs: []int32{-1}, Length: 1},
		"more than there are": {IDs: []int32{1}, Length: 2},
	} {
		if _, err := e.Encode(k); !errors.Is(err, umt5.ErrText) {
			t.Errorf("%s: %v", what, err)
		}
	}
	shape.HeadDim = 8
	if _, err := umt5.NewEncoder(kernels.Reference{}, set, shape, umt5.Options{Type: kernels.F32}); !errors.Is(err, weights.ErrConfig) {
		t.Error(err)
	}
	shape.HeadDim = 16
	if _, err := umt5.NewEncoder(kernels.Reference{}, set, shape, umt5.Options{Type: kernels.E4M3}); !errors.Is(err, weights.ErrConfig) {
		t.Error(err)
	}
}

// countingBackend counts operations.
type countingBackend struct {
	kernels.Reference
	runs int
}

func (b *countingBackend) Run(op kernels.Op) error {
	b.runs++
	return b.Reference.Run(op)
}

func TestFeaturesAreRemembered(t *testing.T) {
	b := &countingBackend{}
	k := open(t, "testdata/plain.model")
	shape := weights.UMT5Config{Vocabulary: k.Pieces(), Dim: 16, Heads: 1, HeadDim: 16, FFN: 16, Layers: 1, Buckets: 8, Distance: 20, Eps: 1e-6}
	e, err := umt5.NewEncoder(b, weights.Random(3, shape.Blueprint()), shape, umt5.Options{Type: kernels.F32, TokensMax: 32})
	if err != nil {
		t.Fatal(err)
	}
	texts := umt5.NewTexts(k, e, 32, 2)
	made := func(prompt string) (umt5.Features, bool) {
		before := b.runs
		f, err := texts.Features(prompt)
		if err != nil || len(f.Rows) != f.Tokens.Length*16 {
			t.Fatalf("%q: %d numbers for %+v: %v", prompt, len(f.Rows), f.Tokens, err)
		}
		return f, b.runs > before
	}
	first, ran := made("the lake")
	again, reran := made("  the   lake ")
	if !ran || reran || !slices.Equal(first.Rows, again.Rows) {
		t.Errorf("made %v, made again %v", ran, reran)
	}
	if _, ran := made("the mist"); !ran {
		t.Error("another text was remembered")
	}
	made("the lake") // the last used stays
	made("the sea")
	if _, ran := made("the lake"); ran {
		t.Error("the last used was forgotten")
	}
	if _, ran := made("the mist"); !ran {
		t.Error("more are remembered than were asked for")
	}
	if _, err := texts.Features(string(make([]byte, umt5.TextBytesMax+1))); !errors.Is(err, umt5.ErrText) {
		t.Error(err)
	}
}

func TestTextsMayBeUsedAtOnce(t *testing.T) {
	k := open(t, "testdata/plain.model")
	shape := weights.UMT5Config{Vocabulary: k.Pieces(), Dim: 16, Heads: 1, HeadDim: 16, FFN: 16, Layers: 1, Buckets: 8, Distance: 20, Eps: 1e-6}
	e, err := umt5.NewEncoder(kernels.Reference{}, weights.Random(3, shape.Blueprint()), shape, umt5.Options{Type: kernels.BF16, TokensMax: 32})
	if err != nil {
		t.Fatal(err)
	}
	texts := umt5.NewTexts(k, e, 32, 2)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if _, err := texts.Features(fmt.Sprintf("lake %d", i%3)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}
