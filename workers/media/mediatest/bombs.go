package mediatest

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"sync"
)

// bombs say, or unfold to, much more than they are. They take a while to make and are made once.
var bombs = sync.OnceValue(func() []File {
	out := append(refused(map[string][]byte{
		"PNG of 30000x30000, 1 bit":     hollowPNG(30000, 30000, 1, 0),
		"PNG of 2^31 - 1":               hollowPNG(1<<31-1, 1<<31-1, 16, 6),
		"PNG of 8193x1":                 hollowPNG(8193, 1, 8, 2),
		"PNG of 1x8193":                 hollowPNG(1, 8193, 8, 2),
		"PNG of 40 megapixels and more": hollowPNG(8000, 5001, 16, 6),
		"PNG of 65535x65537":            hollowPNG(65535, 65537, 8, 0),
		"PNG that unfolds to 100 MB":    pngOf(ihdr(Side, Side, 8, 2), chunk("IDAT", zeros(100<<20)), chunk("IEND", nil)),
		"PNG that is interlaced, huge":  pngOf(chunk("IHDR", append(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 20000), 20000), 1, 0, 0, 0, 1)), chunk("IEND", nil)),
		"APNG of 10000 frames":          pngOf(ihdr(Side, Side, 8, 2), chunk("acTL", []byte{0, 0, 0x27, 0x10, 0, 0, 0, 0}), bytes.Repeat(chunk("fdAT", make([]byte, 8)), 10000), chunk("IEND", nil)),
		"GIF of 10000 frames":           manyFrames(),
		"JPEG of 60000x60000":           jpegOfSize(60000, 60000),
		"JPEG of 65535x1":               jpegOfSize(65535, 1),
		"JPEG of 100000 scans":          scans(100_000),
		"WebP of 16384x16384":           riff("WEBP", riffChunk("VP8X", vp8x(0, 16384, 16384))),
		"WebP of 2^24x2^24":             riff("WEBP", riffChunk("VP8X", vp8x(0, 1<<24, 1<<24))),
		"lossless WebP of 16384x16384":  riff("WEBP", riffChunk("VP8L", []byte{0x2f, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0})),
		"small WebP with a large one":   riff("WEBP", riffChunk("VP8X", vp8x(0, Side, Side)), riffChunk("VP8L", []byte{0x2f, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0})),
		"WebP of 10000 frames":          riff("WEBP", riffChunk("VP8X", vp8x(2, Side, Side)), bytes.Repeat(riffChunk("ANMF", make([]byte, 16)), 10000)),
	}), odd(map[string][]byte{
		"WebP with large transparency": riff("WEBP", riffChunk("VP8X", vp8x(0x10, 8192, 4882)), riffChunk("ALPH", []byte{1, 0, 0})),
		// These are within all limits, and of the wrong size for any video.
		"PNG of 8192x4882, 1 bit": pngOf(ihdr(8192, 4882, 1, 0), chunk("IDAT", zeros((8192/8+1)*4882)), chunk("IEND", nil)),
		"PNG of 8000x5000, RGB":   pngOf(ihdr(8000, 5000, 8, 2), chunk("IDAT", zeros((8000*3+1)*5000)), chunk("IEND", nil)),
		"PNG of 100000 chunks":    withChunks(bytes.Repeat(chunk("tEXt", []byte("a\x00b")), 100_000)),
		"PNG with 8 MB of zTXt":   withChunks(chunk("zTXt", append([]byte("a\x00\x00"), zeros(8<<20)...))),
		"PNG with a folded ICC":   withChunks(chunk("iCCP", append([]byte("a\x00\x00"), zeros(50<<20)...))),
		"WebP of 65536 codes":     manyCodes(),
		"JPEG with 10000 notes":   afterSOI(jpegPicture(), bytes.Repeat(segment(0xfe, []byte("note")), 10000)),
	})...)
	for i := range out {
		out[i].Bomb = true
	}
	return out
})

// zeros is n bytes of zero, folded.
func zeros(n int) []byte {
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	block := make([]byte, 1<<16)
	for n > 0 {
		k, _ := w.Write(block[:min(n, len(block))]) // a buffer never fails
		n -= k
	}
	_ = w.Close()
	return out.Bytes()
}

func manyFrames() []byte {
	frame := image.NewPaletted(image.Rect(0, 0, 1, 1), color.Palette{color.Black, color.White})
	g := &gif.GIF{}
	for range 10_000 {
		g.Image, g.Delay = append(g.Image, frame), append(g.Delay, 1)
	}
	var out bytes.Buffer
	if err := gif.EncodeAll(&out, g); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// manyCodes is a lossless WebP whose one tile names the last of 65536 groups of prefix codes, all of which have to be read.
func manyCodes() []byte {
	var b bits
	b.put(0x2f, 8)
	b.put(Side-1, 14)
	b.put(Side-1, 14)
	b.put(0, 1+3+1+1) // no alpha, version 0, no transform, no cache of colours
	b.put(1, 1)
	b.put(7, 3) // tiles of 512x512
	b.put(0, 1)
	for _, symbol := range []uint64{0xff, 0xff, 0, 0} { // green, red, blue, alpha: the group's number is red and green
		b.put(0b101, 3)
		b.put(symbol, 8)
	}
	b.put(0b0001, 4)
	for range 65536 * 5 {
		b.put(0b0001, 4) // one symbol, the 0
	}
	return riff("WEBP", riffChunk("VP8L", b.out))
}

// bits are written from the lowest on.
type bits struct {
	out  []byte
	free int
}

func (b *bits) put(value uint64, n int) {
	for i := range n {
		if b.free == 0 {
			b.out, b.free = append(b.out, 0), 8
		}
		b.out[len(b.out)-1] |= byte(value>>i&1) << (8 - b.free)
		b.free--
	}
}
