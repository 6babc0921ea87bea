package weights

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Limits of an index.
const (
	IndexBytesMax = 64 << 20
	ShardsMax     = 1024
)

const (
	fileSuffix  = ".safetensors"
	indexSuffix = ".safetensors.index.json"
)

// index says in which shard each tensor lies.
type index struct {
	path   string
	shards map[string]string // by tensor
}

// readIndex reads a *.safetensors.index.json.
func readIndex(path string) (index, error) {
	text, err := readSmall(path, IndexBytesMax)
	if err != nil {
		return index{}, err
	}
	x := index{path, map[string]string{}}
	if err = strictObject(text, x.field); err == nil && len(x.shards) == 0 {
		err = errors.New("no weight_map")
	}
	if err != nil {
		return index{}, &FormatError{path, err.Error()}
	}
	if n := len(x.files()); n > ShardsMax {
		return index{}, &FormatError{path, fmt.Sprintf("%d shards; at most %d are read", n, ShardsMax)}
	}
	return x, nil
}

// field reads one field of the index; what is not the map is of no use here.
func (x index) field(key string, d *json.Decoder) error {
	if key != "weight_map" {
		var skipped json.RawMessage
		return d.Decode(&skipped)
	}
	return object(d, func(name string, d *json.Decoder) error {
		var shard string
		if err := d.Decode(&shard); err != nil {
			return fmt.Errorf("%q lies in no file", name)
		}
		if err := checkName(name); err != nil {
			return err
		}
		if len(x.shards) == TensorsMax {
			return fmt.Errorf("more than %d tensors", TensorsMax)
		}
		if shard != filepath.Base(shard) || !strings.HasSuffix(shard, fileSuffix) {
			return fmt.Errorf("the shard %.80q is no safetensors file beside the index", shard)
		}
		x.shards[name] = shard
		return nil
	})
}

// files are the names of the shards, sorted.
func (x index) files() []string {
	seen := map[string]bool{}
	var files []string
	for _, f := range x.shards {
		if !seen[f] {
			seen[f] = true
			files = append(files, f)
		}
	}
	slices.Sort(files)
	return files
}

// check holds the shards to the index: each tensor lies where it is said to, and no other.
func (x index) check(files []*File) error {
	found := 0
	for _, f := range files {
		for _, e := range f.entries {
			if said, ok := x.shards[e.Name]; !ok || said != filepath.Base(f.path) {
				return &FormatError{x.path, fmt.Sprintf("%s lies in %s, and the index says %q", e.Name, filepath.Base(f.path), said)}
			}
			found++
		}
	}
	if found == len(x.shards) {
		return nil
	}
	for name, shard := range x.shards {
		for _, f := range files {
			if filepath.Base(f.path) == shard && !slices.ContainsFunc(f.entries, func(e Entry) bool { return e.Name == name }) {
				return &FormatError{x.path, fmt.Sprintf("%s is not in %s", name, shard)}
			}
		}
	}
	return nil
}

// readSmall reads a file of at most so many bytes.
func readSmall(path string, bytesMax int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, bytesMax+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("weights: %w", err)
	case int64(len(text)) > bytesMax:
		return nil, &FormatError{path, fmt.Sprintf("more than %d bytes", bytesMax)}
	}
	return text, nil
}
