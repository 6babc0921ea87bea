package weights_test

import (
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"telefuser/workers/kernels"
	"telefuser/workers/models/weights"
)

// tensor is one to be written.
type tensor struct {
	Type  weights.Type
	Shape []int
	Data  []byte
}

// encode is a safetensors file with these tensors, sorted by name.
func encode(t testing.TB, all map[string]tensor) []byte {
	t.Helper()
	header, data := map[string]any{"__metadata__": map[string]string{"format": "pt"}}, []byte(nil)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		x := all[name]
		header[name] = map[string]any{"dtype": x.Type, "shape": x.Shape, "data_offsets": []int{len(data), len(data) + len(x.Data)}}
		data = append(data, x.Data...)
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	return append(frame(text), data...)
}

// frame puts its length before a header.
func frame(header []byte) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
}

func writeFile(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func writeJSON(t *testing.T, path string, v any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, text)
}

// seeded makes the tensors of a blueprint from a seed, as bf16 under the names that rename gives.
func seeded(t *testing.T, b weights.Blueprint, rename func(string) string) map[string]tensor {
	t.Helper()
	all := map[string]tensor{}
	set := weights.Random(7, b)
	for _, p := range b.Parameters {
		data := make([]byte, 2*length(p.Shape))
		if err := set.Bytes(data, kernels.BF16, p.Name, 0); err != nil {
			t.Fatal(err)
		}
		all[rename(p.Name)] = tensor{weights.BF16, p.Shape, data}
	}
	return all
}

func same(name string) string { return name }

func length(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func f32(v ...float32) []byte {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// tinyWorld is the folder with the trial weights of tiny-world.
func tinyWorld(t *testing.T) string {
	t.Helper()
	places := []string{"../../../../shared/tiny-world", "../../../../tiny-world"}
	if dir := os.Getenv("TELEFUSER_MODELS"); dir != "" {
		places = []string{filepath.Join(dir, "tiny-world"), dir}
	}
	for _, dir := range places {
		if _, err := os.Stat(filepath.Join(dir, "dit.safetensors")); err == nil {
			return dir
		}
	}
	t.Skipf("the weights of tiny-world are in none of %v: set TELEFUSER_MODELS to the folder that holds tiny-world", places)
	return ""
}
