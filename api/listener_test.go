package api_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestMalformedHTTPIsAnsweredInTheEnvelope although no handler ever sees it.
func TestMalformedHTTPIsAnsweredInTheEnvelope(t *testing.T) {
	s := newStack(t)
	for name, c := range map[string]struct {
		request string
		status  int
	}{
		"escape in the path": {"GET /v1/videos/%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"no host":            {"GET /v1/videos HTTP/1.1\r\n\r\n", 400},
		"header name":        {"GET /v1/videos HTTP/1.1\r\nHost: a\r\na b: c\r\n\r\n", 400},
		"two lengths":        {"POST /v1/videos HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}", 400},
		"large header":       {"GET /v1/videos HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("a", 64<<10) + "\r\n\r\n", 431},
		"encoding":           {"POST /v1/videos HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
		"version":            {"GET /v1/videos HTTP/3.0\r\nHost: a\r\n\r\n", 505},
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(conn.SetDeadline(time.Now().Add(waitMax)), second(io.WriteString(conn, c.request))); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if p := (reply{status: res.StatusCode, header: res.Header, body: body}).problem(t, c.status); p["type"] != "invalid_request_error" || p["code"] == nil || !res.Close {
			t.Errorf("%s: %s", name, body)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
