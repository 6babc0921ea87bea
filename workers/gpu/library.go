package gpu

import (
	"fmt"

	"github.com/ebitengine/purego"
)

// Library is a shared library opened while the program runs. It is never closed:
// its code may still be on some thread's stack.
type Library struct {
	handle uintptr
	path   string
}

// OpenLibrary opens the first of the names or paths that loads. The error wraps
// ErrNoLibrary and says why the last one did not.
func OpenLibrary(paths ...string) (*Library, error) {
	var last error
	for _, p := range paths {
		if p == "" {
			continue
		}
		h, err := purego.Dlopen(p, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err == nil {
			return &Library{handle: h, path: p}, nil
		}
		last = err
	}
	return nil, fmt.Errorf("%w: %v", ErrNoLibrary, last)
}

// Path is the name under which the library was found.
func (l *Library) Path() string { return l.path }

// Proc finds a function of the library.
func (l *Library) Proc(name string) (Proc, error) {
	p, err := purego.Dlsym(l.handle, name)
	if err != nil || p == 0 {
		return 0, fmt.Errorf("%w: no %s in %s", ErrNoLibrary, name, l.path)
	}
	return Proc(p), nil
}

// Procs fills many functions at once and names the first that is missing.
func (l *Library) Procs(table map[string]*Proc) error {
	for name, dst := range table {
		p, err := l.Proc(name)
		if err != nil {
			return err
		}
		*dst = p
	}
	return nil
}

// Proc is the address of a C function.
type Proc uintptr

// Call calls the function with integer and pointer arguments and returns its result
// register. A Go pointer must be converted in the call itself,
// uintptr(unsafe.Pointer(&x)), so that the compiler keeps x alive and in place.
//
//go:uintptrescapes
func (p Proc) Call(args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(uintptr(p), args...)
	return r
}
