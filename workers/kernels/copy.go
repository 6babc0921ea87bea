package kernels

import (
	"fmt"
	"math"

	"telefuser/workers/gpu"
)

// Copy computes y = x, element by element, over tensors of one shape of 1 to 5 dimensions whose strides are free: it cuts patches, joins
// frames and takes turns between them.
//
//	X, Y of one shape and type; or one f32 and the other bf16
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

// launch leaves what lies together to the copy engine; a kernel does the rest, a unit a thread.
func (o Copy) launch(c *CUDA) error {
	o = o.joined()
	if o.X.Type == o.Y.Type && o.X.Rank() == 1 {
		return c.stream.Copy(o.Y.Dev, o.X.Dev, int64(o.X.Span()))
	}
	name, unit := o.unit()
	const threads = 256
	total := o.X.Len() / unit
	if total > math.MaxUint32-threads {
		return fmt.Errorf("%w: copy of %d units", ErrUnsupported, total)
	}
	var shape, x, y [copyRankMax]int // the last is the run; what is missing before the others is one step of nothing
	for d := range shape {
		shape[d] = 1
		if at := o.X.Rank() - copyRankMax + d; at >= 0 {
			shape[d], x[d], y[d] = o.X.Dim(at), o.X.Stride[at]/unit, o.Y.Stride[at]/unit
		}
	}
	g := gpu.Grid{X: (total + threads - 1) / threads, Threads: threads}
	return c.launch("copy", name, g, func(a *gpu.Args) {
		a.Ptr(o.X.Dev).Ptr(o.Y.Dev).I32(total).I32(shape[4] / unit).I32(shape[1]).I32(shape[2]).I32(shape[3])
		for _, stride := range [][copyRankMax]int{x, y} {
			for d := range copyRankMax - 1 {
				a.I64(int64(stride[d]))
			}
		}
	})
}

// unit is the kernel that moves most at once, and how many elements that is: runs, strides and addresses have to be whole ones.
func (o Copy) unit() (kernel string, elements int) {
	fits := func(n int) bool {
		last := o.X.Rank() - 1
		for _, t := range []Tensor{o.X, o.Y} {
			if uint64(t.Dev)%uint64(min(n*t.Type.Bytes(), 16)) != 0 || t.Dim(last)%n != 0 {
				return false
			}
			for d, stride := range t.Stride[:last] {
				if t.Dim(d) > 1 && stride%n != 0 {
					return false
				}
			}
		}
		return true
	}
	if o.X.Type != o.Y.Type {
		const vector = 8
		if fits(vector) {
			return fmt.Sprintf("copy_%v_%v_8", o.X.Type, o.Y.Type), vector
		}
		return fmt.Sprintf("copy_%v_%v_1", o.X.Type, o.Y.Type), 1
	}
	const widest = 16
	if n := widest / o.X.Type.Bytes(); fits(n) {
		return "copy_16", n
	}
	return fmt.Sprintf("copy_%d", o.X.Type.Bytes()), 1
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
