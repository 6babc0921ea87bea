package kernels

import (
	"fmt"
	"runtime"
	"unsafe"

	"telefuser/workers/gpu"
)

// The names of attention's tensors in a variant pack.
const (
	dnnQuery, dnnKey, dnnValue, dnnOutput, dnnFactor int64 = 1, 2, 3, 4, 5
)

// attends says whether the library has a plan for an attention; it has none with scales.
func (d *cuDNN) attends(c *CUDA, o Attention) bool {
	if o.Q.Type != BF16 || o.ValueScale != 1 {
		return false
	}
	_, err := d.attentionPlan(c, o)
	return err == nil
}

// attend queues an attention.
func (d *cuDNN) attend(c *CUDA, o Attention) error {
	p, err := d.attentionPlan(c, o)
	if err != nil {
		return err
	}
	factor := new(float32) // read while the call lasts
	*factor = o.Scale
	var pin runtime.Pinner
	pin.Pin(factor)
	defer pin.Unpin()
	return d.execute(c, p, []int64{dnnQuery, dnnKey, dnnValue, dnnOutput, dnnFactor},
		[]gpu.Ptr{o.Q.Dev, o.K.Dev, o.V.Dev, o.O.Dev, gpu.Ptr(uintptr(unsafe.Pointer(factor)))})
}

// attentionPlan is the plan for a shape: one node, over a batch of one, heads, tokens, and the elements of a head.
func (d *cuDNN) attentionPlan(c *CUDA, o Attention) (*dnnPlan, error) {
	key := fmt.Sprintf("attention %v %v %d %d %d %d %d", o.Q.Shape, o.K.Shape, o.Keys, o.Q.Stride[0], o.K.Stride[0], o.V.Stride[0], o.O.Stride[0])
	return d.planOf(c, key, 0, func(b *dnnBuilder) []uintptr {
		heads := func(uid int64, t Tensor, tokens int) uintptr {
			row := int64(t.Stride[0])
			return b.tensor(uid, dnnBF16, false, []int64{1, int64(o.Heads()), int64(tokens), HeadDim}, []int64{int64(tokens) * row, HeadDim, row, 1})
		}
		q, k, v := heads(dnnQuery, o.Q, o.Q.Dim(0)), heads(dnnKey, o.K, o.Keys), heads(dnnValue, o.V, o.Keys)
		out, factor := heads(dnnOutput, o.O, o.Q.Dim(0)), b.value(dnnFactor)
		return []uintptr{b.descriptor(dnnOpAttention, func(desc uintptr) {
			for i, t := range []uintptr{q, k, v, out} {
				dnnSet(b, desc, 2800+uintptr(i), dnnTypeDescriptor, t)
			}
			dnnSet(b, desc, 2805, dnnTypeDescriptor, factor)
		})}
	})
}

// value describes one number that lies on the host.
func (b *dnnBuilder) value(uid int64) uintptr {
	const alignment = 16
	one := []int64{1, 1, 1, 1}
	return b.descriptor(dnnTensor, func(desc uintptr) {
		dnnSet(b, desc, 906, dnnTypeI64, uid)
		dnnSet(b, desc, 901, dnnTypeData, int32(dnnF32))
		dnnSet(b, desc, 902, dnnTypeI64, one...)
		dnnSet(b, desc, 903, dnnTypeI64, one...)
		dnnSet(b, desc, 900, dnnTypeI64, int64(alignment))
		dnnSet(b, desc, 908, dnnTypeBool, int8(1))
	})
}
