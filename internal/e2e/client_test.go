package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"
)

// videoTimeout bounds one small video from request to file on a busy machine, with room for an attempt that is lost to a fault.
const videoTimeout = 90 * time.Second

// client speaks the wire contract as a plain HTTP client without retries.
type client struct {
	base string
	key  string
	http *http.Client
}

func newClient(base string) *client {
	return &client{base: base, http: &http.Client{Timeout: 30 * time.Second}}
}

// fields are those of a request.
type fields map[string]any

// with answers a copy of the fields with others on top.
func (f fields) with(more fields) fields {
	all := fields{}
	for _, m := range []fields{f, more} {
		for k, v := range m {
			all[k] = v
		}
	}
	return all
}

// small asks for the cheapest video there is.
func small(prompt string) fields {
	return fields{"model": "terrain", "prompt": prompt, "size": "64x64", "num_frames": 5, "seed": 7}
}

// long asks for a video that takes some seconds, so that a fault can strike while it is made.
func long(prompt string) fields {
	return fields{"model": "terrain", "prompt": prompt, "size": "832x480", "seconds": 12, "seed": 7}
}

// video is the object of the wire.
type video struct {
	ID                 string            `json:"id"`
	Object             string            `json:"object"`
	Model              string            `json:"model"`
	Status             string            `json:"status"`
	Progress           int               `json:"progress"`
	CreatedAt          int64             `json:"created_at"`
	CompletedAt        *int64            `json:"completed_at"`
	ExpiresAt          *int64            `json:"expires_at"`
	Prompt             *string           `json:"prompt"`
	Size               string            `json:"size"`
	Seconds            string            `json:"seconds"`
	RemixedFromVideoID *string           `json:"remixed_from_video_id"`
	Error              *videoError       `json:"error"`
	FPS                int               `json:"fps"`
	Seed               int64             `json:"seed"`
	NumFrames          int               `json:"num_frames"`
	QueuePosition      *int64            `json:"queue_position"`
	InferenceTimeS     *float64          `json:"inference_time_s"`
	PeakMemoryMB       *float64          `json:"peak_memory_mb"`
	Metadata           map[string]string `json:"metadata"`
	URL                *string           `json:"url"`
	Weights            string            `json:"weights"`
}

type videoError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (v video) terminal() bool { return v.Status == "completed" || v.Status == "failed" }

// videoList is a page.
type videoList struct {
	Data    []video `json:"data"`
	FirstID *string `json:"first_id"`
	LastID  *string `json:"last_id"`
	HasMore bool    `json:"has_more"`
}

// answerError is an answer that is no success.
type answerError struct {
	Status int
	Header http.Header
	Body   string
	Code   string
	Param  string
}

// Error shows the answer.
func (e *answerError) Error() string { return fmt.Sprintf("%d %s", e.Status, e.Body) }

// call makes one request and decodes a JSON answer into into, where it is not nil. Its error is an *answerError if the server answered.
func (c *client) call(ctx context.Context, method, path string, header http.Header, body io.Reader, into any) (http.Header, error) {
	res, err := c.do(ctx, method, path, header, body)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return res.Header, err
	}
	if res.StatusCode >= 300 {
		return res.Header, refused(res, data)
	}
	if into == nil {
		return res.Header, nil
	}
	return res.Header, json.Unmarshal(data, into)
}

func (c *client) do(ctx context.Context, method, path string, header http.Header, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	return c.http.Do(req)
}

func refused(res *http.Response, data []byte) error {
	var envelope struct {
		Error struct {
			Code  string `json:"code"`
			Param string `json:"param"`
		} `json:"error"`
	}
	// An answer without the envelope keeps its empty code, which no test wants.
	_ = json.Unmarshal(data, &envelope)
	return &answerError{Status: res.StatusCode, Header: res.Header, Body: string(data), Code: envelope.Error.Code, Param: envelope.Error.Param}
}

// statusOf is the HTTP status of an error of call, 0 when the server did not answer.
func statusOf(err error) int {
	var answer *answerError
	if errors.As(err, &answer) {
		return answer.Status
	}
	return 0
}

// post creates a video by JSON.
func (c *client) post(ctx context.Context, f fields, header http.Header) (video, error) {
	body, err := json.Marshal(f)
	if err != nil {
		return video{}, err
	}
	h := http.Header{"Content-Type": {"application/json"}}
	for name, values := range header {
		h[name] = values
	}
	var v video
	_, err = c.call(ctx, http.MethodPost, "/v1/videos", h, bytes.NewReader(body), &v)
	return v, err
}

// create is post for tests in which it must work.
func (c *client) create(t *testing.T, f fields) video {
	t.Helper()
	v, err := c.post(t.Context(), f, nil)
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	return v
}

func (c *client) get(ctx context.Context, id string) (video, error) {
	var v video
	_, err := c.call(ctx, http.MethodGet, "/v1/videos/"+id, nil, nil, &v)
	return v, err
}

func (c *client) delete(ctx context.Context, id string) error {
	_, err := c.call(ctx, http.MethodDelete, "/v1/videos/"+id, nil, nil, nil)
	return err
}

// all lists every video, page by page, newest first.
func (c *client) all(t *testing.T, limit int) []video {
	t.Helper()
	var videos []video
	for after := ""; ; {
		path := fmt.Sprintf("/v1/videos?limit=%d", limit)
		if after != "" {
			path += "&after=" + after
		}
		var page videoList
		if _, err := c.call(t.Context(), http.MethodGet, path, nil, nil, &page); err != nil {
			t.Fatalf("list: %v", err)
		}
		videos = append(videos, page.Data...)
		if !page.HasMore || page.LastID == nil {
			return videos
		}
		after = *page.LastID
	}
}

// await polls until the video is completed; a failed one ends the test.
func (c *client) await(t *testing.T, id string) video {
	t.Helper()
	v := c.awaitEnd(t, id)
	if v.Status != "completed" {
		t.Fatalf("%s: %s %+v", id, v.Status, v.Error)
	}
	return v
}

// awaitEnd polls until the video has reached a terminal status. Answers that are no success are waited out.
func (c *client) awaitEnd(t *testing.T, id string) video {
	t.Helper()
	var v video
	var err error
	done := holdsWithin(videoTimeout, func() bool {
		v, err = c.get(t.Context(), id)
		return err == nil && v.terminal()
	})
	if !done {
		t.Fatalf("%s did not end within %s: %s %d %%, %v", id, videoTimeout, v.Status, v.Progress, err)
	}
	return v
}

// awaitStatus polls until the video has the status.
func (c *client) awaitStatus(t *testing.T, id, status string) video {
	t.Helper()
	var v video
	waitFor(t, videoTimeout, id+" to be "+status, func() bool {
		got, err := c.get(t.Context(), id)
		if err == nil {
			v = got
		}
		return err == nil && v.Status == status
	})
	return v
}

// content downloads a variant of a completed video.
func (c *client) content(t *testing.T, id, variant string) []byte {
	t.Helper()
	path := "/v1/videos/" + id + "/content"
	if variant != "" {
		path += "?variant=" + variant
	}
	res, err := c.do(t.Context(), http.MethodGet, path, nil, nil)
	if err != nil {
		t.Fatalf("content: %v", err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("content: %d %v %.200s", res.StatusCode, err, data)
	}
	return data
}

// make creates a video and waits until it is completed.
func (c *client) make(t *testing.T, f fields) video {
	t.Helper()
	return c.await(t, c.create(t, f).ID)
}
