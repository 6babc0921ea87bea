package bench

import (
	"bytes"
	"fmt"
	"net/url"
	"strconv"
)

// Target is the server under load.
type Target struct {
	// URL is its origin, http://host:port. There is no TLS: it would measure the client as much.
	URL string
	// Key is the API key; empty sends none.
	Key string
}

// address answers host:port.
func (t Target) address() (string, error) {
	u, err := url.Parse(t.URL)
	if err != nil || u.Scheme != "http" || u.Host == "" {
		return "", fmt.Errorf("%w: %q is not http://host:port", ErrTarget, t.URL)
	}
	if u.Port() == "" {
		return u.Host + ":80", nil
	}
	return u.Host, nil
}

// head is everything of a request's head behind its first line but the body's headers and the blank line.
func (t Target) head() (string, error) {
	addr, err := t.address()
	if err != nil {
		return "", err
	}
	head := " HTTP/1.1\r\nHost: " + addr + "\r\nUser-Agent: telefuser-bench\r\nAccept: application/json\r\n"
	if t.Key != "" {
		head += "Authorization: Bearer " + t.Key + "\r\n"
	}
	return head, nil
}

// encodePost makes a POST with a JSON body, ready to be written.
func encodePost(head, path string, body []byte) []byte {
	var b bytes.Buffer
	b.WriteString("POST " + path + head + "Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n")
	b.Write(body)
	return b.Bytes()
}

// appendGet appends a GET, ready to be written, to buf.
func appendGet(buf []byte, head, path string, more ...string) []byte {
	buf = append(append(buf, "GET "...), path...)
	for _, s := range more {
		buf = append(buf, s...)
	}
	return append(append(buf, head...), "\r\n"...)
}
