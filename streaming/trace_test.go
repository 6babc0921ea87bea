package streaming_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"telefuser/internal/tracing"
	"telefuser/internal/tracing/tracingtest"
	"telefuser/streaming"
)

// The place that the creator of a session stood at.
const traceID, traceParent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"

// traced runs a session and answers its spans by name, with the names of their parents; the creator is "request".
func traced(t *testing.T, e *engine, watch bool, reason string) map[string]tracingtest.Span {
	t.Helper()
	b := newBundle(t, quick())
	r := tracingtest.Start(t)
	tracer, err := tracing.New(t.Context(), tracing.Config{Endpoint: r.URL, Service: "test", Ratio: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, stop := b.pool(streaming.PoolConfig{Tracer: tracer}, e)
	s := b.create(func(s *streaming.Spec) {
		s.Frames, s.Prompt, s.TraceParent = 8, "canary words", "00-"+traceID+"-"+traceParent+"-01"
	})
	if watch {
		b.rooms.of(s.Room).enter("ann")
	}
	b.ends(s.ID, reason)
	stop()
	tracer.Close(context.WithoutCancel(t.Context()))
	if strings.Contains(r.Raw(), "canary") {
		t.Error("a prompt is in the traces")
	}
	byID, names := map[string]string{traceParent: "request"}, map[string]tracingtest.Span{}
	for _, span := range r.Of(traceID) {
		byID[span.ID] = span.Name
	}
	for _, span := range r.Of(traceID) {
		span.Parent = byID[span.Parent]
		if _, twice := names[span.Name]; twice {
			t.Errorf("%s twice", span.Name)
		}
		names[span.Name] = span
	}
	if got := names["session"].Texts; got["telefuser.session_id"] != s.ID || got["telefuser.reason"] != reason {
		t.Errorf("the session's span says %v", got)
	}
	return names
}

// TestATraceFollowsASession from the request over the claim, the engine and the room to the first frame.
func TestATraceFollowsASession(t *testing.T) {
	spans := traced(t, &engine{took: time.Millisecond}, true, streaming.ReasonFinished)
	for name, parent := range map[string]string{"session.claim": "request", "session": "request", "engine": "session", "session.room": "session", "session.first_frame": "session"} {
		span, there := spans[name]
		if name == "session.claim" && !there { // claimed within the same millisecond
			continue
		}
		if !there || span.Parent != parent || span.Failed || span.End.Before(span.Begin) {
			t.Errorf("%s: %v %+v, want the parent %s", name, there, span, parent)
		}
		delete(spans, name)
	}
	if len(spans) > 0 {
		t.Errorf("more spans: %v", spans)
	}
}

// TestATraceSaysWhereASessionBroke: an engine that does not open, so that nothing was shown.
func TestATraceSaysWhereASessionBroke(t *testing.T) {
	spans := traced(t, &engine{open: func() error { return errors.New("no") }}, true, streaming.ReasonPipelineFailed)
	for name, failed := range map[string]bool{"session": true, "engine": true, "session.first_frame": true} {
		if span, there := spans[name]; !there || span.Failed != failed {
			t.Errorf("%s: %v %+v", name, there, span)
		}
	}
}
