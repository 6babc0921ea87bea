package console

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
)

//go:embed dist
var dist embed.FS

// The directives of the page's policy: its own files, its own server, blobs that it made, and the media server.
const (
	policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; connect-src %s; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
	pageCaching  = "no-cache"
	assetCaching = "public, max-age=31536000, immutable"
)

// Console serves the page and its files. The files are named after their contents, so that a browser may keep them for ever.
type Console struct {
	page   asset
	assets map[string]asset
	// mediaURL may answer "" for a while: a media server may start after the API.
	mediaURL func() string
}

// asset is one file as it is sent.
type asset struct {
	body        []byte
	contentType string
	etag        string
}

// New reads what was embedded. mediaURL answers where browsers reach the media server, "" while there is none; it is asked with every page.
func New(mediaURL func() string) (*Console, error) {
	sums, err := readManifest(dist)
	if err != nil {
		return nil, err
	}
	c := &Console{assets: map[string]asset{}, mediaURL: mediaURL}
	for name, sum := range sums.Files {
		body, err := fs.ReadFile(dist, "dist/"+name)
		if err != nil {
			return nil, fmt.Errorf("console: %w", err)
		}
		a := asset{body: body, contentType: contentType(name), etag: `"` + sum[:16] + `"`}
		if name == "index.html" {
			c.page = a
			continue
		}
		c.assets[path.Base(name)] = a
	}
	return c, nil
}

// contentType knows the few kinds of files there are, without asking the machine.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".txt":
		return "text/plain; charset=utf-8"
	}
	return mime.TypeByExtension(path.Ext(name))
}

// connectSources are the hosts that the page may talk to. The client of the media server uses a WebSocket, and HTTP on the same host to learn why one failed.
func connectSources(mediaURL string) []string {
	sources := []string{"'self'"}
	u, err := url.Parse(mediaURL)
	if err != nil || u.Host == "" || strings.ContainsAny(u.Host, " ;,'\"") {
		return sources
	}
	switch u.Scheme {
	case "ws", "http":
		return append(sources, "ws://"+u.Host, "http://"+u.Host)
	case "wss", "https":
		return append(sources, "wss://"+u.Host, "https://"+u.Host)
	}
	return sources
}

// ServePage answers with the page.
func (c *Console) ServePage(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", fmt.Sprintf(policy, strings.Join(connectSources(c.mediaURL()), " ")))
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	c.page.serve(w, r, pageCaching)
}

// ServeAsset answers with the named file, and reports whether there is one; where there is none it writes nothing.
func (c *Console) ServeAsset(w http.ResponseWriter, r *http.Request, name string) bool {
	a, ok := c.assets[name]
	if !ok {
		return false
	}
	caching := assetCaching
	if !strings.Contains(name, "-") || path.Ext(name) == ".txt" { // not named after its contents
		caching = pageCaching
	}
	w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
	a.serve(w, r, caching)
	return true
}

func (a asset) serve(w http.ResponseWriter, r *http.Request, caching string) {
	header := w.Header()
	header.Set("Content-Type", a.contentType)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", caching)
	header.Set("Etag", a.etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.body))
}
