package media_test

import (
	"bytes"
	"errors"
	"image/jpeg"
	"math"
	"testing"

	"telefuser/workers/media"
)

// exact is the matrix of BT.709 in floating point.
func exact(r, g, b float64) (y, u, v float64) {
	luma := 0.2126*r + 0.7152*g + 0.0722*b
	return 16 + luma*219/255, 128 + (b-luma)/1.8556*224/255, 128 + (r-luma)/1.5748*224/255
}

func TestColoursFollowBT709(t *testing.T) {
	for r := 0; r < 256; r += 15 {
		for g := 0; g < 256; g += 15 {
			for b := 0; b < 256; b += 15 {
				y, u, v := flat(2, 2, byte(r), byte(g), byte(b)).Planes()
				wy, wu, wv := exact(float64(r), float64(g), float64(b))
				if math.Abs(float64(y[0])-wy) > 0.51 || math.Abs(float64(u[0])-wu) > 0.51 || math.Abs(float64(v[0])-wv) > 0.51 {
					t.Fatalf("%d %d %d: got %d %d %d, want %.2f %.2f %.2f", r, g, b, y[0], u[0], v[0], wy, wu, wv)
				}
				back := media.ToRGB(flat(2, 2, byte(r), byte(g), byte(b)))
				if !near(back.RGB[:3], []byte{byte(r), byte(g), byte(b)}, 2) {
					t.Fatalf("%d %d %d came back as %v", r, g, b, back.RGB[:3])
				}
			}
		}
	}
}

func TestGreyStaysGreyAndEndsAreKept(t *testing.T) {
	for c := range 256 {
		f := flat(2, 2, byte(c), byte(c), byte(c))
		if _, u, v := f.Planes(); u[0] != 128 || v[0] != 128 {
			t.Fatalf("grey %d has chroma %d %d", c, u[0], v[0])
		}
		if p := media.ToRGB(f).RGB; p[0] != p[1] || p[1] != p[2] || !near(p[:1], []byte{byte(c)}, 1) {
			t.Fatalf("grey %d came back as %v", c, p[:3])
		}
	}
	if y, _, _ := flat(2, 2, 255, 255, 255).Planes(); y[0] != 235 {
		t.Errorf("white is %d", y[0])
	}
	if y, _, _ := flat(2, 2, 0, 0, 0).Planes(); y[0] != 16 {
		t.Errorf("black is %d", y[0])
	}
}

func TestToRGBKeepsAnyFrameInRange(t *testing.T) {
	f := media.NewFrame(512, 256)
	y, u, v := f.Planes()
	for i := range y {
		y[i] = byte(i)
	}
	for i := range u {
		u[i], v[i] = byte(i), byte(i/256)
	}
	img := media.ToRGB(f)
	for i := range 512 * 256 {
		c := i/512/2*256 + i%512/2
		d, e := float64(u[c])-128, float64(v[c])-128
		l := 255 * (float64(y[i]) - 16) / 219
		want := []float64{l + 255.0/224*1.5748*e, l - 255.0/224*(0.187324*d+0.468124*e), l + 255.0/224*1.8556*d}
		for k, w := range want {
			if got := float64(img.RGB[i*3+k]); math.Abs(got-math.Min(255, math.Max(0, w))) > 1 {
				t.Fatalf("y=%d u=%d v=%d channel %d: got %v, want %v", y[i], u[c], v[c], k, got, w)
			}
		}
	}
}

func TestFromRGBAveragesChromaAndCutsOddSides(t *testing.T) {
	img := media.Image{Width: 3, Height: 3, RGB: bytes.Repeat([]byte{9, 9, 9}, 9)}
	copy(img.RGB, []byte{255, 0, 0, 0, 0, 255})
	copy(img.RGB[9:], []byte{0, 0, 255, 255, 0, 0})
	f := media.FromRGB(img)
	if f.Width != 2 || f.Height != 2 {
		t.Fatalf("%d x %d", f.Width, f.Height)
	}
	_, wu, wv := exact(127.5, 0, 127.5)
	if _, u, v := f.Planes(); math.Abs(float64(u[0])-wu) > 0.51 || math.Abs(float64(v[0])-wv) > 0.51 {
		t.Errorf("chroma %d %d, want %.1f %.1f", u[0], v[0], wu, wv)
	}
}

