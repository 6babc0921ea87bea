package faults_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// askTimeout bounds one request of the bench; the product promises a refusal within three seconds.
const askTimeout = 10 * time.Second

// client speaks to one API without retries.
type client struct {
	base string
	http *http.Client
}

func newClient(base string) *client {
	return &client{base: base, http: &http.Client{Timeout: askTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: 32}}}
}

// fields are those of a request.
type fields map[string]any

// with answers a copy with others on top.
func (f fields) with(more fields) fields {
	all := fields{}
	for _, m := range []fields{f, more} {
		for k, v := range m {
			all[k] = v
		}
	}
	return all
}

// script asks for a video of three chunks whose engine does what the words say.
func script(words string) fields {
	return fields{"model": "scripted", "prompt": words, "size": "64x64", "num_frames": 45, "seed": 7}
}

// chunked asks for so many chunks of a scripted video.
func chunked(words string, chunks int) fields {
	return script(words).with(fields{"num_frames": 16*chunks - 3})
}

// video is what the bench reads of the wire's object.
type video struct {
	ID          string `json:"id"`
	Status      string `json:"status"`
	Progress    int    `json:"progress"`
	CreatedAt   int64  `json:"created_at"`
	CompletedAt *int64 `json:"completed_at"`
	Prompt      string `json:"prompt"`
	Error       *struct {
		Code string `json:"code"`
	} `json:"error"`
}

func (v video) terminal() bool { return v.Status == "completed" || v.Status == "failed" }

// outcome is "completed" or the code of the failure.
func (v video) outcome() string {
	if v.Status == "failed" && v.Error != nil {
		return v.Error.Code
	}
	return v.Status
}

// answerError is an answer that is no success.
type answerError struct {
	Status int
	Header http.Header
	Body   string
	Code   string
}

// Error shows the answer.
func (e *answerError) Error() string { return fmt.Sprintf("%d %.300s", e.Status, e.Body) }

// statusOf is the HTTP status of an error, 0 when the server did not answer.
func statusOf(err error) int {
	var answer *answerError
	if errors.As(err, &answer) {
		return answer.Status
	}
	return 0
}

// codeOf is the code in the envelope of an error.
func codeOf(err error) string {
	var answer *answerError
	if errors.As(err, &answer) {
		return answer.Code
	}
	return ""
}

// call makes one request and decodes a JSON answer into into, where it is not nil.
func (c *client) call(ctx context.Context, method, path string, header http.Header, body, into any) error {
	var in io.Reader = http.NoBody
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return err
		}
		in = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, in)
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, values := range header {
		req.Header[name] = values
	}
	data, err := c.send(req)
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(data, into)
}

func (c *client) send(req *http.Request) ([]byte, error) {
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if res.StatusCode < http.StatusMultipleChoices {
		return data, nil
	}
	var envelope struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	_ = json.Unmarshal(data, &envelope) // an answer without the envelope keeps its empty code, which no test wants
	return nil, &answerError{Status: res.StatusCode, Header: res.Header, Body: string(data), Code: envelope.Error.Code}
}

// keyHeader is spelled so that Go's own client does not send the request again by itself.
func keyHeader(key string) http.Header { return http.Header{"idempotency-key": {key}} }

func (c *client) post(ctx context.Context, f fields, header http.Header) (video, error) {
	var v video
	err := c.call(ctx, http.MethodPost, "/v1/videos", header, f, &v)
	return v, err
}

func (c *client) get(ctx context.Context, id string) (video, error) {
	var v video
	err := c.call(ctx, http.MethodGet, "/v1/videos/"+id, nil, nil, &v)
	return v, err
}

func (c *client) delete(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, "/v1/videos/"+id, nil, nil, nil)
}

func (c *client) content(ctx context.Context, id string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/v1/videos/"+id+"/content", http.NoBody)
	if err != nil {
		return nil, err
	}
	return c.send(req)
}

// list reads every video, newest first.
func (c *client) list(ctx context.Context) ([]video, error) {
	var all []video
	for after := ""; ; {
		var page struct {
			Data    []video `json:"data"`
			LastID  string  `json:"last_id"`
			HasMore bool    `json:"has_more"`
		}
		if err := c.call(ctx, http.MethodGet, "/v1/videos?limit=100&after="+after, nil, nil, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Data...)
		if !page.HasMore {
			return all, nil
		}
		after = page.LastID
	}
}

// ready is nil when the API says that it is; otherwise its error's body names the broken link.
func (c *client) ready(ctx context.Context) error {
	return c.call(ctx, http.MethodGet, "/v1/service/ready", nil, nil, nil)
}

// patiently asks again, as a client does, while it is refused politely or not answered in time.
func patiently(ask func() error) error {
	var err error
	holdsWithin(readyTimeout, func() bool {
		err = ask()
		return err == nil || statusOf(err) != 0 && !refusedPolitely(err)
	})
	return err
}

// refusedPolitely says whether an error is one that a client may meet while a server behind the API is away: 503 or 429, with a word on when to come again.
func refusedPolitely(err error) bool {
	var answer *answerError
	if !errors.As(err, &answer) || answer.Status != http.StatusServiceUnavailable && answer.Status != http.StatusTooManyRequests {
		return false
	}
	seconds, err := strconv.ParseFloat(answer.Header.Get("Retry-After"), 64)
	return err == nil && seconds > 0
}
