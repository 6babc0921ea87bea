package media

import (
	"encoding/binary"
	"fmt"
)

// VP8Options shapes one live stream.
type VP8Options struct {
	// Width and Height are even numbers of pixels, FPS the frames a second that are meant to come.
	Width, Height, FPS int
	// BitrateBitsPerSecond is what the stream may use on the network, on the mean.
	BitrateBitsPerSecond int
	// Threads is how many cores one frame may use; 0 means 1.
	Threads int
}

const (
	// vp8BitrateMin and vp8BitrateMax bound the bit rate, vp8ThreadsMax the threads.
	vp8BitrateMin = 50_000
	vp8BitrateMax = 100_000_000
	vp8ThreadsMax = 16
)

func (o VP8Options) validate() error {
	switch {
	case o.Width < 16 || o.Height < 16 || o.Width > sideMax || o.Height > sideMax || o.Width%2+o.Height%2 != 0:
		return fmt.Errorf("%w: %d x %d: sides must be even, from 16 to %d", ErrGeometry, o.Width, o.Height, sideMax)
	case o.FPS < 1 || o.FPS > fpsMax:
		return fmt.Errorf("%w: %d frames a second, allowed are 1 to %d", ErrGeometry, o.FPS, fpsMax)
	case o.BitrateBitsPerSecond < vp8BitrateMin || o.BitrateBitsPerSecond > vp8BitrateMax:
		return fmt.Errorf("%w: %d bit/s, allowed are %d to %d", ErrGeometry, o.BitrateBitsPerSecond, vp8BitrateMin, vp8BitrateMax)
	case o.Threads < 0 || o.Threads > vp8ThreadsMax:
		return fmt.Errorf("%w: %d threads, allowed are 1 to %d", ErrGeometry, o.Threads, vp8ThreadsMax)
	}
	return nil
}

// vpxConfig is libvpx's vpx_codec_enc_cfg. Only its front, which is the same in every known release, is touched; the library fills all of it, so the
// memory is far larger than any release's.
type vpxConfig [8 << 10]byte

// The places of the fields, in bytes.
const (
	cfgThreads         = 4
	cfgWidth           = 12
	cfgHeight          = 16
	cfgTimebaseNum     = 28
	cfgTimebaseDen     = 32
	cfgErrorResilient  = 36
	cfgPass            = 40
	cfgLagInFrames     = 44
	cfgDropFrames      = 48
	cfgResizeAllowed   = 52
	cfgRateControl     = 72
	cfgKilobits        = 112
	cfgQuantizerMin    = 116
	cfgQuantizerMax    = 120
	cfgUndershootPct   = 124
	cfgOvershootPct    = 128
	cfgBufferMS        = 132
	cfgBufferInitialMS = 136
	cfgBufferOptimalMS = 140
	cfgKeyMode         = 160
	cfgKeyDistanceMax  = 168
)

func (c *vpxConfig) get(at int) uint32 { return binary.NativeEndian.Uint32(c[at:]) }

func (c *vpxConfig) set(at int, v int) { binary.NativeEndian.PutUint32(c[at:], uint32(v)) }

// isKnown says whether the library's own defaults stand where they are looked for.
func (c *vpxConfig) isKnown() bool {
	return c.get(cfgWidth) == 320 && c.get(cfgHeight) == 240 && c.get(cfgTimebaseNum) == 1 && c.get(cfgTimebaseDen) == 30 &&
		c.get(cfgKilobits) == 256 && c.get(cfgQuantizerMax) == 63 && c.get(cfgKeyMode) == vpxKeyAuto && c.get(cfgKeyDistanceMax) == 128
}

const (
	vpxOnePass = 0
	vpxCBR     = 1
	vpxKeyAuto = 1
	// vp8ClockRate is the clock of frames on the wire, in ticks a second.
	vp8ClockRate = 90_000
	// keyframeSecondsMax is the longest time without a keyframe. Viewers ask for one when they need it, and each costs as much as many frames.
	keyframeSecondsMax = 60
)

// apply sets a live call's rate control: what is sent follows the bit rate within a second, and no frame is ever dropped, held back or reordered.
func (c *vpxConfig) apply(o VP8Options) {
	for at, v := range map[int]int{
		cfgThreads: max(o.Threads, 1), cfgWidth: o.Width, cfgHeight: o.Height, cfgTimebaseNum: 1, cfgTimebaseDen: vp8ClockRate,
		cfgErrorResilient: 0, cfgPass: vpxOnePass, cfgLagInFrames: 0, cfgDropFrames: 0, cfgResizeAllowed: 0,
		cfgRateControl: vpxCBR, cfgKilobits: o.BitrateBitsPerSecond / 1000, cfgQuantizerMin: 2, cfgQuantizerMax: 56,
		cfgUndershootPct: 100, cfgOvershootPct: 15, cfgBufferMS: 1000, cfgBufferInitialMS: 500, cfgBufferOptimalMS: 600,
		cfgKeyMode: vpxKeyAuto, cfgKeyDistanceMax: o.FPS * keyframeSecondsMax,
	} {
		c.set(at, v)
	}
}
