package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"telefuser/internal/bench"
	"telefuser/openapi"
)

const (
	// callTimeout bounds one call of the API.
	callTimeout = 30 * time.Second
	// answerBytesMax bounds its answer.
	answerBytesMax = 1 << 20
	// sessionsPath is where sessions are made and found.
	sessionsPath = "/v1/stream/sessions"
)

// server is the API of the server under test.
type server struct {
	bench.Target
	client *http.Client
}

func newServer(t bench.Target) server {
	return server{Target: t, client: &http.Client{Timeout: callTimeout}}
}

// create asks for the workload's session.
func (s server) create(ctx context.Context, w Workload) (openapi.SessionTicket, error) {
	var ticket openapi.SessionTicket
	config := map[string]any{"fps": w.FPS, "frame_num": w.Frames, "size": w.Size, "seed": w.Seed, "chunk_size": chunkLatents, "delivery_mode": "lossless"}
	if w.Picture != "" {
		config["image"] = w.Picture
	}
	err := s.call(ctx, http.MethodPost, sessionsPath, map[string]any{"identity": "replay", "role": "controller", "prompt": w.Prompt, "config": config}, &ticket)
	return ticket, err
}

// read answers the session's record.
func (s server) read(ctx context.Context, id string) (openapi.Session, error) {
	var record openapi.Session
	err := s.call(ctx, http.MethodGet, sessionsPath+"/"+id, nil, &record)
	return record, err
}

// end ends the session, whatever became of it.
func (s server) end(ctx context.Context, id string) error {
	return s.call(ctx, http.MethodDelete, sessionsPath+"/"+id, nil, nil)
}

func (s server) call(ctx context.Context, method, path string, body, into any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return fmt.Errorf("replay: %s %s: %w", method, path, err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("replay: %s %s: %w", method, path, err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if s.Key != "" {
		req.Header.Set("Authorization", "Bearer "+s.Key)
	}
	res, err := s.client.Do(req)
	if err != nil {
		return fmt.Errorf("replay: %s %s: %w", method, path, err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(res.Body, answerBytesMax))
	if err != nil {
		return fmt.Errorf("replay: %s %s: %w", method, path, err)
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("replay: %s %s: %w: %d %s", method, path, bench.ErrTarget, res.StatusCode, answer)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("replay: %s %s: %w: %s", method, path, bench.ErrTarget, answer)
	}
	return nil
}
