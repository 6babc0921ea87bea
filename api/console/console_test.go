package console_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"telefuser/api/console"
)

// bytesMax bounds what the program carries for the console.
const bytesMax = 700 << 10

type manifest struct {
	Sources map[string]string `json:"sources"`
	Files   map[string]string `json:"files"`
}

// hashes are the SHA-256 sums of the files under the roots, by path from trim.
func hashes(t *testing.T, trim string, roots ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			body, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum := sha256.Sum256(body)
			out[strings.TrimPrefix(filepath.ToSlash(path), trim)] = hex.EncodeToString(sum[:])
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestTheBuiltFilesAreOfTheseSources fails when sources were changed and `make console` was not run, or built files were touched by hand.
func TestTheBuiltFilesAreOfTheseSources(t *testing.T) {
	text, err := os.ReadFile("dist/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	if got := hashes(t, "", "src", "build.mjs", "package.json", "package-lock.json"); !maps.Equal(got, m.Sources) {
		t.Errorf("dist is not of these sources: run make console\nhas  %v\nwants %v", differ(m.Sources, got), differ(got, m.Sources))
	}
	files := hashes(t, "dist/", "dist")
	delete(files, "manifest.json")
	if !maps.Equal(files, m.Files) {
		t.Errorf("dist holds other files than it was built with: run make console\nhas  %v\nwants %v", differ(files, m.Files), differ(m.Files, files))
	}
}

// differ are the paths of a that b has not, or has otherwise.
func differ(a, b map[string]string) []string {
	var out []string
	for path, sum := range a {
		if b[path] != sum {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

func TestTheBuiltFilesAreFew(t *testing.T) {
	var total int64
	err := filepath.WalkDir("dist", func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if total > bytesMax {
		t.Errorf("dist has %d bytes, at most %d", total, bytesMax)
	}
}

// TestVersionsArePinned holds the package file and versions.mk together.
func TestVersionsArePinned(t *testing.T) {
	versions, err := os.ReadFile("../../versions.mk")
	if err != nil {
		t.Fatal(err)
	}
	var packages struct {
		Dependencies    map[string]string `json:"dependencies"`
		DevDependencies map[string]string `json:"devDependencies"`
	}
	text, err := os.ReadFile("package.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &packages); err != nil {
		t.Fatal(err)
	}
	for name, version := range map[string]string{"LIVEKIT_CLIENT_VERSION": packages.Dependencies["livekit-client"], "ESBUILD_VERSION": packages.DevDependencies["esbuild"]} {
		if !regexp.MustCompile(`(?m)^` + name + ` +:= ` + regexp.QuoteMeta(version) + `$`).Match(versions) {
			t.Errorf("versions.mk lacks %s := %s", name, version)
		}
	}
}

func TestLicencesAreKept(t *testing.T) {
	text, err := os.ReadFile("dist/assets/third-party.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"livekit-client 2.23.0 (Apache-2.0)", "Apache License", "Copyright"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("third-party.txt lacks %q", want)
		}
	}
	scripts, err := filepath.Glob("dist/assets/*.js")
	if err != nil || len(scripts) < 2 {
		t.Fatalf("scripts %v, %v", scripts, err)
	}
	for _, path := range scripts {
		script, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(script[:200]), "Apache-2.0; see third-party.txt") {
			t.Errorf("%s does not name its licence", path)
		}
	}
}

// serve asks a console for its page.
func serve(t *testing.T, mediaURL string, header ...string) *http.Response {
	t.Helper()
	c, err := console.New(func() string { return mediaURL })
	if err != nil {
		t.Fatal(err)
	}
	w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	c.ServePage(w, r)
	return w.Result()
}

func TestThePolicyNamesTheMediaServerAlone(t *testing.T) {
	for mediaURL, want := range map[string]string{
		"":                           "connect-src 'self';",
		"ws://127.0.0.1:7880":        "connect-src 'self' ws://127.0.0.1:7880 http://127.0.0.1:7880;",
		"wss://live.example.com/rtc": "connect-src 'self' wss://live.example.com https://live.example.com;",
		"https://live.example.com":   "connect-src 'self' wss://live.example.com https://live.example.com;",
		"wss://a;script-src *":       "connect-src 'self';",
		"ftp://files.example.com":    "connect-src 'self';",
		"not an address":             "connect-src 'self';",
	} {
		r := serve(t, mediaURL)
		policy := r.Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, want) || strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
			t.Errorf("%q: policy %q, want %q", mediaURL, policy, want)
		}
	}
}

func TestThePageIsAskedAgainAndFilesAreKept(t *testing.T) {
	c, err := console.New(func() string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	page := serve(t, "")
	if page.Header.Get("Cache-Control") != "no-cache" || page.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("the page's headers: %v", page.Header)
	}
	if again := serve(t, "", "If-None-Match", page.Header.Get("Etag")); again.StatusCode != http.StatusNotModified {
		t.Errorf("the page again: %d", again.StatusCode)
	}
	body, err := os.ReadFile("dist/index.html")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`"/console/([^"]+)"`).FindAllStringSubmatch(string(body), -1)
	if len(names) != 2 {
		t.Fatalf("the page names %v", names)
	}
	for _, name := range names {
		w := httptest.NewRecorder()
		if !c.ServeAsset(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/console/"+name[1], nil), name[1]) {
			t.Errorf("%s is not there", name[1])
		}
		if caching := w.Header().Get("Cache-Control"); !strings.Contains(caching, "immutable") {
			t.Errorf("%s: Cache-Control %q", name[1], caching)
		}
		if kind := w.Header().Get("Content-Type"); !strings.HasPrefix(kind, "text/javascript") && !strings.HasPrefix(kind, "text/css") {
			t.Errorf("%s: Content-Type %q", name[1], kind)
		}
	}
	if c.ServeAsset(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/console/manifest.json.bak", nil), "manifest.json.bak") {
		t.Error("a file that is not there is served")
	}
}

// TestNoOtherHost looks for addresses in what the console itself is made of.
func TestNoOtherHost(t *testing.T) {
	err := filepath.WalkDir("src", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, found := range regexp.MustCompile(`https?://[^\s"'%]+`).FindAllString(string(text), -1) {
			if found != "http://www.w3.org/2000/svg" {
				t.Errorf("%s names %s", path, found)
			}
		}
		for _, unsafe := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("} {
			if strings.Contains(string(text), unsafe) {
				t.Errorf("%s uses %s", path, unsafe)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
