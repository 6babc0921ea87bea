package weights

import (
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"sync"

	"telefuser/workers/kernels"
)

// convert writes elements of a file as a backend's F32 or BF16. Both slices hold the same
// number of elements; bf16 is rounded to the nearest, ties to even.
func convert(dst []byte, d kernels.DType, src []byte, t Type) {
	switch {
	case t.same(d):
		copy(dst, src)
	case t == BF16: // to F32
		for ; len(src) >= 2 && len(dst) >= 4; src, dst = src[2:], dst[4:] {
			binary.LittleEndian.PutUint32(dst, uint32(binary.LittleEndian.Uint16(src))<<16)
		}
	case t == F32: // to BF16
		for ; len(src) >= 4 && len(dst) >= 2; src, dst = src[4:], dst[2:] {
			binary.LittleEndian.PutUint16(dst, narrow(math.Float32frombits(binary.LittleEndian.Uint32(src))))
		}
	case d == kernels.F32:
		for ; len(src) >= 2 && len(dst) >= 4; src, dst = src[2:], dst[4:] {
			binary.LittleEndian.PutUint32(dst, math.Float32bits(halfToFloat(binary.LittleEndian.Uint16(src))))
		}
	default:
		for ; len(src) >= 2 && len(dst) >= 2; src, dst = src[2:], dst[2:] {
			binary.LittleEndian.PutUint16(dst, narrow(halfToFloat(binary.LittleEndian.Uint16(src))))
		}
	}
}

// narrow rounds to the nearest bf16, as kernels.BF16FromFloat does.
func narrow(v float32) uint16 {
	b := math.Float32bits(v)
	if v != v {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// spread does n elements on all processors, in stretches that begin at multiples of four.
func spread(n int, part func(from, to int) error) error {
	const least = 1 << 16 // elements that are worth a goroutine
	workers := max(min(runtime.GOMAXPROCS(0), n/least), 1)
	each := ((n+workers-1)/workers + 3) / 4 * 4
	failed := make([]error, workers)
	var wg sync.WaitGroup
	for w := 1; w < workers; w++ {
		wg.Go(func() { failed[w] = part(min(w*each, n), min((w+1)*each, n)) })
	}
	failed[0] = part(0, min(each, n))
	wg.Wait()
	return errors.Join(failed...)
}

// element reads one element of a readable type; all of them are exact in float32.
func element(src []byte, t Type) float32 {
	switch t {
	case F16:
		return halfToFloat(binary.LittleEndian.Uint16(src))
	case BF16:
		return math.Float32frombits(uint32(binary.LittleEndian.Uint16(src)) << 16)
	default:
		return math.Float32frombits(binary.LittleEndian.Uint32(src))
	}
}

// halfToFloat is exact, with infinities and NaNs kept.
func halfToFloat(h uint16) float32 {
	const mantissa, infinite = 10, 31
	sign, e, m := uint32(h>>15)<<31, uint32(h>>mantissa&infinite), uint32(h&(1<<mantissa-1))
	switch e {
	case 0:
		v := float32(m) * 0x1p-24
		return math.Float32frombits(math.Float32bits(v) | sign)
	case infinite:
		return math.Float32frombits(sign | 0xff<<23 | m<<13)
	default:
		return math.Float32frombits(sign | (e+127-15)<<23 | m<<13)
	}
}
