package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
)

// errSpool means that an upload could not be kept: the fault is the server's disk, not the client's body.
var errSpool = errors.New("an upload cannot be kept")

// spool holds an upload of unknown length: the first spoolMemoryBytesMax bytes in memory, more of them in a file that has lost its name
// already, so that nothing stays behind whatever happens to the process.
type spool struct {
	dir    string
	memory bytes.Buffer
	file   *os.File
	size   int64
	hash   hash.Hash
}

func newSpool(dir string) *spool { return &spool{dir: dir, hash: sha256.New()} }

// Write takes bytes in. Its errors wrap errSpool.
func (s *spool) Write(p []byte) (int, error) {
	if s.file == nil && s.size+int64(len(p)) > spoolMemoryBytesMax {
		if err := s.toFile(); err != nil {
			return 0, fmt.Errorf("%w: %w", errSpool, err)
		}
	}
	var n int
	var err error
	if s.file != nil {
		n, err = s.file.Write(p)
	} else {
		n, err = s.memory.Write(p)
	}
	s.size += int64(n)
	_, _ = s.hash.Write(p[:n]) // a hash never fails
	if err != nil {
		err = fmt.Errorf("%w: %w", errSpool, err)
	}
	return n, err
}

// toFile moves what is there into a file without a name.
func (s *spool) toFile() error {
	file, err := os.CreateTemp(s.dir, "upload-*")
	if err != nil {
		return fmt.Errorf("api: make a file for an upload: %w", err)
	}
	s.file = file
	if err := os.Remove(file.Name()); err != nil {
		return fmt.Errorf("api: unname the file of an upload: %w", err)
	}
	_, err = file.Write(s.memory.Bytes())
	s.memory = bytes.Buffer{}
	return err
}

// copyBufferBytes is the size of one read from a body.
const copyBufferBytes = 32 << 10

// receive takes everything that r gives, with a buffer that requests share one after another.
func (s *Server) receive(into *spool, r io.Reader) error {
	buffer, ok := s.buffers.Get().(*[copyBufferBytes]byte)
	if !ok {
		buffer = new([copyBufferBytes]byte)
	}
	defer s.buffers.Put(buffer)
	_, err := io.CopyBuffer(into, r, buffer[:])
	return err
}

// Reader reads everything from the beginning; it can seek and read at offsets. Several readers may be open at once.
func (s *spool) Reader() *io.SectionReader {
	if s.file != nil {
		return io.NewSectionReader(s.file, 0, s.size)
	}
	return io.NewSectionReader(bytes.NewReader(s.memory.Bytes()), 0, s.size)
}

// Head is the first bytes, at most n of them, to tell what they are.
func (s *spool) Head(n int) []byte {
	head := make([]byte, n)
	read, _ := s.Reader().ReadAt(head, 0)
	return head[:read]
}

// SHA256 is the digest in hex.
func (s *spool) SHA256() string { return hex.EncodeToString(s.hash.Sum(nil)) }

// Close gives the space back.
func (s *spool) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
