package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

const (
	dialTimeout = 5 * time.Second
	// connReadBytes holds the usual answer whole, so that it takes one read.
	connReadBytes = 8 << 10
	// answerBytesMax bounds what one answer may hold: far more than a list page.
	answerBytesMax = 16 << 20
)

// conn is one keep-alive HTTP/1.1 connection with one request at a time. It takes requests already encoded and has no goroutine of its own, because
// the client shares the processors with the server that it measures. It never repeats a request.
type conn struct {
	addr    string
	timeout time.Duration
	c       net.Conn
	r       *bufio.Reader
	body    bytes.Buffer
}

// do sends one encoded request and reads the whole answer. The body stays valid until the next call. After an error the connection is closed, and
// the next call opens a new one.
func (c *conn) do(ctx context.Context, request []byte) (status int, body []byte, err error) {
	if c.c == nil {
		if err := c.dial(ctx); err != nil {
			return 0, nil, err
		}
	}
	status, keep, err := c.exchange(ctx, request)
	if err != nil || !keep {
		c.close()
	}
	return status, c.body.Bytes(), err
}

func (c *conn) dial(ctx context.Context) error {
	d := net.Dialer{Timeout: min(dialTimeout, c.timeout)}
	tcp, err := d.DialContext(ctx, "tcp", c.addr)
	if err != nil {
		return fmt.Errorf("bench: connect: %w", err)
	}
	c.c, c.r = tcp, bufio.NewReaderSize(tcp, connReadBytes)
	return nil
}

func (c *conn) exchange(ctx context.Context, request []byte) (status int, keep bool, err error) {
	if err := c.c.SetDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, false, fmt.Errorf("bench: connection: %w", err)
	}
	tcp := c.c
	stop := context.AfterFunc(ctx, func() { _ = tcp.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := c.c.Write(request); err != nil {
		return 0, false, fmt.Errorf("bench: send: %w", err)
	}
	res, err := http.ReadResponse(c.r, nil)
	if err != nil {
		return 0, false, fmt.Errorf("bench: answer: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	c.body.Reset()
	n, err := c.body.ReadFrom(io.LimitReader(res.Body, answerBytesMax))
	if err != nil {
		return 0, false, fmt.Errorf("bench: answer's body: %w", err)
	}
	if n == answerBytesMax {
		return 0, false, fmt.Errorf("%w: an answer of %d bytes or more", ErrTarget, n)
	}
	return res.StatusCode, !res.Close, nil
}

func (c *conn) close() {
	if c.c != nil {
		_ = c.c.Close() // nothing is lost with it
		c.c = nil
	}
}
