package api_test

import (
	"bytes"
	"mime"
	"strings"
	"testing"
)

func TestFilesLife(t *testing.T) {
	s := newStack(t)
	picture := testPNG(t, 64, 64)
	f := s.postForm(t, "/v1/files", field("purpose", "vision"), file("file", "猫.png", "image/png", picture)).object(t, 200)
	id, _ := f["id"].(string)
	if f["object"] != "file" || f["filename"] != "猫.png" || f["purpose"] != "vision" || f["status"] != "processed" || f["expires_at"] != nil {
		t.Errorf("the file is %v", f)
	}
	if again := s.request(t, "GET", "/v1/files/"+id, nil).object(t, 200); again["id"] != id || again["bytes"] != f["bytes"] {
		t.Errorf("read again it is %v", again)
	}
	r := s.request(t, "GET", "/v1/files/"+id+"/content", nil)
	_, params, err := mime.ParseMediaType(r.header.Get("Content-Disposition"))
	if r.status != 200 || !bytes.Equal(r.body, picture) || r.header.Get("Content-Type") != "application/octet-stream" || err != nil || params["filename"] != "猫.png" ||
		!strings.HasPrefix(r.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("the content: %d %v %v", r.status, r.header, params)
	}
	v := s.create(t, map[string]any{"model": "terrain", "size": "64x64", "input_reference": map[string]string{"file_id": id}})
	if job, err := s.jobs.Get(t.Context(), "local", v["id"].(string)); err != nil || job.Spec.Task != "i2v" {
		t.Errorf("the job is %+v %v", job.Spec, err)
	}
	if gone := s.request(t, "DELETE", "/v1/files/"+id, nil).object(t, 200); gone["deleted"] != true || gone["object"] != "file" || gone["id"] != id {
		t.Errorf("DELETE: %v", gone)
	}
	for _, path := range []string{"", "/content"} {
		s.request(t, "GET", "/v1/files/"+id+path, nil).problem(t, 404)
	}
	s.request(t, "DELETE", "/v1/files/"+id, nil).problem(t, 404)
	if p := s.postJSON(t, "/v1/videos", map[string]any{"prompt": "a", "input_reference": map[string]string{"file_id": id}}).problem(t, 400); p["param"] != "input_reference" {
		t.Errorf("a deleted file as a reference: %v", p)
	}
}

// TestNoFileNameReachesTheStore uploads under names that lead elsewhere.
func TestNoFileNameReachesTheStore(t *testing.T) {
	s := newStack(t)
	for name, shown := range map[string]string{"../../../tmp/evil.png": "evil.png", "/etc/x": "x", `C:\Users\a.png`: "a.png", strings.Repeat("n", 4000): strings.Repeat("n", 255),
		"CON": "CON", "..": "..", ".": "upload", "a\tb": "ab", "": "upload"} {
		f := s.postForm(t, "/v1/files", field("purpose", "user_data"), file("file", name, "", []byte("data"))).object(t, 200)
		if f["filename"] != shown {
			t.Errorf("%.40q is shown as %.40q, want %.40q", name, f["filename"], shown)
		}
	}
	for _, key := range s.objects(t) {
		if !strings.HasPrefix(key, "files/file-") || !strings.HasSuffix(key, "/content") {
			t.Errorf("an object lies at %s", key)
		}
	}
	s.noTempFiles(t)
}

func TestFilePages(t *testing.T) {
	s := newStack(t)
	for i := range 6 {
		purpose := []string{"vision", "batch"}[i%2]
		s.postForm(t, "/v1/files", field("purpose", purpose), file("file", "a", "", []byte("data"))).object(t, 200)
	}
	for query, want := range map[string]int{"": 6, "limit=2": 2, "purpose=batch": 3, "purpose=vision&order=asc": 3, "purpose=evals": 0} {
		list := s.request(t, "GET", "/v1/files?"+query, nil).object(t, 200)
		if n := len(list["data"].([]any)); n != want || (list["has_more"] == true) != (query == "limit=2") {
			t.Errorf("?%s: %d files, has_more %v", query, n, list["has_more"])
		}
	}
	// A page of two whose rows are all of another purpose must not end a pager.
	seen := map[string]bool{}
	for after, more := "", true; more; {
		list := s.request(t, "GET", "/v1/files?limit=1&purpose=batch&after="+after, nil).object(t, 200)
		for _, row := range list["data"].([]any) {
			after, _ = row.(map[string]any)["id"].(string)
			seen[after] = true
		}
		if more = list["has_more"] == true; more && len(list["data"].([]any)) == 0 {
			t.Fatal("an empty page says that there is more")
		}
	}
	if len(seen) != 3 {
		t.Errorf("paging found %d files", len(seen))
	}
}

func TestCharacters(t *testing.T) {
	s := newStack(t)
	for name, clip := range map[string][]byte{"mp4": tinyClip(t), "mov": []byte("\x00\x00\x00\x14ftypqt  \x00\x00\x00\x00qt  "), "webm": []byte("\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01")} {
		c := s.postForm(t, "/v1/videos/characters", field("name", "Mossy "+name), file("video", "any", "application/octet-stream", clip)).object(t, 200)
		again := s.request(t, "GET", "/v1/videos/characters/"+c["id"].(string), nil).object(t, 200)
		if again["name"] != "Mossy "+name || again["id"] != c["id"] || again["created_at"] != c["created_at"] {
			t.Errorf("%v, read again %v", c, again)
		}
	}
	s.postForm(t, "/v1/videos/characters", field("name", strings.Repeat("猫", 80)), file("video", "a", "", tinyClip(t))).object(t, 200)
	s.request(t, "GET", "/v1/videos/characters/nope", nil).problem(t, 404)
}
