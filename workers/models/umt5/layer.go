package umt5

import (
	"errors"
	"fmt"

	"telefuser/workers/kernels"
)

// layer is one block's parameters.
type layer struct {
	norm1, norm2               kernels.Tensor // [dim] f32
	q, k, v, o, gate, up, down kernels.Tensor
}

// newLayer takes memory for one layer.
func (e *Encoder) newLayer() (layer, error) {
	c, t := e.config, e.options.Type
	inner := c.Heads * c.HeadDim
	var l layer
	var all []error
	take := func(dst *kernels.Tensor, t kernels.DType, shape ...int) {
		x, err := e.backend.New(t, shape...)
		*dst, all = x, append(all, err)
	}
	take(&l.norm1, kernels.F32, c.Dim)
	take(&l.norm2, kernels.F32, c.Dim)
	take(&l.q, t, inner, c.Dim)
	take(&l.k, t, inner, c.Dim)
	take(&l.v, t, inner, c.Dim)
	take(&l.o, t, c.Dim, inner)
	take(&l.gate, t, c.FFN, c.Dim)
	take(&l.up, t, c.FFN, c.Dim)
	take(&l.down, t, c.Dim, c.FFN)
	return l, errors.Join(all...)
}

// fill brings a layer's parameters to the backend.
func (e *Encoder) fill(l layer, i int) error {
	at := fmt.Sprintf("blocks.%d.", i)
	for name, x := range map[string]kernels.Tensor{
		"norm1": l.norm1, "norm2": l.norm2, "attn.q": l.q, "attn.k": l.k, "attn.v": l.v, "attn.o": l.o,
		"ffn.gate.0": l.gate, "ffn.fc1": l.up, "ffn.fc2": l.down,
	} {
		if err := e.set.Upload(e.backend, x, at+name+".weight"); err != nil {
			return err
		}
	}
	return nil
}

// layer gives layer i, filled.
func (e *Encoder) layer(i int) (layer, error) {
	if e.options.Resident {
		return e.layers[i], nil
	}
	return e.layers[0], e.fill(e.layers[0], i)
}
