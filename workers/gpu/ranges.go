package gpu

import (
	"runtime"
	"time"
	"unsafe"
)

// Ranges name parts of the work. A profiler shows them where NVIDIA's tools extension (NVTX) is there; everywhere a range tells how long it
// took, so that what a profiler shows and what the facts of a job say are the same parts. The zero value works without a profiler, and
// so does nil. All methods may be called from any goroutine, and ranges may overlap.
type Ranges struct {
	start, end Proc // nil functions where there is no NVTX
	names      map[string]*byte
}

// OpenRanges looks for NVTX; more paths may be given and come first. Without it ranges are measured and shown to nobody. Names are the
// ranges that will be used: others cost a copy each time.
func OpenRanges(names []string, paths ...string) *Ranges {
	r := &Ranges{names: make(map[string]*byte, len(names))}
	for _, n := range names {
		r.names[n] = &append([]byte(n), 0)[0]
	}
	lib, err := OpenLibrary(append(paths, "libnvtx3interop.so.1", "libnvToolsExt.so.1")...)
	if err != nil {
		return r
	}
	if err := lib.Procs(map[string]*Proc{"nvtxRangeStartA": &r.start, "nvtxRangeEnd": &r.end}); err != nil {
		r.start, r.end = 0, 0
	}
	return r
}

// Shown says whether NVTX is there. That somebody looks, it does not tell.
func (r *Ranges) Shown() bool { return r != nil && r.end != 0 }

// Range is one part of the work under way.
type Range struct {
	owner *Ranges
	id    uintptr
	began time.Time
}

// Begin starts a range.
func (r *Ranges) Begin(name string) Range {
	g := Range{owner: r}
	if r.Shown() {
		text, ok := r.names[name]
		if !ok {
			text = &append([]byte(name), 0)[0]
		}
		g.id = r.start.Call(uintptr(unsafe.Pointer(text)))
		runtime.KeepAlive(text)
	}
	g.began = time.Now()
	return g
}

// End ends the range, once, and answers how long it took on the monotonic clock.
func (g Range) End() time.Duration {
	took := time.Since(g.began)
	if g.owner.Shown() {
		g.owner.end.Call(g.id)
	}
	return took
}
