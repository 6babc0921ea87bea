package storage_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"telefuser/storage"
)

// leave writes a file as a crashed process would have left it, last touched at the given age.
func leave(t *testing.T, dir, name, content string, age time.Duration) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-age)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
}

// files lists everything under dir but folders.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			names = append(names, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

const intentOf = `{"key":"videos/v1.mp4","blob":"BLOB","size_bytes":4,"sha256":"","content_type":"video/mp4","modified_at":"2026-01-01T00:00:00Z"}`

func TestFileDriverSweepsWhatCrashedPutsLeft(t *testing.T) {
	const old = 2 * time.Hour
	for name, left := range map[string]map[string]string{
		"while the bytes were written":          {".tmp/BLOB.data": "he"},
		"while the record was written":          {".tmp/BLOB.data": "here", ".tmp/BLOB.json": intentOf[:20]},
		"before the bytes were published":       {".tmp/BLOB.data": "here", ".tmp/BLOB.json": intentOf},
		"between the bytes and the record":      {".tmp/BLOB.json": intentOf, "videos/BLOB@v1.mp4": "here"},
		"in the middle of a delete":             {".tmp/OTHER.json": intentOf, "videos/BLOB@v1.mp4": "here"},
		"a check that did not come to an end":   {".tmp/X.check": "check"},
		"a record that names a key out of here": {".tmp/BLOB.json": strings.Replace(intentOf, "videos/v1.mp4", "../outside", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, content := range left {
				leave(t, dir, file, content, old)
			}
			s := openFile(t, dir)
			if got := files(t, dir); len(got) != 0 {
				t.Errorf("left over: %v", got)
			}
			if _, err := s.Stat(t.Context(), "videos/v1.mp4"); !errors.Is(err, storage.ErrNotFound) {
				t.Errorf("stat: %v", err)
			}
		})
	}
}

func TestFileDriverSweepKeepsWhatIsYoungOrPublished(t *testing.T) {
	dir := t.TempDir()
	leave(t, dir, ".tmp/YOUNG.data", "still being written", 10*time.Minute)
	leave(t, dir, ".tmp/YOUNG.json", intentOf, 10*time.Minute)
	leave(t, dir, "videos/BLOB@v1.mp4", "here", 3*time.Hour)
	openFile(t, dir)
	if got := files(t, dir); len(got) != 3 {
		t.Errorf("a put under way lost files, there are %v", got)
	}
	// The put goes on and its process dies after the link, before it cleans up.
	leave(t, dir, "videos/@v1.mp4", intentOf, 3*time.Hour)
	leave(t, dir, ".tmp/YOUNG.json", intentOf, 3*time.Hour)
	s := openFile(t, dir)
	obj, err := s.Stat(t.Context(), "videos/v1.mp4")
	if err != nil || obj.SizeBytes != 4 || obj.ContentType != "video/mp4" {
		t.Errorf("the published object: %+v, %v", obj, err)
	}
	if got := files(t, dir); len(got) != 3 {
		t.Errorf("there are %v, want bytes, record and the young file", got)
	}
}

func TestFileDriverSurvivesReopening(t *testing.T) {
	dir := t.TempDir()
	first := openFile(t, dir)
	want, err := first.Put(t.Context(), "a/b", strings.NewReader("kept"), storage.PutOptions{SizeBytes: -1, ContentType: "text/plain"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := openFile(t, dir).Stat(t.Context(), "a/b")
	if err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestFileDriverLeavesNoFilesBehind(t *testing.T) {
	dir := t.TempDir()
	s := openFile(t, dir)
	for _, key := range []string{"a/b/c", "a/b/d", "e"} {
		if _, err := s.Put(t.Context(), key, strings.NewReader("x"), storage.PutOptions{SizeBytes: -1}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Put(t.Context(), "e", strings.NewReader("y"), storage.PutOptions{SizeBytes: -1}); err == nil {
		t.Error("a taken key was put")
	}
	if got := files(t, dir); len(got) != 6 {
		t.Errorf("3 objects are %v", got)
	}
	for _, key := range []string{"a/b/c", "a/b/d", "e"} {
		if err := s.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != ".tmp" {
		t.Errorf("after all deletes there are %v, %v", entries, err)
	}
}

func TestFileDriverNoticesDamage(t *testing.T) {
	dir := t.TempDir()
	s := openFile(t, dir)
	for _, key := range []string{"short", "gone", "garbled"} {
		if _, err := s.Put(t.Context(), key, strings.NewReader("0123456789"), storage.PutOptions{SizeBytes: -1}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range files(t, dir) {
		path := filepath.Join(dir, name)
		switch {
		case strings.HasSuffix(name, "@short") && name != "@short":
			if err := os.Truncate(path, 5); err != nil {
				t.Fatal(err)
			}
		case strings.HasSuffix(name, "@gone") && name != "@gone":
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		case name == "@garbled":
			if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for key, want := range map[string]error{"short": storage.ErrCorrupt, "gone": storage.ErrNotFound, "garbled": storage.ErrCorrupt} {
		if _, _, err := s.Open(t.Context(), key, 0, -1); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", key, err, want)
		}
	}
}

func TestFileDriverDoesNotFollowLinksOutside(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	leave(t, outside, "@secret", `{"key":"x/secret","blob":"B","size_bytes":6}`, 0)
	leave(t, outside, "B@secret", "canary", 0)
	s := openFile(t, dir)
	if err := os.Symlink(outside, filepath.Join(dir, "x")); err != nil {
		t.Fatal(err)
	}
	if r, _, err := s.Open(t.Context(), "x/secret", 0, -1); err == nil {
		r.Close()
		t.Error("a link out of the root was followed for reading")
	}
	if _, err := s.Put(t.Context(), "x/new", strings.NewReader("x"), storage.PutOptions{SizeBytes: -1}); err == nil {
		t.Error("a link out of the root was followed for writing")
	}
	if got := files(t, outside); len(got) != 2 {
		t.Errorf("outside there is %v", got)
	}
}

func TestFileDriverIsNotReadyWithoutItsDirectory(t *testing.T) {
	dir := t.TempDir()
	s := openFile(t, dir)
	if err := os.RemoveAll(filepath.Join(dir, ".tmp")); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); err == nil {
		t.Error("ready without a place to write to")
	}
}

func TestFileDriverCannotSign(t *testing.T) {
	_, err := openFile(t, t.TempDir()).Sign(t.Context(), "k", storage.SignOptions{TTL: time.Minute})
	if !errors.Is(err, storage.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}
