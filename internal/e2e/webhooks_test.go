package e2e_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/webhooks"
)

// hookCall is what a receiver got, as the verifiers of other languages read it.
type hookCall struct {
	Secret  string            `json:"secret"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

// hookReceiver is an address of a tenant, on an address of this machine that the operator has opened.
type hookReceiver struct {
	url string
	mu  sync.Mutex
	all []hookCall
}

const hookHost = "127.0.0.2"

func startHookReceiver(t *testing.T) *hookReceiver {
	t.Helper()
	r := &hookReceiver{}
	server := httptest.NewUnstartedServer(r)
	_ = server.Listener.Close()
	var config net.ListenConfig
	ln, err := config.Listen(t.Context(), "tcp", net.JoinHostPort(hookHost, "0"))
	if err != nil {
		t.Fatal(err)
	}
	server.Listener = ln
	server.Start()
	t.Cleanup(server.Close)
	r.url = server.URL + "/hook"
	return r
}

// ServeHTTP keeps a call.
func (r *hookReceiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	c := hookCall{Headers: map[string]string{}, Body: string(body)}
	for name := range req.Header {
		c.Headers[strings.ToLower(name)] = req.Header.Get(name)
	}
	r.mu.Lock()
	r.all = append(r.all, c)
	r.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

// about are the calls that name a video.
func (r *hookReceiver) about(id string) []hookCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []hookCall
	for _, c := range r.all {
		if strings.Contains(c.Body, id) {
			out = append(out, c)
		}
	}
	return out
}

func (r *hookReceiver) settings() []string {
	_, port, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(r.url, "http://"), "/hook"), ":")
	return []string{"TELEFUSER_OUTBOUND_ALLOW_NETWORKS=" + hookHost + "/32", "TELEFUSER_OUTBOUND_ALLOW_PORTS=" + port, "TELEFUSER_WEBHOOKS_ALLOW_HTTP=true"}
}

// TestFaultWebhookSurvivesItsProcesses ends a job while no API is up, in a worker that is killed the moment it has committed; the event is delivered by whoever comes next.
// Every call is verified by the verifiers of three official SDKs, and the operator's commands show and repeat it.
func TestFaultWebhookSurvivesItsProcesses(t *testing.T) {
	t.Parallel()
	r := startHookReceiver(t)
	s := startStack(t, stackOptions{noWorkers: true, env: r.settings()})
	hooks := sdk(s.balancer.url, "any", option.WithMaxRetries(0)).Webhooks
	hook, err := hooks.New(t.Context(), webhooks.WebhookNewParams{Name: "e2e", URL: r.url, EventTypes: []string{"video.completed", "video.failed"}})
	if err != nil {
		t.Fatal(err)
	}
	s.plant(strings.TrimPrefix(hook.SigningSecret, "whsec_"))

	done := s.client.create(t, small("an event that outlives everybody"))
	failed := s.client.create(t, small("cancelled by hand"))
	s.telefuser("jobs", "cancel", failed.ID)
	waitFor(t, 10*time.Second, "the event of the cancelled video", func() bool { return len(r.about(failed.ID)) > 0 })
	s.apis[0].kill()
	victim := s.startWorker("worker0", "--die-at", "after_commit")
	victim.waitEnd(t, videoTimeout)
	if got := victim.killedBy(); got != syscall.SIGKILL {
		t.Fatalf("the worker ended by %v and %v", got, victim.err)
	}
	s.startAPI(0)
	s.awaitReady(0)
	waitFor(t, time.Minute, "the event of the completed video", func() bool { return len(r.about(done.ID)) > 0 })

	calls := append(r.about(done.ID), r.about(failed.ID)...)
	verifier := openai.NewClient(option.WithAPIKey("k"), option.WithWebhookSecret(hook.SigningSecret))
	for i := range calls {
		calls[i].Secret = hook.SigningSecret
		header := http.Header{}
		for name, value := range calls[i].Headers {
			header.Set(name, value)
		}
		if err := verifier.Webhooks.VerifySignature([]byte(calls[i].Body), header); err != nil {
			t.Errorf("%s: %v", calls[i].Body, err)
		}
	}
	if c := r.about(failed.ID)[0]; !strings.Contains(c.Body, `"type":"video.failed"`) || !strings.Contains(c.Body, `"code":"cancelled"`) {
		t.Errorf("%s", c.Body)
	}
	s.inspectWebhooks(hook.ID, done.ID, r)
	verifyBySDKs(t, s.balancer.url, r.url, calls)
}

// inspectWebhooks does what an operator does.
func (s *stack) inspectWebhooks(hookID, videoID string, r *hookReceiver) {
	s.t.Helper()
	event := "evt_" + strings.TrimPrefix(videoID, "video_")
	if out := s.telefuser("webhooks", "list"); !strings.Contains(out, hookID) || !strings.Contains(out, r.url) {
		s.t.Errorf("list:\n%s", out)
	}
	waitFor(s.t, 10*time.Second, "both to be delivered", func() bool {
		return strings.Count(s.telefuser("webhooks", "deliveries", hookID), "delivered") == 2
	})
	if out := s.telefuser("webhooks", "deliveries", hookID); !strings.Contains(out, event) || !strings.Contains(out, "204") {
		s.t.Errorf("deliveries:\n%s", out)
	}
	before := len(r.about(videoID))
	s.telefuser("webhooks", "replay", hookID, event)
	waitFor(s.t, 10*time.Second, "the event again", func() bool { return len(r.about(videoID)) > before })
	again := r.about(videoID)
	if first, last := again[0], again[len(again)-1]; first.Headers["webhook-id"] != last.Headers["webhook-id"] || first.Body != last.Body || first.Headers["webhook-id"] != event {
		s.t.Errorf("%v, then %v", first, last)
	}
}

// verifyBySDKs runs the verifiers of JavaScript and Python, where they are installed.
func verifyBySDKs(t *testing.T, base, hookURL string, calls []hookCall) {
	t.Helper()
	text, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "calls.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"CALLS=" + file, "BASE_URL=" + base, "HOOK_URL=" + hookURL}
	t.Run("JavaScript", func(t *testing.T) {
		sdkDir := filepath.Join(toolsWith(t, "js/node_modules/openai/package.json"), "js")
		node, err := exec.LookPath("node")
		if err != nil {
			t.Skip("node is not on PATH: run `make deps-test`, or install the package nodejs")
		}
		runSuite(t, spawn{name: "node", path: node, args: []string{"--test", "--test-reporter=spec", suite(t, "verify_webhooks.mjs")}, env: append(env, "SDK_DIR="+sdkDir)})
	})
	t.Run("Python", func(t *testing.T) {
		python := filepath.Join(toolsWith(t, "py/bin/python"), "py", "bin", "python")
		runSuite(t, spawn{name: "python", path: python, args: []string{suite(t, "verify_webhooks.py")}, env: env})
	})
}
