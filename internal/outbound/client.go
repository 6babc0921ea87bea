package outbound

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// The bounds of what a receiver may answer: of its head, of the body of a Post, which is read and thrown away, and the hops of a Fetch.
const (
	headBytesMax   = 16 << 10
	answerBytesMax = 16 << 10
	hopsMax        = 3
)

// userAgent is who calls.
const userAgent = "telefuser"

// Client calls addresses of strangers. It is safe for concurrent use and keeps no connection.
type Client struct {
	cfg   Config
	guard guard
	// posts knows no redirects, no cookies and no retries.
	posts http.RoundTripper
	gets  *http.Client
}

// New makes a client.
func New(cfg Config) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	c := &Client{cfg: cfg, guard: guard{networks: cfg.AllowNetworks, ports: cfg.AllowPorts, watch: cfg.Watch}}
	dialer := &net.Dialer{Timeout: cfg.StallTimeout, KeepAlive: -1, Resolver: cfg.Resolver, ControlContext: c.guard.control}
	transport := &http.Transport{
		Proxy: nil, DialContext: dialer.DialContext, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: headBytesMax,
		TLSHandshakeTimeout: cfg.StallTimeout, ResponseHeaderTimeout: cfg.Timeout,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: cfg.RootCAs},
	}
	c.posts = transport
	c.gets = &http.Client{Transport: transport, CheckRedirect: c.hop}
	return c, nil
}

// Message is what is posted.
type Message struct {
	URL     string
	Schemes []string
	Header  http.Header
	Body    []byte
	// Even is whether a failure must not tell by its time what it was: somebody waits for the answer.
	Even bool
}

// Answer is what a receiver said to a Post: a status, whatever it is, and the header Retry-After. Redirects are not followed.
type Answer struct {
	Status     int
	RetryAfter string
}

// Post sends a message, once. Its errors are ErrURL and ErrUnreachable, or the cause of ctx.
func (c *Client) Post(ctx context.Context, m Message) (Answer, error) {
	start := time.Now()
	u, err := c.parse(m.URL, m.Schemes)
	if err != nil {
		return Answer{}, err
	}
	bounded, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(bounded, http.MethodPost, u.String(), bytes.NewReader(m.Body))
	if err != nil {
		return Answer{}, fmt.Errorf("outbound: post: %w", ErrURL)
	}
	for name, values := range m.Header {
		request.Header[name] = values
	}
	request.Header.Set("User-Agent", userAgent)
	response, err := c.posts.RoundTrip(request)
	if err != nil {
		if m.Even {
			c.even(ctx, start)
		}
		return Answer{}, c.failed(ctx, "post", err)
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.CopyN(io.Discard, response.Body, answerBytesMax) // politeness: the status is what counts
	return Answer{Status: response.StatusCode, RetryAfter: response.Header.Get("Retry-After")}, nil
}

// failed translates an error of the network. Its own text, which may hold the address, stays here; the log learns whether the guard stepped in.
func (c *Client) failed(ctx context.Context, op string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("outbound: %s: %w", op, context.Cause(ctx))
	}
	if errors.Is(err, errBlocked) {
		return fmt.Errorf("outbound: %s: blocked: %w", op, ErrUnreachable)
	}
	return fmt.Errorf("outbound: %s: %w", op, ErrUnreachable)
}

// even waits until FailureFloor is over.
func (c *Client) even(ctx context.Context, start time.Time) {
	rest := c.cfg.FailureFloor - time.Since(start)
	if rest <= 0 {
		return
	}
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
