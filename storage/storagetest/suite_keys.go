package storagetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"telefuser/storage"
)

func testList(t *testing.T, s storage.Store) {
	keys := []string{"a-b", "a.b", "a/b", "a/b.c", "a/d/e", "a0", "b/x", "c"}
	for _, k := range slices.Backward(keys) {
		put(t, s, k, []byte(k))
	}
	for _, tt := range []struct {
		prefix, after string
		limit         int
		want          []string
	}{
		{"", "", 100, keys},
		{"", "", 3, keys[:3]},
		{"", "a.b", 2, keys[2:4]},
		{"", "a/", 2, keys[2:4]},
		{"", "a/c", 100, keys[4:]},
		{"a/", "", 100, keys[2:5]},
		{"a/", "a/b", 100, keys[3:5]},
		{"a", "", 100, keys[:6]},
		{"a/b", "", 100, keys[2:4]},
		{"", "c", 100, nil},
		{"z", "", 100, nil},
		{"b", "a", 1, keys[6:7]},
	} {
		objs, err := s.List(t.Context(), tt.prefix, tt.after, tt.limit)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range objs {
			got = append(got, o.Key)
			if o.SizeBytes != int64(len(o.Key)) {
				t.Errorf("%s has %d bytes", o.Key, o.SizeBytes)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("prefix %q after %q limit %d: got %v, want %v", tt.prefix, tt.after, tt.limit, got, tt.want)
		}
	}
	for _, limit := range []int{0, -1, storage.ListLimitMax + 1} {
		if _, err := s.List(t.Context(), "", "", limit); err == nil {
			t.Errorf("limit %d was taken", limit)
		}
	}
}

func testBadKeys(t *testing.T, s storage.Store) {
	bad := []string{
		"", "/a", "a/", "a//b", "..", "a/../b", "../../etc/passwd", "a..b", ".", "./a", "a/.hidden", ".tmp/x", "a b", "a\x00b", "a\\b", "a@b", "ä", "a%2e",
		"a\nb", "a?b", strings.Repeat("x", storage.KeySegmentBytesMax+1), strings.Repeat("abcdefg/", storage.KeyBytesMax/8) + "z",
	}
	for _, key := range bad {
		_, err := s.Put(t.Context(), key, strings.NewReader("x"), storage.PutOptions{SizeBytes: -1})
		wantError(t, fmt.Sprintf("put %q", key), err, storage.ErrKey)
		_, _, err = s.Open(t.Context(), key, 0, -1)
		wantError(t, fmt.Sprintf("open %q", key), err, storage.ErrKey)
		_, err = s.Stat(t.Context(), key)
		wantError(t, fmt.Sprintf("stat %q", key), err, storage.ErrKey)
		wantError(t, fmt.Sprintf("delete %q", key), s.Delete(t.Context(), key), storage.ErrKey)
	}
	_, err := s.List(t.Context(), "a\x00", "", 1)
	wantError(t, "list", err, storage.ErrKey)
	long := strings.Repeat("x", storage.KeySegmentBytesMax) + "/" + strings.Repeat("y", storage.KeySegmentBytesMax) + "/A_b-9.mp4"
	put(t, s, long, []byte("fine"))
	if got := read(t, s, long, 0, -1); string(got) != "fine" {
		t.Errorf("the longest key: %q", got)
	}
}

// racers is how many puts meet; more than any driver has connections in its first burst.
const racers = 16

func testConcurrentPuts(t *testing.T, s storage.Store) {
	for _, size := range []int{10, 300_000} {
		key := fmt.Sprintf("race/%d", size)
		var wg sync.WaitGroup
		errs := make([]error, racers)
		start := make(chan struct{})
		for i := range racers {
			wg.Go(func() {
				<-start
				_, errs[i] = s.Put(t.Context(), key, strings.NewReader(strings.Repeat(string(rune('a'+i)), size)), storage.PutOptions{SizeBytes: -1})
			})
		}
		close(start)
		wg.Wait()
		winner := -1
		for i, err := range errs {
			switch {
			case err == nil && winner >= 0:
				t.Errorf("%s: %d and %d both won", key, winner, i)
			case err == nil:
				winner = i
			default:
				wantError(t, "loser", err, storage.ErrExists)
			}
		}
		if winner < 0 {
			t.Fatalf("%s: nobody won", key)
		}
		if got, want := read(t, s, key, 0, -1), strings.Repeat(string(rune('a'+winner)), size); string(got) != want {
			t.Errorf("%s: %d won and other bytes are stored", key, winner)
		}
	}
}

// putPatiently tries again when the store says that trying again may help: gateways over a file system lose a race for a folder now and then.
func putPatiently(t *testing.T, s storage.Store, key string) error {
	var err error
	for range 5 {
		_, err = s.Put(t.Context(), key, strings.NewReader(key), storage.PutOptions{SizeBytes: -1})
		if !errors.Is(err, storage.ErrUnavailable) {
			return err
		}
	}
	return err
}

// testChurn lets neighbours be put and deleted at once, which makes and removes the same folders again and again.
func testChurn(t *testing.T, s storage.Store) {
	const rounds = 20
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			key := fmt.Sprintf("churn/deep/%d", i)
			for round := range rounds {
				if err := putPatiently(t, s, key); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
				if err := s.Delete(t.Context(), key); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			}
		})
	}
	wg.Go(func() {
		for range rounds {
			objs, err := s.List(t.Context(), "churn/", "", 10)
			if err != nil && !errors.Is(err, storage.ErrNotFound) {
				t.Errorf("list: %v", err)
			}
			for _, o := range objs {
				if o.SizeBytes != int64(len(o.Key)) {
					t.Errorf("%s is seen with %d bytes", o.Key, o.SizeBytes)
				}
			}
		}
	})
	wg.Wait()
	wantNothing(t, s, "churn/deep/0")
}
