package gpu

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"unsafe"
)

// NVRTC is NVIDIA's run-time compiler. It needs no GPU.
type NVRTC struct {
	lib                                       *Library
	create, destroy, compile, logSize, getLog Proc
	cubinSize, getCubin, ptxSize, getPTX      Proc
	version                                   Proc
}

// OpenNVRTC opens the compiler's library; more paths may be given and come first. It
// returns ErrNoLibrary where there is none.
func OpenNVRTC(paths ...string) (*NVRTC, error) {
	for _, p := range paths {
		// The compiler opens its builtins by name: they are found if they are loaded already.
		beside, _ := filepath.Glob(filepath.Join(filepath.Dir(p), "libnvrtc-builtins.so.*"))
		_, _ = OpenLibrary(beside...)
	}
	lib, err := OpenLibrary(append(paths, "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so")...)
	if err != nil {
		return nil, err
	}
	n := &NVRTC{lib: lib}
	err = lib.Procs(map[string]*Proc{
		"nvrtcCreateProgram": &n.create, "nvrtcDestroyProgram": &n.destroy, "nvrtcCompileProgram": &n.compile,
		"nvrtcGetProgramLogSize": &n.logSize, "nvrtcGetProgramLog": &n.getLog,
		"nvrtcGetCUBINSize": &n.cubinSize, "nvrtcGetCUBIN": &n.getCubin,
		"nvrtcGetPTXSize": &n.ptxSize, "nvrtcGetPTX": &n.getPTX, "nvrtcVersion": &n.version,
	})
	if err != nil {
		return nil, err
	}
	return n, nil
}

// Version is the compiler's version, such as "13.0".
func (n *NVRTC) Version() string {
	var major, minor int32
	n.version.Call(uintptr(unsafe.Pointer(&major)), uintptr(unsafe.Pointer(&minor)))
	return fmt.Sprintf("%d.%d", major, minor)
}

// Compile builds machine code for an architecture such as "sm_90a", or PTX for one such
// as "compute_80". The log is returned with and without an error.
func (n *NVRTC) Compile(name, source, arch string, options ...string) (code []byte, log string, err error) {
	src, file := append([]byte(source), 0), append([]byte(name), 0)
	var prog uintptr
	if r := n.create.Call(uintptr(unsafe.Pointer(&prog)), uintptr(unsafe.Pointer(&src[0])), uintptr(unsafe.Pointer(&file[0])), 0, 0, 0); r != 0 {
		return nil, "", nvrtcError("nvrtcCreateProgram", r)
	}
	defer n.destroy.Call(uintptr(unsafe.Pointer(&prog)))
	opts := append([]string{"--gpu-architecture=" + arch, "--std=c++17"}, options...)
	raw := make([]*byte, len(opts))
	for i, o := range opts {
		b := append([]byte(o), 0)
		raw[i] = &b[0]
	}
	r := n.compile.Call(prog, uintptr(len(opts)), uintptr(unsafe.Pointer(&raw[0])))
	runtime.KeepAlive(raw)
	text, logErr := n.fetch(prog, n.logSize, n.getLog)
	if r != 0 {
		return nil, strings.TrimRight(string(text), "\x00\n"), nvrtcError("nvrtcCompileProgram", r)
	}
	if logErr != nil {
		return nil, "", logErr
	}
	size, get := n.cubinSize, n.getCubin
	if strings.HasPrefix(arch, "compute_") {
		size, get = n.ptxSize, n.getPTX
	}
	code, err = n.fetch(prog, size, get)
	return code, strings.TrimRight(string(text), "\x00\n"), err
}

func (n *NVRTC) fetch(prog uintptr, size, get Proc) ([]byte, error) {
	var bytes uint64
	if r := size.Call(prog, uintptr(unsafe.Pointer(&bytes))); r != 0 {
		return nil, nvrtcError("nvrtcGetSize", r)
	}
	buf := make([]byte, bytes+1)
	if r := get.Call(prog, uintptr(unsafe.Pointer(&buf[0]))); r != 0 {
		return nil, nvrtcError("nvrtcGet", r)
	}
	return buf[:bytes], nil
}

func nvrtcError(op string, r uintptr) error {
	return fmt.Errorf("gpu: %s: status %d: %w", op, int32(r), ErrInvalid)
}
