package mediatest

import (
	"fmt"
	"slices"
)

// File is one bad file.
type File struct {
	Name string
	Data []byte
	// Odd is whether the file may be taken for a picture: it is strange and yet one. All others must be refused.
	Odd bool
	// Bomb is whether it costs much where a limit is missing.
	Bomb bool
}

// Bait is what a file may tempt a decoder with: a file of this machine, and an address on it.
type Bait struct{ Path, URL string }

// Files are all bad files but the flipped ones, with names that differ.
func Files(b Bait) []File {
	return slices.Concat(cut(), bombs(), twofold(b), oddPNG(), oddJPEG(), oddWebP(), foreign(b), referring(b))
}

// cut are the originals, cut off at each sixteenth.
func cut() []File {
	var out []File
	for _, o := range Originals() {
		for i := range 16 {
			out = append(out, File{Name: fmt.Sprintf("%s cut to %d of 16", o.Name, i), Data: o.Data[:len(o.Data)*i/16]})
		}
	}
	return out
}

// refused names files that are no pictures.
func refused(files map[string][]byte) []File { return named(files, false) }

// odd names files that may be pictures.
func odd(files map[string][]byte) []File { return named(files, true) }

func named(files map[string][]byte, isOdd bool) []File {
	out := make([]File, 0, len(files))
	for name, data := range files {
		out = append(out, File{Name: name, Data: data, Odd: isOdd})
	}
	slices.SortFunc(out, func(a, b File) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return out
}

func join(parts ...any) []byte {
	var out []byte
	for _, part := range parts {
		switch p := part.(type) {
		case []byte:
			out = append(out, p...)
		case string:
			out = append(out, p...)
		case byte:
			out = append(out, p)
		}
	}
	return out
}
