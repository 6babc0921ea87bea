package gpu

import "unsafe"

// launchConfig is CUlaunchConfig.
type launchConfig struct {
	grid, block [3]uint32
	sharedBytes uint32
	_           uint32
	stream      uintptr
	attributes  *launchAttribute
	count       uint32
	_           uint32
}

// launchAttribute is CUlaunchAttribute: a number, and a value of 64 bytes.
type launchAttribute struct {
	id    uint32
	_     uint32
	value [16]uint32
}

// programmaticSerialization lets a kernel start before the one ahead of it in the stream has ended.
const programmaticSerialization = 6

// overlapped is what a stream tells the driver about such a launch; the driver copies it.
type overlapped struct {
	config    launchConfig
	attribute launchAttribute
}

// launchOverlapped is Launch for grids with Overlap.
func (s *Stream) launchOverlapped(f *Function, g Grid, a *Args) error {
	o := &s.overlapped
	o.attribute = launchAttribute{id: programmaticSerialization, value: [16]uint32{1}}
	o.config = launchConfig{
		grid: [3]uint32{uint32(g.X), uint32(max(g.Y, 1)), uint32(max(g.Z, 1))}, block: [3]uint32{uint32(g.Threads), 1, 1},
		sharedBytes: uint32(g.SharedBytes), stream: s.handle, attributes: &o.attribute, count: 1,
	}
	r := s.ctx.drv.p.launchEx.Call(uintptr(unsafe.Pointer(&o.config)), f.handle, uintptr(unsafe.Pointer(&a.ptrs[0])), 0)
	if int32(r) == 0 {
		return nil
	}
	return s.ctx.check("cuLaunchKernelEx "+f.name, r)
}
