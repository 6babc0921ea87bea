package e2e_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"telefuser/internal/tracing/tracingtest"
)

// TestTracesReachFromTheRequestToTheStore follows one trace that the client began through the API, the record, the worker and its engine's process.
func TestTracesReachFromTheRequestToTheStore(t *testing.T) {
	r := tracingtest.Start(t)
	s := startStack(t, stackOptions{env: []string{"TELEFUSER_TRACES_ENDPOINT=" + r.URL}})
	const trace, client = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.balancer.url+"/v1/videos", strings.NewReader(`{"model":"terrain","prompt":"canary words","size":"64x64","num_frames":5}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Traceparent", "00-"+trace+"-"+client+"-01")
	res, err := s.client.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", res.StatusCode, body)
	}
	parents := map[string]string{"POST /v1/videos": "", "ticket": "POST /v1/videos", "attempt": "POST /v1/videos", "engine": "attempt", "store": "attempt", "engine.open": "engine"}
	waitFor(t, readyTimeout, "the whole trace", func() bool { return len(r.Of(trace)) >= len(parents) })
	byID := map[string]tracingtest.Span{}
	for _, span := range r.Of(trace) {
		byID[span.ID] = span
	}
	for _, span := range byID {
		want, known := parents[span.Name]
		if got := byID[span.Parent].Name; !known || got != want {
			t.Errorf("%s has the parent %q, want %q", span.Name, got, want)
		}
		if span.Name == "POST /v1/videos" && span.Parent != client {
			t.Errorf("the request has the parent %s, want the client's %s", span.Parent, client)
		}
		if service := map[bool]string{true: "telefuser-engine", false: "telefuser"}[span.Name == "engine.open"]; span.Service != service {
			t.Errorf("%s is of %s, want %s", span.Name, span.Service, service)
		}
	}
	if strings.Contains(r.Raw(), "canary") || strings.Contains(r.Raw(), s.s3.SecretKey) {
		t.Error("a prompt or a secret is in the traces")
	}
}
