package media_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"telefuser/workers/media"
)

func sha(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// quadrants is red, green over blue, white; the size need not be even.
func quadrants(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.NRGBA{255, 0, 0, 255}
			switch {
			case x >= w/2 && y < h/2:
				c = color.NRGBA{0, 255, 0, 255}
			case x < w/2 && y >= h/2:
				c = color.NRGBA{0, 0, 255, 255}
			case x >= w/2:
				c = color.NRGBA{255, 255, 255, 255}
			}
			img.SetNRGBA(x, y, c)
		}
	}
	return img
}

func pngOf(tb testing.TB, img image.Image) []byte {
	tb.Helper()
	var buf bytes.Buffer
	if err := png.Encode(&buf, img); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}

func jpegOf(tb testing.TB, img image.Image) []byte {
	tb.Helper()
	var buf bytes.Buffer
	if err := jpeg.Encode(&buf, img, &jpeg.Options{Quality: 100}); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}

// webpOf makes a WebP by ffmpeg, nil where there is none.
func webpOf(tb testing.TB, img image.Image) []byte {
	tb.Helper()
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		return nil
	}
	cmd := exec.Command("ffmpeg", "-v", "error", "-f", "png_pipe", "-i", "pipe:0", "-c:v", "libwebp", "-lossless", "1", "-f", "image2pipe", "pipe:1")
	cmd.Stdin = bytes.NewReader(pngOf(tb, img))
	out, err := cmd.Output()
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

func decodeBytes(b []byte, l media.ImageLimits) (media.Image, error) {
	return media.DecodeImage(context.Background(), bytes.NewReader(b), l)
}

// corners are the colours in the middle of the four quadrants.
func corners(img media.Image) string {
	var s strings.Builder
	for _, at := range [][2]int{{1, 1}, {3, 1}, {1, 3}, {3, 3}} {
		x, y := img.Width*at[0]/4, img.Height*at[1]/4
		p := img.RGB[(y*img.Width+x)*3:][:3]
		switch {
		case near(p, []byte{255, 0, 0}, 8):
			s.WriteByte('R')
		case near(p, []byte{0, 255, 0}, 8):
			s.WriteByte('G')
		case near(p, []byte{0, 0, 255}, 8):
			s.WriteByte('B')
		case near(p, []byte{255, 255, 255}, 8):
			s.WriteByte('W')
		default:
			s.WriteByte('?')
		}
	}
	return s.String()
}

func TestDecodeImageReadsItsFormats(t *testing.T) {
	files := map[string][]byte{
		"png": pngOf(t, quadrants(63, 41)), "jpeg": jpegOf(t, quadrants(63, 41)), "webp": webpOf(t, quadrants(63, 41)),
	}
	for name, file := range files {
		if file == nil {
			t.Logf("%s is left out: ffmpeg is missing", name)
			continue
		}
		img, err := decodeBytes(file, media.ImageLimits{})
		if err != nil || img.Width != 63 || img.Height != 41 || len(img.RGB) != 63*41*3 || corners(img) != "RGBW" {
			t.Errorf("%s: %dx%d %s, %v", name, img.Width, img.Height, corners(img), err)
		}
	}
}

func TestDecodeImageReadsEveryKindOfPNG(t *testing.T) {
	b := image.Rect(0, 0, 8, 8)
	gray := color.Gray{Y: 100}
	for name, img := range map[string]interface {
		image.Image
		Set(x, y int, c color.Color)
	}{
		"gray": image.NewGray(b), "gray16": image.NewGray16(b), "nrgba": image.NewNRGBA(b), "nrgba64": image.NewNRGBA64(b), "rgba": image.NewRGBA(b),
		"paletted": image.NewPaletted(b, color.Palette{color.Black, gray}),
	} {
		for y := range 8 {
			for x := range 8 {
				img.Set(x, y, gray)
			}
		}
		got, err := decodeBytes(pngOf(t, img), media.ImageLimits{})
		if err != nil || !bytes.Equal(got.RGB, bytes.Repeat([]byte{100}, 8*8*3)) {
			t.Errorf("%s: %v, %v", name, got.RGB[:3], err)
		}
	}
}

