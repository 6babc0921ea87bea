package kernels

import (
	"math"

	"telefuser/workers/gpu"
)

// Resize resamples images; X [P, H, W, C] to Y [P, OH, OW, C], both f32 or both bf16, contiguous.
// Nearest takes element floor(i * H / OH); bilinear has half-pixel centres and held edges.
type Resize struct {
	X, Y     Tensor
	Bilinear bool
}

// Check tells whether the tensors fit.
func (o Resize) Check() error {
	const op, planesMax = "resize", 65535
	if o.X.Rank() != 4 || o.Y.Rank() != 4 || !o.X.contiguous(0) || !o.Y.contiguous(0) || o.X.Type != o.Y.Type || o.X.Type != F32 && o.X.Type != BF16 {
		return misfit(op, "x %v of %v, y %v of %v", o.X.Shape, o.X.Type, o.Y.Shape, o.Y.Type)
	}
	if o.X.Dim(0) != o.Y.Dim(0) || o.X.Dim(3) != o.Y.Dim(3) || o.X.Len() == 0 || o.Y.Len() == 0 || o.X.Dim(0) > planesMax {
		return misfit(op, "x %v, y %v", o.X.Shape, o.Y.Shape)
	}
	return nil
}

func (o Resize) reference() {
	h, w, c := o.X.Dim(1), o.X.Dim(2), o.X.Dim(3)
	oh, ow := o.Y.Dim(1), o.Y.Dim(2)
	hold := func(i, n int) int { return min(max(i, 0), n-1) }
	for p := range o.X.Dim(0) {
		at := func(y, x, ch int) float64 { return o.X.Get(((p*h+hold(y, h))*w+hold(x, w))*c + ch) }
		for i := range oh * ow * c {
			y, x, ch := i/c/ow, i/c%ow, i%c
			v := 0.0
			if o.Bilinear {
				fy, fx := (float64(y)+0.5)*float64(h)/float64(oh)-0.5, (float64(x)+0.5)*float64(w)/float64(ow)-0.5
				y0, x0 := int(math.Floor(fy)), int(math.Floor(fx))
				ay, ax := fy-float64(y0), fx-float64(x0)
				v = (at(y0, x0, ch)*(1-ax)+at(y0, x0+1, ch)*ax)*(1-ay) + (at(y0+1, x0, ch)*(1-ax)+at(y0+1, x0+1, ch)*ax)*ay
			} else {
				v = at(y*h/oh, x*w/ow, ch)
			}
			o.Y.Set(p*oh*ow*c+i, v)
		}
	}
}

func (o Resize) launch(c *CUDA) error {
	const threads = 256
	bilinear := 0
	if o.Bilinear {
		bilinear = 1
	}
	g := gpu.Grid{X: (o.Y.Dim(1)*o.Y.Dim(2)*o.Y.Dim(3) + threads - 1) / threads, Y: o.Y.Dim(0), Threads: threads}
	return c.launch("resize", "resize_"+o.X.Type.String(), g, func(a *gpu.Args) {
		a.Ptr(o.X.Dev).Ptr(o.Y.Dev).I32(o.X.Dim(1)).I32(o.X.Dim(2)).I32(o.Y.Dim(1)).I32(o.Y.Dim(2)).I32(o.X.Dim(3)).I32(bilinear)
	})
}
