package weights_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"telefuser/workers/kernels"
	"telefuser/workers/models/weights"
)

// small is a blueprint of three tensors.
func small() weights.Blueprint {
	return weights.Blueprint{Model: "toy", Parameters: []weights.Parameter{
		{Name: "x.weight", Shape: []int{2, 3}, Sigma: 0.5},
		{Name: "x.bias", Shape: []int{2}, Sigma: 1},
		{Name: "norm", Shape: []int{5}, Centre: 1, Sigma: 0.1},
	}}
}

func TestEveryDifferenceIsNamed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model.safetensors")
	writeFile(t, path, encode(t, map[string]tensor{
		"x.weight": {weights.BF16, []int{3, 2}, make([]byte, 12)},
		"norm":     {"I8", []int{5}, make([]byte, 5)},
		"y":        vector(1), "z": vector(2),
	}))
	_, err := weights.Load(dir, small())
	var mismatch *weights.MismatchError
	if !errors.As(err, &mismatch) {
		t.Fatal(err)
	}
	r := mismatch.Report
	if !slices.Equal(r.Missing, []string{"x.bias"}) || !slices.Equal(r.Surplus, []string{"y", "z"}) {
		t.Errorf("missing %v, surplus %v", r.Missing, r.Surplus)
	}
	if len(r.Misshapen) != 1 || r.Misshapen[0].Name != "x.weight" || !slices.Equal(r.Misshapen[0].Want, []int{2, 3}) || !slices.Equal(r.Misshapen[0].Got, []int{3, 2}) {
		t.Errorf("misshapen %v", r.Misshapen)
	}
	if len(r.Mistyped) != 1 || r.Mistyped[0] != (weights.Mistyped{Name: "norm", Type: "I8"}) {
		t.Errorf("mistyped %v", r.Mistyped)
	}
	want := "weights: " + dir + " is no toy: 1 missing, 1 misshapen, 1 mistyped, 2 surplus: " +
		"x.bias is missing, x.weight is [3 2], and [2 3] is wanted, norm is of I8; F32, BF16 and F16 are read and 2 more"
	if err.Error() != want {
		t.Errorf("%v", err)
	}
}