func TestDecodeImageLaysTransparencyOnBlack(t *testing.T) {
	img := image.NewNRGBA(image.Rect(0, 0, 2, 1))
	img.SetNRGBA(0, 0, color.NRGBA{200, 100, 50, 0})
	img.SetNRGBA(1, 0, color.NRGBA{200, 100, 50, 128})
	got, err := decodeBytes(pngOf(t, img), media.ImageLimits{})
	if err != nil || !near(got.RGB, []byte{0, 0, 0, 100, 50, 25}, 1) {
		t.Errorf("got %v, %v", got.RGB, err)
	}
}

// withEXIF puts an orientation into a JPEG, in either byte order.
func withEXIF(file []byte, o uint16, order binary.AppendByteOrder, mark string) []byte {
	tiff := append([]byte("Exif\x00\x00"), mark...)
	tiff = order.AppendUint32(order.AppendUint16(tiff, 42), 8)
	tiff = order.AppendUint16(tiff, 2)
	for _, entry := range [][4]uint16{{0x010f, 2, 1, 0}, {0x0112, 3, 1, o}} {
		tiff = order.AppendUint16(order.AppendUint16(tiff, entry[0]), entry[1])
		tiff = order.AppendUint16(order.AppendUint32(tiff, uint32(entry[2])), entry[3])
		tiff = append(tiff, 0, 0)
	}
	out := append([]byte{}, file[:2]...)
	out = append(out, 0xff, 0xe1)
	out = binary.BigEndian.AppendUint16(out, uint16(len(tiff)+2))
	return append(append(out, tiff...), file[2:]...)
}

func TestDecodeImageTurnsJPEGsUpright(t *testing.T) {
	// What a viewer shows of stored R G / B W, by the table of the EXIF standard.
	want := map[uint16]string{
		1: "RGBW", 2: "GRWB", 3: "WBGR", 4: "BWRG", 5: "RBGW", 6: "BRWG", 7: "WGBR", 8: "GWRB", 0: "RGBW", 9: "RGBW", 60000: "RGBW",
	}
	plain := jpegOf(t, quadrants(64, 32))
	for o, wantCorners := range want {
		for mark, order := range map[string]binary.AppendByteOrder{"II": binary.LittleEndian, "MM": binary.BigEndian} {
			img, err := decodeBytes(withEXIF(plain, o, order, mark), media.ImageLimits{})
			if err != nil {
				t.Fatal(err)
			}
			if turned := o >= 5 && o <= 8; turned != (img.Width == 32) || turned != (img.Height == 64) {
				t.Errorf("orientation %d: %d x %d", o, img.Width, img.Height)
			}
			if got := corners(img); got != wantCorners {
				t.Errorf("orientation %d %s: got %s, want %s", o, mark, got, wantCorners)
			}
		}
	}
}

// bombPNG says that it is huge and holds next to nothing.
func bombPNG(w, h uint32, depth, colour byte) []byte {
	b := []byte("\x89PNG\r\n\x1a\n")
	ihdr := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, w), h)
	b = appendChunk(b, "IHDR", append(ihdr, depth, colour, 0, 0, 0))
	b = appendChunk(b, "IDAT", []byte{0x78, 0x9c, 0x63, 0x00, 0x00})
	return appendChunk(b, "IEND", nil)
}

func appendChunk(b []byte, kind string, data []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(data)))
	body := append([]byte(kind), data...)
	return binary.BigEndian.AppendUint32(append(b, body...), crc32.ChecksumIEEE(body))
}

