package kernels

import (
	"fmt"

	"telefuser/workers/gpu"
)

// Conv3D is a convolution over time, rows and columns of images with channels last.
//
//	X [T, H, W, C]   W [N, KT, KH, KW, C]   Bias [N]   Residual, Y [To, Ho, Wo, N], all bf16 or all f32, contiguous
//
// Before the first frame lie PadT zero frames (a causal convolution of KT frames has
// KT - 1, or as many real frames of the chunk before in X and PadT 0); nothing is padded
// after the last. Strides are 1 unless set. In space, stride 1 pads K/2 on all sides;
// stride 2 pads nothing before and, after, as the output's shape demands. CUDA has no kernel for f32.
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
		if !wide(t.Type) || t.Type != o.X.Type || t.Len() == 0 || !t.contiguous(0) || t.Dev%16 != 0 {
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
	if r := o.Residual; !r.Absent() && (r.Type != o.X.Type || r.Len() != o.Y.Len() || !r.contiguous(0)) {
		return misfit(op, "residual %v", r.Shape)
	}
	return checkVector(op, o.Bias, o.X.Type, n, false)
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
	if err := narrowOnly("conv3d", o.X); err != nil {
		return err
	}
	return c.choose(o.key(), o.candidates(c))
}

// key names the shape for which a choice is remembered.
func (o Conv3D) key() string {
	key := fmt.Sprintf("conv3d %v %v", o.X.Shape, o.W.Shape)
	if st, ss := o.strides(); st > 1 || ss > 1 {
		key += fmt.Sprintf(" by %d and %d", st, ss)
	}
	return key
}

// candidates are the implementations that can do this convolution, likeliest first; cuDNN, where it is there, comes last.
func (o Conv3D) candidates(c *CUDA) []candidate {
	own := o.ownCandidates(c)
	if c.dnn != nil && c.dnn.supports(c, o) {
		own = append(own, candidate{"cudnn", func() error { return c.dnn.run(c, o, true, 0) }})
	}
	return own
}

func (o Conv3D) ownCandidates(c *CUDA) []candidate {
	st, ss := o.strides()
	plain := candidate{"plain", func() error { return o.launchPlain(c) }}
	const stepMax = 8 // of the bulk copy engine; in time none is needed
	if !c.hopper() || ss > stepMax || o.W.Dim(0)%8 != 0 {
		return []candidate{plain}
	}
	all := []candidate{{"taps", func() error { return o.launchTaps(c) }}}
	if st > 1 || ss > 1 {
		return append(all, plain)
	}
	if o.W.Dim(2) != 3 || o.W.Dim(3) != 3 {
		return all
	}
	var halo []candidate
	for _, h := range convHalos {
		if padded(o.W.Dim(0), h.bn) <= padded(o.W.Dim(0), narrowest(o.W.Dim(0))) {
			halo = append(halo, candidate{"halo " + h.name(), func() error { return o.launchHalo(c, h) }})
		}
	}
	return append(halo, all...)
}

// padded is n rounded up to whole tiles.
func padded(n, tile int) int { return (n + tile - 1) / tile * tile }

// narrowest is the tile width that wastes fewest channels, the widest of equals.
func narrowest(n int) int {
	best := 192
	for _, b := range []int{128, 96} {
		if padded(n, b) < padded(n, best) {
			best = b
		}
	}
	if n <= 16 {
		best = 16
	}
	return best
}

// products is how many products of 16 channels a tap's last 64 need: half or all.
func (o Conv3D) products() int {
	if last := o.X.Dim(3) % 64; last > 0 && last <= 32 {
		return 2
	}
	return 4
}

// convHalo is one build of the kernel that reads shifted addresses: bn output channels, mt
// times 128 positions, stages of input and of weights.
type convHalo struct{ bn, mt, inputs, weights int }

func (h convHalo) name() string { return fmt.Sprintf("%dx%d", h.bn, h.mt) }

var convHalos = [...]convHalo{{192, 1, 3, 6}, {96, 2, 2, 10}, {128, 2, 2, 8}, {16, 2, 3, 16}} //nolint:gochecknoglobals // constant table

