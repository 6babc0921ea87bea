package media

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/draw"
	"golang.org/x/image/webp"
)

// The defaults of ImageLimits.
const (
	defaultFileBytesMax = 20 << 20
	defaultSideMax      = 8192
	defaultPixelsMax    = 40_000_000
)

// ImageLimits bounds what is decoded. Zero values mean the defaults.
type ImageLimits struct {
	// FileBytesMax bounds the file (0: 20 MiB), SideMax each side in pixels (0: 8192), PixelsMax their product (0: 40 million). A decoder
	// needs up to 11 bytes a pixel.
	FileBytesMax int64
	SideMax      int
	PixelsMax    int
	// MeasureAbove is how many pixels a picture may have and be decoded (0: PixelsMax). Of larger ones the answer has the size alone, and no
	// RGB: for callers who have no use for them but say so in the size's own words.
	MeasureAbove int
}

func (l ImageLimits) withDefaults() ImageLimits {
	if l.FileBytesMax == 0 {
		l.FileBytesMax = defaultFileBytesMax
	}
	if l.SideMax == 0 {
		l.SideMax = defaultSideMax
	}
	if l.PixelsMax == 0 {
		l.PixelsMax = defaultPixelsMax
	}
	if l.MeasureAbove == 0 {
		l.MeasureAbove = l.PixelsMax
	}
	return l
}

// DecodeImage reads one still PNG, JPEG or WebP, told apart by its bytes. It reads no more than the limit, decodes nothing before the size
// is known to be within the limits, turns JPEGs upright by their EXIF orientation and lays transparency on black. How many run at once, and
// with that the memory, is the caller's affair.
// Errors: ErrImageType, ErrImageTooLarge, ErrImageCorrupt, the reader's own or the cause of ctx.
func DecodeImage(ctx context.Context, r io.Reader, l ImageLimits) (Image, error) {
	file, err := readImage(r, l.withDefaults())
	if err != nil {
		return Image{}, err
	}
	if ctx.Err() != nil {
		return Image{}, fmt.Errorf("media: decode image: %w", context.Cause(ctx))
	}
	return decode(file, l.withDefaults())
}

func readImage(r io.Reader, l ImageLimits) ([]byte, error) {
	var file bytes.Buffer
	if s, ok := r.(interface{ Size() int64 }); ok {
		// Known sources are read into a buffer that need not grow.
		file.Grow(int(min(s.Size(), l.FileBytesMax)) + bytes.MinRead)
	}
	if _, err := file.ReadFrom(io.LimitReader(r, l.FileBytesMax+1)); err != nil {
		return nil, fmt.Errorf("media: read image: %w", err)
	}
	if int64(file.Len()) > l.FileBytesMax {
		return nil, fmt.Errorf("%w: the file has more than %d bytes", ErrImageTooLarge, l.FileBytesMax)
	}
	return file.Bytes(), nil
}

// codec is how one format is read.
type codec struct {
	name  string
	magic string
	// at is where the magic stands.
	at int
	// check walks the outer structure: it refuses animations, and files that are something else as well.
	check  func(file []byte) error
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
}

func codecs() []codec {
	return []codec{
		{"PNG", pngMagic, 0, checkPNG, png.DecodeConfig, png.Decode},
		{"JPEG", "\xff\xd8\xff", 0, checkJPEG, jpeg.DecodeConfig, jpeg.Decode},
		{"WebP", "WEBP", 8, checkWebP, webp.DecodeConfig, decodeWebP},
	}
}

func sniff(file []byte) (codec, error) {
	for _, c := range codecs() {
		if len(file) >= c.at+len(c.magic) && string(file[c.at:c.at+len(c.magic)]) == c.magic {
			return c, nil
		}
	}
	return codec{}, fmt.Errorf("%w: send a still PNG, JPEG or WebP", ErrImageType)
}

// decode does everything that touches foreign bytes; a decoder's panic ends here.
func decode(file []byte, l ImageLimits) (img Image, err error) {
	defer func() {
		if p := recover(); p != nil {
			img, err = Image{}, fmt.Errorf("%w: the decoder panicked: %v", ErrImageCorrupt, p)
		}
	}()
	c, err := sniff(file)
	if err != nil {
		return Image{}, err
	}
	cfg, err := c.config(bytes.NewReader(file))
	if err != nil {
		return Image{}, fmt.Errorf("%w: %s: %v", ErrImageCorrupt, c.name, err)
	}
	if err := l.check(cfg); err != nil {
		return Image{}, err
	}
	if err := c.check(file); err != nil {
		return Image{}, err
	}
	upright := jpegOrientation(file)
	if cfg.Width*cfg.Height > l.MeasureAbove {
		return upright.measure(cfg.Width, cfg.Height), nil
	}
	src, err := c.decode(bytes.NewReader(file))
	if err != nil {
		return Image{}, fmt.Errorf("%w: %s: %v", ErrImageCorrupt, c.name, err)
	}
	return flatten(src, upright), nil
}

func (l ImageLimits) check(cfg image.Config) error {
	if cfg.Width < 1 || cfg.Height < 1 {
		return fmt.Errorf("%w: %d x %d pixels", ErrImageCorrupt, cfg.Width, cfg.Height)
	}
	if cfg.Width > l.SideMax || cfg.Height > l.SideMax {
		return fmt.Errorf("%w: %d x %d, a side may have %d pixels", ErrImageTooLarge, cfg.Width, cfg.Height, l.SideMax)
	}
	if cfg.Width*cfg.Height > l.PixelsMax {
		return fmt.Errorf("%w: %d x %d, allowed are %d pixels", ErrImageTooLarge, cfg.Width, cfg.Height, l.PixelsMax)
	}
	return nil
}

// stripRows is how many rows are converted at once: only they exist with four bytes a pixel.
const stripRows = 32

// flatten lays the picture on black and turns it upright.
func flatten(src image.Image, o orientation) Image {
	b := src.Bounds()
	w, h := b.Dx(), b.Dy()
	out, start, right, down := o.layout(w, h)
	strip := image.NewRGBA(image.Rect(0, 0, w, stripRows))
	for top := 0; top < h; top += stripRows {
		rows := min(stripRows, h-top)
		draw.Draw(strip, image.Rect(0, 0, w, rows), src, image.Pt(b.Min.X, b.Min.Y+top), draw.Src)
		for row := range rows {
			at := start + (top+row)*down
			// Premultiplied colours without their alpha are colours on black.
			for pix := strip.Pix[row*strip.Stride:][:w*4]; len(pix) > 0; pix = pix[4:] {
				copy(out.RGB[at:at+3], pix[:3])
				at += right
			}
		}
	}
	return out
}
