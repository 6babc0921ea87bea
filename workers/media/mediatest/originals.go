package mediatest

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
)

// Side is the width and the height of the originals, in pixels.
const Side = 64

// The WebP pictures are of a test pattern.
const (
	webpLossless = "UklGRjABAABXRUJQVlA4TCQBAAAvP8APAJkLLET0P3oz8AN/8P/+xwA6INm227YBV+BptpfdZ5oVqJgNQHr9AEiRQSRJjYaMBOyhBLtYgA/Dpm0kQQ6DKw/Ss346Xz6DiQlAkUTIb4Q8iZBPcciTCPkNyJMI7CmW2/6KkJ0AUAitG40xxBi6jyHCwDoGWyQCtztPQKJzBGR6t4BY9z4Byd4jINvbAtJnk/rt3yVv1i1onDULOmeF+qVmFtQvRTOjfqmaeAcuZRPff+fStTm8A+fSNPAizqVnZJSTHobrepxd2VtDG4BthXs6h7hlCntC5XNHQyW1n/jINyIihSeC8OlPQYF0tzHACrOwWYGCggHYwgCQCo2JBkQaGH1IMLD6hsS4DOwbwTkcW8AHDHgvh9gBkFJci6M3"
	webpLossy    = "UklGRlQCAABXRUJQVlA4IEgCAAAwEACdASpAAEAAPxF+sFEsKSSirhtqqYAiCWwAy93A2h5Ifa/yS50zgHuBlFaIB0mvMB/AP7h+nPvVaZXz5/slfaBZflb3aBnyL9sSuSjgPjbIS4sr0Vdna7Be7s5S1nHl+8ae5rnMfdoEb5WhNSpgSySiGS/Y7dC0ANuk8suRYrQNbu6XC7DJSAAA/vKhKFJYNeRRUXT1R4rYTsdVrgfz03JmLqv8dQywL3ygb4JN5vM6CYW0DJyoyjulLzzM1cb7fjNEsDGy0B8BW7/YvD0zueaouTl8x3VUndvnAmUAv54iWvvMuFW9TboY+eNdnnosfgwj9MHrHxrmY7NXaeWthKI9hoy+iMlh4V2sol75Gc3VyBsDkB2+lgS/PXpIJIytF05oQPPlOPzqDLLK6exE4a6slf/xswfFybhLskQ7qju/Ms5W/CGjtUmXzilEL71BGZg+b3Qb1uSMAdL0aI/0oZqUV0l3qj8erc1XIOpq94Cnnu4D5Rv/9SCf/tKkx/2tYQeMt7I9vRMKymIZ2d+CDMHb4sfdK//Br/oc6/ftbsLKQUghaXpVqmAIAVWfYLuZ7c08NGc1qjoOzx/xq5ng22YYm/8F/C8rJseP6EdphLSlswOh4Y2vKRgJOAqsPBwE1GVFvSGKN0fOKDS8DcgyVNNa1xKEfrqwBPcs3GztjLqye6oAE9xZJm8ds8bk+LFQVn//SfI9NBACOVAJQ6KyDuoU+My4YdJmkVi/QcO3NqZW42W3Bv+GZFTbQvMzirjvB+3VywAAAA=="
)

// Originals are good pictures, one of each kind that is taken; all else is made of them.
func Originals() []File {
	return []File{
		{Name: "PNG", Data: pngPicture(), Odd: true}, {Name: "JPEG", Data: jpegPicture(), Odd: true},
		{Name: "lossless WebP", Data: unbase64(webpLossless), Odd: true}, {Name: "lossy WebP", Data: unbase64(webpLossy), Odd: true},
	}
}

func unbase64(text string) []byte {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return data
}

func pattern() image.Image {
	img := image.NewNRGBA(image.Rect(0, 0, Side, Side))
	for y := range Side {
		for x := range Side {
			img.SetNRGBA(x, y, color.NRGBA{R: uint8(x * 4), G: uint8(y * 4), B: uint8(x ^ y), A: 255})
		}
	}
	return img
}

func pngPicture() []byte {
	var out bytes.Buffer
	if err := png.Encode(&out, pattern()); err != nil {
		panic(err)
	}
	return out.Bytes()
}

func jpegPicture() []byte {
	var out bytes.Buffer
	if err := jpeg.Encode(&out, pattern(), nil); err != nil {
		panic(err)
	}
	return out.Bytes()
}
