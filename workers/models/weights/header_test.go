package weights_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"telefuser/workers/models/weights"
)

const oneTensor = `{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`

// badFiles are files that must be refused, by a part of the reason.
func badFiles() map[string][]byte {
	entry := func(fields string, data int) []byte {
		return append(frame([]byte(`{"a":{`+fields+`}}`)), make([]byte, data)...)
	}
	two := func(a, b string, data int) []byte {
		text := `{"a":{"dtype":"U8","shape":[4],"data_offsets":` + a + `},"b":{"dtype":"U8","shape":[4],"data_offsets":` + b + `}}`
		return append(frame([]byte(text)), make([]byte, data)...)
	}
	return map[string][]byte{
		"too short for a header":                            {1, 2, 3},
		"at most 67108864 are read":                         binary.LittleEndian.AppendUint64(nil, 1<<63),
		"a header of 99 bytes in a file":                    append(binary.LittleEndian.AppendUint64(nil, 99), "{}"...),
		"the header is no JSON object":                      frame([]byte(`[]`)),
		"not UTF-8":                                         frame([]byte("{\"\xff\":1}")),
		"not JSON":                                          frame([]byte(`{"a":{"dtype":"F32",`)),
		"something after the object":                        frame([]byte(`{}{}`)),
		`"a" comes twice`:                                   append(frame([]byte(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`)), 1, 2),
		`"shape" comes twice`:                               entry(`"dtype":"F32","shape":[2],"shape":[2],"data_offsets":[0,8]`, 8),
		"may not be named":                                  append(frame([]byte(`{"\u0007":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`)), 1),
		"may not be named \"\"":                             append(frame([]byte(`{"":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`)), 1),
		"may not be named \"\ufffd":                         append(frame([]byte(`{"\ud800":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`)), 1),
		"may not be named \"xxx":                            append(frame([]byte(`{"`+strings.Repeat("x", 513)+`":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`)), 1),
		"unknown type \"F31\"":                              entry(`"dtype":"F31","shape":[2],"data_offsets":[0,8]`, 8),
		"has a field \"size\"":                              entry(`"dtype":"F32","shape":[2],"data_offsets":[0,8],"size":8`, 8),
		"has a field \"DTYPE\"":                             entry(`"DTYPE":"F32","shape":[2],"data_offsets":[0,8]`, 8),
		"bad shape":                                         entry(`"dtype":"F32","shape":[-2],"data_offsets":[0,8]`, 8),
		"a: bad shape":                                      entry(`"dtype":"F32","shape":[2.0],"data_offsets":[0,8]`, 8),
		"a shape has 0 to 8 dimensions":                     entry(`"dtype":"F32","shape":[1,1,1,1,1,1,1,1,2],"data_offsets":[0,8]`, 8),
		"a: a shape has 0 to 8 dimensions":                  entry(`"dtype":"F32","data_offsets":[0,8]`, 8),
		"is too large":                                      entry(`"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]`, 8),
		"a: the shape [0 9223372036854775808] is too large": entry(`"dtype":"F32","shape":[0,9223372036854775808],"data_offsets":[0,8]`, 8),
		"bad data_offsets":                                  entry(`"dtype":"F32","shape":[2],"data_offsets":[8,0]`, 8),
		"a: bad data_offsets":                               entry(`"dtype":"F32","shape":[2],"data_offsets":[0]`, 8),
		"[2] of F32 are 8 bytes, and it has 4":              entry(`"dtype":"F32","shape":[2],"data_offsets":[0,4]`, 4),
		"the tensors have 8 bytes, and the file has 9":      entry(`"dtype":"F32","shape":[2],"data_offsets":[0,8]`, 9),
		"the tensors have 8 bytes, and the file has 7":      entry(`"dtype":"F32","shape":[2],"data_offsets":[0,8]`, 7),
		"b overlaps the tensor before it":                   two(`[0,4]`, `[2,6]`, 6),
		"2 bytes before b belong to no tensor":              two(`[0,4]`, `[6,10]`, 10),
		"metadata \"x\" is no text":                         frame([]byte(`{"__metadata__":{"x":1}}`)),
	}
}

func TestBadFilesAreRefusedWithTheirReason(t *testing.T) {
	for reason, data := range badFiles() {
		path := filepath.Join(t.TempDir(), "x.safetensors")
		writeFile(t, path, data)
		_, err := weights.OpenFile(path)
		var format *weights.FormatError
		if !errors.As(err, &format) || !strings.Contains(format.Reason, reason) || format.Path != path {
			t.Errorf("want %q, got %v", reason, err)
		}
	}
}

func TestNoFileAtAll(t *testing.T) {
	dir := t.TempDir()
	if _, err := weights.OpenFile(filepath.Join(dir, "x.safetensors")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	writeFile(t, filepath.Join(dir, "empty.safetensors"), nil)
	var format *weights.FormatError
	if _, err := weights.OpenFile(filepath.Join(dir, "empty.safetensors")); !errors.As(err, &format) {
		t.Error(err)
	}
	if _, err := weights.OpenFile(dir); !errors.As(err, &format) {
		t.Error(err)
	}
}

func TestAGoodFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	header := `{"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[],"data_offsets":[8,10]},"a":{"dtype":"F32","shape":[2,1],` +
		`"data_offsets":[0,8]},"none":{"dtype":"I64","shape":[0,3],"data_offsets":[8,8]}}  `
	writeFile(t, path, append(frame([]byte(header)), append(f32(1, 2), 0x80, 0x3f)...))
	f, err := weights.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range f.Entries() {
		names = append(names, e.Name)
	}
	if got := strings.Join(names, " "); got != "a none b" {
		t.Errorf("entries %s", got)
	}
	last := f.Entries()[2]
	if d := f.Data(last); len(d) != 2 || d[1] != 0x3f || last.Len() != 1 || f.Metadata()["format"] != "pt" {
		t.Errorf("%v %v %v", d, last, f.Metadata())
	}
	if err := errors.Join(f.Close(), f.Close()); err != nil {
		t.Error(err)
	}
}

func FuzzFile(f *testing.F) {
	for _, data := range badFiles() {
		f.Add(data)
	}
	f.Add(append(frame([]byte(oneTensor)), f32(1, 2)...))
	path := filepath.Join(f.TempDir(), "x.safetensors")
	f.Fuzz(func(t *testing.T, data []byte) {
		writeFile(t, path, data)
		file, err := weights.OpenFile(path)
		if err != nil {
			var format *weights.FormatError
			if !errors.As(err, &format) {
				t.Fatalf("not a FormatError: %v", err)
			}
			return
		}
		sum := 0
		for _, e := range file.Entries() {
			if len(file.Data(e)) != e.Len()*e.Type.Bytes() {
				t.Fatalf("%v has %d bytes", e, len(file.Data(e)))
			}
			sum += len(file.Data(e))
		}
		if sum > len(data) {
			t.Fatalf("%d bytes of %d", sum, len(data))
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
