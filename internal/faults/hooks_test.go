package faults_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// hookTimeout is how long the event of an end may take to arrive, over a delivery that was lost and tried again.
const hookTimeout = 180 * time.Second

// hooks receives the webhooks of a bench.
type hooks struct {
	url  string
	port string

	mu sync.Mutex
	// got holds, by video and by webhook id, the type of the event.
	got      map[string]map[string]string
	received int
}

// startHooks serves until the test ends.
func startHooks(t *testing.T) *hooks {
	t.Helper()
	h := &hooks{got: map[string]map[string]string{}}
	server := httptest.NewServer(h)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	h.url = server.URL
	_, h.port, _ = net.SplitHostPort(server.Listener.Addr().String())
	return h
}

// ServeHTTP notes an event. One in twenty is noted and answered as if it were not, so that it comes again.
func (h *hooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var event struct {
		Type string `json:"type"`
		Data struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err != nil || json.Unmarshal(body, &event) != nil || event.Data.ID == "" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.got[event.Data.ID] == nil {
		h.got[event.Data.ID] = map[string]string{}
	}
	h.got[event.Data.ID][r.Header.Get("Webhook-Id")] = event.Type
	h.received++
	if h.received%20 == 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// register makes the bench tell of every end, where the program can.
func (b *bench) register() {
	b.t.Helper()
	var made struct {
		ID string `json:"id"`
	}
	err := b.apis[0].client.call(b.ctx(), http.MethodPost, "/v1/webhook_endpoints", nil,
		fields{"name": "bench", "url": b.hooks.url, "event_types": []string{"video.completed", "video.failed"}}, &made)
	b.must(err)
}

// hookSettings are what lets a program send webhooks to this machine; none where it does not know webhooks.
func (b *bench) hookSettings() []string {
	b.t.Helper()
	out, err := exec.CommandContext(b.ctx(), b.opts.program, "config", "--markdown").Output()
	b.must(err)
	if !strings.Contains(string(out), "TELEFUSER_WEBHOOKS_ALLOW_HTTP") {
		return nil
	}
	b.hooks = startHooks(b.owner)
	return []string{"TELEFUSER_WEBHOOKS_ALLOW_HTTP=true", "TELEFUSER_OUTBOUND_ALLOW_NETWORKS=127.0.0.0/8", "TELEFUSER_OUTBOUND_ALLOW_PORTS=" + b.hooks.port}
}

// hookProblems holds invariant (e): each end is one event, under one webhook id however often it comes.
func (b *bench) hookProblems() []string {
	if b.hooks == nil {
		return nil
	}
	var wrong []string
	for _, s := range b.ledger.all() {
		if s.end == nil {
			continue
		}
		want := "video." + s.end.Status
		b.hooks.mu.Lock()
		got := b.hooks.got[s.id]
		if len(got) != 1 {
			wrong = append(wrong, fmt.Sprintf("%s is %s: %d webhook ids", s.id, s.end.Status, len(got)))
		}
		for _, kind := range got {
			if kind != want {
				wrong = append(wrong, fmt.Sprintf("%s is %s: told as %s", s.id, s.end.Status, kind))
			}
		}
		b.hooks.mu.Unlock()
	}
	return wrong
}
