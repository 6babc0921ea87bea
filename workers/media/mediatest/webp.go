package mediatest

import (
	"bytes"
	"encoding/binary"
)

func riffChunk(kind string, data []byte) []byte {
	out := binary.LittleEndian.AppendUint32([]byte(kind), uint32(len(data)))
	out = append(out, data...)
	if len(data)%2 == 1 {
		out = append(out, 0)
	}
	return out
}

func riff(form string, chunks ...[]byte) []byte {
	body := join(form, bytes.Join(chunks, nil))
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body...)
}

// vp8x is the head of an extended WebP.
func vp8x(flags byte, width, height uint32) []byte {
	w, h := width-1, height-1
	return []byte{flags, 0, 0, 0, byte(w), byte(w >> 8), byte(w >> 16), byte(h), byte(h >> 8), byte(h >> 16)}
}

// oddWebP are WebPs that break one rule each.
func oddWebP() []File {
	lossless, lossy := unbase64(webpLossless), unbase64(webpLossy)
	changed := func(file []byte, at int, to ...byte) []byte {
		out := bytes.Clone(file)
		copy(out[at:], to)
		return out
	}
	inner := lossless[12:]
	return append(refused(map[string][]byte{
		"WebP of nothing":                riff("WEBP"),
		"WebP of length 0":               changed(lossless, 4, 0, 0, 0, 0),
		"WebP of length 2^32 - 1":        changed(lossless, 4, 255, 255, 255, 255),
		"WebP one too short":             lossless[:len(lossless)-1],
		"WebP with one behind":           join(lossless, "x"),
		"WebP chunk of 2^32 - 1":         changed(lossless, 16, 255, 255, 255, 255),
		"WebP chunk of 2^31":             changed(lossy, 16, 0, 0, 0, 0x80),
		"WebP chunk of 0":                changed(lossless, 16, 0, 0, 0, 0),
		"lossless WebP without its mark": changed(lossless, 20, 0),
		"lossless WebP of version 7":     changed(lossless, 24, lossless[24]|0xe0),
		"lossy WebP between frames":      changed(lossy, 20, lossy[20]|1),
		"lossy WebP without its mark":    changed(lossy, 23, 0, 0, 0),
		"lossy WebP of no size":          changed(lossy, 26, 0, 0, 0, 0),
		"lossy WebP that scales":         changed(lossy, 26, 255, 255, 255, 255),
		"WebP with two heads":            riff("WEBP", riffChunk("VP8X", vp8x(0, Side, Side)), riffChunk("VP8X", vp8x(0, Side, Side)), inner),
		"WebP with a short head":         riff("WEBP", riffChunk("VP8X", make([]byte, 5)), inner),
		"WebP whose sizes differ":        riff("WEBP", riffChunk("VP8X", vp8x(0, Side+1, Side)), inner),
		"WebP of transparency alone":     riff("WEBP", riffChunk("VP8X", vp8x(0x10, Side, Side)), riffChunk("ALPH", make([]byte, 1+Side*Side))),
		"WebP of two transparencies":     riff("WEBP", riffChunk("VP8X", vp8x(0x10, Side, Side)), riffChunk("ALPH", make([]byte, 1+Side*Side)), riffChunk("ALPH", make([]byte, 1+Side*Side)), lossy[12:]),
		"WebP of transparency cut":       riff("WEBP", riffChunk("VP8X", vp8x(0x10, Side, Side)), riffChunk("ALPH", make([]byte, 9)), lossy[12:]),
		"WebP in a WebP":                 riff("WEBP", riffChunk("LIST", lossless)),
		"WebP of 10000 empty chunks":     riff("WEBP", bytes.Repeat(riffChunk("JUNK", nil), 10000)),
		"RIFX":                           join("RIFX", lossless[4:]),
		"lossless WebP of zeros":         riff("WEBP", riffChunk("VP8L", make([]byte, 64))),
		"lossy WebP of ones":             riff("WEBP", riffChunk("VP8 ", bytes.Repeat([]byte{255}, 64))),
	}), odd(map[string][]byte{
		"WebP with an ICC of nothing":     riff("WEBP", riffChunk("VP8X", vp8x(0x20, Side, Side)), riffChunk("ICCP", []byte("junk")), inner),
		"WebP with EXIF of nothing":       riff("WEBP", riffChunk("VP8X", vp8x(0x08, Side, Side)), inner, riffChunk("EXIF", []byte("MM\x00\x2a\xff\xff\xff\xff"))),
		"WebP with reserved bits":         riff("WEBP", riffChunk("VP8X", vp8x(0xc1, Side, Side)), inner),
		"WebP with 1 MB of junk":          riff("WEBP", riffChunk("JUNK", make([]byte, 1<<20)), inner),
		"WebP with two pictures":          riff("WEBP", inner, lossy[12:]),
		"WebP with filtered transparency": riff("WEBP", riffChunk("VP8X", vp8x(0x10, Side, Side)), riffChunk("ALPH", join("\x0c", make([]byte, Side*Side))), lossy[12:]),
		"lossy WebP of other partitions":  changed(lossy, 20, lossy[20]^0x20, lossy[21], lossy[22]^1),
	})...)
}
