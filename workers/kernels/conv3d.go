package kernels

import (
	"fmt"

	"telefuser/workers/gpu"
)

// Conv3D is a convolution over time, rows and columns of images with channels last.
//
//	X [T, H, W, C]   W [N, KT, KH, KW, C]   Bias [N]   Residual, Y [To, Ho, Wo, N], all bf16, contiguous
//
// Before the first frame lie PadT zero frames (a causal convolution of KT frames has
// KT - 1, or as many real frames of the chunk before in X and PadT 0); nothing is padded
// after the last. Strides are 1 unless set. In space, stride 1 pads K/2 on all sides;
// stride 2 pads nothing before and, after, as the output's shape demands.
type Conv3D struct {
	X, W, Bias, Residual, Y Tensor
	PadT                    int
	StrideT, StrideS        int
}

func (o Conv3D) strides() (t, s int) { return max(o.StrideT, 1), max(o.StrideS, 1) }

func (o Conv3D) padding() (h, w int) {
	if _, s := o.strides(); s > 1 {
		return 0, 0
	}
	return o.W.Dim(2) / 2, o.W.Dim(3) / 2
}

// Check tells whether the tensors fit.
func (o Conv3D) Check() error {
	const op, step = "conv3d", 8
	if o.X.Rank() != 4 || o.W.Rank() != 5 || o.Y.Rank() != 4 {
		return misfit(op, "x %v, w %v, y %v", o.X.Shape, o.W.Shape, o.Y.Shape)
	}
	for _, t := range []Tensor{o.X, o.W, o.Y} {
		if t.Type != BF16 || t.Len() == 0 || !t.contiguous(0) || t.Dev%16 != 0 {
			return misfit(op, "tensor %v of %v", t.Shape, t.Type)
		}
	}
	st, ss := o.strides()
	t, h, w, c := o.X.Dim(0), o.X.Dim(1), o.X.Dim(2), o.X.Dim(3)
	kt, kh, kw, n := o.W.Dim(1), o.W.Dim(2), o.W.Dim(3), o.W.Dim(0)
	to := (t+o.PadT-kt)/st + 1
	switch {
	case o.W.Dim(4) != c || c%step != 0 || o.PadT < 0 || t+o.PadT < kt:
		return misfit(op, "x %v with w %v, %d frames of padding", o.X.Shape, o.W.Shape, o.PadT)
	case o.Y.Dim(0) != to || o.Y.Dim(3) != n:
		return misfit(op, "y %v, want %d frames of %d channels", o.Y.Shape, to, n)
	case ss == 1 && (o.Y.Dim(1) != h || o.Y.Dim(2) != w || kh%2 == 0 || kw%2 == 0):
		return misfit(op, "y %v, want %dx%d by an odd kernel", o.Y.Shape, h, w)
	case ss > 1 && (o.Y.Dim(1) > (h+ss-1)/ss || o.Y.Dim(2) > (w+ss-1)/ss):
		return misfit(op, "y %v is too large for stride %d", o.Y.Shape, ss)
	}
	if r := o.Residual; !r.Absent() && (r.Type != BF16 || r.Len() != o.Y.Len() || !r.contiguous(0)) {
		return misfit(op, "residual %v", r.Shape)
	}
	return checkVector(op, o.Bias, BF16, n, false)
}

func (o Conv3D) reference() {
	t, h, w, c := o.X.Dim(0), o.X.Dim(1), o.X.Dim(2), o.X.Dim(3)
	kt, kh, kw, n := o.W.Dim(1), o.W.Dim(2), o.W.Dim(3), o.W.Dim(0)
	st, ss := o.strides()
	ph, pw := o.padding()
	input, weight := o.X.values(), o.W.values()
	for i := range o.Y.Len() {
		ch, x, y, f := i%n, i/n%o.Y.Dim(2), i/n/o.Y.Dim(2)%o.Y.Dim(1), i/n/o.Y.Dim(2)/o.Y.Dim(1)
		v := o.Bias.Get(ch)
		for tap := range kt * kh * kw {
			a, b, d := f*st+tap/(kh*kw)-o.PadT, y*ss+tap/kw%kh-ph, x*ss+tap%kw-pw
			if a < 0 || a >= t || b < 0 || b >= h || d < 0 || d >= w {
				continue
			}
			taps := weight[(ch*kt*kh*kw+tap)*c:]
			for k, u := range input[((a*h+b)*w+d)*c:][:c] {
				v += u * taps[k]
			}
		}
		if !o.Residual.Absent() {
			v += o.Residual.Get(i)
		}
		o.Y.Set(i, v)
	}
}

