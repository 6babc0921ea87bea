package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// event is one server-sent event; a comment has a text alone.
type event struct {
	name, id, data, comment string
}

// events opens a stream; its channel is closed at the stream's end.
func (s *stack) events(t *testing.T, id string, header ...string) (<-chan event, *http.Response) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/v1/videos/"+id+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	out := make(chan event, 256) // more than any test sends
	go func() {
		defer close(out)
		defer res.Body.Close()
		var e event
		for scanner := bufio.NewScanner(res.Body); scanner.Scan(); {
			line := scanner.Text()
			switch {
			case line == "":
				out <- e
				e = event{}
			case strings.HasPrefix(line, ":"):
				e.comment = line
			case strings.HasPrefix(line, "event: "):
				e.name = line[7:]
			case strings.HasPrefix(line, "id: "):
				e.id = line[4:]
			case strings.HasPrefix(line, "data: "):
				e.data = line[6:]
			}
		}
	}()
	return out, res
}

// next waits for an event that is no comment.
func next(t *testing.T, stream <-chan event) (event, bool) {
	t.Helper()
	for {
		select {
		case e, open := <-stream:
			if open && e.comment != "" {
				continue
			}
			return e, open
		case <-time.After(waitMax):
			t.Fatal("no event came")
		}
	}
}

func status(t *testing.T, e event) string {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(e.data), &v); err != nil {
		t.Fatalf("%q is no JSON", e.data)
	}
	text, _ := v["status"].(string)
	return text
}

func TestEventsUntilTheEnd(t *testing.T) {
	s := newStack(t)
	hold := make(chan struct{})
	s.work(t, finisher{hold: hold})
	id := s.create(t, map[string]any{"model": "terrain"})["id"].(string)
	stream, res := s.events(t, id)
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" || res.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("the stream begins with %d %v", res.StatusCode, res.Header)
	}
	s.await(t, id, "in_progress")
	close(hold)
	var seen []string
	var last event
	for {
		e, open := next(t, stream)
		if !open {
			break
		}
		if e.name != "video" || e.id == "" || e.id == last.id {
			t.Errorf("an event is %+v after %+v", e, last)
		}
		last = e
		seen = append(seen, status(t, e))
	}
	if len(seen) == 0 || seen[len(seen)-1] != "completed" {
		t.Fatalf("the statuses were %v", seen)
	}
	// With the last id there is nothing more, and a browser is told not to come again.
	if _, res := s.events(t, id, "Last-Event-ID", last.id); res.StatusCode != http.StatusNoContent {
		t.Errorf("after the end: status %d", res.StatusCode)
	}
	// With an earlier one the rest comes.
	again, _ := s.events(t, id, "Last-Event-ID", "1")
	if e, _ := next(t, again); status(t, e) != "completed" || e.id != last.id {
		t.Errorf("resumed at %+v", e)
	}
	if _, open := next(t, again); open {
		t.Error("the stream goes on after the end")
	}
}

// TestEventsAfterAnIDOfAnotherRecord begins anew: a record that was rebuilt counts from 1 again, and its end must not be kept from whoever knows a
// higher number.
func TestEventsAfterAnIDOfAnotherRecord(t *testing.T) {
	s := newStack(t)
	s.work(t, finisher{})
	id := s.completed(t, map[string]any{"model": "terrain"})["id"].(string)
	for _, seen := range []string{"4711", "9223372036854775807"} {
		stream, res := s.events(t, id, "Last-Event-ID", seen)
		if res.StatusCode != http.StatusOK {
			t.Fatalf("after %s: status %d", seen, res.StatusCode)
		}
		if e, open := next(t, stream); !open || status(t, e) != "completed" {
			t.Errorf("after %s: %+v", seen, e)
		}
	}
}

