package weights

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// File is one safetensors file, mapped into memory read-only. Pages are read when they are
// first touched, and the page cache is shared with whoever else maps the file.
//
// Whoever cuts a file short that is in use ends the process that uses it, as with any mapping:
// weights are replaced by renaming, never in place.
type File struct {
	path    string
	mapping []byte
	start   int64
	meta    map[string]string
	entries []Entry
}

// OpenFile maps a file and checks its header. The error is a *FormatError, ErrPickle, or the
// file system's.
func OpenFile(path string) (*File, error) {
	if isPickle(path) {
		return nil, pickled(filepath.Dir(path), filepath.Base(path))
	}
	mapping, err := mapFile(path)
	if err != nil {
		return nil, err
	}
	f := &File{path: path, mapping: mapping}
	if f.entries, f.start, f.meta, err = parseHeader(mapping, int64(len(mapping))); err != nil {
		return nil, errors.Join(&FormatError{path, err.Error()}, f.Close())
	}
	return f, nil
}

// mapFile maps a regular file; an empty one is a *FormatError.
func mapFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, fmt.Errorf("weights: %w", err)
	case !info.Mode().IsRegular():
		return nil, &FormatError{path, "no regular file"}
	case info.Size() == 0:
		return nil, &FormatError{path, "empty"}
	}
	mapping, err := syscall.Mmap(int(file.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("weights: %w", &fs.PathError{Op: "mmap", Path: path, Err: err})
	}
	return mapping, nil
}

// Path is where the file lies.
func (f *File) Path() string { return f.path }

// Metadata is the free text that the file carries; nil where it has none.
func (f *File) Metadata() map[string]string { return f.meta }

// Entries are the file's tensors in the order of their bytes.
func (f *File) Entries() []Entry { return f.entries }

// Data is the bytes of an entry of this file. They must not be written, and not be read after Close.
func (f *File) Data(e Entry) []byte { return f.mapping[f.start+e.Begin : f.start+e.End] }

// Close unmaps the file.
func (f *File) Close() error {
	if f.mapping == nil {
		return nil
	}
	err := syscall.Munmap(f.mapping)
	f.mapping = nil
	if err != nil {
		return fmt.Errorf("weights: unmap %s: %w", f.path, err)
	}
	return nil
}

// isPickle says whether a file's name is that of a Python pickle.
func isPickle(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".pth", ".pt", ".bin", ".ckpt", ".pkl":
		return true
	default:
		return false
	}
}
