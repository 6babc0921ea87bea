package weights_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"telefuser/workers/models/weights"
)

// vector is a tensor of bf16 ones.
func vector(n int) tensor {
	data := make([]byte, 2*n)
	for i := range n {
		data[2*i], data[2*i+1] = 0x80, 0x3f
	}
	return tensor{weights.BF16, []int{n}, data}
}

func TestShardsWithAnIndex(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "model-00001-of-00002.safetensors"), encode(t, map[string]tensor{"a": vector(3), "b": vector(1)}))
	writeFile(t, filepath.Join(dir, "model-00002-of-00002.safetensors"), encode(t, map[string]tensor{"c": vector(2)}))
	index := func(m map[string]string) {
		writeJSON(t, filepath.Join(dir, "model.safetensors.index.json"), map[string]any{"metadata": map[string]any{"total_size": 12}, "weight_map": m})
	}
	first, second := "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
	good := map[string]string{"a": first, "b": first, "c": second}
	index(good)
	c, err := weights.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := c.Shape("c"); !ok || s[0] != 2 || len(c.Files()) != 2 || c.Path() != dir {
		t.Errorf("%v %v %s", s, c.Files(), c.Path())
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for reason, m := range map[string]map[string]string{
		"b lies in " + first + `, and the index says ""`:                 {"a": first, "c": second},
		"b lies in " + first + ", and the index says \"" + second + "\"": {"a": first, "b": second, "c": second},
		"d is not in " + second:                                          {"a": first, "b": first, "c": second, "d": second},
		"1 of 3 shards are missing: model-00003-of-00003.safetensors":    {"a": first, "b": first, "c": second, "d": "model-00003-of-00003.safetensors"},
		"is no safetensors file beside the index":                        {"a": "../" + first},
		`the shard "pickle.bin" is no safetensors`:                       {"a": "pickle.bin"},
		"no weight_map": {},
	} {
		index(m)
		wantFormat(t, dir, reason)
	}
}

func TestAnIndexThatIsHostile(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "model-00001-of-00001.safetensors"), encode(t, map[string]tensor{"a": vector(3)}))
	for reason, text := range map[string]string{
		`"a" comes twice`:          `{"weight_map":{"a":"model-00001-of-00001.safetensors","a":"x.safetensors"}}`,
		`"weight_map" comes twice`: `{"weight_map":{"a":"model-00001-of-00001.safetensors"},"weight_map":{}}`,
		`"a" lies in no file`:      `{"weight_map":{"a":1}}`,
		"not a JSON object":        `{"weight_map":[]}`,
		"not UTF-8":                "{\"weight_map\":{\"\xff\":\"x.safetensors\"}}",
	} {
		writeFile(t, filepath.Join(dir, "model.safetensors.index.json"), []byte(text))
		wantFormat(t, dir, reason)
	}
}

func TestShardsWithoutAnIndex(t *testing.T) {
	dir := t.TempDir()
	shard := func(name string) string { return filepath.Join(dir, name) }
	writeFile(t, shard("model-00001-of-00002.safetensors"), encode(t, map[string]tensor{"a": vector(3)}))
	wantFormat(t, dir, "1 of 2 shards are missing: model-00002-of-00002.safetensors")
	writeFile(t, shard("model-00002-of-00002.safetensors"), encode(t, map[string]tensor{"a": vector(3)}))
	wantFormat(t, dir, "a lies in model-00001-of-00002.safetensors too")
	writeFile(t, shard("model-00002-of-00002.safetensors"), encode(t, map[string]tensor{"b": vector(3)}))
	c, err := weights.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Shape("b"); !ok {
		t.Error("b is not there")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	writeFile(t, shard("model-00003-of-00003.safetensors"), encode(t, map[string]tensor{"c": vector(3)}))
	wantFormat(t, dir, "3 shards named model-... do not make one set of 2")
}

func TestWhichFileOfAFolder(t *testing.T) {
	dir := t.TempDir()
	if _, err := weights.Open(dir); !errors.Is(err, weights.ErrAbsent) {
		t.Error(err)
	}
	writeFile(t, filepath.Join(dir, "one.safetensors"), encode(t, map[string]tensor{"one": vector(1)}))
	wantTensor(t, dir, "one")
	writeFile(t, filepath.Join(dir, "two.safetensors"), encode(t, map[string]tensor{"two": vector(1)}))
	if _, err := weights.Open(dir); !errors.Is(err, weights.ErrAbsent) || !strings.Contains(err.Error(), "2 safetensors files") {
		t.Error(err)
	}
	wantTensor(t, filepath.Join(dir, "two.safetensors"), "two")
	writeFile(t, filepath.Join(dir, "diffusion_pytorch_model.safetensors"), encode(t, map[string]tensor{"main": vector(1)}))
	wantTensor(t, dir, "main")
	if _, err := weights.Open(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestPicklesAreRefusedWithTheWayOut(t *testing.T) {
	for _, name := range []string{"Wan2.1_VAE.pth", "model.bin", "a.CKPT", "x.pt"} {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, name), []byte("\x80\x02"))
		for _, path := range []string{dir, filepath.Join(dir, name)} {
			_, err := weights.Open(path)
			stem := name[:strings.LastIndexByte(name, '.')]
			if !errors.Is(err, weights.ErrPickle) || !strings.Contains(err.Error(), "torch.load('"+name+"'") ||
				!strings.Contains(err.Error(), "'"+stem+".safetensors'") || !strings.Contains(err.Error(), "weights_only=True") {
				t.Error(err)
			}
		}
	}
}

func wantTensor(t *testing.T, path, name string) {
	t.Helper()
	c, err := weights.Open(path)
	if err != nil {
		t.Error(err)
		return
	}
	if _, ok := c.Shape(name); !ok {
		t.Errorf("%s is not in %s", name, path)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func wantFormat(t *testing.T, path, reason string) {
	t.Helper()
	_, err := weights.Open(path)
	var format *weights.FormatError
	if !errors.As(err, &format) || !strings.Contains(err.Error(), reason) {
		t.Errorf("want %q, got %v", reason, err)
	}
}

func FuzzIndex(f *testing.F) {
	f.Add([]byte(`{"weight_map":{"a":"model-00001-of-00001.safetensors"}}`))
	f.Add([]byte(`{"metadata":{"total_size":1},"weight_map":{"a":"x.safetensors","b":"../y.safetensors"}}`))
	f.Add([]byte(`{"weight_map":{"a":".safetensors","a":""}}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		writeFile(t, filepath.Join(dir, "model.safetensors.index.json"), text)
		c, err := weights.Open(dir)
		var format *weights.FormatError
		if err == nil || !errors.As(err, &format) && !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("%v %v", c, err)
		}
	})
}
