package jobs_test

import (
	"strings"
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
