package media

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/ebitengine/purego"
)

// cProc is the address of a C function.
type cProc uintptr

// call calls the function with integer and pointer arguments. A Go pointer must be converted in the call itself, so that the compiler keeps what it
// points to alive and in place.
//
//go:uintptrescapes
func (p cProc) call(args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(uintptr(p), args...)
	return r
}

// errNotInstalled means that there is no library of a name.
var errNotInstalled = errors.New("not installed")

// openLibrary loads a library and finds its functions. It is never closed: its code may still be on some thread's stack.
func openLibrary(name string, procs map[string]*cProc) error {
	handle, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return fmt.Errorf("%s: %w: %v", name, errNotInstalled, err)
	}
	for symbol, dst := range procs {
		p, err := purego.Dlsym(handle, symbol)
		if err != nil || p == 0 {
			return fmt.Errorf("%s has no %s", name, symbol)
		}
		*dst = cProc(p)
	}
	return nil
}

// cString copies a text that C owns; empty for a null pointer.
func cString(p uintptr) string {
	if p == 0 {
		return ""
	}
	start := cPointer(p)
	n := 0
	for *(*byte)(unsafe.Add(start, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(start), n))
}

// cPointer turns an address of C's memory into a pointer. The collector knows nothing of that memory and leaves it alone.
func cPointer(p uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&p))
}
