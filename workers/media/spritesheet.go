package media

import (
	"bytes"
	"fmt"
	"image/jpeg"
	"math"
)

const (
	// spriteTilesMax is how many pictures a sheet shows, spriteSideMax how long their longer side may be.
	spriteTilesMax = 16
	spriteSideMax  = 320
	spriteQuality  = 80
)

// Spritesheet collects evenly spaced small pictures of a video, row by row from the top left. It is used by one goroutine at a time.
type Spritesheet struct {
	frames        int
	width, height int
	tiles         int
	columns       int
	tileW, tileH  int
	sheet         Frame
	added         int
}

// NewSpritesheet prepares a sheet for a video of the given number of frames, at least one, and even size.
func NewSpritesheet(frames, width, height int) (*Spritesheet, error) {
	if frames < 1 || width < 2 || height < 2 || width > sideMax || height > sideMax || width%2+height%2 != 0 {
		return nil, fmt.Errorf("%w: a sheet for %d frames of %d x %d", ErrGeometry, frames, width, height)
	}
	s := &Spritesheet{frames: frames, width: width, height: height, tiles: min(frames, spriteTilesMax)}
	s.columns = int(math.Ceil(math.Sqrt(float64(s.tiles))))
	s.tileW, s.tileH = fit(width, height, spriteSideMax)
	s.tileW, s.tileH = max(2, s.tileW&^1), max(2, s.tileH&^1)
	rows := (s.tiles + s.columns - 1) / s.columns
	s.sheet = NewFrame(s.columns*s.tileW, rows*s.tileH)
	y, u, v := s.sheet.Planes()
	fill(y, 16)
	fill(u, 128)
	fill(v, 128)
	return s, nil
}

func fill(p []byte, b byte) {
	for i := range p {
		p[i] = b
	}
}

// Add looks at the frame with the given index, from 0 up; only those that the sheet wants are copied, which is cheap.
func (s *Spritesheet) Add(f Frame, index int) error {
	if f.Width != s.width || f.Height != s.height || len(f.Data) != FrameBytes(f.Width, f.Height) || index < 0 || index >= s.frames {
		return fmt.Errorf("%w: frame %d of %d x %d for a sheet of %d x %d x %d", ErrGeometry, index, f.Width, f.Height, s.frames, s.width, s.height)
	}
	// Tile t shows the frame t * frames / tiles.
	tile := (index*s.tiles + s.frames - 1) / s.frames
	if tile >= s.tiles || tile*s.frames/s.tiles != index {
		return nil
	}
	s.draw(f, tile%s.columns*s.tileW, tile/s.columns*s.tileH)
	s.added++
	return nil
}

// draw puts the shrunk frame at an even place of the sheet.
func (s *Spritesheet) draw(f Frame, left, top int) {
	y, u, v := f.Planes()
	sy, su, sv := s.sheet.Planes()
	w := s.sheet.Width
	shrink(plane{y, f.Width, f.Width, f.Height}, plane{sy[top*w+left:], w, s.tileW, s.tileH})
	c := top/2*(w/2) + left/2
	for _, p := range []struct{ from, to []byte }{{u, su[c:]}, {v, sv[c:]}} {
		shrink(plane{p.from, f.Width / 2, f.Width / 2, f.Height / 2}, plane{p.to, w / 2, s.tileW / 2, s.tileH / 2})
	}
}

// plane is a rectangle of samples.
type plane struct {
	pix                   []byte
	stride, width, height int
}

// shrink makes each sample of to the mean of the samples of from that it covers.
func shrink(from, to plane) {
	for y := range to.height {
		y0, y1 := y*from.height/to.height, (y+1)*from.height/to.height
		for x := range to.width {
			x0, x1 := x*from.width/to.width, (x+1)*from.width/to.width
			sum := 0
			for row := y0; row < y1; row++ {
				for _, p := range from.pix[row*from.stride+x0 : row*from.stride+x1] {
					sum += int(p)
				}
			}
			n := (y1 - y0) * (x1 - x0)
			to.pix[y*to.stride+x] = byte((sum + n/2) / n)
		}
	}
}

// JPEG draws the sheet. Places whose frames did not come stay black; a sheet without any frame is an ErrGeometry.
func (s *Spritesheet) JPEG() ([]byte, error) {
	if s.added == 0 {
		return nil, fmt.Errorf("%w: a sheet without frames", ErrGeometry)
	}
	// JPEG has full-range BT.601 planes, so the way leads through RGB.
	var buf bytes.Buffer
	if err := jpeg.Encode(&buf, standard{ToRGB(s.sheet)}, &jpeg.Options{Quality: spriteQuality}); err != nil {
		return nil, fmt.Errorf("media: encode JPEG: %w", err)
	}
	return buf.Bytes(), nil
}