func TestEveryTypeAsEither(t *testing.T) {
	values := []float32{1, -2.5, 0.0078125, -0, 65504, 3}
	half, brain := []byte(nil), []byte(nil)
	for _, h := range []uint16{0x3c00, 0xc100, 0x2000, 0, 0x7bff, 0x4200} {
		half = binary.LittleEndian.AppendUint16(half, h)
	}
	for _, v := range values {
		brain = binary.LittleEndian.AppendUint16(brain, kernels.BF16FromFloat(float64(v)))
	}
	for kind, data := range map[weights.Type][]byte{weights.F32: f32(values...), weights.F16: half, weights.BF16: brain} {
		path := filepath.Join(t.TempDir(), "x.safetensors")
		writeFile(t, path, encode(t, map[string]tensor{"v": {kind, []int{6}, data}}))
		s, err := weights.Load(path, weights.Blueprint{Model: "toy", Parameters: []weights.Parameter{{Name: "v", Shape: []int{6}}}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Floats("v")
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range got {
			want := values[i]
			if kind == weights.BF16 {
				want = float32(kernels.BF16ToFloat(kernels.BF16FromFloat(float64(want))))
			}
			if v != want {
				t.Errorf("%s: element %d is %g, want %g", kind, i, v, want)
			}
		}
		part := make([]byte, 4)
		if err := s.Bytes(part, kernels.BF16, "v", 3); err != nil || !bytes.Equal(part, brain[6:10]) {
			t.Errorf("%s: %x %v", kind, part, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestEveryHalf(t *testing.T) {
	data := make([]byte, 2<<16)
	for h := range 1 << 16 {
		binary.LittleEndian.PutUint16(data[2*h:], uint16(h))
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	writeFile(t, path, encode(t, map[string]tensor{"v": {weights.F16, []int{1 << 16}, data}}))
	s, err := weights.Load(path, weights.Blueprint{Model: "toy", Parameters: []weights.Parameter{{Name: "v", Shape: []int{1 << 16}}}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Floats("v")
	if err != nil {
		t.Fatal(err)
	}
	for h, v := range got {
		sign, e, m := 1-2*float64(h>>15), h>>10&31, float64(h&1023)
		want := sign * math.Ldexp(1+m/1024, e-15)
		switch {
		case e == 0:
			want = sign * math.Ldexp(m, -24)
		case e == 31 && m == 0:
			want = math.Inf(int(sign))
		case e == 31:
			want = math.NaN()
		}
		if math.Float64bits(float64(v)) != math.Float64bits(want) && !(math.IsNaN(want) && v != v) {
			t.Fatalf("%#x is %g, want %g", h, v, want)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestWhatASetRefuses(t *testing.T) {
	s := weights.Random(1, small())
	for what, err := range map[string]error{
		"unknown name":   s.Bytes(make([]byte, 2), kernels.BF16, "y", 0),
		"type":           s.Bytes(make([]byte, 2), kernels.E4M3, "x.bias", 0),
		"half a number":  s.Bytes(make([]byte, 3), kernels.BF16, "x.bias", 0),
		"too many":       s.Bytes(make([]byte, 4), kernels.BF16, "x.bias", 1),
		"negative":       s.Bytes(make([]byte, 4), kernels.BF16, "x.bias", -1),
		"upload by size": s.Upload(kernels.Reference{}, kernels.Layout(kernels.BF16, 3), "x.bias"),
	} {
		if !errors.Is(err, weights.ErrUnknown) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := s.Floats("y"); !errors.Is(err, weights.ErrUnknown) {
		t.Error(err)
	}
	if _, err := s.Tensor(kernels.Reference{}, kernels.BF16, "x.weight", 7); !errors.Is(err, weights.ErrUnknown) {
		t.Error(err)
	}
	if _, err := s.Tensor(kernels.Reference{}, kernels.BF16, "y"); !errors.Is(err, weights.ErrUnknown) {
		t.Error(err)
	}
}

// countingBackend counts how often it is written to.
type countingBackend struct {
	kernels.Reference
	writes int
}

func (b *countingBackend) Write(dst kernels.Tensor, src []byte) error {
	b.writes++
	return b.Reference.Write(dst, src)
}

func TestTensorsReachABackendInPieces(t *testing.T) {
	const n = 9 << 20
	data := make([]byte, 2*n)
	for i := range n {
		binary.LittleEndian.PutUint16(data[2*i:], uint16(0x3f80+i%97))
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	writeFile(t, path, encode(t, map[string]tensor{"v": {weights.BF16, []int{9, 1 << 20}, data}}))
	s, err := weights.Load(path, weights.Blueprint{Model: "toy", Parameters: []weights.Parameter{{Name: "v", Shape: []int{9, 1 << 20}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, d := range []kernels.DType{kernels.BF16, kernels.F32} {
		b := &countingBackend{}
		x, err := s.Tensor(b, d, "v", n)
		if err != nil {
			t.Fatal(err)
		}
		if x.Rank() != 1 || b.writes != (n*d.Bytes()+8<<20-1)/(8<<20) {
			t.Errorf("%v: %v in %d writes", d, x.Shape, b.writes)
		}
		for _, i := range []int{0, 1, 4<<20 - 1, 4 << 20, n - 1} {
			if want := kernels.BF16ToFloat(uint16(0x3f80 + i%97)); x.Get(i) != want {
				t.Errorf("%v: element %d is %g, want %g", d, i, x.Get(i), want)
			}
		}
	}
}

// TestAllProcessorsGiveWhatOneDoes reads a tensor that is large enough for several goroutines, whole and element by element.
func TestAllProcessorsGiveWhatOneDoes(t *testing.T) {
	const n = 5<<16 + 1
	data := make([]byte, 4*n)
	for i := range n {
		binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(float32(i)*1.001))
	}
	binary.LittleEndian.PutUint32(data[40:], 0x7f800001) // no number, whose low bits must not make it infinite
	path := filepath.Join(t.TempDir(), "x.safetensors")
	writeFile(t, path, encode(t, map[string]tensor{"v": {weights.F32, []int{n}, data}}))
	b := weights.Blueprint{Model: "toy", Parameters: []weights.Parameter{{Name: "v", Shape: []int{n}, Sigma: 1}}}
	stored, err := weights.Load(path, b)
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close()
	for _, s := range []*weights.Set{stored, weights.Random(5, b)} {
		whole, one := make([]byte, 2*n), make([]byte, 2)
		if err := s.Bytes(whole, kernels.BF16, "v", 0); err != nil {
			t.Fatal(err)
		}
		for i := 0; i < n; i += 32 { // the last one too
			if err := s.Bytes(one, kernels.BF16, "v", i); err != nil || !bytes.Equal(one, whole[2*i:2*i+2]) {
				t.Fatalf("%s: element %d is %x, want %x (%v)", s.Origin(), i, whole[2*i:2*i+2], one, err)
			}
			v := math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
			if got, want := binary.LittleEndian.Uint16(one), kernels.BF16FromFloat(float64(v)); s == stored && got != want {
				t.Fatalf("element %d is %#x, want %#x", i, got, want)
			}
		}
		if err := s.Bytes(one, kernels.BF16, "v", 10); err != nil || s == stored && binary.LittleEndian.Uint16(one) != 0x7fc0 {
			t.Errorf("no number became %x: %v", one, err)
		}
	}
}
