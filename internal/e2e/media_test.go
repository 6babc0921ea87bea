package e2e_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"os"
)

// picture is a PNG of the size, in broad areas of colour as a photograph has.
func picture(t *testing.T, width, height int) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			img.Set(x, y, color.RGBA{R: uint8(255 * x / width), G: uint8(255 * y / height), B: 90, A: 255})
		}
	}
	var buf bytes.Buffer
	if err := png.Encode(&buf, img); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// probed is what ffprobe finds in a video by decoding all of it.
type probed struct {
	width, height, frames int
	fps                   string
	seconds               float64
	codec, pixels         string
}

// probe decodes a video.
func probe(t *testing.T, mp4 []byte) probed {
	t.Helper()
	path, err := exec.LookPath("ffprobe")
	if err != nil {
		t.Skip("ffprobe is not on PATH: run `make deps-test`, or install the package ffmpeg")
	}
	file := filepath.Join(t.TempDir(), "v.mp4")
	if err := os.WriteFile(file, mp4, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(path, "-v", "error", "-count_frames", "-select_streams", "v:0", "-show_entries",
		"stream=codec_name,pix_fmt,width,height,r_frame_rate,nb_read_frames:format=duration", "-of", "json", file).Output()
	if err != nil {
		t.Fatalf("ffprobe: %v", err)
	}
	var found struct {
		Streams []struct {
			Codec  string `json:"codec_name"`
			Pixels string `json:"pix_fmt"`
			Width  int    `json:"width"`
			Height int    `json:"height"`
			Rate   string `json:"r_frame_rate"`
			Frames string `json:"nb_read_frames"`
		} `json:"streams"`
		Format struct {
			Duration string `json:"duration"`
		} `json:"format"`
	}
	if err := json.Unmarshal(out, &found); err != nil || len(found.Streams) != 1 {
		t.Fatalf("ffprobe: %v: %s", err, out)
	}
	s := found.Streams[0]
	frames, err := strconv.Atoi(s.Frames)
	if err != nil {
		t.Fatal(err)
	}
	seconds, err := strconv.ParseFloat(found.Format.Duration, 64)
	if err != nil {
		t.Fatal(err)
	}
	return probed{s.Width, s.Height, frames, strings.TrimSuffix(s.Rate, "/1"), seconds, s.Codec, s.Pixels}
}

// checkFile compares a finished video's object with its file.
func checkFile(t *testing.T, v video, mp4 []byte) {
	t.Helper()
	p := probe(t, mp4)
	seconds, err := strconv.ParseFloat(v.Seconds, 64)
	if err != nil {
		t.Errorf("%s: seconds %q is no number", v.ID, v.Seconds)
	}
	size := strconv.Itoa(p.width) + "x" + strconv.Itoa(p.height)
	if size != v.Size || p.fps != strconv.Itoa(v.FPS) || p.frames != v.NumFrames || p.seconds-seconds > 0.001 || seconds-p.seconds > 0.001 {
		t.Errorf("%s says %s, %d fps, %d frames, %s s; its file has %+v", v.ID, v.Size, v.FPS, v.NumFrames, v.Seconds, p)
	}
	if p.codec != "h264" || p.pixels != "yuv420p" {
		t.Errorf("%s is %s %s", v.ID, p.codec, p.pixels)
	}
}

// checkWebP and checkJPEG look at the first bytes of a picture.
func checkWebP(t *testing.T, data []byte) {
	t.Helper()
	if len(data) < 16 || string(data[:4]) != "RIFF" || string(data[8:12]) != "WEBP" {
		t.Errorf("no WebP: %.16q", data)
	}
}

func checkJPEG(t *testing.T, data []byte) {
	t.Helper()
	if !bytes.HasPrefix(data, []byte{0xff, 0xd8, 0xff}) {
		t.Errorf("no JPEG: %.16q", data)
	}
}
