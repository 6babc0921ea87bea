package faults_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func storeFaults() []fault {
	return []fault{
		{"F15 every other call of the store fails", extentFull, storeFailsHalf},
		{"F15 the store is away for 20 s", extentFull, storeAway(20 * time.Second)},
		{"F15 the store is away for 5 min", extentLong, storeAway(5 * time.Minute)},
		{"F16 the store of one worker is slow", extentFull, storeSlow},
		{"F16 the store of one worker swallows everything", extentFull, storeSilent},
		{"F17 the store is cut in the middle of an upload", extentShort, storeCut},
		{"F18 the store says yes and keeps nothing", extentShort, storeLies},
		{"F19 an artifact is deleted behind us", extentFull, artifactGone},
	}
}

func (b *bench) several(n int, words string) []*story {
	b.t.Helper()
	var all []*story
	for i := range n {
		all = append(all, b.create(script(words+" "+strconv.Itoa(i))))
	}
	return all
}

// settled awaits videos that must have taken one attempt each: nothing is generated again because of the store.
func (b *bench) settled(all []*story) {
	b.t.Helper()
	for _, s := range all {
		b.await(s)
	}
	b.undisturbed(all)
}

func storeFailsHalf(_ *testing.T, b *bench) {
	b.gate.set(slowDown(func(n int64) bool { return n%2 == 0 }))
	b.settled(b.several(3, "half of all calls fail"))
}

func storeAway(outage time.Duration) func(*testing.T, *bench) {
	return func(t *testing.T, b *bench) {
		b.s3.Kill()
		gone := time.Now()
		all := b.several(4, "made without a store")
		pause(t, outage-time.Since(gone))
		if err := b.s3.Restart(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
		back := time.Now()
		b.settled(all)
		within(t, "all videos are stored", time.Since(back), time.Minute)
	}
}

// storeSlow bounds one worker's uploads; the other uploads on.
func storeSlow(_ *testing.T, b *bench) {
	b.workers[0].s3.set(conduct{bytesPerSecond: 2 << 10})
	all := b.busy("step_ms=50", 3)
	more := b.several(4, "beside a slow store")
	b.settled(more)
	b.settled(all)
}

func storeSilent(t *testing.T, b *bench) {
	slow := b.workers[0]
	slow.s3.set(conduct{silent: true})
	all := b.busy("step_ms=50", 3)
	more := b.several(3, "beside a silent store")
	b.settled(more)
	pause(t, 5*time.Second)
	slow.s3.heal()
	back := time.Now()
	b.settled(all)
	within(t, "the upload that hung is done", time.Since(back), 90*time.Second)
}

// storeCut breaks the connection of the first two videos' uploads in the middle.
func storeCut(t *testing.T, b *bench) {
	var cuts atomic.Int64
	for _, w := range b.workers {
		w.s3.set(conduct{onRequest: func(_ int64, piece []byte) bool {
			if bytes.HasPrefix(piece, []byte("PUT ")) && bytes.Contains(piece[:min(len(piece), 200)], []byte("video.mp4")) && cuts.Add(1) <= 2 {
				return false
			}
			return true
		}})
	}
	b.settled(b.several(3, "cut while it is stored"))
	if cuts.Load() < 3 {
		t.Errorf("%d uploads were seen: the test proves nothing", cuts.Load())
	}
}

// storeLies answers the first uploads with success and keeps nothing.
func storeLies(t *testing.T, b *bench) {
	var lies atomic.Int64
	b.gate.set(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut || !strings.HasSuffix(r.URL.Path, "video.mp4") || lies.Add(1) > 2 {
			return false
		}
		_, _ = io.Copy(io.Discard, r.Body)
		return true
	})
	b.settled(b.several(3, "stored, says the store"))
	if lies.Load() < 3 {
		t.Errorf("%d uploads were seen: the test proves nothing", lies.Load())
	}
}

// artifactGone deletes a video's file behind the program: its content is missing, and nothing else changes.
func artifactGone(t *testing.T, b *bench) {
	s := b.create(script("its file goes"))
	b.await(s)
	r, err := b.record(s.id)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(b.bucketsDir(), bucket, filepath.FromSlash(r.result.VideoKey))); err != nil {
		t.Fatal(err)
	}
	_, err = b.apis[0].client.content(t.Context(), s.id)
	if status := statusOf(err); (status != http.StatusNotFound && status != http.StatusGone) || codeOf(err) != "content_missing" {
		t.Errorf("content: %v", err)
	}
	if v, err := b.apis[0].client.get(t.Context(), s.id); err != nil || v.Status != "completed" {
		t.Errorf("get: %+v %v", v, err)
	}
	if err := b.delete(b.apis[0].client, s); err != nil {
		t.Errorf("delete: %v", err)
	}
}
