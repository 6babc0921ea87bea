package api

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"strconv"

	"telefuser/openapi"
)

// envelopes is a listener whose connections answer in the envelope where net/http refuses a request before any handler sees it: a malformed
// line or header, a header that is too large, a version, an encoding or an expectation that it does not know.
type envelopes struct{ net.Listener }

// Accept wraps the next connection.
func (l envelopes) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return envelopedConn{conn}, nil
}

type envelopedConn struct{ net.Conn }

// Write passes everything on but the refusals of net/http, each of which is one write of its own.
func (c envelopedConn) Write(p []byte) (int, error) {
	answer := envelopeOf(p)
	if answer == nil {
		return c.Conn.Write(p)
	}
	if _, err := c.Conn.Write(answer); err != nil {
		return 0, err
	}
	return len(p), nil
}

// CloseWrite lets net/http end a connection without cutting its last answer off.
func (c envelopedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// The form of a refusal: a status line, this header, and a short text.
const (
	refusalStart    = "HTTP/1.1 "
	refusalHeader   = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
	refusalBytesMax = 512
	// expectation is how the refusal of an Expect header begins, which has other headers and no text. No handler of ours has this status.
	expectation = refusalStart + "417 "
)

// envelopeOf is the answer to send in place of a refusal; nil where the bytes are none.
func envelopeOf(p []byte) []byte {
	if len(p) > refusalBytesMax || !bytes.HasPrefix(p, []byte(refusalStart)) {
		return nil
	}
	line, text, found := bytes.Cut(p[len(refusalStart):], []byte(refusalHeader))
	if bytes.HasPrefix(p, []byte(expectation)) {
		line, text, found = []byte("417 Expectation Failed"), []byte("unknown expectation"), true
	}
	if !found || len(line) < 3 {
		return nil
	}
	status, err := strconv.Atoi(string(line[:3]))
	if err != nil || status < 400 {
		return nil
	}
	code := codeInvalidBody
	if status == http.StatusRequestHeaderFieldsTooLarge {
		code = codeTooLarge
	}
	body, err := json.Marshal(openapi.Error{Error: openapi.ErrorBody{Message: "The request is not acceptable HTTP: " + string(text) + ".", Type: typeInvalidRequest, Code: &code}})
	if err != nil {
		return nil
	}
	head := refusalStart + string(line) + "\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\nConnection: close\r\n\r\n"
	return append([]byte(head), body...)
}
