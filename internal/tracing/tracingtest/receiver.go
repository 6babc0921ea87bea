// Package tracingtest takes spans as a collector of OpenTelemetry does, so that tests see what left the process.
package tracingtest

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is one span as it was sent. Ids are in hex.
type Span struct {
	Service, Name, Trace, ID, Parent string
	Texts                            map[string]string
	Begin, End                       time.Time
	Failed                           bool
}

// Receiver is an OTLP/HTTP collector.
type Receiver struct {
	// URL is its address.
	URL string

	mu    sync.Mutex
	spans []Span
	raw   strings.Builder
}

// Start starts one for a test.
func Start(tb testing.TB) *Receiver {
	tb.Helper()
	r := &Receiver{}
	server := httptest.NewServer(r)
	tb.Cleanup(server.Close)
	r.URL = server.URL
	return r
}

// ServeHTTP takes a call of an exporter.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	var in collector.ExportTraceServiceRequest
	if err != nil || req.URL.Path != "/v1/traces" || proto.Unmarshal(body, &in) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.raw.WriteString(in.String())
	for _, of := range in.GetResourceSpans() {
		service := ""
		for _, a := range of.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				service = a.GetValue().GetStringValue()
			}
		}
		for _, scope := range of.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				span := Span{Service: service, Name: s.GetName(), Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()),
					Parent: hex.EncodeToString(s.GetParentSpanId()), Texts: map[string]string{}, Begin: time.Unix(0, int64(s.GetStartTimeUnixNano())),
					End: time.Unix(0, int64(s.GetEndTimeUnixNano())), Failed: s.GetStatus().GetCode() == 2}
				for _, a := range s.GetAttributes() {
					span.Texts[a.GetKey()] = a.GetValue().GetStringValue()
				}
				r.spans = append(r.spans, span)
			}
		}
	}
}

// Of lists the spans of a trace.
func (r *Receiver) Of(trace string) []Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.spans), func(s Span) bool { return s.Trace != trace })
}

// Raw is everything that came, as text.
func (r *Receiver) Raw() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.raw.String()
}
