package storagetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"telefuser/storage"
)

// Run runs the suite. open answers an empty store for each test; it may clean up by t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) storage.Store) {
	t.Helper()
	tests := []struct {
		name string
		run  func(t *testing.T, s storage.Store)
	}{
		{"what is put comes back", testRoundTrip},
		{"an empty object is an object", testEmpty},
		{"ranges", testRanges},
		{"a taken key is refused", testExists},
		{"of concurrent puts one wins", testConcurrentPuts},
		{"a failing source leaves nothing", testSourceFails},
		{"announced size and digest are verified", testVerifies},
		{"a seekable source is read from where it stands", testSeekable},
		{"what is missing is not found", testMissing},
		{"a deleted key is free", testDelete},
		{"a large stream", testLarge},
		{"list order, prefix, cursor and limit", testList},
		{"bad keys", testBadKeys},
		{"an ended context ends the call", testContext},
		{"puts, deletes and lists at once", testChurn},
		{"it is ready", testCheck},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.run(t, open(t)) })
	}
}

// stream hides that a reader can seek, as a request body cannot.
type stream struct{ io.Reader }

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// randomBytes are the same for the same seed.
func randomBytes(n int, seed byte) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}

func put(t *testing.T, s storage.Store, key string, b []byte) storage.Object {
	t.Helper()
	obj, err := s.Put(t.Context(), key, stream{bytes.NewReader(b)}, storage.PutOptions{SizeBytes: -1})
	if err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
	return obj
}

func read(t *testing.T, s storage.Store, key string, offset, length int64) []byte {
	t.Helper()
	r, _, err := s.Open(t.Context(), key, offset, length)
	if err != nil {
		t.Fatalf("open %s at %d+%d: %v", key, offset, length, err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("read %s at %d+%d: %v", key, offset, length, err)
	}
	return b
}

func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want %v", what, err, want)
	}
}

func wantNothing(t *testing.T, s storage.Store, key string) {
	t.Helper()
	_, err := s.Stat(t.Context(), key)
	wantError(t, "stat", err, storage.ErrNotFound)
	objs, err := s.List(t.Context(), "", "", 10)
	if err != nil || len(objs) != 0 {
		t.Errorf("list: %v, %v, want nothing", objs, err)
	}
}

