package api_test

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
)

func TestContentVariants(t *testing.T) {
	s := newStack(t)
	s.work(t, finisher{})
	id := s.completed(t, map[string]any{"model": "terrain"})["id"].(string)
	for query, want := range map[string]string{"": "video/mp4", "?variant=": "video/mp4", "?variant=video": "video/mp4", "?variant=thumbnail": "image/webp", "?variant=spritesheet": "image/jpeg"} {
		for _, accept := range []string{"application/binary", "application/json, image/webp, video/mp4", "application/json", "*/*", "text/html"} {
			r := s.request(t, "GET", "/v1/videos/"+id+"/content"+query, nil, "Accept", accept, "Accept-Encoding", "gzip, br")
			if r.status != 200 || r.header.Get("Content-Type") != want || r.header.Get("Content-Encoding") != "" || len(r.body) == 0 {
				t.Errorf("%q with Accept %s: %d %v", query, accept, r.status, r.header)
			}
			if want == "video/mp4" && !bytes.Equal(r.body, tinyClip(t)) {
				t.Errorf("%q: other bytes", query)
			}
			if r.header.Get("ETag") == "" || r.header.Get("Accept-Ranges") != "bytes" || r.header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%q: headers %v", query, r.header)
			}
			_, params, err := mime.ParseMediaType(r.header.Get("Content-Disposition"))
			if err != nil || !strings.HasPrefix(params["filename"], id) || !strings.Contains(r.header.Get("Content-Disposition"), "filename*=UTF-8''") {
				t.Errorf("%q: disposition %q", query, r.header.Get("Content-Disposition"))
			}
		}
	}
	for _, variant := range []string{"0", "VIDEO", "audio"} {
		if p := s.request(t, "GET", "/v1/videos/"+id+"/content?variant="+variant, nil).problem(t, 400); p["param"] != "variant" {
			t.Errorf("variant %s: %v", variant, p)
		}
	}
}

func TestContentRangesAndConditions(t *testing.T) {
	s := newStack(t)
	s.work(t, finisher{})
	id := s.completed(t, map[string]any{"model": "terrain"})["id"].(string)
	path, clip := "/v1/videos/"+id+"/content", tinyClip(t)
	size := len(clip)
	full := s.request(t, "GET", path, nil)
	etag, modified := full.header.Get("ETag"), full.header.Get("Last-Modified")
	head := s.request(t, "HEAD", path, nil)
	if head.status != 200 || len(head.body) != 0 || head.header.Get("Content-Length") != fmt.Sprint(size) || head.header.Get("ETag") != etag {
		t.Errorf("HEAD: %d %v", head.status, head.header)
	}
	for _, c := range []struct {
		headers    []string
		status     int
		from, till int
	}{
		{[]string{"Range", "bytes=0-99"}, 206, 0, 100},
		{[]string{"Range", "bytes=100-"}, 206, 100, size},
		{[]string{"Range", "bytes=-10"}, 206, size - 10, size},
		{[]string{"Range", "bytes=10-999999999"}, 206, 10, size},
		{[]string{"Range", "bytes=0-0"}, 206, 0, 1},
		{[]string{"Range", fmt.Sprintf("bytes=%d-%d", size-1, size-1)}, 206, size - 1, size},
		{[]string{"Range", "chunks=0-1"}, 200, 0, size},
		{[]string{"Range", "bytes=0-99", "If-Range", etag}, 206, 0, 100},
		{[]string{"Range", "bytes=0-99", "If-Range", `"other"`}, 200, 0, size},
		{[]string{"Range", "bytes=0-99", "If-Range", modified}, 206, 0, 100},
		{[]string{"If-None-Match", etag}, 304, 0, 0},
		{[]string{"If-None-Match", `"other"`}, 200, 0, size},
		{[]string{"If-Modified-Since", modified}, 304, 0, 0},
		{[]string{"If-Match", etag}, 200, 0, size},
	} {
		r := s.request(t, "GET", path, nil, c.headers...)
		if r.status != c.status {
			t.Errorf("%v: status %d, want %d", c.headers, r.status, c.status)
			continue
		}
		if c.status != 304 && !bytes.Equal(r.body, clip[c.from:c.till]) {
			t.Errorf("%v: %d bytes, want those from %d to %d", c.headers, len(r.body), c.from, c.till)
		}
		if want := fmt.Sprintf("bytes %d-%d/%d", c.from, c.till-1, size); c.status == 206 && r.header.Get("Content-Range") != want {
			t.Errorf("%v: Content-Range %q, want %q", c.headers, r.header.Get("Content-Range"), want)
		}
	}
	for _, bad := range []string{fmt.Sprintf("bytes=%d-", size), "bytes=999999999-", "bytes=5-2", "bytes=a-b", "0-1", "bytes=-0x1", "bytes=-0"} {
		r := s.request(t, "GET", path, nil, "Range", bad)
		if p := r.problem(t, 416); p["param"] != "Range" || r.header.Get("ETag") != "" || r.header.Get("Content-Disposition") != "" {
			t.Errorf("%s: %v %v", bad, p, r.header)
		}
	}
	if p := s.request(t, "GET", path, nil, "If-Match", `"other"`).problem(t, 412); p["type"] != "invalid_request_error" {
		t.Errorf("412: %v", p)
	}
	manyRanges(t, s.request(t, "GET", path, nil, "Range", "bytes=0-1,10-19"), clip)
	if r := s.request(t, "GET", path, nil, "Range", "bytes="+strings.Repeat("0-,", 100)+"0-"); len(r.body) > size+1<<16 {
		t.Errorf("overlapping ranges gave %d bytes of %d", len(r.body), size)
	}
}