func TestDecodeImageRefusesBombsBeforeItAllocates(t *testing.T) {
	vp8x := func(w, h uint32) []byte {
		b := []byte("RIFF\x16\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00")
		return append(b, byte(w-1), byte((w-1)>>8), byte((w-1)>>16), byte(h-1), byte((h-1)>>8), byte((h-1)>>16))
	}
	jpg := jpegOf(t, image.NewGray(image.Rect(0, 0, 8, 8)))
	sof := bytes.Index(jpg, []byte{0xff, 0xc0})
	binary.BigEndian.PutUint16(jpg[sof+5:], 60000)
	binary.BigEndian.PutUint16(jpg[sof+7:], 60000)
	for name, file := range map[string][]byte{
		"PNG 30000x30000, 1 bit":  bombPNG(30000, 30000, 1, 0),
		"PNG 8193 wide":           bombPNG(8193, 1, 8, 2),
		"PNG 8193 high":           bombPNG(1, 8193, 8, 2),
		"PNG over 40 megapixels":  bombPNG(8000, 5001, 16, 6),
		"PNG 2^31 - 1":            bombPNG(1<<31-1, 1<<31-1, 8, 6),
		"JPEG 60000x60000":        jpg,
		"WebP 16384x16384":        vp8x(16384, 16384),
		"a file over its maximum": make([]byte, 20<<20+1),
	} {
		grown := allocated(func() {
			if _, err := decodeBytes(file, media.ImageLimits{}); !errors.Is(err, media.ErrImageTooLarge) && !errors.Is(err, media.ErrImageCorrupt) {
				t.Errorf("%s: %v", name, err)
			}
		})
		if grown > 64<<20+uint64(2*len(file)) {
			t.Errorf("%s: %d MB were allocated", name, grown>>20)
		}
	}
	if _, err := decodeBytes(pngOf(t, quadrants(10, 10)), media.ImageLimits{PixelsMax: 99}); !errors.Is(err, media.ErrImageTooLarge) {
		t.Errorf("own limit: %v", err)
	}
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestDecodeImageRefusesTruncatedFiles(t *testing.T) {
	for name, file := range map[string][]byte{
		"png": pngOf(t, quadrants(64, 64)), "jpeg": jpegOf(t, quadrants(64, 64)), "webp": webpOf(t, quadrants(64, 64)),
	} {
		for i := range 16 {
			cut := file[:len(file)*i/16]
			if _, err := decodeBytes(cut, media.ImageLimits{}); !errors.Is(err, media.ErrImageCorrupt) && !errors.Is(err, media.ErrImageType) {
				t.Errorf("%s cut to %d/16: %v", name, i, err)
			}
		}
	}
}

func TestDecodeImageRefusesWhatIsNoStillPicture(t *testing.T) {
	var anim bytes.Buffer
	frame := image.NewPaletted(image.Rect(0, 0, 4, 4), color.Palette{color.Black, color.White})
	if err := gif.EncodeAll(&anim, &gif.GIF{Image: []*image.Paletted{frame, frame}, Delay: []int{1, 1}}); err != nil {
		t.Fatal(err)
	}
	still := pngOf(t, quadrants(8, 8))
	apng := append([]byte{}, still[:33]...)
	apng = append(appendChunk(apng, "acTL", []byte{0, 0, 0, 2, 0, 0, 0, 0}), still[33:]...)
	jpg := jpegOf(t, quadrants(8, 8))
	animWebP := []byte("RIFF\x16\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x02\x00\x00\x00\x07\x00\x00\x07\x00\x00")
	for name, tt := range map[string]struct {
		file []byte
		want error
	}{
		"nothing":           {nil, media.ErrImageType},
		"GIF":               {anim.Bytes(), media.ErrImageType},
		"APNG":              {apng, media.ErrImageType},
		"animated WebP":     {animWebP, media.ErrImageType},
		"SVG":               {[]byte(`<svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/passwd"/></svg>`), media.ErrImageType},
		"TIFF":              {[]byte("II*\x00\x08\x00\x00\x00\x00\x00"), media.ErrImageType},
		"AVIF":              {[]byte("\x00\x00\x00\x1cftypavif\x00\x00\x00\x00"), media.ErrImageType},
		"BMP":               {[]byte("BM\x46\x00\x00\x00"), media.ErrImageType},
		"playlist":          {[]byte("#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n"), media.ErrImageType},
		"ffconcat":          {[]byte("ffconcat version 1.0\nfile /etc/passwd\n"), media.ErrImageType},
		"AVI":               {[]byte("RIFF\x24\x00\x00\x00AVI LIST"), media.ErrImageType},
		"MP4":               {[]byte("\x00\x00\x00\x18ftypisom"), media.ErrImageType},
		"JPEG with a ZIP":   {append(append([]byte{}, jpg...), "PK\x03\x04\x14\x00"...), media.ErrImageCorrupt},
		"JPEG with an MP4":  {append(append([]byte{}, jpg...), "\x00\x00\x00\x18ftypisom"...), media.ErrImageCorrupt},
		"PNG with m3u8":     {append(append([]byte{}, still...), "#EXTM3U\n"...), media.ErrImageCorrupt},
		"WebP with a tail":  {append([]byte("RIFF\x04\x00\x00\x00WEBP"), "#EXTM3U\n"...), media.ErrImageCorrupt},
		"a JPEG of nothing": {[]byte("\xff\xd8\xff\xd9"), media.ErrImageCorrupt},
		"a PNG of nothing":  {still[:8], media.ErrImageCorrupt},
	} {
		if _, err := decodeBytes(tt.file, media.ImageLimits{}); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", name, err, tt.want)
		}
	}
	// What cameras append is no harm: padding, and previews as further JPEGs.
	for name, file := range map[string][]byte{
		"padding": append(append([]byte{}, jpg...), 0, 0, 0, 0), "a preview": append(append([]byte{}, jpg...), jpg...),
	} {
		if _, err := decodeBytes(file, media.ImageLimits{}); err != nil {
			t.Errorf("JPEG with %s: %v", name, err)
		}
	}
}

