package kernels

import (
	"errors"
	"fmt"
	"math"

	"telefuser/workers/gpu"
)

// Attention computes softmax(Scale * Q K^T) V for every head, over the first Keys slots of
// a cache; the order of keys does not matter, so a ring cache needs no turning.
//
//	Q [Sq, H*128], rows may be part of longer ones   K [slots, H*128]   O [Sq, H*128] bf16, or f32 beside f32
//	bf16 or f32 (not by CUDA): V [slots, H*128]
//	e4m3: V [H*128, capacity], as StoreValues writes it; Keys is a multiple of 16
//
// With e4m3, Scale includes the scales of Q and K, and ValueScale that of V (bf16: 1).
type Attention struct {
	Q, K, V, O        Tensor
	Keys              int
	Scale, ValueScale float32
}

// Heads is the number of heads.
func (o Attention) Heads() int { return o.Q.Dim(1) / HeadDim }

// Check tells whether the tensors fit.
func (o Attention) Check() error {
	const op, keyGroup = "attention", 16
	for _, t := range []Tensor{o.Q, o.K, o.V, o.O} {
		if t.Rank() != 2 || !t.contiguous(1) || t.Len() == 0 || t.Stride[0]*t.Type.Bytes()%16 != 0 || t.Dev%16 != 0 {
			return misfit(op, "matrix %v, strides %v", t.Shape, t.Stride)
		}
	}
	d := o.Q.Dim(1)
	if d%HeadDim != 0 || o.K.Dim(1) != d || o.O.Dim(1) != d || o.O.Dim(0) != o.Q.Dim(0) || o.O.Type != BF16 && (o.O.Type != F32 || o.Q.Type != F32) {
		return misfit(op, "q %v, k %v, o %v of %v", o.Q.Shape, o.K.Shape, o.O.Shape, o.O.Type)
	}
	if o.Q.Type != o.K.Type || o.Q.Type != o.V.Type || o.Keys < 1 || o.Keys > o.K.Dim(0) {
		return misfit(op, "types %v %v %v, %d keys of %d", o.Q.Type, o.K.Type, o.V.Type, o.Keys, o.K.Dim(0))
	}
	switch {
	case wide(o.Q.Type) && o.V.Dim(1) == d && o.Keys <= o.V.Dim(0):
	case o.Q.Type == E4M3 && o.V.Dim(0) == d && o.Keys <= o.V.Dim(1) && o.Keys%keyGroup == 0:
	default:
		return misfit(op, "v %v of %v, %d keys", o.V.Shape, o.V.Type, o.Keys)
	}
	return nil
}

// valueAt is the place of element c of key k in either layout.
func (o Attention) valueAt(k, c int) int {
	if o.V.Type != E4M3 {
		return k*o.V.Stride[0] + c
	}
	return c*o.V.Stride[0] + k/16*16 + KeyOrder(k)
}

func (o Attention) reference() {
	scores := make([]float64, o.Keys)
	queries, keys, values := o.Q.values(), o.K.values(), o.V.values()
	for q := range o.Q.Dim(0) {
		for h := range o.Heads() {
			c0, top := h*HeadDim, math.Inf(-1)
			for k := range scores {
				var s float64
				key := keys[k*o.K.Stride[0]+c0:]
				for e, x := range queries[q*o.Q.Stride[0]+c0:][:HeadDim] {
					s += x * key[e]
				}
				scores[k] = s * float64(o.Scale)
				top = max(top, scores[k])
			}
			var sum float64
			var out [HeadDim]float64
			for k, s := range scores {
				p := math.Exp(s - top)
				sum += p
				at, step := o.valueAt(k, c0), o.valueAt(k, c0+1)-o.valueAt(k, c0)
				for e := range out {
					out[e] += p * values[at+e*step]
				}
			}
			for e, v := range out {
				o.O.Set(q*o.O.Stride[0]+c0+e, v/sum*float64(o.ValueScale))
			}
		}
	}
}

func (o Attention) launch(c *CUDA) error {
	if err := narrowOnly("attention", o.Q); err != nil {
		return err
	}
	if !c.hopper() {
		return o.launchPlain(c, o.Scale*math.Log2E)
	}
	return c.choose(o.key(), o.candidates(c))
}

// key names the shape for which a choice is remembered.
func (o Attention) key() string {
	return fmt.Sprintf("attention %v %dx%dx%d", o.Q.Type, o.Q.Dim(0), o.Keys, o.Heads())
}

// candidates are the implementations that can do this, likeliest first.
func (o Attention) candidates(c *CUDA) []candidate {
	var all []candidate
	for _, v := range attentionTiles {
		if v.d == o.Q.Type {
			all = append(all, candidate{"own " + v.name(), func() error { return o.launchOwn(c, v) }})
		}
	}
	return all
}

// attentionTile is one build of the fast kernel: keys a step, stages of K and of V.
type attentionTile struct {
	d            DType
	keys, stages int
}

func (v attentionTile) name() string { return fmt.Sprint(v.keys) }

var attentionTiles = [...]attentionTile{ //nolint:gochecknoglobals // constant table
	{BF16, 176, 2}, {BF16, 128, 2},
	{E4M3, 192, 4}, {E4M3, 128, 4},
}

