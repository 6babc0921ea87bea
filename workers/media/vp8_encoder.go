package media

import (
	"context"
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"telefuser/internal/cputime"
)

// What libvpx calls things.
const (
	vpxOK             = 0
	vpxABIMismatch    = 3
	vpxFormatI420     = 0x102
	vpxForceKey       = 1
	vpxDeadlineLive   = 1
	vpxPacketFrame    = 0
	vpxFrameIsKey     = 1
	vpxControlSpeed   = 13
	vpxControlStatic  = 17
	vpxControlIntra   = 26
	vp8SpeedLive      = -16 // the quickest: docs/benchmarks.md has its price
	vp8StaticLive     = 300 // blocks that change less, as a sum of squares, are not coded anew
	vp8IntraPct       = 450
	vp8PacketsMax     = 16
	vpxImageBytes     = 1 << 10
	vpxContextBytes   = 1 << 10
	nanosecondsPerSec = int64(time.Second)
)

// vpxPacket is the front of libvpx's vpx_codec_cx_pkt for a frame.
type vpxPacket struct {
	kind     int32
	_        int32
	data     uintptr
	bytes    uintptr
	pts      int64
	duration uintptr
	flags    uint32
}

// VP8Encoder turns frames into a live VP8 stream in this process, so that a keyframe can be had at any moment. It is used by one goroutine at a time
// and must be closed.
type VP8Encoder struct {
	o   VP8Options
	lib *vpxLibrary
	// context and image are C structures of libvpx; their memory is larger than any release's. They are nil after Close.
	context *[vpxContextBytes / 8]uint64
	image   *[vpxImageBytes / 8]uint64
	out     []byte
	// last is the time of the last frame in ticks.
	last int64
	cpu  cputime.Meter
}

// NewVP8Encoder loads libvpx and opens a stream. The error wraps ErrGeometry for options that do not fit, and ErrEncoder, with the package to install, when
// there is no libvpx of a known release.
func NewVP8Encoder(o VP8Options) (*VP8Encoder, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	lib, err := loadVPX()
	if err != nil {
		return nil, err
	}
	e := &VP8Encoder{o: o, lib: lib, context: new([vpxContextBytes / 8]uint64), image: new([vpxImageBytes / 8]uint64), last: -1}
	if err := e.open(); err != nil {
		return nil, err
	}
	for control, v := range map[int]int{vpxControlSpeed: vp8SpeedLive, vpxControlStatic: vp8StaticLive, vpxControlIntra: vp8IntraPct} {
		if r := e.lib.control.call(e.contextAddr(), uintptr(control), uintptr(v)); int32(r) != vpxOK {
			e.Close()
			return nil, fmt.Errorf("%w: libvpx takes no control %d: %s", ErrEncoder, control, cString(lib.errText.call(r)))
		}
	}
	return e, nil
}

// open tries the interfaces that the release may have; the library accepts only its own.
func (e *VP8Encoder) open() error {
	var cfg vpxConfig
	vp8 := e.lib.vp8.call()
	if r := e.lib.configDefault.call(vp8, uintptr(unsafe.Pointer(&cfg)), 0); int32(r) != vpxOK || !cfg.isKnown() {
		return fmt.Errorf("%w: %s has an unknown configuration: %s", ErrEncoder, e.lib.name, vp8Install)
	}
	cfg.apply(e.o)
	for _, abi := range e.lib.abis {
		r := e.lib.open.call(e.contextAddr(), vp8, uintptr(unsafe.Pointer(&cfg)), 0, uintptr(abi.number))
		switch int32(r) {
		case vpxOK:
			return nil
		case vpxABIMismatch:
			continue
		}
		return fmt.Errorf("%w: libvpx: %s: %s", ErrEncoder, cString(e.lib.errText.call(r)), cString(e.lib.errDetail.call(e.contextAddr())))
	}
	return fmt.Errorf("%w: %s %s has an unknown interface: %s", ErrEncoder, e.lib.name, cString(e.lib.versionText.call()), vp8Install)
}

// contextAddr is valid as long as the encoder lives: Go's heap does not move.
func (e *VP8Encoder) contextAddr() uintptr { return uintptr(unsafe.Pointer(e.context)) }

