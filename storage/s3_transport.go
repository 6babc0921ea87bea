package storage

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

const (
	tlsHandshakeTimeout = 10 * time.Second
	// idleConnsMax keeps as many connections as there are usually requests at once; further ones are opened and closed.
	idleConnsMax    = 64
	idleConnTimeout = 30 * time.Second
)

// httpClient never waits for ever: for a connection, for an answer, nor for the next byte. It asks no environment for a proxy.
func (c *S3Config) httpClient() *http.Client {
	dialer := &net.Dialer{Timeout: c.DialTimeout}
	stall := c.StallTimeout
	return &http.Client{
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := dialer.DialContext(ctx, network, addr)
				if err != nil {
					return nil, err
				}
				return &stallConn{Conn: conn, timeout: stall}, nil
			},
			TLSHandshakeTimeout:   tlsHandshakeTimeout,
			ResponseHeaderTimeout: c.ResponseHeaderTimeout,
			ExpectContinueTimeout: time.Second,
			MaxIdleConns:          idleConnsMax,
			MaxIdleConnsPerHost:   idleConnsMax,
			IdleConnTimeout:       idleConnTimeout,
			DisableCompression:    true,
			// One HTTP/1 connection a request: a stall is then seen by the connection's own deadline.
			TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// stallConn fails when nothing moves for the timeout, however long the whole transfer takes.
type stallConn struct {
	net.Conn
	timeout time.Duration
}

// Read waits at most the timeout for a byte.
func (c *stallConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write also pushes the read deadline on: while a body is sent, the waiting read for its answer is no stall.
func (c *stallConn) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

func dropAcceptEncoding(
	ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler,
) (middleware.FinalizeOutput, middleware.Metadata, error) {
	if req, ok := in.Request.(*smithyhttp.Request); ok {
		req.Header.Del("Accept-Encoding")
	}
	return next.HandleFinalize(ctx, in)
}
