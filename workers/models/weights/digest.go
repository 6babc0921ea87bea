package weights

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// DigestsName is the file with the SHA-256 of a model's files, as sha256sum writes it.
const DigestsName = "SHA256SUMS"

// digestsMax bounds the number of lines of such a file.
const digestsMax = 4096

// Digest is one file that was held to SHA256SUMS.
type Digest struct {
	Path    string `json:"path"`
	OK      bool   `json:"ok"`
	Problem string `json:"problem,omitempty"`
}

// checkDigests reads all files that the folder's SHA256SUMS names. No such file: nothing.
func checkDigests(ctx context.Context, dir string) ([]Digest, error) {
	text, err := readSmall(filepath.Join(dir, DigestsName), digestsMax*NameBytesMax)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return []Digest{{Path: DigestsName, Problem: sentence(err)}}, nil
	}
	var all []Digest
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if len(all) == digestsMax {
			return append(all, Digest{Path: DigestsName, Problem: fmt.Sprintf("more than %d lines", digestsMax)}), nil
		}
		sum, name, ok := strings.Cut(lines.Text(), " ")
		name = strings.TrimPrefix(strings.TrimPrefix(name, " "), "*")
		want, err := hex.DecodeString(sum)
		if !ok || err != nil || len(want) != sha256.Size || !filepath.IsLocal(name) {
			all = append(all, Digest{Path: DigestsName, Problem: fmt.Sprintf("line %d is no digest of a file in the folder", len(all)+1)})
			continue
		}
		d := Digest{Path: name}
		got, err := digest(ctx, filepath.Join(dir, name))
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			d.Problem = sentence(err)
		case !bytes.Equal(got, want):
			d.Problem = fmt.Sprintf("its SHA-256 is %x", got)
		default:
			d.OK = true
		}
		all = append(all, d)
	}
	if err := lines.Err(); err != nil {
		all = append(all, Digest{Path: DigestsName, Problem: err.Error()})
	}
	return all, nil
}

// digest is the SHA-256 of a file.
func digest(ctx context.Context, path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	defer file.Close()
	h := sha256.New()
	for {
		n, err := io.CopyN(h, file, chunkBytes)
		switch {
		case errors.Is(err, io.EOF):
			return h.Sum(nil), nil
		case err != nil:
			return nil, fmt.Errorf("weights: %w", err)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case n == 0:
			return h.Sum(nil), nil
		}
	}
}