func (o Conv3D) launch(c *CUDA) error {
	st, ss := o.strides()
	if !c.hopper() || st > 1 || ss > 1 || o.W.Dim(0)%8 != 0 {
		return o.launchPlain(c)
	}
	n, ch := o.W.Dim(0), o.X.Dim(3)
	bn := 192
	for _, b := range []int{96, 128} { // the narrowest tile that wastes least
		if (n+b-1)/b*b < (n+bn-1)/bn*bn {
			bn = b
		}
	}
	products := 4 // of 16 channels in a tap's last 64
	if last := ch % 64; last > 0 && last <= 32 && bn != 128 {
		products = 2
	}
	const tileW, tileH, inner, positions = 16, 8, 64, 128
	h, w := o.X.Dim(1), o.X.Dim(2)
	tx, err := c.ctx.NewTensorMap(gpu.MapSpec{
		Type: gpu.MapBF16, Addr: o.X.Dev, Swizzle: gpu.Swizzle128,
		Dims:    []int{ch, w, h, o.X.Dim(0)},
		Strides: []int64{int64(ch * 2), int64(w * ch * 2), int64(h * w * ch * 2)},
		Box:     []int{inner, tileW, tileH, 1},
	})
	if err != nil {
		return err
	}
	taps := o.W.Dim(1) * o.W.Dim(2) * o.W.Dim(3)
	tw, err := c.ctx.NewTensorMap(gpu.MapSpec{
		Type: gpu.MapBF16, Addr: o.W.Dev, Swizzle: gpu.Swizzle128,
		Dims: []int{ch, taps, n}, Strides: []int64{int64(ch * 2), int64(taps * ch * 2)}, Box: []int{inner, 1, bn},
	})
	if err != nil {
		return err
	}
	tiles := (n + bn - 1) / bn * ((w + tileW - 1) / tileW) * ((h + tileH - 1) / tileH) * o.Y.Dim(0)
	g := gpu.Grid{X: min(tiles, c.ctx.Multiprocessors()), Threads: hopperThreads, SharedBytes: stagesShared(positions+bn, gemmStages(bn))}
	return c.launch("conv3d", fmt.Sprintf("conv3d_%d_%d", bn, products), g, func(a *gpu.Args) {
		a.Map(tx).Map(tw).Ptr(o.Bias.Dev).Ptr(o.Residual.Dev).Ptr(o.Y.Dev).I32(o.Y.Dim(0)).I32(h).I32(w).I32(ch).I32(n).
			I32(o.W.Dim(1)).I32(o.W.Dim(2)).I32(o.W.Dim(3)).I32(o.PadT)
	})
}

func (o Conv3D) launchPlain(c *CUDA) error {
	const threads = 256
	st, ss := o.strides()
	ph, pw := o.padding()
	g := gpu.Grid{X: (o.Y.Len() + threads - 1) / threads, Threads: threads}
	return c.launch("conv3d_plain", "conv3d_plain", g, func(a *gpu.Args) {
		a.Ptr(o.X.Dev).Ptr(o.W.Dev).Ptr(o.Bias.Dev).Ptr(o.Residual.Dev).Ptr(o.Y.Dev)
		for _, v := range []int{o.X.Dim(0), o.X.Dim(1), o.X.Dim(2), o.X.Dim(3), o.Y.Dim(0), o.Y.Dim(1), o.Y.Dim(2), o.W.Dim(0),
			o.W.Dim(1), o.W.Dim(2), o.W.Dim(3), st, ss, o.PadT, ph, pw} {
			a.I32(v)
		}
	})
}
