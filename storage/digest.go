package storage

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

// defaultContentType is what an object is when nobody said more.
const defaultContentType = "application/octet-stream"

func contentType(s string) string {
	if s == "" {
		return defaultContentType
	}
	return s
}

// copyBytes is the step in which readers are read; the context is looked at between two steps.
const copyBytes = 128 << 10

// digest is what was measured of a stream.
type digest struct {
	size   int64
	sha256 string
	// crc32 is in base64, as the S3 checksum headers want it.
	crc32 string
}

// measure reads r to its end, copies it to w, and answers length and digests. Errors of w are those of a file system; those of r are
// handed on as they are.
func measure(ctx context.Context, w io.Writer, r io.Reader) (digest, error) {
	sha, crc := sha256.New(), crc32.NewIEEE()
	buf := make([]byte, copyBytes)
	var size int64
	for {
		if err := ctx.Err(); err != nil {
			return digest{}, contextError(ctx)
		}
		n, err := r.Read(buf)
		if n > 0 {
			sha.Write(buf[:n])
			crc.Write(buf[:n])
			size += int64(n)
			if _, err := w.Write(buf[:n]); err != nil {
				return digest{}, fileError(err)
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return digest{}, fmt.Errorf("read the source: %w", err)
		}
	}
	return digest{size: size, sha256: hex.EncodeToString(sha.Sum(nil)), crc32: base64.StdEncoding.EncodeToString(crc.Sum(nil))}, nil
}

// verify compares with what the caller announced.
func (d digest) verify(o PutOptions) error {
	if o.SizeBytes >= 0 && o.SizeBytes != d.size {
		return fmt.Errorf("%w: %d bytes announced, %d came", ErrCorrupt, o.SizeBytes, d.size)
	}
	if o.SHA256 != "" && !strings.EqualFold(o.SHA256, d.sha256) {
		return fmt.Errorf("%w: sha256 %s announced, %s came", ErrCorrupt, o.SHA256, d.sha256)
	}
	return nil
}

// contextError says why a context ended. A deadline counts as the store's fault: it did not answer in time.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}
