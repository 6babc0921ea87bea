package bench

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/png"
	"math/rand/v2"
	"mime/multipart"
	"net/textproto"
	"slices"
)

// Form is one multipart body, encoded once and sent many times.
type Form struct {
	ContentType string
	Body        []byte
}

// NewForm makes a form of text fields and one file.
func NewForm(fields [][2]string, fileField, fileName string, file []byte) (Form, error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, f := range fields {
		if err := w.WriteField(f[0], f[1]); err != nil {
			return Form{}, fmt.Errorf("bench: form: %w", err)
		}
	}
	part, err := w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {fmt.Sprintf(`form-data; name=%q; filename=%q`, fileField, fileName)},
		"Content-Type":        {"application/octet-stream"},
	})
	if err != nil {
		return Form{}, fmt.Errorf("bench: form: %w", err)
	}
	if _, err := part.Write(file); err != nil {
		return Form{}, fmt.Errorf("bench: form: %w", err)
	}
	if err := w.Close(); err != nil {
		return Form{}, fmt.Errorf("bench: form: %w", err)
	}
	return Form{ContentType: w.FormDataContentType(), Body: b.Bytes()}, nil
}

// The parts of a PNG file: an 8 byte signature and a header chunk of 25 bytes, behind which other chunks may stand. A chunk has 12 bytes beside
// its data.
const (
	pngHeadBytes  = 8 + 25
	pngChunkBytes = 12
)

// PaddedPNG makes a picture whose file has exactly sizeBytes: a grey ramp with a chunk of noise that decoders must skip.
func PaddedPNG(width, height, sizeBytes int) ([]byte, error) {
	img := image.NewGray(image.Rect(0, 0, width, height))
	for i := range img.Pix {
		img.Pix[i] = byte(i % width * 256 / width)
	}
	var small bytes.Buffer
	if err := png.Encode(&small, img); err != nil {
		return nil, fmt.Errorf("bench: picture: %w", err)
	}
	pad := sizeBytes - small.Len() - pngChunkBytes
	if pad < 0 {
		return nil, fmt.Errorf("%w: a picture of %dx%d in %d bytes", ErrPlan, width, height, sizeBytes)
	}
	// A private chunk that may be skipped and copied, as its lower case letters say.
	chunk := append([]byte("noIs"), make([]byte, pad)...)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(chunk[4:]) // never fails
	padding := binary.BigEndian.AppendUint32(nil, uint32(pad))
	padding = append(padding, chunk...)
	padding = binary.BigEndian.AppendUint32(padding, crc32.ChecksumIEEE(chunk))
	return slices.Insert(small.Bytes(), pngHeadBytes, padding...), nil
}
