package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// event is one server-sent event.
type event struct {
	name string
	id   int64
	v    video
}

// events reads a stream to its end, or until take answers false; the stream may break off.
func (c *client) events(ctx context.Context, t *testing.T, id string, lastID int64, take func(event) bool) {
	t.Helper()
	header := http.Header{}
	if lastID > 0 {
		header.Set("Last-Event-ID", strconv.FormatInt(lastID, 10))
	}
	res, err := c.do(ctx, http.MethodGet, "/v1/videos/"+id+"/events", header, nil)
	if err != nil {
		t.Errorf("events: %v", err)
		return
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		t.Errorf("events: %d %s", res.StatusCode, res.Header.Get("Content-Type"))
		return
	}
	var e event
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "event":
			e.name = value
		case "id":
			if e.id, err = strconv.ParseInt(value, 10, 64); err != nil {
				t.Errorf("id %q", value)
			}
		case "data":
			if err := json.Unmarshal([]byte(value), &e.v); err != nil {
				t.Errorf("data %q: %v", value, err)
			}
		case "":
			if e.name != "" && !take(e) {
				return
			}
			e = event{}
		}
	}
}

// TestEventsGoOnAtAnotherAPI follows a video over the death of the API that told of it.
func TestEventsGoOnAtAnotherAPI(t *testing.T) {
	t.Parallel()
	s := startStack(t, stackOptions{apis: 2})
	v := s.client.create(t, long("watched"))
	var got []event
	s.api(0).events(t.Context(), t, v.ID, 0, func(e event) bool {
		got = append(got, e)
		if e.v.Status == "in_progress" && e.v.Progress > 0 {
			s.apis[0].kill()
		}
		return true
	})
	if len(got) == 0 || got[len(got)-1].v.Status == "completed" {
		t.Fatalf("the first stream: %+v", got)
	}
	before := len(got)
	s.api(1).events(t.Context(), t, v.ID, got[before-1].id, func(e event) bool {
		got = append(got, e)
		return true
	})
	if last := got[len(got)-1].v; last.Status != "completed" || last.Progress != 100 {
		t.Errorf("the last event is %+v", last)
	}
	for i := 1; i < len(got); i++ {
		if got[i].name != "video" || got[i].v.ID != v.ID || got[i].id <= got[i-1].id || got[i].v.Progress < got[i-1].v.Progress {
			t.Errorf("event %d: %+v after %+v", i, got[i], got[i-1])
		}
	}
	if len(got) == before {
		t.Error("nothing came from the second API")
	}
}
