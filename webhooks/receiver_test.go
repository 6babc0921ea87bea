package webhooks_test

import (
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"telefuser/jobs"
)

// call is what a receiver got.
type call struct {
	header http.Header
	body   []byte
}

// event is a call's body.
type event struct {
	ID        string `json:"id"`
	Object    string `json:"object"`
	CreatedAt int64  `json:"created_at"`
	Type      string `json:"type"`
	Data      struct {
		ID    string `json:"id"`
		Error *struct {
			Code, Message string
		} `json:"error"`
	} `json:"data"`
}

func (c call) event(t *testing.T) event {
	t.Helper()
	var e event
	if err := json.Unmarshal(c.body, &e); err != nil {
		t.Fatalf("%v: %s", err, c.body)
	}
	return e
}

// receiver keeps the calls of each path and answers what the path is told to.
type receiver struct {
	mu    sync.Mutex
	calls map[string][]call
	says  map[string]http.HandlerFunc
}

func (b *bundle) receiver() *receiver {
	r := &receiver{calls: map[string][]call{}, says: map[string]http.HandlerFunc{}}
	b.stage.Server = r
	return r
}

// say sets the answer of a path.
func (r *receiver) say(path string, answer http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.says[path] = answer
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func (r *receiver) got(path string) []call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]call{}, r.calls[path]...)
}

// ServeHTTP keeps the call.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	r.mu.Lock()
	r.calls[req.URL.Path] = append(r.calls[req.URL.Path], call{req.Header.Clone(), body})
	answer := r.says[req.URL.Path]
	r.mu.Unlock()
	if answer == nil {
		answer = status(http.StatusNoContent)
	}
	answer(w, req)
}

// verify checks a call by the verifier of the official SDK, for now and for a body that was changed.
func (c call) verify(t *testing.T, secret jobs.Secret) {
	t.Helper()
	client := openai.NewClient(option.WithAPIKey("k"), option.WithWebhookSecret(secret.Reveal()))
	if err := client.Webhooks.VerifySignature(c.body, c.header); err != nil {
		t.Errorf("the SDK's verifier: %v", err)
	}
	if err := client.Webhooks.VerifySignature(append([]byte(" "), c.body...), c.header); err == nil {
		t.Error("the SDK's verifier takes a changed body")
	}
}
