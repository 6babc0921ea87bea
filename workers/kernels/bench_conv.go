package kernels

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// convShape is a convolution of the VAE's decoder and how often it occurs in a chunk.
type convShape struct {
	count, t, h, w, c, n, kt, ks int
}

// benchConvs are all convolutions of decoding four latent frames into 16 of 832 x 480.
func benchConvs() []convShape {
	return []convShape{
		{1, 4, 60, 104, 16, 384, 3, 3}, {10, 4, 60, 104, 384, 384, 3, 3}, {1, 4, 60, 104, 384, 1152, 1, 1}, {1, 4, 60, 104, 384, 384, 1, 1},
		{1, 4, 60, 104, 384, 768, 3, 1}, {1, 8, 120, 208, 384, 192, 1, 3}, {1, 8, 120, 208, 192, 384, 3, 3}, {1, 8, 120, 208, 192, 384, 1, 1},
		{5, 8, 120, 208, 384, 384, 3, 3}, {1, 8, 120, 208, 384, 768, 3, 1}, {1, 16, 240, 416, 384, 192, 1, 3}, {6, 16, 240, 416, 192, 192, 3, 3},
		{1, 16, 480, 832, 192, 96, 1, 3}, {6, 16, 480, 832, 96, 96, 3, 3}, {1, 16, 480, 832, 96, 8, 3, 3},
	}
}

func (b *bench) convs() error {
	var total, library time.Duration // of the fastest of ours, and of cuDNN's sums of products
	var flop float64
	for _, z := range benchConvs() {
		mark := b.c.Mark()
		var errs [4]error
		o := Conv3D{}
		frames := z.t + z.kt - 1 // the last frames of the chunk before come first
		o.X, errs[0] = b.normal(BF16, 1, frames, z.h, z.w, z.c)
		o.W, errs[1] = b.normal(BF16, 0.02, z.n, z.kt, z.ks, z.ks, z.c)
		o.Bias, errs[2] = b.normal(BF16, 0.1, z.n)
		o.Y, errs[3] = b.c.New(BF16, z.t, z.h, z.w, z.n)
		if err := errors.Join(errs[:]...); err != nil {
			return err
		}
		one := 2 * float64(z.t*z.h*z.w) * float64(z.n*z.kt*z.ks*z.ks) * float64(z.c)
		shape := fmt.Sprintf("%dx%dx%d %d>%d k%d%d%d", z.t, z.h, z.w, z.c, z.n, z.kt, z.ks, z.ks)
		best := time.Duration(math.MaxInt64)
		for _, k := range o.ownCandidates(b.c) {
			l := load{name: fmt.Sprintf("conv3d, %d times", z.count), shape: shape, by: k.name, flop: one, run: k.run,
				check: func() (float64, error) { return b.checkConv(o) }}
			if err := b.burst(l); err != nil {
				return err
			}
			best = min(best, b.rows[len(b.rows)-1].Time)
		}
		if b.c.dnn != nil {
			t, err := b.convByLibrary(o, load{name: fmt.Sprintf("conv3d, %d times", z.count), shape: shape, flop: one})
			if err != nil {
				return err
			}
			library += t * time.Duration(z.count)
		}
		if _, err := b.c.Tune(o); err != nil {
			return err
		}
		total += best * time.Duration(z.count)
		flop += one * float64(z.count)
		if err := b.c.Release(mark); err != nil {
			return err
		}
	}
	all := load{name: "conv3d, all of a decode", shape: "4 latent > 16 frames", by: "best of ours", flop: flop}
	if err := b.add(all, "burst", total); err != nil || library == 0 {
		return err
	}
	all.by = "cudnn"
	return b.add(all, "burst", library)
}

// convByLibrary measures the fastest of cuDNN's proposals; it is asked for less than we do, without bias and residual.
func (b *bench) convByLibrary(o Conv3D, l load) (time.Duration, error) {
	const proposalsMax = 6
	best, fastest := 0, time.Duration(math.MaxInt64)
	for i := range proposalsMax {
		t, err := b.c.Time(1, 3, func() error { return b.c.dnn.run(b.c, o, false, i) })
		if errors.Is(err, ErrUnsupported) {
			break
		}
		if err != nil {
			return 0, err
		}
		if t < fastest {
			best, fastest = i, t
		}
	}
	l.by, l.run = "cudnn", func() error { return b.c.dnn.run(b.c, o, false, best) }
	if err := b.burst(l); err != nil {
		return 0, err
	}
	return b.rows[len(b.rows)-1].Time, nil
}

// checkConv compares sampled outputs, corners among them, with float64.
func (b *bench) checkConv(o Conv3D) (float64, error) {
	var r relative
	w, err := b.fetch(o.W)
	if err != nil {
		return 0, err
	}
	bias, err := b.fetch(o.Bias)
	if err != nil {
		return 0, err
	}
	h, wd, c, n := o.X.Dim(1), o.X.Dim(2), o.X.Dim(3), o.W.Dim(0)
	kt, kh, kw := o.W.Dim(1), o.W.Dim(2), o.W.Dim(3)
	for i := range 12 {
		f, y, x := i%o.Y.Dim(0), i*41%h, i*67%wd
		if i < 2 {
			f, y, x = (o.Y.Dim(0)-1)*i, (h-1)*i, (wd-1)*i
		}
		got, err := b.fetch(o.Y.Rows(f, f+1).Reshape(h, wd, n).Rows(y, y+1).Reshape(wd, n).Rows(x, x+1))
		if err != nil {
			return 0, err
		}
		sums := make([]float64, n)
		for tap := range kt * kh * kw {
			a, p, q := f+tap/(kh*kw)-o.PadT, y+tap/kw%kh-kh/2, x+tap%kw-kw/2
			if a < 0 || p < 0 || p >= h || q < 0 || q >= wd {
				continue
			}
			in, err := b.fetch(o.X.Rows(a, a+1).Reshape(h, wd, c).Rows(p, p+1).Reshape(wd, c).Rows(q, q+1))
			if err != nil {
				return 0, err
			}
			for ch := range min(n, 16) {
				for k := range c {
					sums[ch] += in.Get(k) * w.Get((ch*kt*kh*kw+tap)*c+k)
				}
			}
		}
		for ch := range min(n, 16) {
			r.add(got.Get(ch), sums[ch]+bias.Get(ch))
		}
	}
	return r.value(), nil
}
