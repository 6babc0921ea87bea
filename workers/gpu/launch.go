package gpu

import (
	"fmt"
	"math"
	"unsafe"
)

// argsMax is the most parameters of one kernel; the longest of ours has fewer than 24.
const argsMax = 32

// Args packs the parameters of a kernel. One value can be used for many launches; the
// driver copies parameters while it queues.
type Args struct {
	words [argsMax]uint64
	ptrs  [argsMax]unsafe.Pointer
	n     int
}

// NewArgs makes an empty list.
func NewArgs() *Args { return &Args{} }

// Reset empties the list for reuse.
func (a *Args) Reset() *Args { a.n = 0; return a }

func (a *Args) word(v uint64) *Args {
	a.words[a.n] = v
	a.ptrs[a.n] = unsafe.Pointer(&a.words[a.n])
	a.n++
	return a
}

// Ptr adds an address.
func (a *Args) Ptr(p Ptr) *Args { return a.word(uint64(p)) }

// I32 adds a 32-bit integer.
func (a *Args) I32(v int) *Args { return a.word(uint64(uint32(int32(v)))) }

// I64 adds a 64-bit integer.
func (a *Args) I64(v int64) *Args { return a.word(uint64(v)) }

// U64 adds an unsigned 64-bit integer.
func (a *Args) U64(v uint64) *Args { return a.word(v) }

// F32 adds a float.
func (a *Args) F32(v float32) *Args { return a.word(uint64(math.Float32bits(v))) }

// Map adds a tensor map by value.
func (a *Args) Map(m *TensorMap) *Args {
	a.ptrs[a.n] = unsafe.Pointer(m.bytes())
	a.n++
	return a
}

// Grid is the shape of one launch: blocks, threads a block, dynamic shared memory in bytes.
type Grid struct {
	X, Y, Z     int
	Threads     int
	SharedBytes int
	// Overlap lets blocks take their places while the kernel queued before still runs. Only for kernels that wait for it themselves
	// (griddepcontrol.wait) before they touch memory, on GPUs of capability 9.0 and newer.
	Overlap bool
}

// Limits of one launch on every CUDA GPU.
const (
	gridXMax   = math.MaxInt32
	gridYZMax  = 65535
	threadsMax = 1024
)

// Launch queues a kernel. Y and Z of zero mean one.
func (s *Stream) Launch(f *Function, g Grid, a *Args) error {
	y, z := max(g.Y, 1), max(g.Z, 1)
	if g.X < 1 || g.X > gridXMax || y > gridYZMax || z > gridYZMax || g.Threads < 1 || g.Threads > threadsMax {
		return fmt.Errorf("gpu: launch %s: grid %dx%dx%d of %d threads: %w", f.name, g.X, y, z, g.Threads, ErrInvalid)
	}
	if err := s.ctx.use(); err != nil {
		return err
	}
	if g.SharedBytes > f.sharedBytes {
		if err := f.allowShared(g.SharedBytes); err != nil {
			return err
		}
	}
	if g.Overlap {
		return s.launchOverlapped(f, g, a)
	}
	r := s.ctx.drv.p.launch.Call(f.handle, uintptr(g.X), uintptr(y), uintptr(z), uintptr(g.Threads), 1, 1,
		uintptr(g.SharedBytes), s.handle, uintptr(unsafe.Pointer(&a.ptrs[0])), 0)
	if int32(r) == 0 {
		return nil
	}
	return s.ctx.check("cuLaunchKernel "+f.name, r)
}
