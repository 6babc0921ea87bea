package media_test

import (
	"bytes"
	"image"
	"path/filepath"
	"testing"

	"telefuser/workers/media"
)

const (
	benchWidth  = 832
	benchHeight = 480
)

// BenchmarkMP4 measures frames through pipe and encoder; run it on one core: taskset -c 0 go test -bench MP4 -cpu 1.
func BenchmarkMP4(b *testing.B) {
	needFFmpeg(b)
	frames := make([]media.Frame, 64)
	for i := range frames {
		frames[i] = scene(benchWidth, benchHeight, i)
	}
	for _, preset := range []string{"ultrafast", "superfast", "veryfast", "faster"} {
		b.Run(preset, func(b *testing.B) {
			o := media.MP4Options{Dest: filepath.Join(b.TempDir(), "v.mp4"), Width: benchWidth, Height: benchHeight, FPS: 16, Preset: preset}
			w, err := media.NewMP4Writer(b.Context(), o)
			if err != nil {
				b.Fatal(err)
			}
			defer w.Abort()
			n := 0
			for b.Loop() {
				if err := w.Write(frames[n%len(frames)]); err != nil {
					b.Fatal(err)
				}
				n++
			}
			// The encoder holds frames back: the file must be finished within the measured time.
			b.StartTimer()
			info, err := w.Close()
			b.StopTimer()
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "frames/s")
			b.ReportMetric(float64(info.SizeBytes)/float64(n), "bytes/frame")
		})
	}
}

func BenchmarkFromRGB(b *testing.B) {
	img := media.ToRGB(scene(benchWidth, benchHeight, 0))
	b.SetBytes(int64(len(img.RGB)))
	for b.Loop() {
		media.FromRGB(img)
	}
}

func BenchmarkToRGB(b *testing.B) {
	f := scene(benchWidth, benchHeight, 0)
	b.SetBytes(int64(len(f.Data)))
	for b.Loop() {
		media.ToRGB(f)
	}
}

func BenchmarkThumbnail(b *testing.B) {
	needFFmpeg(b)
	f := scene(benchWidth, benchHeight, 0)
	for b.Loop() {
		if _, err := media.Thumbnail(b.Context(), media.FFmpeg{}, f, 320); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeJPEG12Megapixels(b *testing.B) {
	img := media.Resize(media.ToRGB(scene(benchWidth, benchHeight, 0)), 4000, 3000)
	picture := &image.NRGBA{Pix: make([]byte, 0, 4000*3000*4), Stride: 4000 * 4, Rect: image.Rect(0, 0, 4000, 3000)}
	for p := img.RGB; len(p) > 0; p = p[3:] {
		picture.Pix = append(picture.Pix, p[0], p[1], p[2], 255)
	}
	file := jpegOf(b, picture)
	for b.Loop() {
		if _, err := media.DecodeImage(b.Context(), bytes.NewReader(file), media.ImageLimits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodePNG(b *testing.B) {
	img := media.ToRGB(scene(benchWidth, benchHeight, 0))
	b.SetBytes(int64(len(img.RGB)))
	for b.Loop() {
		if _, err := media.EncodePNG(img); err != nil {
			b.Fatal(err)
		}
	}
}
