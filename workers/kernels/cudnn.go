package kernels

import (
	"errors"
	"fmt"
	"unsafe"

	"telefuser/workers/gpu"
)

// cuDNN is NVIDIA's library of convolutions and attention, where it is there: what our convolutions are checked against, what both are
// measured beside, and what takes a convolution's place where it is faster. Its graph API knows descriptors alone, each a kind and a list of attributes.
type cuDNN struct {
	create, destroy, setStream, lastError                          gpu.Proc
	newDescriptor, freeDescriptor, set, get, finalize, executePlan gpu.Proc
	handle                                                         uintptr
	plans                                                          map[string]*dnnPlan // nil plans: the library has none for the shape
}

// Values of the library's enumerations.
const (
	dnnPointwise, dnnConvolution, dnnEngineConfig, dnnHeuristics, dnnPlanKind = 0, 1, 3, 4, 5
	dnnOpConvolution, dnnOpPointwise, dnnGraph, dnnVariants, dnnTensor        = 10, 13, 15, 16, 17
	dnnOpAttention                                                            = 41

	dnnTypeHandle, dnnTypeData, dnnTypeBool, dnnTypeI64, dnnTypeFloat = 0, 1, 2, 3, 4
	dnnTypePointer, dnnTypeConvolutionMode, dnnTypeHeuristic          = 6, 7, 8
	dnnTypePointwise, dnnTypeDescriptor                               = 14, 15

	dnnF32, dnnBF16 = 0, 9
)

// dnnHeuristicModes are the ways to ask for plans, the best first: by a model of the GPU, at once, and what always works.
var dnnHeuristicModes = [...]int32{3, 0, 2} //nolint:gochecknoglobals // constant table

// openCuDNN opens the library. Its parts are found by name: where a path is given, its folder must be on the loader's path as well.
func openCuDNN(c *CUDA, paths []string) (*cuDNN, error) {
	lib, err := gpu.OpenLibrary(append(paths, "libcudnn.so.9")...)
	if err != nil {
		return nil, err
	}
	d := &cuDNN{plans: map[string]*dnnPlan{}}
	err = lib.Procs(map[string]*gpu.Proc{
		"cudnnCreate": &d.create, "cudnnDestroy": &d.destroy, "cudnnSetStream": &d.setStream, "cudnnGetLastErrorString": &d.lastError,
		"cudnnBackendCreateDescriptor": &d.newDescriptor, "cudnnBackendDestroyDescriptor": &d.freeDescriptor,
		"cudnnBackendSetAttribute": &d.set, "cudnnBackendGetAttribute": &d.get, "cudnnBackendFinalize": &d.finalize, "cudnnBackendExecute": &d.executePlan,
	})
	if err != nil {
		return nil, err
	}
	if err := c.ctx.Current(); err != nil {
		return nil, err
	}
	if err := d.check("cudnnCreate", d.create.Call(uintptr(unsafe.Pointer(&d.handle)))); err != nil {
		return nil, err
	}
	return d, d.check("cudnnSetStream", d.setStream.Call(d.handle, c.stream.Handle()))
}

// check translates a status; everything that the library does not do is ErrUnsupported.
func (d *cuDNN) check(op string, r uintptr) error {
	if int32(r) == 0 {
		return nil
	}
	var text [512]byte
	d.lastError.Call(uintptr(unsafe.Pointer(&text[0])), uintptr(len(text)))
	n := 0
	for n < len(text) && text[n] != 0 {
		n++
	}
	return fmt.Errorf("%w: %s: cuDNN status %d %s", ErrUnsupported, op, int32(r), text[:n])
}

func (d *cuDNN) close(c *CUDA) error {
	var errs []error
	for _, p := range d.plans {
		if p != nil {
			errs = append(errs, p.close(c))
		}
	}
	return errors.Join(append(errs, d.check("cudnnDestroy", d.destroy.Call(d.handle)))...)
}

// dnnBuilder makes descriptors and keeps them for the plan that they end in. The first error stops it.
type dnnBuilder struct {
	d    *cuDNN
	made []uintptr
	err  error
}

// descriptor makes one of a kind, with the attributes that fill sets.
func (b *dnnBuilder) descriptor(kind uintptr, fill func(desc uintptr)) uintptr {
	var desc uintptr
	if b.err == nil {
		b.err = b.d.check(fmt.Sprintf("cudnnBackendCreateDescriptor %d", kind), b.d.newDescriptor.Call(kind, uintptr(unsafe.Pointer(&desc))))
	}
	if b.err != nil {
		return 0
	}
	b.made = append(b.made, desc)
	if fill(desc); b.err == nil {
		b.err = b.d.check(fmt.Sprintf("cudnnBackendFinalize %d", kind), b.d.finalize.Call(desc))
	}
	return desc
}