// maps describes the input's tiles of 64 channels and w x h positions, in the steps of the convolution, and the weights' of 64 x bn.
func (o Conv3D) maps(c *CUDA, w, h, bn int) (input, weights *gpu.TensorMap, err error) {
	const inner, size = 64, 2
	ch, width, height := o.X.Dim(3), o.X.Dim(2), o.X.Dim(1)
	_, ss := o.strides()
	input, err = c.ctx.NewTensorMap(gpu.MapSpec{
		Type: gpu.MapBF16, Addr: o.X.Dev, Swizzle: gpu.Swizzle128,
		Dims:    []int{ch, width, height, o.X.Dim(0)},
		Strides: []int64{int64(ch * size), int64(width * ch * size), int64(height * width * ch * size)},
		Box:     []int{inner, w, h, 1}, Steps: []int{1, ss, ss, 1},
	})
	if err != nil {
		return nil, nil, err
	}
	taps := o.W.Dim(1) * o.W.Dim(2) * o.W.Dim(3)
	weights, err = c.ctx.NewTensorMap(gpu.MapSpec{
		Type: gpu.MapBF16, Addr: o.W.Dev, Swizzle: gpu.Swizzle128,
		Dims: []int{ch, taps, o.W.Dim(0)}, Strides: []int64{int64(ch * size), int64(taps * ch * size)}, Box: []int{inner, 1, bn},
	})
	return input, weights, err
}

// launchHalo fetches the input once for all taps of a frame.
func (o Conv3D) launchHalo(c *CUDA, v convHalo) error {
	const tileW, tileH, border, rowBytes, align, barriers = 8, 16, 2, 128, 1024, 16
	tx, tw, err := o.maps(c, tileW+border, tileH*v.mt+border, v.bn)
	if err != nil {
		return err
	}
	n, h, w := o.W.Dim(0), o.X.Dim(1), o.X.Dim(2)
	input := padded((tileW+border)*(tileH*v.mt+border)*rowBytes, align)
	tiles := padded(n, v.bn) / v.bn * (padded(w, tileW) / tileW) * (padded(h, tileH*v.mt) / (tileH * v.mt)) * o.Y.Dim(0)
	g := gpu.Grid{X: min(tiles, c.ctx.Multiprocessors()), Threads: hopperThreads,
		SharedBytes: v.inputs*(input+barriers) + v.weights*(v.bn*rowBytes+barriers) + align}
	return c.launch("conv3d", fmt.Sprintf("conv3d_halo_%s_%d", v.name(), o.products()), g, func(a *gpu.Args) {
		a.Map(tx).Map(tw).Ptr(o.Bias.Dev).Ptr(o.Residual.Dev).Ptr(o.Y.Dev).I32(o.Y.Dim(0)).I32(h).I32(w).I32(o.X.Dim(3)).I32(n).
			I32(o.W.Dim(1)).I32(o.PadT)
	})
}

// launchTaps fetches the input anew for every tap.
func (o Conv3D) launchTaps(c *CUDA) error {
	n, ch := o.W.Dim(0), o.X.Dim(3)
	bn := narrowest(n)
	const tileW, tileH, positions = 16, 8, 128
	h, w := o.Y.Dim(1), o.Y.Dim(2)
	st, ss := o.strides()
	tx, tw, err := o.maps(c, tileW, tileH, bn)
	if err != nil {
		return err
	}
	tiles := (n + bn - 1) / bn * ((w + tileW - 1) / tileW) * ((h + tileH - 1) / tileH) * o.Y.Dim(0)
	g := gpu.Grid{X: min(tiles, c.ctx.Multiprocessors()), Threads: hopperThreads, SharedBytes: stagesShared(positions+bn, map[int]int{16: 8, 96: 7, 128: 6, 192: 5}[bn])}
	return c.launch("conv3d", fmt.Sprintf("conv3d_%d_%d", bn, o.products()), g, func(a *gpu.Args) {
		a.Map(tx).Map(tw).Ptr(o.Bias.Dev).Ptr(o.Residual.Dev).Ptr(o.Y.Dev).I32(o.Y.Dim(0)).I32(h).I32(w).I32(ch).I32(n).
			I32(o.W.Dim(1)).I32(o.W.Dim(2)).I32(o.W.Dim(3)).I32(o.PadT).I32(st).I32(ss)
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