// TestManyRangesAreTheWholeFile because each of them would be a look into the store.
func TestManyRangesAreTheWholeFile(t *testing.T) {
	watched := &watchedStore{}
	s := newStack(t, func(in *setup) { in.deps.Store = watched })
	watched.Store = s.store
	s.work(t, finisher{})
	path := "/v1/videos/" + s.completed(t, map[string]any{"model": "terrain"})["id"].(string) + "/content"
	var ranges []string
	for i := range 17 {
		ranges = append(ranges, fmt.Sprintf("%d-%d", 2*i, 2*i))
	}
	for count, want := range map[int]int{16: http.StatusPartialContent, 17: http.StatusOK} {
		watched.take()
		r := s.request(t, "GET", path, nil, "Range", "bytes="+strings.Join(ranges[:count], ","))
		opened := len(watched.take())
		if r.status != want || want == http.StatusOK && (!bytes.Equal(r.body, tinyClip(t)) || opened != 1) {
			t.Errorf("%d ranges: status %d, %d bytes, %d looks into the store", count, r.status, len(r.body), opened)
		}
	}
}

// manyRanges wants two parts.
func manyRanges(t *testing.T, r reply, clip []byte) {
	t.Helper()
	mediaType, params, err := mime.ParseMediaType(r.header.Get("Content-Type"))
	if r.status != 206 || err != nil || mediaType != "multipart/byteranges" {
		t.Fatalf("two ranges: %d %v", r.status, r.header)
	}
	parts := multipart.NewReader(bytes.NewReader(r.body), params["boundary"])
	for _, want := range [][]byte{clip[0:2], clip[10:20]} {
		part, err := parts.NextPart()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(part); err != nil || !bytes.Equal(got, want) {
			t.Errorf("a part is %q, want %q", got, want)
		}
	}
}

func TestContentBeforeItIsThere(t *testing.T) {
	s := newStack(t)
	id := s.create(t, map[string]any{"model": "terrain"})["id"].(string)
	r := s.request(t, "GET", "/v1/videos/"+id+"/content", nil)
	if p := r.problem(t, 404); p["code"] != "video_not_ready" || p["type"] != "invalid_request_error" || r.header.Get("X-Should-Retry") != "false" {
		t.Errorf("%v %v", p, r.header)
	}
}

// TestLostFilesAreAnError and never a 200 that breaks off.
func TestLostFilesAreAnError(t *testing.T) {
	s := newStack(t)
	s.work(t, finisher{})
	id := s.completed(t, map[string]any{"model": "terrain"})["id"].(string)
	for _, key := range s.objects(t) {
		if err := s.store.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	for _, headers := range [][]string{nil, {"Range", "bytes=0-9"}} {
		if p := s.request(t, http.MethodGet, "/v1/videos/"+id+"/content", nil, headers...).problem(t, 404); p["code"] != "content_missing" {
			t.Errorf("%v: %v", headers, p)
		}
	}
}
