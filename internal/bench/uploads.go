package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// UploadResult is what concurrent uploads met.
type UploadResult struct {
	Uploads  int            `json:"uploads"`
	Errors   map[string]int `json:"errors"`
	ElapsedS float64        `json:"elapsed_s"`
	// MS is the time of one upload, from its first byte to its answer.
	MS Quantiles `json:"ms"`
}

// uploadTimeout bounds one upload on a machine where many share the processors.
const uploadTimeout = 5 * time.Minute

// Uploads posts the same form from many connections at the same time, rounds times on each.
func Uploads(ctx context.Context, t Target, path string, form Form, concurrent, rounds int) (UploadResult, error) {
	if _, err := t.address(); err != nil {
		return UploadResult{}, err
	}
	if concurrent < 1 || concurrent > connectionsMax || rounds < 1 {
		return UploadResult{}, fmt.Errorf("%w: %d uploads at once, %d times", ErrPlan, concurrent, rounds)
	}
	client := newBulkClient(concurrent, 0)
	defer client.CloseIdleConnections()
	var (
		mu      sync.Mutex
		group   sync.WaitGroup
		samples []time.Duration
		result  = UploadResult{Uploads: concurrent * rounds, Errors: map[string]int{}}
	)
	start := time.Now()
	for range concurrent {
		group.Go(func() {
			for range rounds {
				began := time.Now()
				status, err := upload(ctx, client, t, path, form)
				took := time.Since(began)
				mu.Lock()
				if err != nil || status >= 300 {
					result.Errors[classify(status, err)]++
				} else {
					samples = append(samples, took)
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		return UploadResult{}, fmt.Errorf("bench: uploads: %w", err)
	}
	result.ElapsedS = time.Since(start).Seconds()
	result.MS = NewQuantiles(samples, result.Uploads-len(samples))
	return result, nil
}

func upload(ctx context.Context, client *http.Client, t Target, path string, form Form) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, uploadTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.URL+path, bytes.NewReader(form.Body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", form.ContentType)
	t.authorize(req)
	res, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}

func (t Target) authorize(req *http.Request) {
	if t.Key != "" {
		req.Header.Set("Authorization", "Bearer "+t.Key)
	}
}

// newBulkClient makes a client for large bodies. receiveBytes, when not 0, shrinks the socket's receive buffer, so that a slow reader is soon felt
// by the server.
func newBulkClient(connections, receiveBytes int) *http.Client {
	d := net.Dialer{Timeout: dialTimeout}
	return &http.Client{Transport: &http.Transport{
		MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections, DisableCompression: true,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := d.DialContext(ctx, network, addr)
			if err != nil || receiveBytes == 0 {
				return c, err
			}
			if err := c.(*net.TCPConn).SetReadBuffer(receiveBytes); err != nil {
				_ = c.Close()
				return nil, err
			}
			return c, nil
		},
	}}
}
