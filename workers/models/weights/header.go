package weights

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a file's header.
const (
	HeaderBytesMax = 64 << 20
	TensorsMax     = 100_000
	RankMax        = 8
	NameBytesMax   = 512
)

// lengthBytes stand before the header and hold its length.
const lengthBytes = 8

// Entry is a tensor of a file: its bytes lie at [Begin, End) after the header.
type Entry struct {
	Name       string
	Type       Type
	Shape      []int
	Begin, End int64
}

// Len is the number of elements.
func (e Entry) Len() int {
	n := 1
	for _, d := range e.Shape {
		n *= d
	}
	return n
}

// parseHeader reads the header of a safetensors file of so many bytes, of which head is the
// beginning. It answers the tensors in the order of their bytes, where those start in the file,
// and the free text beside them. Entries cover the bytes exactly: no gap, no overlap, no rest.
func parseHeader(head []byte, size int64) (entries []Entry, start int64, meta map[string]string, err error) {
	n, err := headerLength(head, size)
	if err != nil {
		return nil, 0, nil, err
	}
	start = lengthBytes + n
	err = strictObject(head[lengthBytes:start], func(key string, d *json.Decoder) error {
		if key == "__metadata__" {
			meta = map[string]string{}
			return metadata(d, meta)
		}
		if len(entries) == TensorsMax {
			return fmt.Errorf("more than %d tensors", TensorsMax)
		}
		e, err := parseEntry(key, d)
		entries = append(entries, e)
		return err
	})
	if err != nil {
		return nil, 0, nil, err
	}
	return entries, start, meta, cover(entries, size-start)
}

// headerLength reads the length of the header and holds it to its limits.
func headerLength(head []byte, size int64) (int64, error) {
	if len(head) < lengthBytes {
		return 0, errors.New("too short for a header")
	}
	n := binary.LittleEndian.Uint64(head)
	switch {
	case n > HeaderBytesMax:
		return 0, fmt.Errorf("a header of %d bytes; at most %d are read", n, HeaderBytesMax)
	case int64(n) > size-lengthBytes || int64(n) > int64(len(head)-lengthBytes):
		return 0, fmt.Errorf("a header of %d bytes in a file of %d", n, size)
	case n == 0 || head[lengthBytes] != '{':
		return 0, errors.New("the header is no JSON object")
	}
	return int64(n), nil
}

func metadata(d *json.Decoder, into map[string]string) error {
	return object(d, func(key string, d *json.Decoder) error {
		var v string
		if err := d.Decode(&v); err != nil {
			return fmt.Errorf("metadata %q is no text", key)
		}
		into[key] = v
		return nil
	})
}

func parseEntry(name string, d *json.Decoder) (Entry, error) {
	if err := checkName(name); err != nil {
		return Entry{}, err
	}
	var shape, offsets []uint64
	e := Entry{Name: name}
	err := object(d, func(key string, d *json.Decoder) error {
		var err error
		switch key {
		case "dtype":
			err = d.Decode(&e.Type)
		case "shape":
			err = d.Decode(&shape)
		case "data_offsets":
			err = d.Decode(&offsets)
		default:
			return fmt.Errorf("%s has a field %q", name, key)
		}
		if err != nil {
			return fmt.Errorf("%s: bad %s", name, key)
		}
		return nil
	})
	switch {
	case err != nil:
		return Entry{}, err
	case e.Type.Bytes() == 0:
		return Entry{}, fmt.Errorf("%s is of the unknown type %.20q", name, e.Type)
	case shape == nil || len(shape) > RankMax:
		return Entry{}, fmt.Errorf("%s: a shape has 0 to %d dimensions", name, RankMax)
	case len(offsets) != 2 || offsets[0] > offsets[1] || offsets[1] > 1<<62:
		return Entry{}, fmt.Errorf("%s: bad data_offsets", name)
	}
	e.Begin, e.End = int64(offsets[0]), int64(offsets[1])
	return e, e.measure(shape)
}

// checkName wants a name that is printable, and not too long.
func checkName(name string) error {
	odd := func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }
	if name == "" || len(name) > NameBytesMax || strings.ContainsFunc(name, odd) {
		return fmt.Errorf("a tensor may not be named %.40q", name)
	}
	return nil
}

// measure keeps the shape and holds it to the bytes.
func (e *Entry) measure(shape []uint64) error {
	bytes := uint64(e.Type.Bytes())
	e.Shape = make([]int, len(shape))
	for i, s := range shape {
		high, low := bits.Mul64(bytes, s)
		if high != 0 || s > 1<<62 || low > 1<<62 {
			return fmt.Errorf("%s: the shape %v is too large", e.Name, shape)
		}
		bytes, e.Shape[i] = low, int(s)
	}
	if bytes != uint64(e.End-e.Begin) {
		return fmt.Errorf("%s: %v of %s are %d bytes, and it has %d", e.Name, shape, e.Type, bytes, e.End-e.Begin)
	}
	return nil
}

// cover sorts entries by their place and wants them to fill size bytes exactly.
func cover(entries []Entry, size int64) error {
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(a.End, b.End), cmp.Compare(a.Name, b.Name))
	})
	var at int64
	for _, e := range entries {
		switch {
		case e.Begin < at:
			return fmt.Errorf("%s overlaps the tensor before it", e.Name)
		case e.Begin > at:
			return fmt.Errorf("%d bytes before %s belong to no tensor", e.Begin-at, e.Name)
		}
		at = e.End
	}
	if at != size {
		return fmt.Errorf("the tensors have %d bytes, and the file has %d", at, size)
	}
	return nil
}
