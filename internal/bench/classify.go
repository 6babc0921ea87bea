package bench

import (
	"errors"
	"io"
	"net"
	"strconv"
	"syscall"
)

// classify names the class of a request that failed: its status, or what happened to the connection.
func classify(status int, err error) string {
	var timeout net.Error
	switch {
	case err == nil:
		return "http_" + strconv.Itoa(status)
	case errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "closed"
	default:
		return "other"
	}
}
