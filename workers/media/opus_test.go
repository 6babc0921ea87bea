package media_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os/exec"
	"testing"

	"telefuser/workers/media"
)

func newOpus(tb testing.TB, channels int) *media.OpusEncoder {
	tb.Helper()
	e, err := media.NewOpusEncoder(channels, 64_000)
	if errors.Is(err, media.ErrEncoder) {
		tb.Skip(err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(e.Close)
	return e
}

// tone is a sine of a second, the same in all channels.
func tone(channels int, hertz float64) media.Sound {
	s := media.Sound{Channels: channels}
	for i := range media.SoundRate {
		v := int16(12_000 * math.Sin(2*math.Pi*hertz*float64(i)/media.SoundRate))
		for range channels {
			s.PCM = append(s.PCM, v)
		}
	}
	return s
}

// oggPage wraps packets of at most 254 bytes in a page of the container that ffmpeg reads.
func oggPage(flags byte, granule uint64, number uint32, packets ...[]byte) []byte {
	page := append([]byte("OggS\x00"), flags)
	page = binary.LittleEndian.AppendUint64(page, granule)
	page = binary.LittleEndian.AppendUint32(page, 1)
	page = binary.LittleEndian.AppendUint32(page, number)
	page = append(page, 0, 0, 0, 0)
	var table, body []byte
	for _, p := range packets {
		for n := len(p); ; n -= 255 {
			table = append(table, byte(min(n, 255)))
			if n < 255 {
				break
			}
		}
		body = append(body, p...)
	}
	page = append(append(append(page, byte(len(table))), table...), body...)
	var crc uint32
	for _, b := range page {
		crc ^= uint32(b) << 24
		for range 8 {
			if crc&(1<<31) != 0 {
				crc = crc<<1 ^ 0x04c11db7
			} else {
				crc <<= 1
			}
		}
	}
	binary.LittleEndian.PutUint32(page[22:], crc)
	return page
}

// TestOpusIsDecodedAsItWasHeard encodes a tone and wants ffmpeg to hear one of the same pitch and loudness.
func TestOpusIsDecodedAsItWasHeard(t *testing.T) {
	needFFmpeg(t)
	for channels := 1; channels <= 2; channels++ {
		e := newOpus(t, channels)
		const hertz = 440
		sound := tone(channels, hertz)
		head := append([]byte("OpusHead\x01"), byte(channels), 0, 0, 0x80, 0xbb, 0, 0, 0, 0, 0)
		file := oggPage(2, 0, 0, head)
		file = append(file, oggPage(0, 0, 1, []byte("OpusTags\x00\x00\x00\x00\x00\x00\x00\x00"))...)
		n := media.OpusFrameMoments * channels
		for i := 0; (i+1)*n <= len(sound.PCM); i++ {
			packet, err := e.Encode(sound.PCM[i*n : (i+1)*n])
			if err != nil {
				t.Fatal(err)
			}
			file = append(file, oggPage(0, uint64((i+1)*media.OpusFrameMoments), uint32(i+2), packet)...)
		}
		cmd := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-f", "ogg", "-i", "pipe:0", "-f", "s16le", "-ac", "1", "pipe:1")
		cmd.Stdin = bytes.NewReader(file)
		raw, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		heard := make([]float64, len(raw)/2)
		for i := range heard {
			heard[i] = float64(int16(binary.LittleEndian.Uint16(raw[2*i:])))
		}
		if len(heard) < media.SoundRate*9/10 {
			t.Fatalf("%d channels: %d samples are heard", channels, len(heard))
		}
		middle := heard[media.SoundRate/10 : media.SoundRate*8/10]
		crossings, power := 0, 0.0
		for i := 1; i < len(middle); i++ {
			if middle[i-1] < 0 && middle[i] >= 0 {
				crossings++
			}
			power += middle[i] * middle[i]
		}
		pitch := float64(crossings) / 0.7
		if loudness := math.Sqrt(power/float64(len(middle))) / (12_000 / math.Sqrt2); math.Abs(pitch-hertz) > 5 || loudness < 0.8 || loudness > 1.25 {
			t.Errorf("%d channels: %.0f Hz at %.2f of the loudness", channels, pitch, loudness)
		}
	}
}

func TestOpusRefusesWhatDoesNotFit(t *testing.T) {
	for _, c := range [][2]int{{0, 64_000}, {3, 64_000}, {1, 100}, {1, 1_000_000}} {
		if _, err := media.NewOpusEncoder(c[0], c[1]); !errors.Is(err, media.ErrGeometry) {
			t.Errorf("%v: %v", c, err)
		}
	}
	e := newOpus(t, 1)
	for _, n := range []int{0, 1, media.OpusFrameMoments - 1, 2 * media.OpusFrameMoments} {
		if _, err := e.Encode(make([]int16, n)); !errors.Is(err, media.ErrGeometry) {
			t.Errorf("%d samples: %v", n, err)
		}
	}
	e.Close()
	e.Close()
	if _, err := e.Encode(make([]int16, media.OpusFrameMoments)); !errors.Is(err, media.ErrEncoder) {
		t.Errorf("a closed stream: %v", err)
	}
	if err := media.CheckOpus(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestPartsOfASoundAreTheWhole(t *testing.T) {
	sound := media.Sound{Channels: 2}
	for i := range 2 * 1001 {
		sound.PCM = append(sound.PCM, int16(i))
	}
	var joined []int16
	for i := range 13 {
		part := sound.Part(i, i+1, 13)
		if n := part.Moments(); n < 76 || n > 78 {
			t.Errorf("part %d has %d moments", i, n)
		}
		joined = append(joined, part.PCM...)
	}
	if len(joined) != len(sound.PCM) {
		t.Fatalf("%d samples of %d", len(joined), len(sound.PCM))
	}
	for i, v := range joined {
		if v != int16(i) {
			t.Fatalf("sample %d is %d", i, v)
		}
	}
}

// BenchmarkOpusFrame encodes 20 ms of sound.
func BenchmarkOpusFrame(b *testing.B) {
	e := newOpus(b, 1)
	sound := tone(1, 440)
	for i, v := range sound.PCM { // a tone alone is too easy
		sound.PCM[i] = v/2 + int16(uint32(i)*2654435761>>18)
	}
	for i := 0; b.Loop(); i++ {
		at := i % 50 * media.OpusFrameMoments
		if _, err := e.Encode(sound.PCM[at : at+media.OpusFrameMoments]); err != nil {
			b.Fatal(err)
		}
	}
}