func TestEventsSayThatAVideoIsDeleted(t *testing.T) {
	s := newStack(t)
	id := s.create(t, map[string]any{"model": "terrain"})["id"].(string)
	stream, _ := s.events(t, id)
	if e, _ := next(t, stream); status(t, e) != "queued" {
		t.Errorf("the first event is %+v", e)
	}
	s.request(t, "DELETE", "/v1/videos/"+id, nil).object(t, 200)
	if e, _ := next(t, stream); e.name != "video.deleted" || !strings.Contains(e.data, id) {
		t.Errorf("the last event is %+v", e)
	}
	if _, open := next(t, stream); open {
		t.Error("the stream goes on")
	}
}

// TestEventsOfAQueuedVideoSayItsPlace has no worker, so that the video stays where it is.
func TestEventsOfAQueuedVideoSayItsPlace(t *testing.T) {
	s := newStack(t)
	id := s.create(t, map[string]any{"model": "terrain"})["id"].(string)
	stream, _ := s.events(t, id)
	e, open := next(t, stream)
	if !open || !strings.Contains(e.data, `"queue_position":1`) {
		t.Errorf("the first event is %+v", e)
	}
}

func TestEventStreamsAreBoundedAndKeptAlive(t *testing.T) {
	s := newStack(t, func(in *setup) { in.api.EventStreamsMax, in.api.EventHeartbeat = 2, 10*time.Millisecond })
	id := s.create(t, map[string]any{"model": "terrain"})["id"].(string)
	first, _ := s.events(t, id)
	_, _ = s.events(t, id)
	r := s.request(t, "GET", "/v1/videos/"+id+"/events", nil)
	if p := r.problem(t, 429); p["code"] != "too_many_streams" || r.header.Get("Retry-After") == "" {
		t.Errorf("the third stream: %v %v", p, r.header)
	}
	comments := 0
	for comments < 2 {
		select {
		case e := <-first:
			if e.comment != "" {
				comments++
			}
		case <-time.After(waitMax):
			t.Fatal("no heartbeat came")
		}
	}
	s.request(t, "DELETE", "/v1/videos/"+id, nil).object(t, 200)
	eventually(t, "a place is free again", func() bool {
		other := s.create(t, map[string]any{"model": "terrain"})["id"].(string)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/v1/videos/"+other+"/events", nil)
		if err != nil {
			return false
		}
		res, err := s.client.Do(req)
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == 200
	})
}

// TestStreamsEndWhenTheServerStops so that a stop does not wait for the slowest video.
func TestStreamsEndWhenTheServerStops(t *testing.T) {
	s := newStack(t, func(in *setup) { in.api.ShutdownTimeout = 10 * time.Second })
	id := s.create(t, map[string]any{"model": "terrain"})["id"].(string)
	stream, _ := s.events(t, id)
	next(t, stream)
	begin := time.Now()
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	if _, open := next(t, stream); open {
		t.Error("the stream goes on")
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("the stop took %s", took)
	}
}

// TestReadinessEndsFirst wants the server to serve on, not ready, before it closes.
func TestReadinessEndsFirst(t *testing.T) {
	s := newStack(t, func(in *setup) { in.api.ShutdownGrace = time.Second })
	if r := s.request(t, "GET", "/v1/service/ready", nil); r.object(t, 200)["status"] != "ready" {
		t.Errorf("ready: %s", r.body)
	}
	stopped := make(chan error, 1) // one: the result of stop
	go func() { stopped <- s.stop() }()
	eventually(t, "it is not ready", func() bool { return s.request(t, "GET", "/v1/service/ready", nil).status == 503 })
	if ready := s.request(t, "GET", "/v1/service/ready", nil).object(t, 503); ready["reason"] != "stopping" {
		t.Errorf("ready: %v", ready)
	}
	s.create(t, map[string]any{"model": "terrain"})
	if h := s.request(t, "GET", "/health", nil).object(t, 200); h["status"] != "healthy" || h["ready"] != false {
		t.Errorf("health: %v", h)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}