func TestResizeAveragesAndKeepsEdges(t *testing.T) {
	img := media.Image{Width: 64, Height: 32, RGB: make([]byte, 64*32*3)}
	for i := range 64 * 32 {
		if i%2 == 0 {
			copy(img.RGB[i*3:], []byte{255, 255, 255})
		}
	}
	small := media.Resize(img, 16, 8)
	if small.Width != 16 || small.Height != 8 || !near(small.RGB, bytes.Repeat([]byte{127}, 16*8*3), 12) {
		t.Errorf("stripes became %v", small.RGB[:12])
	}
	q, err := decodeBytes(pngOf(t, quadrants(40, 20)), media.ImageLimits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range [][2]int{{832, 480}, {12, 8}, {40, 20}, {7, 5}} {
		if out := media.Resize(q, size[0], size[1]); corners(out) != "RGBW" || len(out.RGB) != size[0]*size[1]*3 {
			t.Errorf("%v: %s", size, corners(out))
		}
	}
	same := media.Resize(q, 40, 20)
	same.RGB[0] = 77
	if q.RGB[0] == 77 {
		t.Error("a picture of the same size shares its memory")
	}
}

func TestSpritesheetShowsEvenlySpacedFrames(t *testing.T) {
	for _, tt := range []struct{ frames, w, h, wantW, wantH, tiles int }{
		{77, 832, 480, 4 * 320, 4 * 184, 16}, {16, 64, 48, 256, 192, 16}, {5, 64, 48, 192, 96, 5}, {1, 1920, 1088, 320, 180, 1},
	} {
		s, err := media.NewSpritesheet(tt.frames, tt.w, tt.h)
		if err != nil {
			t.Fatal(err)
		}
		for i := range tt.frames {
			// The grey tells the frame.
			c := byte(40 + 200*i/tt.frames)
			if err := s.Add(flat(tt.w, tt.h, c, c, c), i); err != nil {
				t.Fatal(err)
			}
		}
		b, err := s.JPEG()
		if err != nil {
			t.Fatal(err)
		}
		img, err := jpeg.Decode(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if img.Bounds().Dx() != tt.wantW || img.Bounds().Dy() != tt.wantH {
			t.Errorf("%+v: the sheet is %v", tt, img.Bounds())
		}
		columns := int(math.Ceil(math.Sqrt(float64(tt.tiles))))
		rows := (tt.tiles + columns - 1) / columns
		for tile := range tt.tiles {
			index := tile * tt.frames / tt.tiles
			want := byte(40 + 200*index/tt.frames)
			x, y := tt.wantW/columns*(tile%columns)+tt.wantW/columns/2, tt.wantH/rows*(tile/columns)+tt.wantH/rows/2
			if got := rgbAt(img, x, y); !near(got, []byte{want, want, want}, 4) {
				t.Errorf("%+v: tile %d is %v, want %d", tt, tile, got, want)
			}
		}
	}
}

func TestSpritesheetKeepsColoursAndRefusesOthers(t *testing.T) {
	s, err := media.NewSpritesheet(2, 64, 48)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.JPEG(); !errors.Is(err, media.ErrGeometry) {
		t.Errorf("an empty sheet: %v", err)
	}
	if err := s.Add(flat(64, 48, 200, 60, 30), 0); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{s.Add(flat(32, 48, 0, 0, 0), 1), s.Add(flat(64, 48, 0, 0, 0), 2), s.Add(flat(64, 48, 0, 0, 0), -1)} {
		if !errors.Is(err, media.ErrGeometry) {
			t.Errorf("got %v", err)
		}
	}
	b, err := s.JPEG()
	if err != nil {
		t.Fatal(err)
	}
	img, err := jpeg.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if got := rgbAt(img, 32, 24); !near(got, []byte{200, 60, 30}, 4) {
		t.Errorf("the tile is %v", got)
	}
	if got := rgbAt(img, 96, 24); !near(got, []byte{0, 0, 0}, 3) {
		t.Errorf("the missing tile is %v", got)
	}
	for _, bad := range [][3]int{{0, 64, 48}, {1, 63, 48}, {1, 64, 0}} {
		if _, err := media.NewSpritesheet(bad[0], bad[1], bad[2]); !errors.Is(err, media.ErrGeometry) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
