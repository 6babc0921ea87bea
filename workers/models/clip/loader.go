package clip

import (
	"encoding/binary"
	"fmt"
	"math"

	"telefuser/workers/kernels"
	"telefuser/workers/models/weights"
)

// layer is one block's parameters. Rows of queries, keys and values, and columns of out, are heads of 128, with zeros where the model has none.
type layer struct {
	norm1, norm2       norm
	qkv, out, up, down linear
}

// norm is the gain and the shift of a LayerNorm, f32; linear is a matrix [out, in] with its bias.
type (
	norm   struct{ gain, shift kernels.Tensor }
	linear struct{ w, b kernels.Tensor }
)

// loader brings weights to a backend. The first error stays, and everything after it does nothing.
type loader struct {
	backend kernels.Backend
	set     *weights.Set
	act     kernels.DType
	err     error
}

// layer reads one block.
func (l *loader) layer(at string, c weights.CLIPConfig) layer {
	head, d := c.Dim/c.Heads, c.Dim
	names := []string{at + "attn.q", at + "attn.k", at + "attn.v"}
	if c.Joined {
		names = []string{at + "attn.to_qkv"}
	}
	return layer{
		norm1: l.norm(at+"norm1", d), norm2: l.norm(at+"norm2", d), qkv: l.heads(3*c.Heads, head, d, names...),
		out: linear{l.padded(at+"attn.proj.weight", d, c.Heads, head, kernels.HeadDim), l.vector(l.act, at+"attn.proj.bias", d)},
		up:  l.linear(at+"mlp.0", c.FFN, d), down: l.linear(at+"mlp.2", d, c.FFN),
	}
}

// heads reads matrices of one input, one below the other, whose rows become heads of 128: the model's own of each, and zeros.
func (l *loader) heads(heads, head, in int, names ...string) linear {
	w, each := l.zeros(heads*kernels.HeadDim, in), heads/len(names)
	bias := make([]float32, heads*kernels.HeadDim)
	for i, name := range names {
		l.spread(name+".weight", w, i*each*kernels.HeadDim*in, each, head*in, kernels.HeadDim*in)
		for j, v := range l.floats(name+".bias", each*head) {
			bias[(i*each+j/head)*kernels.HeadDim+j%head] = v
		}
	}
	return linear{w, l.put(l.act, bias, len(bias))}
}

// padded reads a matrix [rows, groups * own] whose groups of columns become step wide, with zeros.
func (l *loader) padded(name string, rows, groups, own, step int) kernels.Tensor {
	w := l.zeros(rows, groups*step)
	l.spread(name, w, 0, rows*groups, own, step)
	return w
}

// spread reads a tensor of groups of so many elements of its own, and brings each to every step-th element of y, from one on.
func (l *loader) spread(name string, y kernels.Tensor, at, groups, own, step int) {
	x := l.matrix(name, groups, own)
	if l.err != nil {
		return
	}
	to, err := y.View(at, []int{groups, own}, []int{step, 1})
	if err == nil {
		err = l.backend.Run(kernels.Copy{X: x, Y: to})
	}
	if err == nil {
		err = kernels.Free(l.backend, x)
	}
	l.err = err
}

// matrix reads a tensor as one of rows x columns.
func (l *loader) matrix(name string, rows, columns int) (x kernels.Tensor) {
	if l.err == nil {
		x, l.err = l.set.Tensor(l.backend, l.act, name, rows, columns)
	}
	return x
}

// zeros makes a matrix of zeros.
func (l *loader) zeros(rows, columns int) (x kernels.Tensor) {
	if l.err == nil {
		x, l.err = l.backend.New(l.act, rows, columns)
	}
	if l.err == nil {
		l.err = kernels.Zero(l.backend, x)
	}
	return x
}

// linear reads name.weight [out, in] and name.bias.
func (l *loader) linear(name string, out, in int) linear {
	return linear{l.matrix(name+".weight", out, in), l.vector(l.act, name+".bias", out)}
}

// norm reads name.weight and name.bias.
func (l *loader) norm(name string, n int) norm {
	return norm{l.vector(kernels.F32, name+".weight", n), l.vector(kernels.F32, name+".bias", n)}
}

// vector reads n numbers as a type.
func (l *loader) vector(t kernels.DType, name string, n int) kernels.Tensor {
	return l.put(t, l.floats(name, n), n)
}

// floats reads n numbers to the host; zeros after an error.
func (l *loader) floats(name string, n int) []float32 {
	if l.err == nil {
		v, err := l.set.Floats(name)
		if err == nil && len(v) != n {
			err = fmt.Errorf("%w: %s has %d numbers, want %d", weights.ErrConfig, name, len(v), n)
		}
		if err == nil {
			return v
		}
		l.err = err
	}
	return make([]float32, n)
}

// put writes numbers into a new tensor.
func (l *loader) put(t kernels.DType, v []float32, shape ...int) (x kernels.Tensor) {
	if l.err == nil {
		x, l.err = l.backend.New(t, shape...)
	}
	if l.err == nil {
		l.err = l.backend.Write(x, encode(t, v))
	}
	return x
}

// encode rounds numbers to a type's bytes.
func encode(t kernels.DType, v []float32) []byte {
	out := make([]byte, 0, len(v)*t.Bytes())
	for _, x := range v {
		if t == kernels.F32 {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
		} else {
			out = binary.LittleEndian.AppendUint16(out, kernels.BF16FromFloat(float64(x)))
		}
	}
	return out
}
