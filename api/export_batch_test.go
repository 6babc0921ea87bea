package api

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// BatchLine is a line of a batch's file as it was read: its custom id or what is wrong with it, and where the next one begins.
type BatchLine struct {
	CustomID, Wrong string
	Next            int64
}

// BatchLines reads a batch's file from a place on, through a buffer of a few bytes, so that lines come in pieces.
func BatchLines(text []byte, at int64) ([]BatchLine, error) {
	r := &batchReader{file: bufio.NewReaderSize(bytes.NewReader(text[at:]), 16), at: at}
	var out []BatchLine
	for {
		line, err := r.next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		request, bad := parseBatchLine(line)
		one := BatchLine{CustomID: request.customID, Next: r.at}
		if bad != nil {
			one.Wrong = bad.Code
		}
		out = append(out, one)
	}
}
