package weights

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Checkpoint is one model's tensors, from one file or from shards.
type Checkpoint struct {
	path    string
	files   []*File
	entries map[string]stored
}

// stored is a tensor and the file that holds it.
type stored struct {
	Entry
	file *File
}

// Open opens the checkpoint at a path: a safetensors file, an index, or a folder that holds
// model.safetensors or diffusion_pytorch_model.safetensors, whole or in shards, or one other
// safetensors file. ErrAbsent and ErrPickle say that there is none.
func Open(path string) (*Checkpoint, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	if info.IsDir() {
		return openFolder(path)
	}
	if strings.HasSuffix(path, indexSuffix) {
		return openIndex(path)
	}
	return openFiles(path, []string{path})
}

func openFolder(dir string) (*Checkpoint, error) {
	found, err := listWeights(dir)
	if err != nil {
		return nil, err
	}
	for _, stem := range mainFiles {
		switch {
		case found.indices[stem]:
			return openIndex(filepath.Join(dir, stem+indexSuffix))
		case found.shards[stem] != nil:
			return openShards(dir, stem, found.shards[stem])
		case found.whole[stem]:
			return openFiles(dir, []string{filepath.Join(dir, stem+fileSuffix)})
		}
	}
	if only := found.only(); only != "" {
		return openFiles(dir, []string{filepath.Join(dir, only+fileSuffix)})
	}
	if len(found.whole) > 1 {
		return nil, fmt.Errorf("%w: %s holds %d safetensors files, and none is named %s", ErrAbsent, dir, len(found.whole), mainFiles[0]+fileSuffix)
	}
	if found.pickle != "" {
		return nil, pickled(dir, found.pickle)
	}
	return nil, fmt.Errorf("%w: no safetensors file in %s", ErrAbsent, dir)
}

// openShards opens shards that no index describes: all of them have to be there.
func openShards(dir, stem string, names []string) (*Checkpoint, error) {
	count, _ := strconv.Atoi(shardName.FindStringSubmatch(names[0])[3])
	var missing []string
	paths := make([]string, 0, len(names))
	for i := 1; i <= count && i <= ShardsMax; i++ {
		name := fmt.Sprintf("%s-%05d-of-%05d%s", stem, i, count, fileSuffix)
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			missing = append(missing, name)
			continue
		}
		paths = append(paths, filepath.Join(dir, name))
	}
	if len(paths)+len(missing) != count || len(paths) != len(names) && len(missing) == 0 {
		return nil, &FormatError{dir, fmt.Sprintf("%d shards named %s-... do not make one set of %d", len(names), stem, count)}
	}
	if len(missing) > 0 {
		return nil, &FormatError{dir, fmt.Sprintf("%d of %d shards are missing: %s", len(missing), count, firstOf(missing))}
	}
	return openFiles(dir, paths)
}

func openIndex(path string) (*Checkpoint, error) {
	x, err := readIndex(path)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(path)
	var paths, missing []string
	for _, name := range x.files() {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			missing = append(missing, name)
		}
		paths = append(paths, filepath.Join(dir, name))
	}
	if len(missing) > 0 {
		return nil, &FormatError{path, fmt.Sprintf("%d of %d shards are missing: %s", len(missing), len(paths), firstOf(missing))}
	}
	c, err := openFiles(dir, paths)
	if err != nil {
		return nil, err
	}
	if err := x.check(c.files); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// openFiles opens files that together are one checkpoint; a name in two of them is refused.
func openFiles(path string, paths []string) (*Checkpoint, error) {
	c := &Checkpoint{path: path, entries: map[string]stored{}}
	for _, p := range paths {
		f, err := OpenFile(p)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.files = append(c.files, f)
		for _, e := range f.entries {
			if other, twice := c.entries[e.Name]; twice {
				err := &FormatError{p, fmt.Sprintf("%s lies in %s too", e.Name, filepath.Base(other.file.path))}
				return nil, errors.Join(err, c.Close())
			}
			c.entries[e.Name] = stored{e, f}
		}
	}
	return c, nil
}

// Path is what Open was given, or the folder that an index lies in.
func (c *Checkpoint) Path() string { return c.path }

// Files are the files that hold the tensors.
func (c *Checkpoint) Files() []*File { return c.files }

// Shape is that of a tensor by its name in the files; false if there is none.
func (c *Checkpoint) Shape(name string) ([]int, bool) {
	e, ok := c.entries[name]
	return e.Shape, ok
}

// Close unmaps the files.
func (c *Checkpoint) Close() error {
	var all []error
	for _, f := range c.files {
		all = append(all, f.Close())
	}
	c.files = nil
	return errors.Join(all...)
}