// Encode compresses one frame, which is shown at pts, later than the frame before. forceKey makes it one that decoding can start with; key says whether
// it is one. The data are valid until the next call.
func (e *VP8Encoder) Encode(f Frame, pts time.Duration, forceKey bool) (data []byte, key bool, err error) {
	if e.context == nil {
		return nil, false, fmt.Errorf("%w: the stream is closed", ErrEncoder)
	}
	if f.Width != e.o.Width || f.Height != e.o.Height || len(f.Data) != FrameBytes(f.Width, f.Height) {
		return nil, false, fmt.Errorf("%w: a frame of %d x %d for a stream of %d x %d", ErrGeometry, f.Width, f.Height, e.o.Width, e.o.Height)
	}
	ticks := int64(pts/time.Second)*vp8ClockRate + int64(pts%time.Second)*vp8ClockRate/nanosecondsPerSec
	if ticks <= e.last {
		return nil, false, fmt.Errorf("%w: a frame at %v, not later than the one before", ErrGeometry, pts)
	}
	e.last = ticks
	e.cpu.Start() // the library works on this thread
	defer e.cpu.Stop()
	var flags uintptr
	if forceKey {
		flags = vpxForceKey
	}
	// The library copies the planes while it encodes, and reads them through the image until then.
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&f.Data[0])
	image := uintptr(unsafe.Pointer(e.image))
	if e.lib.wrap.call(image, vpxFormatI420, uintptr(f.Width), uintptr(f.Height), 1, uintptr(unsafe.Pointer(&f.Data[0]))) == 0 {
		return nil, false, fmt.Errorf("%w: libvpx takes no image of %d x %d", ErrEncoder, f.Width, f.Height)
	}
	r := e.lib.encode.call(e.contextAddr(), image, uintptr(ticks), uintptr(vp8ClockRate/e.o.FPS), flags, vpxDeadlineLive)
	if int32(r) != vpxOK {
		return nil, false, fmt.Errorf("%w: libvpx: %s: %s", ErrEncoder, cString(e.lib.errText.call(r)), cString(e.lib.errDetail.call(e.contextAddr())))
	}
	runtime.KeepAlive(e)
	return e.collect()
}

// CPU is the processor time of all frames so far, of the encoder's first thread; 0 where it cannot be measured.
func (e *VP8Encoder) CPU() time.Duration { return e.cpu.Sum() }

// collect takes what the library made of the frame.
func (e *VP8Encoder) collect() (data []byte, key bool, err error) {
	e.out = e.out[:0]
	// The library keeps its place in the list here.
	place := new(uintptr)
	for range vp8PacketsMax {
		p := e.lib.packets.call(e.contextAddr(), uintptr(unsafe.Pointer(place)))
		if p == 0 {
			break
		}
		packet := (*vpxPacket)(cPointer(p))
		if packet.kind != vpxPacketFrame {
			continue
		}
		e.out = append(e.out, unsafe.Slice((*byte)(cPointer(packet.data)), int(packet.bytes))...)
		key = key || packet.flags&vpxFrameIsKey != 0
	}
	if len(e.out) == 0 {
		return nil, false, fmt.Errorf("%w: libvpx made nothing of a frame", ErrEncoder)
	}
	return e.out, key, nil
}

// Close frees the stream. Calling it again does nothing.
func (e *VP8Encoder) Close() {
	if e.context == nil {
		return
	}
	e.lib.destroy.call(e.contextAddr())
	e.context, e.image, e.out = nil, nil, nil
}

// CheckVP8 encodes a small picture. Its error says which package to install when live video cannot be encoded here.
func CheckVP8(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	const side = 64
	e, err := NewVP8Encoder(VP8Options{Width: side, Height: side, FPS: 16, BitrateBitsPerSecond: vp8BitrateMin})
	if err != nil {
		return err
	}
	defer e.Close()
	_, key, err := e.Encode(NewFrame(side, side), 0, false)
	if err == nil && !key {
		err = fmt.Errorf("%w: libvpx: the first frame is no keyframe", ErrEncoder)
	}
	return err
}
