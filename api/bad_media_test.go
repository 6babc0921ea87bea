package api_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"telefuser/internal/outbound/outboundtest"
	"telefuser/workers/media/mediatest"
)

// TestBadMedia sends every bad file, and some flipped ones, by the ways that a picture has, bombs by each of them, and the bad clips by theirs. What is no picture is a 400 of the
// field; what is an odd one is kept as a picture of ours and nothing else. Nobody reads the file or calls the address that some of them name.
func TestBadMedia(t *testing.T) {
	canary := outboundtest.NewCanary(t)
	path := filepath.Join(t.TempDir(), "canary.txt")
	if err := os.WriteFile(path, []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	opened := watchFile(t, path)
	bait := mediatest.Bait{Path: path, URL: "http://127.0.0.1:" + strconv.Itoa(canary.Port) + "/canary"}
	var l live
	s := newStack(t, withSessions(t, &l))
	flips := 60
	if safetyLong {
		flips = 1000
	}
	files := append(mediatest.Files(bait), mediatest.Flipped(2, flips)...)
	answers := map[int]int{}
	ways := []string{"multipart", "data URL", "file_id"}
	for i, f := range files {
		for _, way := range ways {
			if !f.Bomb && !safetyLong && way != ways[i%len(ways)] {
				continue
			}
			r := s.sendMedia(t, way, f)
			answers[r.status]++
			s.checkMedia(t, way, f, r)
		}
	}
	for _, f := range mediatest.Clips(bait) {
		s.postForm(t, "/v1/videos/characters", field("name", "a"), file("video", "a.mp4", "video/mp4", f.Data)).object(t, 200)
		if p := s.postForm(t, "/v1/videos/edits", field("prompt", "a"), field("model", "terrain"), file("video", "a.mp4", "video/mp4", f.Data)).problem(t, 400); p["param"] != "video" {
			t.Errorf("%s: %v", f.Name, p)
		}
	}
	t.Logf("%d files; answers by status: %v", len(files), answers)
	if answers[200] == 0 || answers[400] == 0 || len(answers) > 3 {
		t.Errorf("answers by status: %v", answers)
	}
	s.noTempFiles(t)
	if logs := s.logs.String(); strings.Contains(logs, "panic") || strings.Contains(logs, `"level":"ERROR"`) {
		t.Errorf("the log complains: %.2000s", logs)
	}
	if n := canary.Sang(); n != 0 {
		t.Errorf("somebody called the address in a file %d times", n)
	}
	if opened() {
		t.Error("somebody opened the file that is named in a file")
	}
	readFile(t, path)
	if !opened() {
		t.Skip("this system does not tell when a file is opened")
	}
}

// sendMedia asks for a video of a picture.
func (s *stack) sendMedia(t *testing.T, way string, f mediatest.File) reply {
	t.Helper()
	const model, size = "terrain", "64x64"
	body := map[string]any{"prompt": "a", "model": model, "size": size}
	switch way {
	case "multipart":
		return s.postForm(t, "/v1/videos", field("prompt", "a"), field("model", model), field("size", size), file("input_reference", "a.png", "image/png", f.Data))
	case "data URL":
		body["input_reference"] = map[string]any{"image_url": "data:image/png;base64," + base64.StdEncoding.EncodeToString(f.Data)}
	case "file_id":
		r := s.postForm(t, "/v1/files", field("purpose", "vision"), file("file", "a.png", "image/png", f.Data))
		if len(f.Data) == 0 {
			return r // an empty file is refused already
		}
		body["input_reference"] = map[string]any{"file_id": r.object(t, 200)["id"]}
	}
	return s.postJSON(t, "/v1/videos", body)
}

// checkMedia wants a refusal that names the field, or a clean picture in the store.
func (s *stack) checkMedia(t *testing.T, way string, f mediatest.File, r reply) {
	t.Helper()
	switch {
	case r.status == 400 || r.status == 413:
		p := r.problem(t, r.status)
		if p["param"] != "input_reference" && p["param"] != "file" || bytes.Contains(r.body, []byte("canary")) {
			t.Errorf("%s, %s: %s", f.Name, way, r.body)
		}
	case r.status != 200 || !f.Odd:
		t.Errorf("%s, %s: %d %s", f.Name, way, r.status, r.body)
	default:
		id, _ := r.object(t, 200)["id"].(string)
		body, _, err := s.store.Open(t.Context(), "inputs/"+id+"/reference.png", 0, -1)
		if err != nil {
			t.Fatalf("%s, %s: %v", f.Name, way, err)
		}
		kept, err := io.ReadAll(body)
		_ = body.Close()
		if err != nil || !cleanPNG(kept) {
			t.Errorf("%s, %s: what is kept is not clean: %q, %v", f.Name, way, kept[:min(len(kept), 200)], err)
		}
		if deleted := s.request(t, http.MethodDelete, "/v1/videos/"+id, nil); deleted.status != 200 {
			t.Errorf("%s, %s: delete: %d", f.Name, way, deleted.status)
		}
	}
}

// cleanPNG is whether a file is a PNG of the three chunks that a picture needs, and nothing else.
func cleanPNG(file []byte) bool {
	rest, found := bytes.CutPrefix(file, []byte("\x89PNG\r\n\x1a\n"))
	for found && len(rest) >= 12 {
		size, kind := int(binary.BigEndian.Uint32(rest))+12, string(rest[4:8])
		if kind != "IHDR" && kind != "IDAT" && kind != "IEND" || size > len(rest) {
			return false
		}
		rest = rest[size:]
		if kind == "IEND" {
			return len(rest) == 0
		}
	}
	return false
}
