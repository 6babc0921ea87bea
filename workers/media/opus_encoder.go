package media

import (
	"context"
	"fmt"
	"runtime"
	"time"
	"unsafe"
)

const (
	// OpusFrame is how long the sound of one packet lasts, OpusFrameMoments in samples of one channel.
	OpusFrame        = time.Second / 50
	OpusFrameMoments = SoundRate / 50
)

// What libopus calls things.
const (
	opusOK            = 0
	opusForAudio      = 2049
	opusSetBitrate    = 4002
	opusSetComplexity = 4010
	// opusComplexity is the middle of 0 to 10: BenchmarkOpusFrame says what it costs.
	opusComplexity = 5
	// opusBytesMax is the longest packet that libopus recommends room for.
	opusBytesMax = 4000
	// opusBitrateMin and opusBitrateMax bound the bit rate of one stream.
	opusBitrateMin = 6000
	opusBitrateMax = 510_000
)

// OpusEncoder turns sound into a live Opus stream in this process. It is used by one goroutine at a time and must be closed.
type OpusEncoder struct {
	lib      *opusLibrary
	channels int
	// state belongs to libopus; 0 after Close.
	state uintptr
	out   [opusBytesMax]byte
}

// NewOpusEncoder loads libopus and opens a stream of one or two channels. The error wraps ErrGeometry for numbers that do not fit, and ErrEncoder, with the
// package to install, when there is no libopus.
func NewOpusEncoder(channels, bitrateBitsPerSecond int) (*OpusEncoder, error) {
	if channels < 1 || channels > 2 || bitrateBitsPerSecond < opusBitrateMin || bitrateBitsPerSecond > opusBitrateMax {
		return nil, fmt.Errorf("%w: sound of %d channels at %d bit/s", ErrGeometry, channels, bitrateBitsPerSecond)
	}
	lib, err := loadOpus()
	if err != nil {
		return nil, err
	}
	e := &OpusEncoder{lib: lib, channels: channels}
	code := new(int32)
	e.state = lib.create.call(SoundRate, uintptr(channels), opusForAudio, uintptr(unsafe.Pointer(code)))
	if e.state == 0 || *code != opusOK {
		return nil, e.failed("open", *code)
	}
	for request, value := range map[int]int{opusSetBitrate: bitrateBitsPerSecond, opusSetComplexity: opusComplexity} {
		if r := int32(lib.control.call(e.state, uintptr(request), uintptr(value))); r != opusOK {
			err := e.failed(fmt.Sprint("control ", request), r)
			e.Close()
			return nil, err
		}
	}
	return e, nil
}

func (e *OpusEncoder) failed(what string, code int32) error {
	return fmt.Errorf("%w: libopus: %s: %s", ErrEncoder, what, cString(e.lib.errText.call(uintptr(code))))
}

// Encode compresses exactly one frame: OpusFrameMoments samples of each channel. The data are valid until the next call.
func (e *OpusEncoder) Encode(pcm []int16) ([]byte, error) {
	if e.state == 0 {
		return nil, fmt.Errorf("%w: the stream is closed", ErrEncoder)
	}
	if len(pcm) != OpusFrameMoments*e.channels {
		return nil, fmt.Errorf("%w: %d samples for a frame of %d", ErrGeometry, len(pcm), OpusFrameMoments*e.channels)
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&pcm[0])
	n := int32(e.lib.encode.call(e.state, uintptr(unsafe.Pointer(&pcm[0])), uintptr(OpusFrameMoments), uintptr(unsafe.Pointer(&e.out[0])), opusBytesMax))
	runtime.KeepAlive(e)
	if n <= 0 {
		return nil, e.failed("encode", n)
	}
	return e.out[:n], nil
}

// Close frees the stream. Calling it again does nothing.
func (e *OpusEncoder) Close() {
	if e.state != 0 {
		e.lib.destroy.call(e.state)
		e.state = 0
	}
}

// CheckOpus encodes a moment of silence. Its error says which package to install when live sound cannot be encoded here.
func CheckOpus(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e, err := NewOpusEncoder(1, 64_000)
	if err != nil {
		return err
	}
	defer e.Close()
	_, err = e.Encode(make([]int16, OpusFrameMoments))
	return err
}
