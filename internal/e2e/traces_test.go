package e2e_test

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// receiver takes spans as an OTLP/HTTP collector does.
type receiver struct {
	url string

	mu    sync.Mutex
	spans []receivedSpan
	raw   strings.Builder
}

type receivedSpan struct{ service, name, trace, id, parent string }

func startReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		var in collector.ExportTraceServiceRequest
		if err != nil || req.URL.Path != "/v1/traces" || proto.Unmarshal(body, &in) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.raw.WriteString(in.String())
		for _, rs := range in.GetResourceSpans() {
			service := ""
			for _, a := range rs.GetResource().GetAttributes() {
				if a.GetKey() == "service.name" {
					service = a.GetValue().GetStringValue()
				}
			}
			for _, ss := range rs.GetScopeSpans() {
				for _, s := range ss.GetSpans() {
					r.spans = append(r.spans, receivedSpan{service, s.GetName(), hex.EncodeToString(s.GetTraceId()), hex.EncodeToString(s.GetSpanId()), hex.EncodeToString(s.GetParentSpanId())})
				}
			}
		}
	}))
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

// of lists the spans of a trace.
func (r *receiver) of(trace string) []receivedSpan {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.spans), func(s receivedSpan) bool { return s.trace != trace })
}

// TestTracesReachFromTheRequestToTheStore follows one trace that the client began through the API, the record, the worker and its engine's process.
func TestTracesReachFromTheRequestToTheStore(t *testing.T) {
	r := startReceiver(t)
	s := startStack(t, stackOptions{env: []string{"TELEFUSER_TRACES_ENDPOINT=" + r.url}})
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
	waitFor(t, readyTimeout, "the whole trace", func() bool { return len(r.of(trace)) >= len(parents) })
	byID := map[string]receivedSpan{}
	for _, span := range r.of(trace) {
		byID[span.id] = span
	}
	for _, span := range byID {
		want, known := parents[span.name]
		if got := byID[span.parent].name; !known || got != want {
			t.Errorf("%s has the parent %q, want %q", span.name, got, want)
		}
		if span.name == "POST /v1/videos" && span.parent != client {
			t.Errorf("the request has the parent %s, want the client's %s", span.parent, client)
		}
		if service := map[bool]string{true: "telefuser-engine", false: "telefuser"}[span.name == "engine.open"]; span.service != service {
			t.Errorf("%s is of %s, want %s", span.name, span.service, service)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if strings.Contains(r.raw.String(), "canary") || strings.Contains(r.raw.String(), s.s3.SecretKey) {
		t.Error("a prompt or a secret is in the traces")
	}
}
