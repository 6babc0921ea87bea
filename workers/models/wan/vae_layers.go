package wan

import (
	"fmt"

	"telefuser/workers/kernels"
)

// channelStep divides the channels of every tensor of a VAE; the three of a picture are filled up with zeros.
const channelStep = 8

// conv is a convolution's weights [N, KT, KH, KW, C] and bias [N].
type conv struct{ w, b kernels.Tensor }

// conv reads name.weight [out, in, kernel...] and name.bias; kernel has two or three sides. Channels are moved to the end and filled up
// with zeros to a multiple of channelStep.
func (l *loader) conv(name string, out, in int, kernel ...int) conv {
	w := l.floats(name+".weight", append([]int{out, in}, kernel...)...)
	b := l.floats(name+".bias", out)
	for len(kernel) < 3 {
		kernel = append([]int{1}, kernel...)
	}
	return l.convOf(w, b, out, in, kernel)
}

func (l *loader) convOf(w, b []float32, out, in int, kernel []int) conv {
	taps := product(kernel)
	n, c := up(out), up(in)
	turned, bias := make([]float32, n*taps*c), make([]float32, n)
	copy(bias, b)
	for o := range out {
		for i := range in {
			for t := range taps {
				turned[(o*taps+t)*c+i] = w[(o*in+i)*taps+t]
			}
		}
	}
	return conv{w: l.put(l.act, turned, n, kernel[0], kernel[1], kernel[2], c), b: l.put(l.act, bias, n)}
}

func up(channels int) int { return (channels + channelStep - 1) / channelStep * channelStep }

// layer is a part of a VAE that turns a pass's frames into others.
type layer interface{ run(p *vaePass) }

// resBlock is two norms and causal convolutions around which the input goes, through a convolution of one pixel where the width changes.
type resBlock struct {
	norm1, norm2 kernels.Tensor
	conv1, conv2 conv
	shortcut     *conv
}

func (l *loader) resBlock(name string, in, out int) resBlock {
	r := resBlock{
		norm1: l.gamma(name+".residual.0", in, 4), conv1: l.conv(name+".residual.2", out, in, 3, 3, 3),
		norm2: l.gamma(name+".residual.3", out, 4), conv2: l.conv(name+".residual.6", out, out, 3, 3, 3),
	}
	if in != out {
		s := l.conv(name+".shortcut", out, in, 1, 1, 1)
		r.shortcut = &s
	}
	return r
}

// gamma reads the gain of an RMS norm, which the file has with dimensions of 1 up to a rank.
func (l *loader) gamma(name string, n, rank int) kernels.Tensor {
	shape := []int{n}
	for len(shape) < rank {
		shape = append(shape, 1)
	}
	return l.put(kernels.F32, l.floats(name+".gamma", shape...), n)
}

func (r resBlock) run(p *vaePass) {
	p.causal(r.conv1, &r.norm1, p.x, kernels.Tensor{}, p.hidden)
	h := p.result
	if r.shortcut == nil {
		p.causal(r.conv2, &r.norm2, h, p.x, p.spare)
		p.swap()
		return
	}
	p.plain(*r.shortcut, p.x, p.spare)
	p.causal(r.conv2, &r.norm2, h, p.result, p.current)
	p.x = p.result
}

// attention is one head over the positions of each frame, as wide as the frame has channels.
type attention struct {
	norm          kernels.Tensor
	q, k, v, proj linear
}

func (l *loader) attention(name string, n int) attention {
	a := attention{norm: l.gamma(name+".norm", n, 3)}
	w, b := l.floats(name+".to_qkv.weight", 3*n, n, 1, 1), l.floats(name+".to_qkv.bias", 3*n)
	for i, part := range []*linear{&a.q, &a.k, &a.v} {
		*part = linear{w: l.put(l.act, w[i*n*n:(i+1)*n*n], n, n), b: l.put(l.act, b[i*n:(i+1)*n], n)}
	}
	a.proj = linear{w: l.put(l.act, l.floats(name+".proj.weight", n, n, 1, 1), n, n), b: l.vector(l.act, name+".proj.bias", n)}
	return a
}

// resample changes size by two in space and, with a time convolution, in time.
type resample struct {
	up    bool
	space conv
	time  *conv
}

func (l *loader) upsample(name string, n, out int, time bool) resample {
	r := resample{up: true, space: l.conv(name+".resample.1", out, n, 3, 3)}
	if time {
		t := l.conv(name+".time_conv", 2*n, n, 3, 1, 1)
		r.time = &t
	}
	return r
}

func (l *loader) downsample(name string, n int, time bool) resample {
	r := resample{space: l.conv(name+".resample.1", n, n, 3, 3)}
	if time {
		t := l.conv(name+".time_conv", n, n, 3, 1, 1)
		r.time = &t
	}
	return r
}

func (r resample) run(p *vaePass) {
	if r.up {
		if r.time != nil {
			p.doubleTime(*r.time)
		}
		p.doubleSpace(r.space)
		return
	}
	p.halveSpace(r.space)
	if r.time != nil {
		p.halveTime(*r.time)
	}
}

// head is the last norm and convolution.
type head struct {
	norm kernels.Tensor
	conv conv
}

func (l *loader) head(name string, in, out int) head {
	return head{norm: l.gamma(name+".0", in, 4), conv: l.conv(name+".2", out, in, 3, 3, 3)}
}

func (h head) run(p *vaePass) {
	p.causal(h.conv, &h.norm, p.x, kernels.Tensor{}, p.spare)
	p.swap()
}

// causalConv is a convolution without a norm before it.
type causalConv struct{ conv }

func (c causalConv) run(p *vaePass) {
	p.causal(c.conv, nil, p.x, kernels.Tensor{}, p.spare)
	p.swap()
}

// pointConv is a convolution of one pixel.
type pointConv struct{ conv }

func (c pointConv) run(p *vaePass) {
	p.plain(c.conv, p.x, p.spare)
	p.swap()
}

// layerName numbers the layers of a list in a file.
func layerName(list string, at int) string { return fmt.Sprintf("%s.%d", list, at) }