func testRoundTrip(t *testing.T, s storage.Store) {
	data := randomBytes(100_000, 1)
	before := time.Now().Add(-2 * time.Second)
	obj, err := s.Put(t.Context(), "videos/v_1/1.mp4", stream{bytes.NewReader(data)}, storage.PutOptions{
		ContentType: "video/mp4", SizeBytes: int64(len(data)), SHA256: strings.ToUpper(digestOf(data)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if obj.Key != "videos/v_1/1.mp4" || obj.SizeBytes != int64(len(data)) || obj.SHA256 != digestOf(data) || obj.ContentType != "video/mp4" {
		t.Errorf("put answers %+v", obj)
	}
	if obj.ModifiedAt.Before(before) || obj.ModifiedAt.After(time.Now().Add(2*time.Second)) {
		t.Errorf("modified at %v", obj.ModifiedAt)
	}
	if len(obj.ETag) < 10 || obj.ETag[0] != '"' || obj.ETag[len(obj.ETag)-1] != '"' {
		t.Errorf("etag %q", obj.ETag)
	}
	stat, err := s.Stat(t.Context(), obj.Key)
	if err != nil || !sameObject(stat, obj) {
		t.Errorf("stat %+v, %v, want %+v", stat, err, obj)
	}
	r, opened, err := s.Open(t.Context(), obj.Key, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if !sameObject(opened, obj) {
		t.Errorf("open answers %+v, want %+v", opened, obj)
	}
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
	if plain := put(t, s, "plain", []byte("x")); plain.ContentType != "application/octet-stream" {
		t.Errorf("default content type %q", plain.ContentType)
	}
}

// sameObject lets the times differ below a second: S3 has no finer ones.
func sameObject(a, b storage.Object) bool {
	near := a.ModifiedAt.Sub(b.ModifiedAt).Abs() <= time.Second
	a.ModifiedAt, b.ModifiedAt = time.Time{}, time.Time{}
	return near && a == b
}

func testEmpty(t *testing.T, s storage.Store) {
	obj := put(t, s, "empty", nil)
	if obj.SizeBytes != 0 || obj.SHA256 != digestOf(nil) {
		t.Errorf("put answers %+v", obj)
	}
	for _, length := range []int64{-1, 1, 1000} {
		if got := read(t, s, "empty", 0, length); len(got) != 0 {
			t.Errorf("length %d: read %d bytes", length, len(got))
		}
	}
	_, _, err := s.Open(t.Context(), "empty", 1, -1)
	wantError(t, "offset 1", err, storage.ErrRange)
}

func testRanges(t *testing.T, s storage.Store) {
	data := randomBytes(1000, 2)
	put(t, s, "r", data)
	for _, tt := range []struct{ offset, length, from, to int64 }{
		{0, -1, 0, 1000}, {0, 1, 0, 1}, {0, 1000, 0, 1000}, {0, 5000, 0, 1000}, {10, 20, 10, 30}, {999, 1, 999, 1000}, {999, -1, 999, 1000},
		{500, 1 << 40, 500, 1000},
	} {
		if got := read(t, s, "r", tt.offset, tt.length); !bytes.Equal(got, data[tt.from:tt.to]) {
			t.Errorf("%d+%d: got %d bytes, want %d..%d", tt.offset, tt.length, len(got), tt.from, tt.to)
		}
	}
	r, obj, err := s.Open(t.Context(), "r", 10, 20)
	if err != nil || obj.SizeBytes != 1000 || obj.SHA256 != digestOf(data) {
		t.Errorf("a range tells %+v, %v, want the whole size and digest", obj, err)
	}
	r.Close()
	for _, tt := range []struct{ offset, length int64 }{{1000, -1}, {1000, 1}, {5000, 10}, {-1, 5}, {0, 0}, {3, -2}} {
		_, _, err := s.Open(t.Context(), "r", tt.offset, tt.length)
		wantError(t, "range", err, storage.ErrRange)
	}
}

func testExists(t *testing.T, s storage.Store) {
	first := put(t, s, "k", []byte("first"))
	there, err := s.Put(t.Context(), "k", stream{strings.NewReader("second")}, storage.PutOptions{SizeBytes: -1})
	wantError(t, "second put", err, storage.ErrExists)
	if !sameObject(there, first) {
		t.Errorf("the refusal tells %+v, want %+v", there, first)
	}
	if got := read(t, s, "k", 0, -1); string(got) != "first" {
		t.Errorf("the object became %q", got)
	}
}

type failing struct {
	data io.Reader
	err  error
}

func (f *failing) Read(p []byte) (int, error) {
	n, err := f.data.Read(p)
	if err == io.EOF {
		err = f.err
	}
	return n, err
}

func testSourceFails(t *testing.T, s storage.Store) {
	broken := errors.New("the client went away")
	for _, n := range []int{0, 1, 1000, 200_000, 20 << 20} {
		source := &failing{data: bytes.NewReader(make([]byte, n)), err: broken}
		_, err := s.Put(t.Context(), "k", source, storage.PutOptions{SizeBytes: -1})
		wantError(t, "put", err, broken)
		wantNothing(t, s, "k")
	}
	put(t, s, "k", []byte("now it works"))
}

func testVerifies(t *testing.T, s storage.Store) {
	data := []byte("0123456789")
	for _, o := range []storage.PutOptions{
		{SizeBytes: 9}, {SizeBytes: 11}, {SizeBytes: 0}, {SizeBytes: 10, SHA256: digestOf([]byte("other"))}, {SizeBytes: -1, SHA256: "zz"},
	} {
		_, err := s.Put(t.Context(), "k", stream{bytes.NewReader(data)}, o)
		wantError(t, "put", err, storage.ErrCorrupt)
		wantNothing(t, s, "k")
	}
}

func testSeekable(t *testing.T, s storage.Store) {
	r := strings.NewReader("header and body")
	if _, err := r.Seek(11, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), "k", r, storage.PutOptions{SizeBytes: 4}); err != nil {
		t.Fatal(err)
	}
	if got := read(t, s, "k", 0, -1); string(got) != "body" {
		t.Errorf("stored %q", got)
	}
}

func testMissing(t *testing.T, s storage.Store) {
	_, err := s.Stat(t.Context(), "no/such")
	wantError(t, "stat", err, storage.ErrNotFound)
	_, _, err = s.Open(t.Context(), "no/such", 0, -1)
	wantError(t, "open", err, storage.ErrNotFound)
	_, _, err = s.Open(t.Context(), "no/such", 5, 5)
	wantError(t, "open a range", err, storage.ErrNotFound)
	if err := s.Delete(t.Context(), "no/such"); err != nil {
		t.Errorf("delete: %v", err)
	}
}

func testDelete(t *testing.T, s storage.Store) {
	put(t, s, "a/b/c", []byte("one"))
	if err := s.Delete(t.Context(), "a/b/c"); err != nil {
		t.Fatal(err)
	}
	wantNothing(t, s, "a/b/c")
	put(t, s, "a/b/c", []byte("two"))
	if got := read(t, s, "a/b/c", 0, -1); string(got) != "two" {
		t.Errorf("read %q", got)
	}
}

// largeBytes needs several parts of a multipart upload and is no multiple of a part.
const largeBytes = 60<<20 + 17

func testLarge(t *testing.T, s storage.Store) {
	data := randomBytes(largeBytes, 3)
	obj := put(t, s, "large/streamed", data)
	if obj.SizeBytes != largeBytes || obj.SHA256 != digestOf(data) {
		t.Errorf("put answers %+v", obj)
	}
	if _, err := s.Put(t.Context(), "large/seekable", bytes.NewReader(data), storage.PutOptions{SizeBytes: largeBytes}); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"large/streamed", "large/seekable"} {
		if got := read(t, s, key, 0, -1); !bytes.Equal(got, data) {
			t.Errorf("%s: other bytes came back, %d of them", key, len(got))
		}
	}
	if got := read(t, s, "large/streamed", 40<<20, 100); !bytes.Equal(got, data[40<<20:40<<20+100]) {
		t.Error("the range is another one")
	}
	there, err := s.Put(t.Context(), "large/streamed", bytes.NewReader(data), storage.PutOptions{SizeBytes: -1})
	wantError(t, "second put", err, storage.ErrExists)
	if there.SHA256 != digestOf(data) {
		t.Errorf("the refusal tells %+v", there)
	}
}

func testCheck(t *testing.T, s storage.Store) {
	for range 2 {
		if err := s.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	wantNothing(t, s, "check")
	if n, err := s.Sweep(t.Context()); n != 0 || err != nil {
		t.Errorf("sweep of a clean store: %d, %v", n, err)
	}
}

func testContext(t *testing.T, s storage.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Put(ctx, "k", stream{bytes.NewReader(randomBytes(300_000, 4))}, storage.PutOptions{SizeBytes: -1})
	wantError(t, "put", err, context.Canceled)
	wantNothing(t, s, "k")
	put(t, s, "k", nil)
	_, err = s.List(ctx, "", "", 10)
	wantError(t, "list", err, context.Canceled)
}
