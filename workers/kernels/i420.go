package kernels

import "telefuser/workers/gpu"

// I420 turns RGB frames into I420 planes, BT.709, limited range; chroma is of the mean of
// each 2 x 2 block.
//
//	X u8 [F, H, W, 3], or f32 or bf16 in [-1, 1], [3, F, H, W] or, Interleaved, [F, H, W, C], the first three of whose channels count
//	Y u8 [F, H*W*3/2]
//
// H and W are even.
type I420 struct {
	X, Y        Tensor
	Interleaved bool
}

func (o I420) size() (frames, h, w int) {
	if o.X.Type == U8 || o.Interleaved {
		return o.X.Dim(0), o.X.Dim(1), o.X.Dim(2)
	}
	return o.X.Dim(1), o.X.Dim(2), o.X.Dim(3)
}

// Check tells whether the tensors fit.
func (o I420) Check() error {
	const op = "i420"
	if o.X.Rank() != 4 || !o.X.contiguous(0) || o.Y.Rank() != 2 || !o.Y.contiguous(0) || o.Y.Type != U8 {
		return misfit(op, "x %v, y %v", o.X.Shape, o.Y.Shape)
	}
	f, h, w := o.size()
	channels := o.X.Dim(0)
	if o.X.Type == U8 || o.Interleaved {
		channels = o.X.Dim(3)
	}
	const framesMax = 65535 // of one launch's grid
	if o.X.Type != U8 && !wide(o.X.Type) || o.Interleaved && o.X.Type == U8 || channels < 3 || channels > 3 && !o.Interleaved || h%2 != 0 || w%2 != 0 || h*w == 0 ||
		f < 1 || f > framesMax || o.Y.Dim(0) != f || o.Y.Dim(1) != h*w*3/2 {
		return misfit(op, "x %v of %v, y %v", o.X.Shape, o.X.Type, o.Y.Shape)
	}
	return nil
}

func (o I420) pixel(f, y, x, c int) int {
	frames, h, w := o.size()
	if o.X.Type == U8 {
		return int(o.X.Host[((f*h+y)*w+x)*3+c])
	}
	at := ((c*frames+f)*h+y)*w + x
	if o.Interleaved {
		at = ((f*h+y)*w+x)*o.X.Dim(3) + c
	}
	v := (float32(o.X.Get(at))+1)*127.5 + 0.5
	return int(min(max(v, 0), 255))
}

func (o I420) reference() {
	frames, h, w := o.size()
	for f := range frames {
		out := o.Y.Host[f*h*w*3/2:]
		for y := 0; y < h; y += 2 {
			for x := 0; x < w; x += 2 {
				var sum [3]int
				for k := range 4 {
					py, px := y+k/2, x+k%2
					r, g, b := o.pixel(f, py, px, 0), o.pixel(f, py, px, 1), o.pixel(f, py, px, 2)
					out[py*w+px] = uint8((11966*r + 40254*g + 4064*b + 16<<16 + 1<<15) >> 16)
					sum[0], sum[1], sum[2] = sum[0]+r, sum[1]+g, sum[2]+b
				}
				at := h*w + y/2*(w/2) + x/2
				out[at] = uint8((-6596*sum[0] - 22189*sum[1] + 28785*sum[2] + 128<<18 + 1<<17) >> 18)
				out[at+h/2*(w/2)] = uint8((28785*sum[0] - 26145*sum[1] - 2640*sum[2] + 128<<18 + 1<<17) >> 18)
			}
		}
	}
}

func (o I420) launch(c *CUDA) error {
	const threads = 256
	f, h, w := o.size()
	name := map[DType]string{U8: "i420_rgb8", F32: "i420_f32", BF16: "i420_bf16"}[o.X.Type]
	g := gpu.Grid{X: (h/2*(w/2) + threads - 1) / threads, Y: f, Threads: threads}
	if o.Interleaved {
		return c.launch("i420", "i420_interleaved_"+o.X.Type.String(), g, func(a *gpu.Args) { a.Ptr(o.X.Dev).Ptr(o.Y.Dev).I32(w).I32(h).I32(o.X.Dim(3)) })
	}
	return c.launch("i420", name, g, func(a *gpu.Args) { a.Ptr(o.X.Dev).Ptr(o.Y.Dev).I32(w).I32(h) })
}
