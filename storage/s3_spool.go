package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// spoolMemoryBytes is up to where a stream is measured in memory instead of in a temporary file.
const spoolMemoryBytes = 64 << 10

// payload is a measured source that can be sent again and again, as retries and signatures need it.
type payload struct {
	digest
	body *io.SectionReader
	file *os.File
}

// Close gives the temporary file's space back.
func (p *payload) Close() error {
	if p.file == nil {
		return nil
	}
	return p.file.Close()
}

// seekable is what a source must be, to be sent without a copy.
type seekable interface {
	io.ReaderAt
	io.Seeker
}

// newPayload measures r, copying it to a nameless file in dir when it cannot be read twice. A crash leaves no file behind.
func newPayload(ctx context.Context, dir string, r io.Reader) (*payload, error) {
	if s, ok := r.(seekable); ok {
		return measureInPlace(ctx, s)
	}
	head, err := io.ReadAll(io.LimitReader(r, spoolMemoryBytes))
	if err != nil {
		return nil, fmt.Errorf("read the source: %w", err)
	}
	if len(head) < spoolMemoryBytes {
		return measureInPlace(ctx, bytes.NewReader(head))
	}
	file, err := os.CreateTemp(dir, "upload-")
	if err != nil {
		return nil, fileError(err)
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(fileError(err), file.Close())
	}
	sum, err := measure(ctx, file, io.MultiReader(bytes.NewReader(head), r))
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &payload{digest: sum, body: io.NewSectionReader(file, 0, sum.size), file: file}, nil
}

// measureInPlace reads the source from where it stands.
func measureInPlace(ctx context.Context, s seekable) (*payload, error) {
	start, err := s.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, fmt.Errorf("read the source: %w", err)
	}
	end, err := s.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("read the source: %w", err)
	}
	body := io.NewSectionReader(s, start, max(0, end-start))
	sum, err := measure(ctx, io.Discard, body)
	if err != nil {
		return nil, err
	}
	_, err = body.Seek(0, io.SeekStart)
	return &payload{digest: sum, body: body}, err
}
