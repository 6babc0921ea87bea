package api_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"telefuser/api"
	"telefuser/openapi"
)

// TestRoutesAreThoseOfTheFile holds the router and openapi.yaml together.
func TestRoutesAreThoseOfTheFile(t *testing.T) {
	s := newStack(t)
	doc, err := strictSpec()
	if err != nil {
		t.Fatal(err)
	}
	var described []string
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			described = append(described, method+" "+path)
		}
	}
	parameter := regexp.MustCompile(`:([a-z_]+)`)
	var served []string
	for _, route := range api.Routes(s.server) {
		route = parameter.ReplaceAllString(route, "{$1}")
		if strings.HasPrefix(route, "HEAD ") && !slices.Contains(described, route) {
			continue // what HEAD means follows from GET; TestHead sees that it is there
		}
		served = append(served, route)
	}
	slices.Sort(described)
	slices.Sort(served)
	if !slices.Equal(described, served) {
		t.Errorf("the file has\n%s\nthe router has\n%s", strings.Join(described, "\n"), strings.Join(served, "\n"))
	}
}

func TestUnknownRoutesAndMethods(t *testing.T) {
	s := newStack(t)
	for _, c := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/console", 404, ""}, {"GET", "/console/nope.js", 404, ""}, {"POST", "/", 405, "GET"}, {"GET", "/v1", 404, ""}, {"GET", "/v1/nope", 404, ""}, {"POST", "/v1/images/generations", 404, ""},
		{"GET", "/v1/videos/", 404, ""}, {"GET", "/v1/videos/edits/content/x", 404, ""}, {"GET", "/v2/videos", 404, ""}, {"GET", "/index.html", 404, ""},
		{"PUT", "/v1/videos", 405, "GET"}, {"PATCH", "/v1/videos", 405, "POST"}, {"DELETE", "/v1/videos", 405, "GET"},
		{"POST", "/v1/videos/video_01234567890123456789012345", 405, "DELETE"}, {"GET", "/v1/videos/edits", 405, "POST"},
		{"GET", "/v1/videos/extensions", 405, "POST"}, {"GET", "/v1/videos/characters", 405, "POST"}, {"DELETE", "/v1/videos/edits", 405, "POST"},
		{"GET", "/v1/videos/video_01234567890123456789012345/remix", 405, "POST"}, {"POST", "/v1/service/health", 405, "GET"},
		{"POST", "/v1/models", 405, "GET"}, {"BREW", "/v1/videos", 405, "GET"},
	} {
		r := s.request(t, c.method, c.path, nil)
		if r.status != c.status {
			t.Errorf("%s %s: status %d, want %d", c.method, c.path, r.status, c.status)
			continue
		}
		r.problem(t, c.status)
		if !strings.Contains(r.header.Get("Allow"), c.allow) {
			t.Errorf("%s %s: Allow %q lacks %s", c.method, c.path, r.header.Get("Allow"), c.allow)
		}
		if c.status == 405 && r.header.Get("Allow") == "" {
			t.Errorf("%s %s: no Allow", c.method, c.path)
		}
	}
}

// TestHead asks every route that answers GET and ends for its head alone.
func TestHead(t *testing.T) {
	s := newStack(t, withKeys)
	key := s.key(t, "acme")
	id := s.postJSON(t, "/v1/videos", `{"prompt":"a","model":"terrain"}`, "Authorization", key).object(t, 200)["id"].(string)
	routes := api.Routes(s.server)
	for _, route := range routes {
		path, isGet := strings.CutPrefix(route, "GET ")
		if !isGet || strings.HasSuffix(path, "/events") {
			continue
		}
		if !slices.Contains(routes, "HEAD "+path) {
			t.Errorf("%s does not answer HEAD", path)
		}
	}
	for _, path := range []string{"/health", "/metrics", "/v1/videos", "/v1/videos/" + id, "/v1/models", "/docs"} {
		get := s.request(t, "GET", path, nil, "Authorization", key)
		head := s.request(t, "HEAD", path, nil, "Authorization", key)
		if head.status != 200 || len(head.body) != 0 || head.header.Get("Content-Type") != get.header.Get("Content-Type") {
			t.Errorf("HEAD %s: %d, %d bytes of %q", path, head.status, len(head.body), head.header.Get("Content-Type"))
		}
	}
	if r := s.request(t, "HEAD", "/v1/videos", nil); r.status != 401 || len(r.body) != 0 {
		t.Errorf("HEAD without a key: %d", r.status)
	}
}

// TestOddIDsAreMissing sends what is no id through every route that has one.
func TestOddIDsAreMissing(t *testing.T) {
	s := newStack(t)
	odd := []string{"video_", "video_*", "video_0123456789012345678901234", "video_012345678901234567890123456", "VIDEO_01234567890123456789012345",
		"%2e%2e%2f", "..%2F..%2Fetc%2Fpasswd", "%00", "video_0123456789012345678901234%0a", "a:b", "{x}", "%7Bx%7D", "video_%E7%8C%AB0123456789012345678901",
		strings.Repeat("a", 4096), "b64dmlkZW86b3BlbmFp", "video%2F1", "null", "video_012345678901234567890123%2F5"}
	for _, id := range odd {
		for _, route := range []struct{ method, path string }{
			{"GET", "/v1/videos/" + id}, {"DELETE", "/v1/videos/" + id}, {"GET", "/v1/videos/" + id + "/content"}, {"GET", "/v1/videos/" + id + "/events"},
			{"GET", "/v1/videos/characters/" + id}, {"GET", "/v1/files/" + id}, {"DELETE", "/v1/files/" + id}, {"GET", "/v1/files/" + id + "/content"},
			{"GET", "/v1/models/" + id},
		} {
			r := s.request(t, route.method, route.path, nil)
			if r.status != http.StatusNotFound {
				t.Errorf("%s %.80s: status %d, want 404: %.200s", route.method, route.path, r.status, r.body)
			}
			r.problem(t, r.status)
		}
		r := s.postJSON(t, "/v1/videos/"+id+"/remix", `{"prompt":"a"}`)
		if r.status != http.StatusNotFound {
			t.Errorf("remix of %.80s: status %d, want 404", id, r.status)
		}
	}
}

func TestDescriptionIsServed(t *testing.T) {
	s := newStack(t)
	if r := s.request(t, "GET", "/openapi.yaml", nil); r.status != 200 || string(r.body) != openapi.YAML() {
		t.Errorf("/openapi.yaml: status %d, %d bytes", r.status, len(r.body))
	}
	if r := s.request(t, "GET", "/openapi.json", nil); r.object(t, 200)["openapi"] != "3.1.0" {
		t.Errorf("/openapi.json is not the description")
	}
	r := s.request(t, "GET", "/docs", nil)
	page := string(r.body)
	if r.status != 200 || !strings.Contains(page, "openapi.json") {
		t.Fatalf("/docs: status %d", r.status)
	}
	if regexp.MustCompile(`(src|href)="https?:|//[a-z]+\.[a-z]+/|@import|url\(http`).MatchString(page) {
		t.Error("/docs asks another host")
	}
	if policy := r.header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("/docs has the policy %q", policy)
	}
}
