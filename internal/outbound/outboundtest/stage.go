package outboundtest

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"telefuser/internal/outbound"
)

// Stage is a small internet: a name server, one server that may be reached, under the name allowed.test, and canaries on every other address, all on one port.
type Stage struct {
	DNS    *DNS
	Canary *Canary
	// Config lets Allowed and the port be reached, and nothing else on this machine.
	Config outbound.Config
	// Server answers what no redirect is asked for; a test may set it before calls begin. Nil answers 204.
	Server  http.Handler
	vectors []Vector
	hits    atomic.Int64
}

// NewStage sets the stage for the vectors of a file.
func NewStage(t testing.TB, path string) *Stage {
	t.Helper()
	s := &Stage{DNS: NewDNS(t), Canary: NewCanary(t), vectors: Vectors(t, path)}
	allowed := netip.MustParseAddr(Allowed)
	for _, v := range s.vectors {
		v.Name(s.DNS)
	}
	s.DNS.Say("allowed.test", allowed)
	s.Config = outbound.Config{AllowNetworks: []netip.Prefix{netip.PrefixFrom(allowed, allowed.BitLen())}, AllowPorts: []int{s.Canary.Port},
		FailureFloor: -1, Resolver: s.DNS.Resolver(), Watch: s.Canary.Watch}
	server := httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	_ = server.Listener.Close()
	var config net.ListenConfig
	ln, err := config.Listen(t.Context(), "tcp", Join(Allowed, s.Canary.Port))
	if err != nil {
		t.Fatal(err)
	}
	server.Listener = ln
	server.Start()
	t.Cleanup(server.Close)
	return s
}

// serve answers /to/N with a redirect to the N-th vector, and /self with one to itself.
func (s *Stage) serve(w http.ResponseWriter, r *http.Request) {
	s.hits.Add(1)
	if text, ok := strings.CutPrefix(r.URL.Path, "/to/"); ok {
		if i, err := strconv.Atoi(text); err == nil && i < len(s.vectors) {
			w.Header().Set("Location", s.vectors[i].URL("http", s.Canary.Port))
			w.WriteHeader(http.StatusFound)
			return
		}
	}
	if r.URL.Path == "/self" {
		w.Header().Set("Location", "/self/again")
		w.WriteHeader(http.StatusTemporaryRedirect)
		return
	}
	if s.Server != nil {
		s.Server.ServeHTTP(w, r)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// URL is an address of the server that may be reached.
func (s *Stage) URL(path string) string {
	return "http://" + Join("allowed.test", s.Canary.Port) + path
}

// Hits is how many calls reached the server that may be reached.
func (s *Stage) Hits() int64 { return s.hits.Load() }

// Each tries every vector in the three ways: direct, by a redirect of a server that may be reached, and by a name that is changed by flip after its first answer. Nothing
// may have reached the canary after any of them.
func (s *Stage) Each(t *testing.T, try func(t *testing.T, way, url string, flip func())) {
	t.Helper()
	if len(s.vectors) < 60 {
		t.Fatalf("only %d vectors", len(s.vectors))
	}
	for i, v := range s.vectors {
		name := "n" + strconv.Itoa(i) + ".rebind.test"
		s.DNS.Say(name, netip.MustParseAddr(Allowed))
		flip := func() { s.DNS.Say(name, v.Addr) }
		if !v.Addr.IsValid() {
			flip = func() { s.DNS.Say(name) }
		}
		for _, c := range []struct {
			way, url string
			flip     func()
		}{
			{"direct", v.URL("http", s.Canary.Port), func() {}},
			{"redirect", s.URL("/to/" + strconv.Itoa(i)), func() {}},
			{"rebinding", "http://" + Join(name, s.Canary.Port) + "/self", flip},
		} {
			before := s.Canary.Sang()
			try(t, c.way, c.url, c.flip)
			if now := s.Canary.Sang(); now != before {
				t.Errorf("%s, %s: the canary sang %d times", c.url, c.way, now-before)
			}
		}
	}
}
