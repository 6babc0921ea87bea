package mediatest

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

const pngMagic = "\x89PNG\r\n\x1a\n"

func chunk(kind string, data []byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	body := append([]byte(kind), data...)
	return binary.BigEndian.AppendUint32(append(out, body...), crc32.ChecksumIEEE(body))
}

func ihdr(width, height uint32, depth, colour byte) []byte {
	data := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, width), height)
	return chunk("IHDR", append(data, depth, colour, 0, 0, 0))
}

func pngOf(chunks ...[]byte) []byte { return append([]byte(pngMagic), bytes.Join(chunks, nil)...) }

// hollowPNG says that it is huge and holds next to nothing.
func hollowPNG(width, height uint32, depth, colour byte) []byte {
	return pngOf(ihdr(width, height, depth, colour), chunk("IDAT", []byte{0x78, 0x9c, 0x63, 0x00, 0x00}), chunk("IEND", nil))
}

// headBytes is where the first chunk of a PNG ends.
const headBytes = len(pngMagic) + 12 + 13

// withChunks is the original with something behind its first chunk.
func withChunks(more []byte) []byte {
	p := pngPicture()
	return join(p[:headBytes], more, p[headBytes:])
}

// oddPNG are PNGs that break one rule each.
func oddPNG() []File {
	good := pngPicture()
	idat, end := zeros((Side*3+1)*Side), chunk("IEND", nil)
	head := func(width, height uint32, rest ...byte) []byte {
		return chunk("IHDR", append(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, width), height), rest...))
	}
	changed := func(at int, to byte) []byte {
		out := bytes.Clone(good)
		out[at] = to
		return out
	}
	picture := func(h []byte) []byte { return pngOf(h, chunk("IDAT", idat), end) }
	return append(refused(map[string][]byte{
		"PNG of depth 3":          picture(head(Side, Side, 3, 0, 0, 0, 0)),
		"PNG of colour 7":         picture(head(Side, Side, 8, 7, 0, 0, 0)),
		"PNG of interlace 2":      picture(head(Side, Side, 8, 2, 0, 0, 2)),
		"PNG of compression 1":    picture(head(Side, Side, 8, 2, 1, 0, 0)),
		"PNG of filter 1":         picture(head(Side, Side, 8, 2, 0, 1, 0)),
		"PNG of no width":         picture(head(0, Side, 8, 2, 0, 0, 0)),
		"PNG of no height":        picture(head(Side, 0, 8, 2, 0, 0, 0)),
		"PNG of width 2^31":       picture(head(1<<31, Side, 8, 2, 0, 0, 0)),
		"PNG with a short head":   picture(head(Side, Side, 8, 2)),
		"PNG with a long head":    picture(head(Side, Side, 8, 2, 0, 0, 0, 0)),
		"PNG without data":        pngOf(ihdr(Side, Side, 8, 2), end),
		"PNG without a head":      pngOf(chunk("IDAT", idat), end),
		"PNG with two heads":      pngOf(ihdr(Side, Side, 8, 2), ihdr(Side, Side, 8, 2), chunk("IDAT", idat), end),
		"PNG with a head behind":  pngOf(chunk("IDAT", idat), ihdr(Side, Side, 8, 2), end),
		"PNG palette of 257":      pngOf(ihdr(Side, Side, 8, 3), chunk("PLTE", make([]byte, 257*3)), chunk("IDAT", idat), end),
		"PNG without its palette": pngOf(ihdr(Side, Side, 8, 3), chunk("IDAT", idat), end),
		"PNG palette of 5 bytes":  pngOf(ihdr(Side, Side, 8, 3), chunk("PLTE", make([]byte, 5)), chunk("IDAT", idat), end),
		"PNG chunk of 2^32 - 1":   join(good[:headBytes], "\xff\xff\xff\xffIDAT", good[headBytes+8:]),
		"PNG chunk of 2^31":       join(good[:headBytes], "\x80\x00\x00\x00IDAT", good[headBytes+8:]),
		"PNG with a false sum":    changed(len(good)-14, good[len(good)-14]^1), "PNG with a false sum of its head": changed(headBytes-1, good[headBytes-1]^1),
		"PNG data that are no zlib":  pngOf(ihdr(Side, Side, 8, 2), chunk("IDAT", []byte("no zlib at all")), end),
		"PNG data with a dictionary": pngOf(ihdr(Side, Side, 8, 2), chunk("IDAT", join("\x78\xbb", idat[2:])), end),
		"PNG data too short":         pngOf(ihdr(Side, Side, 8, 2), chunk("IDAT", zeros(100)), end),
		"PNG data too long":          pngOf(ihdr(Side, Side, 8, 2), chunk("IDAT", zeros((Side*3+1)*Side+1)), end),
		"PNG with an end of data":    pngOf(ihdr(Side, Side, 8, 2), chunk("IDAT", idat), chunk("IEND", []byte("x"))),
		"PNG without an end":         pngOf(ihdr(Side, Side, 8, 2), chunk("IDAT", idat)),
		"PNG with two ends":          join(good, end),
		"PNG with line ends of text": bytes.Replace(good, []byte("\r\n"), []byte("\n"), 1),
		"PNG data apart":             pngOf(ihdr(Side, Side, 8, 2), chunk("IDAT", idat[:20]), chunk("tEXt", []byte("a\x00b")), chunk("IDAT", idat[20:]), end),
	}), odd(map[string][]byte{
		"PNG of 16 bits and alpha":       pngOf(ihdr(Side, Side, 16, 6), chunk("IDAT", zeros((Side*8+1)*Side)), end),
		"PNG with gamma 0":               withChunks(chunk("gAMA", make([]byte, 4))),
		"PNG with an ICC of nothing":     withChunks(chunk("iCCP", []byte("x\x00\x00junk"))),
		"PNG with EXIF of nothing":       withChunks(chunk("eXIf", []byte("MM\x00\x2a\xff\xff\xff\xff"))),
		"PNG with transparency too long": withChunks(chunk("tRNS", make([]byte, 500))),
		"PNG with an unknown chunk":      withChunks(chunk("vpAg", make([]byte, 9))),
		"PNG with a critical chunk":      withChunks(chunk("ABCD", make([]byte, 9))),
		"PNG with an empty chunk":        withChunks(chunk("IDAT", nil)),
		"PNG with physical size 0":       withChunks(chunk("pHYs", make([]byte, 9))),
		"PNG with text of 1 MB":          withChunks(chunk("tEXt", append([]byte("a\x00"), bytes.Repeat([]byte("b"), 1<<20)...))),
		"PNG with a comment of NUL":      withChunks(chunk("tEXt", make([]byte, 64))),
	})...)
}
