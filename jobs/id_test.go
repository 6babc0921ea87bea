package jobs_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"telefuser/jobs"
)

func TestIDsSortByTimeAndAreRandom(t *testing.T) {
	start := time.UnixMilli(1_764_528_000_000)
	last := ""
	seen := map[string]bool{}
	for i := range 5000 {
		id := jobs.NewID(start.Add(time.Duration(i) * time.Millisecond))
		if !jobs.ValidID(id) || id <= last || seen[id[20:]] {
			t.Fatalf("id %q after %q", id, last)
		}
		last, seen[id[20:]] = id, true
	}
	for at := range 2 {
		if jobs.NewID(time.UnixMilli(int64(at)))[6:15] != "000000000" {
			t.Error("the time is not in front")
		}
	}
	if !strings.HasPrefix(jobs.NewID(time.UnixMilli(1<<48-1)), "video_7zzzzzzzzz") {
		t.Error("the last time is not the last id")
	}
}

// TestIDsOfOneProcessSortAsMade holds within a millisecond, over small steps back of the clock, and for many callers at once.
func TestIDsOfOneProcessSortAsMade(t *testing.T) {
	var ids jobs.IDs
	start := time.UnixMilli(1_764_528_000_000)
	last := ""
	for i := range 20_000 {
		now := start.Add(time.Duration(i/500) * time.Millisecond)
		if i%7 == 0 {
			now = now.Add(-time.Second)
		}
		id := ids.New(now)
		if !jobs.ValidID(id) || id <= last {
			t.Fatalf("id %d: %q after %q", i, id, last)
		}
		last = id
	}
	if id := ids.New(start.Add(-time.Hour)); id[:16] != jobs.NewID(start.Add(-time.Hour))[:16] {
		t.Errorf("%q does not follow a clock that was set back", id)
	}
	made := make([][]string, 8)
	var group sync.WaitGroup
	for i := range made {
		group.Go(func() {
			for range 1000 {
				made[i] = append(made[i], ids.New(start))
			}
		})
	}
	group.Wait()
	seen := map[string]bool{}
	for _, list := range made {
		if !slices.IsSorted(list) {
			t.Error("a caller's ids are out of order")
		}
		for _, id := range list {
			seen[id] = true
		}
	}
	if len(seen) != 8000 {
		t.Errorf("%d different ids of 8000", len(seen))
	}
}

// TestIDsKeepTheirRandomness: a new millisecond draws all 80 bits, and within one the next id is no neighbour.
func TestIDsKeepTheirRandomness(t *testing.T) {
	start := time.UnixMilli(1_764_528_000_000)
	seen := map[string]bool{}
	var ids jobs.IDs
	for i := range 1000 {
		tail := ids.New(start.Add(time.Duration(i) * time.Millisecond))[16:24]
		if seen[tail] {
			t.Fatalf("%q twice", tail)
		}
		seen[tail] = true
	}
	for i := range 100 {
		a, b := ids.New(start.Add(time.Hour)), ids.New(start.Add(time.Hour))
		if a[:28] == b[:28] {
			t.Fatalf("try %d: %q tells %q", i, a, b)
		}
	}
}

func TestValidID(t *testing.T) {
	for _, id := range []string{"", "video_", "video_0123456789012345678901234", "video_012345678901234567890123456", "Video_01234567890123456789012345",
		"video_0123456789012345678901234/", "video_0123456789012345678901234\n", "video_01234567890123456789012345\n", "video_é234567890123456789012345"} {
		if jobs.ValidID(id) {
			t.Errorf("%q is valid", id)
		}
	}
	if !jobs.ValidID("video_0123456789ABCDEFabcdefGHIJ") {
		t.Error("mixed case is not valid")
	}
}

// Whatever is valid is harmless in a key: fixed length, letters and digits only.
func FuzzValidID(f *testing.F) {
	f.Add(jobs.NewID(time.Now()))
	f.Add("video_../../../../etc/passwd%00")
	f.Fuzz(func(t *testing.T, id string) {
		if !jobs.ValidID(id) {
			return
		}
		if len(id) != 32 || strings.ContainsAny(id[6:], "_/.:*?[]{}\n\r \x00%") {
			t.Errorf("%q is valid", id)
		}
	})
}

func FuzzTicket(f *testing.F) {
	f.Add([]byte(jobs.NewID(time.Now()) + " 0"))
	f.Add([]byte("video_01234567890123456789012345 -1"))
	f.Add([]byte{0xff, 0x00})
	f.Fuzz(func(t *testing.T, payload []byte) {
		id, attempt, err := jobs.ParseTicket(payload)
		if err == nil && (!jobs.ValidID(id) || attempt < 0) {
			t.Errorf("%q gave %q %d", payload, id, attempt)
		}
	})
}

func FuzzListCursor(f *testing.F) {
	f.Add("video_01234567890123456789012345", 0, true)
	f.Add("+", -1, false)
	f.Fuzz(func(t *testing.T, after string, limit int, descending bool) {
		b := setupMini(t, jobs.Config{})
		page, more, err := b.store.List(t.Context(), "alice", jobs.ListQuery{After: after, Limit: limit, Descending: descending})
		if err != nil && jobs.ValidID(after) {
			t.Errorf("%q: %v", after, err)
		}
		if more && len(page) == 0 || len(page) > jobs.ListLimitMax {
			t.Errorf("%d rows, more %v", len(page), more)
		}
	})
}