// headMap describes tiles of rows by rowBytes of one head of a [rows][heads * 128] tensor.
func (o Attention) headMap(c *CUDA, t Tensor, rows, box int) (*gpu.TensorMap, error) {
	const rowBytes = 128
	size := t.Type.Bytes()
	return c.ctx.NewTensorMap(gpu.MapSpec{
		Type: mapType(t.Type), Addr: t.Dev, Swizzle: gpu.Swizzle128,
		Dims:    []int{HeadDim, o.Heads(), rows},
		Strides: []int64{int64(HeadDim * size), int64(t.Stride[0] * size)},
		Box:     []int{rowBytes / size, 1, box},
	})
}

// valueMap describes tiles of a transposed e4m3 tensor: box keys of half the elements of a head.
func (o Attention) valueMap(c *CUDA, box int, s gpu.Swizzle) (*gpu.TensorMap, error) {
	return c.ctx.NewTensorMap(gpu.MapSpec{
		Type: gpu.MapU8, Addr: o.V.Dev, Swizzle: s,
		Dims:    []int{o.Keys, HeadDim, o.Heads()},
		Strides: []int64{int64(o.V.Stride[0]), int64(o.V.Stride[0] * HeadDim)},
		Box:     []int{box, HeadDim / 2, 1},
	})
}

func (o Attention) launchOwn(c *CUDA, v attentionTile) error {
	const queries, whole, cluster = 128, 128, 2
	tq, e1 := o.headMap(c, o.Q, o.Q.Dim(0), queries)
	tk, e2 := o.headMap(c, o.K, o.Keys, v.keys/cluster)
	var tv, tv2 *gpu.TensorMap
	var e3, e4 error
	if o.V.Type == E4M3 {
		tv, e3 = o.valueMap(c, whole, gpu.Swizzle128)
		tv2, e4 = o.valueMap(c, whole/2, gpu.Swizzle64)
	} else {
		tv, e3 = o.headMap(c, o.V, o.Keys, v.keys/cluster)
		tv2 = tv
	}
	if err := errors.Join(e1, e2, e3, e4); err != nil {
		return err
	}
	const align, barriers = 1024, 256
	shared := (queries+2*v.stages*v.keys)*HeadDim*o.Q.Type.Bytes() + 2*align + barriers
	tiles := (o.Q.Dim(0) + queries - 1) / queries
	clusters := tiles/cluster*o.Heads() + tiles%cluster*(o.Heads()+1)/cluster // the odd tiles of two heads make one
	full, split := splitClusters(clusters, c.ctx.Multiprocessors()/cluster, (o.Keys+v.keys-1)/v.keys)
	rest := clusters - full
	g := gpu.Grid{X: cluster * (full + rest*split), Threads: hopperThreads, SharedBytes: shared}
	err := c.launch("attention", fmt.Sprintf("attention_%v_%s", o.Q.Type, v.name()), g, func(a *gpu.Args) {
		a.Map(tq).Map(tk).Map(tv).Map(tv2).Ptr(o.O.Dev).I64(int64(o.O.Stride[0])).I32(o.Q.Dim(0)).I32(o.Keys).I32(o.Heads()).
			F32(o.Scale * math.Log2E).F32(o.ValueScale).I32(full).I32(split).Ptr(c.parts)
	})
	if err != nil || rest == 0 {
		return err
	}
	const joinThreads = 256
	return c.launch("attention", "attention_join", gpu.Grid{X: cluster * rest, Threads: joinThreads}, func(a *gpu.Args) {
		a.Ptr(c.parts).Ptr(o.O.Dev).I64(int64(o.O.Stride[0])).I32(o.Q.Dim(0)).I32(o.Heads()).I32(full).I32(split)
	})
}

// splitClusters says how many clusters are done whole, so that they fill the GPU, on which resident
// run at once, a whole number of times, and by how many each of the rest is done, so that they fill
// it too. steps is over how many steps of keys a cluster walks.
func splitClusters(clusters, resident, steps int) (full, split int) {
	const stepsMin = 8 // a part does, else it is not worth it
	full = clusters / resident * resident
	if rest := clusters - full; rest > 0 {
		split = min(resident/rest, steps/stepsMin)
	}
	if split < 2 {
		return clusters, 1
	}
	return full, split
}

// attentionParts is the memory in bytes for parts of attention on a GPU of so many multiprocessors:
// a tile of outputs and its sums a block.
func attentionParts(multiprocessors int) int64 {
	const queries, size = 128, 4
	return int64(multiprocessors * queries * (HeadDim + 1) * size)
}

func (o Attention) launchPlain(c *CUDA, scale float32) error {
	const threads, queries = 128, 4
	g := gpu.Grid{X: (o.Q.Dim(0) + queries - 1) / queries, Y: o.Heads(), Threads: threads}
	return c.launch("attention_plain", "attention_plain_"+o.Q.Type.String(), g, func(a *gpu.Args) {
		a.Ptr(o.Q.Dev).I64(int64(o.Q.Stride[0])).Ptr(o.K.Dev).I64(int64(o.K.Stride[0])).Ptr(o.V.Dev).I64(int64(o.V.Stride[0])).
			Ptr(o.O.Dev).I64(int64(o.O.Stride[0])).I32(o.Q.Dim(0)).I32(o.Keys).F32(scale).F32(o.ValueScale)
	})
}
