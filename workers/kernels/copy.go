package kernels

import (
	"fmt"

	"telefuser/workers/gpu"
)

// Copy computes y = x, element by element, over tensors of one shape of 1 to 5 dimensions whose strides are free: it cuts patches, joins
// frames and takes turns between them.
//
//	X, Y of one shape and type; or one f32 and the other bf16 (CUDA: not yet)
//
// X and Y must not overlap.
type Copy struct{ X, Y Tensor }

const copyRankMax = 5

// Check tells whether the tensors fit.
func (o Copy) Check() error {
	const op = "copy"
	if o.X.Rank() < 1 || o.X.Rank() > copyRankMax || o.X.Rank() != o.Y.Rank() || o.X.Len() == 0 {
		return misfit(op, "%v to %v", o.X.Shape, o.Y.Shape)
	}
	last := o.X.Rank() - 1
	for i, n := range o.X.Shape {
		if o.Y.Dim(i) != n || o.X.Stride[i] < 0 || o.Y.Stride[i] < 0 {
			return misfit(op, "%v to %v", o.X.Shape, o.Y.Shape)
		}
	}
	if o.X.Dim(last) > 1 && (o.X.Stride[last] != 1 || o.Y.Stride[last] != 1) {
		return misfit(op, "strides %v to %v: the last must be 1", o.X.Stride, o.Y.Stride)
	}
	float := func(t DType) bool { return t == F32 || t == BF16 }
	if o.X.Type != o.Y.Type && !(float(o.X.Type) && float(o.Y.Type)) {
		return misfit(op, "%v to %v", o.X.Type, o.Y.Type)
	}
	return nil
}

// rows calls f with the first elements of every row of the last dimension, in elements.
func (o Copy) rows(outer int, f func(x, y int)) {
	index := make([]int, outer)
	for {
		x, y := 0, 0
		for d, i := range index {
			x, y = x+i*o.X.Stride[d], y+i*o.Y.Stride[d]
		}
		f(x, y)
		d := outer - 1
		for ; d >= 0; d-- {
			if index[d]++; index[d] < o.X.Shape[d] {
				break
			}
			index[d] = 0
		}
		if d < 0 {
			return
		}
	}
}

// run is how many elements lie together in both tensors, and how many dimensions are outside of such a run.
func (o Copy) run() (n, outer int) {
	n, outer = o.X.Dim(-1), o.X.Rank()-1
	for outer > 0 && o.X.Stride[outer-1] == n && o.Y.Stride[outer-1] == n {
		outer--
		n *= o.X.Dim(outer)
	}
	return n, outer
}

func (o Copy) reference() {
	n, outer := o.run()
	size := o.X.Type.Bytes()
	o.rows(outer, func(x, y int) {
		if o.X.Type == o.Y.Type {
			copy(o.Y.Host[y*size:(y+n)*size], o.X.Host[x*size:])
			return
		}
		for i := range n {
			o.Y.Set(y+i, o.X.Get(x+i))
		}
	})
}

// launch copies by the copy engine, the last dimension outside of a run with it.
func (o Copy) launch(c *CUDA) error {
	if o.X.Type != o.Y.Type {
		return fmt.Errorf("%w: copy of %v to %v", ErrUnsupported, o.X.Type, o.Y.Type)
	}
	n, outer := o.run()
	size := int64(o.X.Type.Bytes())
	width := int64(n) * size
	r := gpu.Rows{Width: width, DstPitch: width, SrcPitch: width, Count: 1}
	if outer > 0 {
		outer--
		if count := o.X.Dim(outer); count > 1 {
			r.Count, r.DstPitch, r.SrcPitch = int64(count), int64(o.Y.Stride[outer])*size, int64(o.X.Stride[outer])*size
		}
	}
	var first error
	o.rows(outer, func(x, y int) {
		r.Dst, r.Src = o.Y.Dev+gpu.Ptr(int64(y)*size), o.X.Dev+gpu.Ptr(int64(x)*size)
		if err := c.stream.CopyRows(r); err != nil && first == nil {
			first = err
		}
	})
	return first
}

// View is the tensor of another shape and other strides, in elements, that begins at an element of t. It may not reach beyond t.
func (t Tensor) View(at int, shape, stride []int) (Tensor, error) {
	end := at
	for i, n := range shape {
		if n < 1 || len(stride) != len(shape) || stride[i] < 0 {
			return Tensor{}, misfit("view", "%v by %v", shape, stride)
		}
		end += (n - 1) * stride[i]
	}
	if at < 0 || end >= t.Span()/t.Type.Bytes() {
		return Tensor{}, misfit("view", "%v by %v from %d on in %v", shape, stride, at, t.Shape)
	}
	return t.offset(at).reshape(shape, stride), nil
}