func TestDecodeImageSurvivesManyEndsInAJPEG(t *testing.T) {
	file := append(jpegOf(t, quadrants(8, 8)), bytes.Repeat([]byte("\xff\xd8\xff\xd9"), 5_000_000)...)
	if _, err := decodeBytes(file, media.ImageLimits{}); err != nil && !errors.Is(err, media.ErrImageCorrupt) {
		t.Error(err)
	}
}

type brokenReader struct{ err error }

func (r brokenReader) Read([]byte) (int, error) { return 0, r.err }

func TestDecodeImageTellsWhoseFaultItIs(t *testing.T) {
	gone := errors.New("the client went away")
	if _, err := media.DecodeImage(t.Context(), brokenReader{gone}, media.ImageLimits{}); !errors.Is(err, gone) {
		t.Errorf("a broken reader: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if _, err := media.DecodeImage(ctx, bytes.NewReader(pngOf(t, quadrants(16, 16))), media.ImageLimits{}); !errors.Is(err, gone) {
		t.Errorf("an ended context: %v", err)
	}
}

func TestEncodePNGGivesTheSamePictureBack(t *testing.T) {
	img, err := decodeBytes(pngOf(t, quadrants(33, 17)), media.ImageLimits{})
	if err != nil {
		t.Fatal(err)
	}
	file, err := media.EncodePNG(img)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeBytes(file, media.ImageLimits{})
	if err != nil || got.Width != 33 || !bytes.Equal(got.RGB, img.RGB) {
		t.Errorf("another picture came back: %v", err)
	}
	if _, err := media.EncodePNG(media.Image{Width: 3, Height: 3, RGB: make([]byte, 5)}); !errors.Is(err, media.ErrGeometry) {
		t.Errorf("a picture that is too short: %v", err)
	}
}

func FuzzDecodeImage(f *testing.F) {
	f.Add(pngOf(f, quadrants(9, 7)))
	f.Add(withEXIF(jpegOf(f, quadrants(9, 7)), 6, binary.BigEndian, "MM"))
	f.Add(bombPNG(30000, 30000, 1, 0))
	if file := webpOf(f, quadrants(9, 7)); file != nil {
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		img, err := decodeBytes(file, media.ImageLimits{PixelsMax: 1 << 20})
		switch {
		case err == nil:
			if len(img.RGB) != img.Width*img.Height*3 || img.Width < 1 || img.Height < 1 {
				t.Errorf("%d x %d with %d bytes", img.Width, img.Height, len(img.RGB))
			}
		case !errors.Is(err, media.ErrImageType) && !errors.Is(err, media.ErrImageTooLarge) && !errors.Is(err, media.ErrImageCorrupt):
			t.Errorf("an error of no class: %v", err)
		case strings.Contains(err.Error(), "panicked"):
			t.Errorf("a decoder panicked: %v", err)
		}
	})
}
