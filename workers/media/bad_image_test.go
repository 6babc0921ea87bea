package media_test

import (
	"encoding/binary"
	"errors"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"telefuser/workers/media"
	"telefuser/workers/media/mediatest"
)

// flippedFiles are as many as the goal B2 names.
const flippedFiles = 1000

// growthBytesMax is what one bad picture may make of the memory, besides the file itself. growthFramePixels is the largest frame of a video.
const (
	growthBytesMax    = 64 << 20
	growthFramePixels = 1920 * 1088
)

// TestDecodeImageAndBadFiles decodes everything that is bad on purpose: whatever comes of it is an error of a class or a whole picture, and little memory.
func TestDecodeImageAndBadFiles(t *testing.T) {
	files := mediatest.Files(mediatest.Bait{Path: "/canary", URL: "http://127.0.0.1:1/"})
	if len(files) < 100 {
		t.Fatalf("there are only %d bad files", len(files))
	}
	taken, names := 0, map[string]bool{}
	for _, f := range files {
		if names[f.Name] {
			t.Errorf("%s is there twice", f.Name)
		}
		names[f.Name] = true
		if decodeBad(t, f, true) {
			taken++
		}
	}
	flipped := mediatest.Flipped(1, flippedFiles)
	whole := 0
	for _, f := range flipped {
		if decodeBad(t, f, false) {
			whole++
		}
	}
	t.Logf("%d bad files, %d of them odd and taken; %d flipped ones, %d of them taken", len(files), taken, len(flipped), whole)
	for _, o := range mediatest.Originals() {
		if !decodeBad(t, o, false) {
			t.Errorf("%s: the original is refused, so that nothing is proved by the others", o.Name)
		}
	}
}

// decodeBad decodes one file and says whether it was taken.
func decodeBad(t *testing.T, f mediatest.File, measured bool) bool {
	t.Helper()
	decode := func() (media.Image, error) {
		return decodeBytes(f.Data, media.ImageLimits{MeasureAbove: growthFramePixels})
	}
	var img media.Image
	var err error
	begin := time.Now()
	if measured {
		if grown := growth(func() { img, err = decode() }); grown > growthBytesMax+2*uint64(len(f.Data)) {
			t.Errorf("%s: the memory grew by %d MB", f.Name, grown>>20)
		}
	} else {
		img, err = decode()
	}
	if took := time.Since(begin); took > 30*time.Second {
		t.Errorf("%s: took %s", f.Name, took)
	}
	switch {
	case err == nil && !f.Odd:
		t.Errorf("%s: taken as %d x %d", f.Name, img.Width, img.Height)
	case err == nil && img.RGB == nil && img.Width*img.Height <= growthFramePixels:
		t.Errorf("%s: %d x %d without pixels", f.Name, img.Width, img.Height)
	case err == nil:
		if img.RGB != nil && len(img.RGB) != img.Width*img.Height*3 || img.Width < 1 || img.Height < 1 {
			t.Errorf("%s: %d x %d with %d bytes", f.Name, img.Width, img.Height, len(img.RGB))
		}
	case !errors.Is(err, media.ErrImageType) && !errors.Is(err, media.ErrImageTooLarge) && !errors.Is(err, media.ErrImageCorrupt):
		t.Errorf("%s: an error of no class: %v", f.Name, err)
	case strings.Contains(err.Error(), "panicked"):
		t.Errorf("%s: the decoder panicked: %v", f.Name, err)
	}
	return err == nil
}

// growth is by how much the heap grew at most while f ran, in bytes: garbage that was not collected yet counts.
func growth(f func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before := m.HeapAlloc
	var most atomic.Uint64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			most.Store(max(most.Load(), now.HeapAlloc))
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	f()
	close(stop)
	<-done
	runtime.ReadMemStats(&m)
	return max(most.Load(), m.HeapAlloc, before) - before
}

// TestDecodeImageBoundsTheScans: each scan of a dozen bytes costs a walk over all blocks, so that a file of 20 MB would keep a processor for half an hour.
func TestDecodeImageBoundsTheScans(t *testing.T) {
	for _, f := range mediatest.Files(mediatest.Bait{}) {
		if !strings.Contains(f.Name, " scans") {
			continue
		}
		img, err := decodeBytes(f.Data, media.ImageLimits{})
		switch {
		case f.Odd && (err != nil || img.Width != 1920 || img.Height != 1088):
			t.Errorf("%s: %d x %d, %v", f.Name, img.Width, img.Height, err)
		case !f.Odd && !errors.Is(err, media.ErrImageTooLarge):
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}

// TestDecodeImageMeasuresWhatIsTooLargeForItsCaller reads the upright size of a large picture and none of its pixels.
func TestDecodeImageMeasuresWhatIsTooLargeForItsCaller(t *testing.T) {
	turned := withEXIF(jpegOf(t, quadrants(20, 10)), 6, binary.BigEndian, "MM")
	for above, decoded := range map[int]bool{199: false, 200: true, 0: true} {
		img, err := decodeBytes(turned, media.ImageLimits{MeasureAbove: above})
		if err != nil || img.Width != 10 || img.Height != 20 || (img.RGB != nil) != decoded {
			t.Errorf("above %d: %d x %d, %d bytes, %v", above, img.Width, img.Height, len(img.RGB), err)
		}
	}
}
