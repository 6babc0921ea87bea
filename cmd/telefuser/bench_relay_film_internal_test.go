package main

import (
	"testing"

	"telefuser/workers/media"
)

// A film begins with a keyframe, anew at its end and where somebody asks for one.
func TestAFilmBeginsAnew(t *testing.T) {
	e := film{{0}, {1}, {2}}.play()
	for i, want := range []byte{0, 1, 2, 0, 1, 0, 1} {
		data, key, err := e.Encode(media.Frame{}, 0, i == 5)
		if err != nil || data[0] != want || key != (want == 0) {
			t.Fatalf("frame %d is %v, key %v, %v; want %d", i, data, key, err, want)
		}
	}
}
