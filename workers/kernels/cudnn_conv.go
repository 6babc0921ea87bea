package kernels

import (
	"fmt"

	"telefuser/workers/gpu"
)

// The names of a convolution's tensors in a variant pack.
const (
	dnnX, dnnW, dnnBias, dnnResidual, dnnY int64 = 1, 2, 3, 4, 5
	dnnVirtual                             int64 = 10
)

// run queues a convolution: whole, or, without epilogue, the sums of products alone, which is the least that the library can be asked for.
// The proposal is the library's of that number.
func (d *cuDNN) run(c *CUDA, o Conv3D, epilogue bool, proposal int) error {
	p, err := d.convPlan(c, o, epilogue, proposal)
	if err != nil {
		return err
	}
	uids, at := []int64{dnnX, dnnW, dnnY}, []gpu.Ptr{o.X.Dev, o.W.Dev, o.Y.Dev}
	if epilogue {
		uids, at = append(uids, dnnBias), append(at, o.Bias.Dev)
		if !o.Residual.Absent() {
			uids, at = append(uids, dnnResidual), append(at, o.Residual.Dev)
		}
	}
	return d.execute(c, p, uids, at)
}

// supports says whether the library has a plan for the whole convolution.
func (d *cuDNN) supports(c *CUDA, o Conv3D) bool {
	_, err := d.convPlan(c, o, true, 0)
	return err == nil
}

// convPlan is the plan for a shape.
func (d *cuDNN) convPlan(c *CUDA, o Conv3D, epilogue bool, proposal int) (*dnnPlan, error) {
	st, ss := o.strides()
	key := fmt.Sprintf("%s %v %d %d %d %v %v", o.key(), o.Y.Shape, o.PadT, st, ss, epilogue, o.Residual.Absent())
	return d.planOf(c, key, proposal, func(b *dnnBuilder) []uintptr { return b.convolve(o, epilogue) })
}

// convolve describes the operations: dimensions are those of a batch of one, channels, frames, rows, columns; memory has channels last.
func (b *dnnBuilder) convolve(o Conv3D, epilogue bool) []uintptr {
	image := func(t Tensor) (dims, strides []int64) {
		f, h, w, ch := int64(t.Dim(0)), int64(t.Dim(1)), int64(t.Dim(2)), int64(t.Dim(3))
		return []int64{1, ch, f, h, w}, []int64{f * h * w * ch, 1, h * w * ch, w * ch, ch}
	}
	n, kt, kh, kw, ch := int64(o.W.Dim(0)), int64(o.W.Dim(1)), int64(o.W.Dim(2)), int64(o.W.Dim(3)), int64(o.W.Dim(4))
	dims, strides := image(o.X)
	x := b.tensor(dnnX, dnnBF16, false, dims, strides)
	w := b.tensor(dnnW, dnnBF16, false, []int64{n, ch, kt, kh, kw}, []int64{kt * kh * kw * ch, 1, kh * kw * ch, kw * ch, ch})
	dims, strides = image(o.Y)
	y := b.tensor(dnnY, dnnBF16, false, dims, strides)
	if !epilogue {
		return []uintptr{b.convolution(o, x, w, y)}
	}
	sums := b.tensor(dnnVirtual, dnnF32, true, dims, strides)
	ops := []uintptr{b.convolution(o, x, w, sums)}
	bias := b.tensor(dnnBias, dnnBF16, false, []int64{1, n, 1, 1, 1}, []int64{n, 1, n, n, n})
	if o.Residual.Absent() {
		return append(ops, b.add(sums, bias, y))
	}
	biased := b.tensor(dnnVirtual+1, dnnF32, true, dims, strides)
	residual := b.tensor(dnnResidual, dnnBF16, false, dims, strides)
	return append(ops, b.add(sums, bias, biased), b.add(biased, residual, y))
}

// convolution describes y = x * w with the paddings of Conv3D.
func (b *dnnBuilder) convolution(o Conv3D, x, w, y uintptr) uintptr {
	st, ss := o.strides()
	ph, pw := o.padding()
	behind := func(out, stride, kernel, in, before int) int64 { return int64(max((out-1)*stride+kernel-in-before, 0)) }
	const crossCorrelation = 1
	how := b.descriptor(dnnConvolution, func(desc uintptr) {
		dnnSet(b, desc, 100, dnnTypeData, int32(dnnF32))
		dnnSet(b, desc, 101, dnnTypeConvolutionMode, int32(crossCorrelation))
		dnnSet(b, desc, 102, dnnTypeI64, int64(1), 1, 1)
		dnnSet(b, desc, 103, dnnTypeI64, int64(st), int64(ss), int64(ss))
		dnnSet(b, desc, 104, dnnTypeI64, 0, behind(o.Y.Dim(1), ss, o.W.Dim(2), o.X.Dim(1), ph), behind(o.Y.Dim(2), ss, o.W.Dim(3), o.X.Dim(2), pw))
		dnnSet(b, desc, 105, dnnTypeI64, int64(o.PadT), int64(ph), int64(pw))
		dnnSet(b, desc, 106, dnnTypeI64, int64(3))
	})
	return b.descriptor(dnnOpConvolution, func(desc uintptr) {
		dnnSet(b, desc, 700, dnnTypeFloat, float32(1))
		dnnSet(b, desc, 701, dnnTypeFloat, float32(0))
		dnnSet(b, desc, 702, dnnTypeDescriptor, how)
		dnnSet(b, desc, 703, dnnTypeDescriptor, w)
		dnnSet(b, desc, 704, dnnTypeDescriptor, x)
		dnnSet(b, desc, 705, dnnTypeDescriptor, y)
	})
}