// dnnSet sets an attribute to one or more values.
func dnnSet[T any](b *dnnBuilder, desc, attribute, kind uintptr, values ...T) {
	if b.err == nil {
		b.err = b.d.check(fmt.Sprintf("cudnnBackendSetAttribute %d", attribute),
			b.d.set.Call(desc, attribute, kind, uintptr(len(values)), uintptr(unsafe.Pointer(&values[0]))))
	}
}

// tensor describes one; uid names it in the variant pack. Virtual ones live inside a kernel.
func (b *dnnBuilder) tensor(uid int64, dtype int32, virtual bool, dims, strides []int64) uintptr {
	const alignment = 16 // bytes
	return b.descriptor(dnnTensor, func(desc uintptr) {
		dnnSet(b, desc, 906, dnnTypeI64, uid)
		dnnSet(b, desc, 901, dnnTypeData, dtype)
		dnnSet(b, desc, 902, dnnTypeI64, dims...)
		dnnSet(b, desc, 903, dnnTypeI64, strides...)
		dnnSet(b, desc, 900, dnnTypeI64, int64(alignment))
		if virtual {
			dnnSet(b, desc, 907, dnnTypeBool, int8(1))
		}
	})
}

// add describes y = x + z, computed in f32.
func (b *dnnBuilder) add(x, z, y uintptr) uintptr {
	const sum = 0
	how := b.descriptor(dnnPointwise, func(desc uintptr) {
		dnnSet(b, desc, 0, dnnTypePointwise, int32(sum))
		dnnSet(b, desc, 1, dnnTypeData, int32(dnnF32))
	})
	return b.descriptor(dnnOpPointwise, func(desc uintptr) {
		dnnSet(b, desc, 750, dnnTypeDescriptor, how)
		dnnSet(b, desc, 751, dnnTypeDescriptor, x)
		dnnSet(b, desc, 752, dnnTypeDescriptor, z)
		dnnSet(b, desc, 753, dnnTypeDescriptor, y)
	})
}

// plan finds the library's proposal for a graph of that number, of those that it can carry out, and the bytes of workspace that it needs.
func (b *dnnBuilder) plan(ops []uintptr, number int) (plan uintptr, workspace int64) {
	graph := b.descriptor(dnnGraph, func(desc uintptr) {
		dnnSet(b, desc, 800, dnnTypeHandle, b.d.handle)
		dnnSet(b, desc, 801, dnnTypeDescriptor, ops...)
	})
	if b.err != nil {
		return 0, 0
	}
	var last error
	for _, mode := range dnnHeuristicModes {
		for _, config := range b.proposals(graph, mode) {
			plan := b.descriptor(dnnPlanKind, func(desc uintptr) {
				dnnSet(b, desc, 400, dnnTypeHandle, b.d.handle)
				dnnSet(b, desc, 401, dnnTypeDescriptor, config)
			})
			if b.err == nil && number > 0 {
				number--
				continue
			}
			if b.err == nil {
				var got int64
				b.err = b.d.check("cudnnBackendGetAttribute 402", b.d.get.Call(plan, 402, dnnTypeI64, 1, uintptr(unsafe.Pointer(&got)), uintptr(unsafe.Pointer(&workspace))))
				return plan, workspace
			}
			last, b.err = b.err, nil // the next proposal may do
		}
	}
	b.err = errors.Join(fmt.Errorf("%w: cuDNN has no plan", ErrUnsupported), last)
	return 0, 0
}

// proposals are the library's engine configurations for a graph, the likeliest first; none where the way of asking does not apply.
func (b *dnnBuilder) proposals(graph uintptr, mode int32) []uintptr {
	const proposalsMax = 8
	heuristics := b.descriptor(dnnHeuristics, func(desc uintptr) {
		dnnSet(b, desc, 201, dnnTypeDescriptor, graph)
		dnnSet(b, desc, 200, dnnTypeHeuristic, mode)
	})
	if b.err != nil {
		b.err = nil
		return nil
	}
	configs := make([]uintptr, proposalsMax)
	for i := range configs {
		// The library fills and finalises them.
		if r := b.d.newDescriptor.Call(dnnEngineConfig, uintptr(unsafe.Pointer(&configs[i]))); int32(r) != 0 {
			return nil
		}
		b.made = append(b.made, configs[i])
	}
	var count int64
	r := b.d.get.Call(heuristics, 202, dnnTypeDescriptor, proposalsMax, uintptr(unsafe.Pointer(&count)), uintptr(unsafe.Pointer(&configs[0])))
	if int32(r) != 0 {
		return nil
	}
	return configs[:min(count, proposalsMax)]
}

// free gives the descriptors back.
func (b *dnnBuilder) free() {
	for _, desc := range b.made {
		b.d.freeDescriptor.Call(desc)
	}
	b.made = nil
}
