package faults_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
)

// meddler may answer a request of the object store itself, and says so.
type meddler func(w http.ResponseWriter, r *http.Request) bool

// gate stands before the object store and knows its language.
type gate struct {
	addr    string
	forward *httputil.ReverseProxy
	meddle  atomic.Pointer[meddler]
}

// startGate serves until the test ends.
func startGate(t *testing.T, endpoint string) *gate {
	t.Helper()
	target, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{forward: &httputil.ReverseProxy{
		// The signature covers the host that the client meant.
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = r.In.Host },
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		Transport:    &http.Transport{MaxIdleConnsPerHost: 32, DisableCompression: true},
	}}
	server := httptest.NewServer(g)
	g.addr = server.Listener.Addr().String()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return g
}

// ServeHTTP asks the meddler first.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if m := g.meddle.Load(); m == nil || !(*m)(w, r) {
		g.forward.ServeHTTP(w, r)
	}
}

// set lets a meddler in; nil takes it out.
func (g *gate) set(m meddler) {
	if m == nil {
		g.meddle.Store(nil)
		return
	}
	g.meddle.Store(&m)
}

// slowDown refuses every request whose turn it is, as a store that has too much to do.
func slowDown(turn func(n int64) bool) meddler {
	var n atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !turn(n.Add(1)) {
			return false
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>`)
		return true
	}
}
