package outbound_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"telefuser/internal/outbound"
	"telefuser/internal/outbound/outboundtest"
)

const vectors = "testdata/ssrf.txt"

func client(t *testing.T, cfg outbound.Config) *outbound.Client {
	t.Helper()
	c, err := outbound.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestNoVectorReachesTheCanaryByPost is a webhook's way: the address is checked once, and called later.
func TestNoVectorReachesTheCanaryByPost(t *testing.T) {
	s := outboundtest.NewStage(t, vectors)
	c := client(t, s.Config)
	s.Each(t, func(t *testing.T, way, url string, flip func()) {
		err := c.CheckURL(t.Context(), url, outbound.Web())
		if (way == "direct") != (err != nil) {
			t.Errorf("%s, %s: registered with %v", url, way, err)
		}
		flip()
		answer, err := c.Post(t.Context(), outbound.Message{URL: url, Schemes: outbound.Web(), Body: []byte("{}")})
		if way == "redirect" && (err != nil || answer.Status != http.StatusFound) {
			t.Errorf("%s: a redirect was answered %d, %v", url, answer.Status, err)
		}
		if way != "redirect" && !errors.Is(err, outbound.ErrUnreachable) && !errors.Is(err, outbound.ErrURL) {
			t.Errorf("%s, %s: %v", url, way, err)
		}
	})
	if s.Hits() == 0 {
		t.Error("no redirect was ever asked for: the test proves nothing")
	}
}

// TestNoVectorReachesTheCanaryByFetch is a picture's way: redirects are followed.
func TestNoVectorReachesTheCanaryByFetch(t *testing.T) {
	s := outboundtest.NewStage(t, vectors)
	c := client(t, s.Config)
	s.Each(t, func(t *testing.T, way, url string, flip func()) {
		flip()
		body, err := c.Fetch(t.Context(), url, outbound.Web(), 1<<20)
		if err == nil {
			_ = body.Close()
			t.Errorf("%s, %s: fetched", url, way)
		}
		if !errors.Is(err, outbound.ErrUnreachable) && !errors.Is(err, outbound.ErrURL) {
			t.Errorf("%s, %s: %v", url, way, err)
		}
	})
	if s.Hits() == 0 {
		t.Error("no redirect was ever asked for: the test proves nothing")
	}
}

// TestTheAllowedNetworkIsReached shows that the stage can be played: what blocks the vectors is the guard, not the stage.
func TestTheAllowedNetworkIsReached(t *testing.T) {
	s := outboundtest.NewStage(t, vectors)
	s.Server = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"Cookie", "Authorization", "Referer"} {
			if r.Header.Get(name) != "" {
				t.Errorf("%s was sent along", name)
			}
		}
		w.Header().Set("Content-Type", "image/png")
		fmt.Fprint(w, "picture")
	})
	c := client(t, s.Config)
	if err := c.CheckURL(t.Context(), s.URL("/"), outbound.Web()); err != nil {
		t.Error(err)
	}
	for _, path := range []string{"/", "/self"} {
		body, err := c.Fetch(t.Context(), s.URL(path), outbound.Web(), 7)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(body)
		if err != nil || string(text) != "picture" || body.Close() != nil {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
	if answer, err := c.Post(t.Context(), outbound.Message{URL: s.URL("/"), Schemes: outbound.Web()}); err != nil || answer.Status != 200 {
		t.Errorf("post: %+v, %v", answer, err)
	}
}

// TestProxiesOfTheEnvironmentAreNotUsed points them all at the canary.
func TestProxiesOfTheEnvironmentAreNotUsed(t *testing.T) {
	s := outboundtest.NewStage(t, vectors)
	for _, name := range []string{"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, "http://"+outboundtest.Join("127.0.0.1", s.Canary.Port))
	}
	if _, err := client(t, s.Config).Post(t.Context(), outbound.Message{URL: s.URL("/"), Schemes: outbound.Web()}); err != nil {
		t.Error(err)
	}
	if n := s.Canary.Sang(); n != 0 {
		t.Errorf("the canary sang %d times", n)
	}
}

func TestFormsOfURLs(t *testing.T) {
	s := outboundtest.NewStage(t, vectors)
	c := client(t, s.Config)
	port := fmt.Sprint(s.Canary.Port)
	for _, text := range []string{
		"", "/", "allowed.test", "//allowed.test/", "http:/allowed.test", "http://", "http:///x", "http://:80/", "ftp://allowed.test/", "gopher://allowed.test:" + port + "/_GET",
		"file:///etc/passwd", "data:image/png;base64,AAAA", "javascript:alert(1)", "http://allowed.test:22/", "http://allowed.test:0/", "http://allowed.test:65536/",
		"http://allowed.test:/", "http://allowed.test:x/", "http://a b/", "http://allowed.test/a b", "http://allowed.test/\r\nX-A: b", "http://allowed.test\n/", "http://allowed..test/",
		"http://.test/", "http://*.test/", "http://user@allowed.test/", "http://allowed.test\\@x/", "http://[::1%25lo]/", "http://[::1/", "http://allowed.test/" + strings.Repeat("a", 2048),
		"https+unix://x/", "http://猫.test/",
	} {
		if err := c.CheckURL(t.Context(), text, outbound.Web()); !errors.Is(err, outbound.ErrURL) {
			t.Errorf("%.60q: %v", text, err)
		}
		if err := c.CheckURL(t.Context(), text, outbound.Web()); err != nil && len(text) > 12 && strings.Contains(err.Error(), text) {
			t.Errorf("the error holds the address: %v", err)
		}
	}
	if err := c.CheckURL(t.Context(), s.URL("/"), outbound.HTTPS()); !errors.Is(err, outbound.ErrURL) {
		t.Errorf("http where https is wanted: %v", err)
	}
}

// TestABlockedAddressLooksLikeASilentOne compares text and time.
func TestABlockedAddressLooksLikeASilentOne(t *testing.T) {
	s := outboundtest.NewStage(t, vectors)
	s.Config.FailureFloor = 150 * time.Millisecond
	c := client(t, s.Config)
	var said []string
	for _, host := range []string{"127.0.0.1", "inside.corp.test", "no-such-name.test"} {
		start := time.Now()
		err := c.CheckURL(t.Context(), "http://"+outboundtest.Join(host, s.Canary.Port)+"/", outbound.Web())
		if err == nil || time.Since(start) < s.Config.FailureFloor {
			t.Errorf("%s: %v after %s", host, err, time.Since(start))
			continue
		}
		said = append(said, err.Error())
	}
	for _, text := range said {
		if text != said[0] {
			t.Errorf("%q differs from %q", text, said[0])
		}
	}
	start := time.Now()
	if _, err := c.Fetch(t.Context(), "http://"+outboundtest.Join("127.0.0.1", s.Canary.Port)+"/", outbound.Web(), 1); err == nil || time.Since(start) < s.Config.FailureFloor {
		t.Errorf("fetch: %v after %s", err, time.Since(start))
	}
}

// TestFetchLimits meets each limit of an answer.
func TestFetchLimits(t *testing.T) {
	s := outboundtest.NewStage(t, vectors)
	s.Config.Timeout, s.Config.StallTimeout = time.Hour, 200*time.Millisecond // so what ends a call that stalls is not its timeout
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	s.Server = http.HandlerFunc(misbehave)
	c := client(t, s.Config)
	for path, want := range map[string]error{
		"/long": outbound.ErrTooLarge, "/lying": outbound.ErrTooLarge, "/html": outbound.ErrType, "/bad-type": outbound.ErrType, "/404": outbound.ErrStatus,
		"/206": outbound.ErrStatus, "/loop": outbound.ErrUnreachable, "/silent": outbound.ErrUnreachable, "/stall": outbound.ErrUnreachable, "/hang": outbound.ErrUnreachable, "/slow": outbound.ErrUnreachable,
		"/head": outbound.ErrUnreachable, "/short": outbound.ErrUnreachable, "/down": outbound.ErrUnreachable,
	} {
		body, err := c.Fetch(ctx, s.URL(path), outbound.Web(), 1000)
		if err == nil {
			_, err = io.Copy(io.Discard, body)
			_ = body.Close()
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
}

// misbehave is a server that keeps to no limit.
func misbehave(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "image/png")
	flush := func(text string) { _, _ = io.WriteString(w, text); _ = http.NewResponseController(w).Flush() }
	switch r.URL.Path {
	case "/long":
		flush(strings.Repeat("a", 600))
		flush(strings.Repeat("a", 600))
	case "/lying":
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n%s", strings.Repeat("a", 5000))
		_ = conn.Close()
	case "/html":
		w.Header().Set("Content-Type", "text/html")
	case "/bad-type":
		w.Header().Set("Content-Type", "image/png; =")
	case "/404":
		w.WriteHeader(http.StatusNotFound)
	case "/206":
		w.WriteHeader(http.StatusPartialContent)
	case "/loop":
		http.Redirect(w, r, "/loop", http.StatusFound)
	case "/silent":
		<-r.Context().Done()
	case "/hang":
		flush("")
		<-r.Context().Done()
	case "/stall":
		flush("a")
		<-r.Context().Done()
	case "/slow":
		ticker := time.NewTicker(50 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-r.Context().Done():
				return
			case <-ticker.C:
				flush("a")
			}
		}
	case "/head":
		w.Header().Set("X-Long", strings.Repeat("a", 64<<10))
	case "/short":
		w.Header().Set("Content-Length", "500")
		flush("a")
	}
	if r.URL.Path == "/down" {
		http.Redirect(w, r, "gopher://allowed.test/", http.StatusFound)
	}
}

// TestTheReceiverIsVerified calls a server whose certificate nobody knows.
func TestTheReceiverIsVerified(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	to := netip.MustParseAddrPort(u.Host)
	c := client(t, outbound.Config{AllowNetworks: []netip.Prefix{netip.PrefixFrom(to.Addr(), 32)}, AllowPorts: []int{int(to.Port())}})
	if _, err := c.Post(t.Context(), outbound.Message{URL: server.URL, Schemes: outbound.HTTPS()}); !errors.Is(err, outbound.ErrUnreachable) {
		t.Error(err)
	}
}

// TestACallEndsInTime meets a receiver that says nothing, and a picture that comes at a good pace for ever.
func TestACallEndsInTime(t *testing.T) {
	s := outboundtest.NewStage(t, vectors)
	s.Config.Timeout, s.Config.BytesPerSecondMin = 300*time.Millisecond, 1
	s.Server = http.HandlerFunc(misbehave)
	c := client(t, s.Config)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := c.Post(ctx, outbound.Message{URL: s.URL("/silent"), Schemes: outbound.Web()}); !errors.Is(err, outbound.ErrUnreachable) {
		t.Errorf("post: %v", err)
	}
	if answer, err := c.Post(ctx, outbound.Message{URL: s.URL("/slow"), Schemes: outbound.Web()}); err != nil || answer.Status != 200 || ctx.Err() != nil {
		t.Errorf("a status with a body that never ends: %+v, %v, %v", answer, err, ctx.Err())
	}
	body, err := c.Fetch(ctx, s.URL("/slow"), outbound.Web(), 1000)
	if err == nil {
		_, err = io.Copy(io.Discard, body)
		_ = body.Close()
	}
	if !errors.Is(err, outbound.ErrUnreachable) {
		t.Errorf("fetch: %v", err)
	}
}

func TestTheCallersOwnEndIsNotTheAddresss(t *testing.T) {
	s := outboundtest.NewStage(t, vectors)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client(t, s.Config).Fetch(ctx, s.URL("/"), outbound.Web(), 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for _, cfg := range []outbound.Config{
		{AllowPorts: []int{0}}, {AllowPorts: []int{65536}}, {AllowNetworks: []netip.Prefix{{}}}, {AllowNetworks: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/8")}},
		{Timeout: -1}, {StallTimeout: -1}, {BytesPerSecondMin: -1},
	} {
		if _, err := outbound.New(cfg); err == nil {
			t.Errorf("%+v was taken", cfg)
		}
	}
}

func FuzzURL(f *testing.F) {
	c, err := outbound.New(outbound.Config{FailureFloor: -1})
	if err != nil {
		f.Fatal(err)
	}
	f.Add("https://example.com/hook?x=1")
	f.Add("http://[::ffff:7f00:1]:80/")
	f.Fuzz(func(t *testing.T, text string) {
		outbound.Parse(t, c, text)
	})
}
