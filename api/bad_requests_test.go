package api_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"telefuser/jobs"
)

// answerTimeMax is far above what an answer takes, for machines are busy; it finds answers that wait for something.
const answerTimeMax = 30 * time.Second

// answerTimeGoal is what an answer to a mistake may take; which rows took longer is reported.
const answerTimeGoal = time.Second

// badRequest is one line of testdata/bad_requests.jsonl.
type badRequest struct {
	Name string `json:"name"`
	// Method is POST, Path /v1/videos, where {webhook} is the id of one that there is, and Type application/json where they are absent.
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Type    *string           `json:"type"`
	Headers map[string]string `json:"headers"`
	// The body is given as text, as base64, or as text that is repeated.
	Body   string `json:"body"`
	Base64 string `json:"b64"`
	Pad    *struct {
		Before, Unit, After string
		Times               int
	} `json:"pad"`
	// Raw is whether the body is the whole request, line and header included, as it goes over the wire.
	Raw bool `json:"raw"`
	// Status and Param are wanted; an absent param means null, and "*" any.
	Status int    `json:"status"`
	Param  string `json:"param"`
}

func (b badRequest) body(t *testing.T) string {
	t.Helper()
	switch {
	case b.Pad != nil:
		return b.Pad.Before + strings.Repeat(b.Pad.Unit, b.Pad.Times) + b.Pad.After
	case b.Base64 != "":
		raw, err := base64.StdEncoding.DecodeString(b.Base64)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	return b.Body
}

// TestBadRequests sends a table of mistakes. Each gets its 4xx in the envelope with the field at fault, soon, and nothing stays behind: no record,
// no object, no file, no room.
func TestBadRequests(t *testing.T) {
	var l live
	s, stage := newOutboundStack(t, withSessions(t, &l), func(in *setup) { in.deps.FetchImage = nil })
	hook := s.postJSON(t, "/v1/webhook_endpoints", map[string]any{"name": "n", "url": stage.URL("/hook"), "event_types": jobs.WebhookEventTypes()}).object(t, 200)["id"].(string)
	rows := badRequests(t)
	if len(rows) < 500 {
		t.Fatalf("the table has only %d rows", len(rows))
	}
	before := s.redisKeys(t)
	var slow []string
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			row.Path = strings.ReplaceAll(row.Path, "{webhook}", hook)
			begin := time.Now()
			r := s.mistake(t, row)
			if took := time.Since(begin); took > answerTimeMax {
				t.Errorf("took %s", took)
			} else if took > answerTimeGoal {
				slow = append(slow, row.Name+" "+took.String())
			}
			p := r.problem(t, row.Status)
			param, _ := p["param"].(string)
			if row.Param != "*" && param != row.Param {
				t.Errorf("param %q, want %q: %s", param, row.Param, r.body)
			}
			if p["type"] != "invalid_request_error" || p["code"] == nil {
				t.Errorf("type %v, code %v", p["type"], p["code"])
			}
		})
	}
	t.Logf("%d mistakes; longer than %s took %q", len(rows), answerTimeGoal, slow)
	s.unchanged(t, before)
	if _, made := l.rooms.count(); made != 0 {
		t.Errorf("%d rooms were made", made)
	}
}

// unchanged wants no trace of what was refused.
func (s *stack) unchanged(t *testing.T, before []string) {
	t.Helper()
	if list := s.request(t, http.MethodGet, "/v1/videos", nil).object(t, 200); len(list["data"].([]any)) != 0 {
		t.Errorf("bad requests made videos: %v", list)
	}
	if keys := s.objects(t); len(keys) != 0 {
		t.Errorf("bad requests left objects: %v", keys)
	}
	if after := s.redisKeys(t); !slices.Equal(before, after) {
		t.Errorf("bad requests changed the keys in Redis from %q to %q", before, after)
	}
	if logs := s.logs.String(); strings.Contains(logs, "panic") || strings.Contains(logs, `"level":"ERROR"`) {
		t.Errorf("the log complains: %.2000s", logs)
	}
	s.noTempFiles(t)
}

// mistake sends one row.
func (s *stack) mistake(t *testing.T, row badRequest) reply {
	t.Helper()
	if row.Raw {
		return s.raw(t, row.body(t))
	}
	method, path, contentType := row.Method, row.Path, "application/json"
	if method == "" {
		method = http.MethodPost
	}
	if path == "" {
		path = "/v1/videos"
	}
	if row.Type != nil {
		contentType = *row.Type
	}
	var headers []string
	if contentType != "" {
		headers = append(headers, "Content-Type", contentType)
	}
	for name, value := range row.Headers {
		headers = append(headers, name, value)
	}
	return s.request(t, method, path, strings.NewReader(row.body(t)), headers...)
}

// raw sends bytes as they are, ends its side, and reads the first answer, which is held to the description as all others are.
func (s *stack) raw(t *testing.T, request string) reply {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(waitMax)); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, request) // the server may have had enough before the end
	_ = conn.(*net.TCPConn).CloseWrite()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	doc, err := strictSpec()
	if err != nil {
		t.Fatal(err)
	}
	content := doc.Components.Responses["Error"].Value.Content["application/json"]
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		t.Fatalf("%d: no JSON: %.300s", res.StatusCode, body)
	}
	if err := content.Schema.Value.VisitJSON(value); err != nil {
		t.Errorf("%d: %v: %.300s", res.StatusCode, err, body)
	}
	return reply{res.StatusCode, res.Header, body}
}

func badRequests(t *testing.T) []badRequest {
	t.Helper()
	data, err := os.ReadFile("testdata/bad_requests.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var rows []badRequest
	names := map[string]bool{}
	scanner := bufio.NewScanner(bytes.NewReader(data))
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var row badRequest
		if err := json.Unmarshal(scanner.Bytes(), &row); err != nil {
			t.Fatalf("line %d: %v", len(rows)+1, err)
		}
		if names[row.Name] {
			t.Fatalf("line %d: %q is there already", len(rows)+1, row.Name)
		}
		names[row.Name] = true
		rows = append(rows, row)
	}
	return rows
}
