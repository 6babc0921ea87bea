package gpu

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"unsafe"
)

// Image is the code of some kernels: their source and what was built from it ahead of time.
type Image struct {
	Name      string            // for errors, such as "gemm"
	Source    string            // CUDA C++; empty if only machine code is shipped
	BuiltFrom string            // SHA-256, in hex, of the source that the builds below came from
	Cubins    map[string][]byte // by architecture, such as "sm_90a"
	PTX       []byte            // portable code for the driver's compiler
	PTXMin    int               // lowest capability times ten that the PTX runs on
	ArchMin   int               // lowest capability times ten that the source compiles for
}

// Fresh says whether the builds came from this very source.
func (i *Image) Fresh() bool {
	return i.Source == "" || SourceHash(i.Source) == i.BuiltFrom
}

// SourceHash is the SHA-256 of a source in hex.
func SourceHash(source string) string {
	h := sha256.Sum256([]byte(source))
	return hex.EncodeToString(h[:])
}

// Module is loaded code on one GPU.
type Module struct {
	ctx    *Context
	handle uintptr
	name   string
	from   string
}

// Function is one kernel of a module.
type Function struct {
	ctx         *Context
	handle      uintptr
	name        string
	sharedBytes int
}

// LoadImage loads the first code that fits: machine code built for this very
// architecture, then a fresh compilation where a compiler is given, then portable PTX.
// Builds older than the source are never used.
func (c *Context) LoadImage(i *Image, compiler *NVRTC) (*Module, error) {
	arch := c.Architecture()
	if i.Fresh() {
		for _, a := range []string{arch, fmt.Sprintf("sm_%d", c.capability)} {
			if cubin, ok := i.Cubins[a]; ok {
				return c.load(i.Name, "cubin "+a, cubin)
			}
		}
	}
	if compiler != nil && i.Source != "" && c.capability >= i.ArchMin {
		cubin, log, err := compiler.Compile(i.Name+".cu", i.Source, arch)
		if err != nil {
			return nil, fmt.Errorf("gpu: compile %s for %s: %w\n%s", i.Name, arch, err, log)
		}
		return c.load(i.Name, "nvrtc "+arch, cubin)
	}
	if i.Fresh() && len(i.PTX) > 0 && c.capability >= i.PTXMin {
		return c.load(i.Name, "ptx", append(bytes.Clone(i.PTX), 0))
	}
	return nil, fmt.Errorf("%w: %s on %s (builds fresh: %v)", ErrNoImage, i.Name, arch, i.Fresh())
}

// Architecture is the name of the GPU's code target, such as "sm_90a".
func (c *Context) Architecture() string {
	if c.capability >= 90 {
		return fmt.Sprintf("sm_%da", c.capability)
	}
	return fmt.Sprintf("sm_%d", c.capability)
}

// Options of cuModuleLoadDataEx.
const (
	jitErrorLog      = 5
	jitErrorLogBytes = 6
	jitLogSize       = 16384
)

func (c *Context) load(name, from string, image []byte) (*Module, error) {
	if err := c.use(); err != nil {
		return nil, err
	}
	m := &Module{ctx: c, name: name, from: from}
	log := make([]byte, jitLogSize)
	opts := []int32{jitErrorLog, jitErrorLogBytes}
	vals := []uintptr{uintptr(unsafe.Pointer(&log[0])), jitLogSize}
	r := c.drv.p.moduleLoad.Call(uintptr(unsafe.Pointer(&m.handle)), uintptr(unsafe.Pointer(&image[0])), 2,
		uintptr(unsafe.Pointer(&opts[0])), uintptr(unsafe.Pointer(&vals[0])))
	runtime.KeepAlive(log)
	runtime.KeepAlive(image)
	if err := c.check("cuModuleLoadDataEx", r); err != nil {
		return nil, fmt.Errorf("gpu: load %s from %s: %w\n%s", name, from, err, bytes.TrimRight(log, "\x00"))
	}
	return m, nil
}

// From tells where the code came from: "cubin sm_90a", "nvrtc sm_89", "ptx".
func (m *Module) From() string { return m.from }

// Function finds a kernel by its name.
func (m *Module) Function(name string) (*Function, error) {
	if err := m.ctx.use(); err != nil {
		return nil, err
	}
	f := &Function{ctx: m.ctx, name: name}
	n := append([]byte(name), 0)
	err := m.ctx.check("cuModuleGetFunction "+name, m.ctx.drv.p.moduleFunction.Call(uintptr(unsafe.Pointer(&f.handle)), m.handle, uintptr(unsafe.Pointer(&n[0]))))
	if err != nil {
		return nil, err
	}
	const sharedDefault = 48 << 10 // every GPU allows this much without asking
	f.sharedBytes = sharedDefault
	return f, nil
}

// Unload frees the code.
func (m *Module) Unload() error {
	if err := m.ctx.use(); err != nil {
		return err
	}
	return m.ctx.check("cuModuleUnload", m.ctx.drv.p.moduleUnload.Call(m.handle))
}

func (f *Function) allowShared(bytes int) error {
	const maxDynamicShared = 8
	err := f.ctx.check("cuFuncSetAttribute "+f.name, f.ctx.drv.p.funcSet.Call(f.handle, maxDynamicShared, uintptr(bytes)))
	if err == nil {
		f.sharedBytes = bytes
	}
	return err
}

// Registers is how many registers a thread of the kernel uses, and its local memory in bytes.
func (f *Function) Registers() (registers, localBytes int, err error) {
	const numRegs, local = 4, 3
	var v [2]int32
	for i, a := range []uintptr{numRegs, local} {
		if err := f.ctx.check("cuFuncGetAttribute", f.ctx.drv.p.funcAttribute.Call(uintptr(unsafe.Pointer(&v[i])), a, f.handle)); err != nil {
			return 0, 0, err
		}
	}
	return int(v[0]), int(v[1]), nil
}
