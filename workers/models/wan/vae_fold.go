package wan

import (
	"encoding/binary"
	"math"

	"telefuser/workers/kernels"
	"telefuser/workers/models/weights"
)

// Pictures have three colours a pixel, filled up with zeros. Where squares of fold x fold pixels are folded, their pixels lie row by row in the channels of
// one position; files have them by colour, column and row.

// pixelStep is how many channels a pixel has.
func pixelStep(fold int) int { return channelStep / fold }

// foldedChannels is how many channels a position of a picture has.
func foldedChannels(fold int) int { return fold * fold * pixelStep(fold) }

// colourAt is the channel of what a file has at i.
func colourAt(fold, i int) int {
	row, column, colour := i%fold, i/fold%fold, i/fold/fold
	return (row*fold+column)*pixelStep(fold) + colour
}

// colours moves the input channels of a convolution's weights [out, colours, taps] to where pictures have them.
func colours(c weights.VAEConfig, w []float32, out int) []float32 {
	fold := c.Fold()
	taps, all := len(w)/out/c.Colours(), foldedChannels(fold)
	moved := make([]float32, out*all*taps)
	for o := range out {
		for i := range c.Colours() {
			copy(moved[(o*all+colourAt(fold, i))*taps:], w[(o*c.Colours()+i)*taps:][:taps])
		}
	}
	return moved
}

// pictureIn reads the first convolution of an encoder.
func (l *loader) pictureIn(name string, c weights.VAEConfig) conv {
	w, b := l.floats(name+".weight", c.Base, c.Colours(), 3, 3, 3), l.floats(name+".bias", c.Base)
	return l.convOf(colours(c, w, c.Base), b, c.Base, foldedChannels(c.Fold()), []int{3, 3, 3})
}

// pictureOut reads the last norm and convolution of a decoder.
func (l *loader) pictureOut(name string, c weights.VAEConfig, in int) head {
	w, b := l.floats(name+".2.weight", c.Colours(), in, 3, 3, 3), l.floats(name+".2.bias", c.Colours())
	all := foldedChannels(c.Fold())
	return head{norm: l.gamma(name+".0", in, 4), conv: l.convOf(colours(c, w, 1), colours(c, b, 1), all, in, []int{3, 3, 3})}
}

// unfold makes pixels of positions.
type unfold struct{ fold int }

func (u unfold) run(p *vaePass) {
	t, h, w, step := p.x.Dim(0), p.x.Dim(1), p.x.Dim(2), pixelStep(u.fold)
	p.result = p.take(p.spare, t, u.fold*h, u.fold*w, step)
	row := u.fold * step // of one position
	src := p.view(p.x, 0, []int{t * h, u.fold, w, row}, []int{w * u.fold * row, row, u.fold * row, 1})
	p.do(kernels.Copy{X: src, Y: p.result.Reshape(t*h, u.fold, w, row)})
	p.swap()
}

// encodePixels is encode for pixels of three colours in rows of a width, which are folded.
func encodePixels(t kernels.DType, v []float32, width, fold int) []byte {
	size, step := t.Bytes(), pixelStep(fold)
	out := make([]byte, len(v)/3*step*size)
	inParts(len(v)/3, func(from, to int) {
		for i := from; i < to; i++ {
			y, x := i/width, i%width
			at := out[((y/fold*(width/fold)+x/fold)*fold*fold+y%fold*fold+x%fold)*step*size:]
			for c, colour := range v[3*i : 3*i+3] {
				if t == kernels.F32 {
					binary.LittleEndian.PutUint32(at[c*size:], math.Float32bits(colour))
				} else {
					binary.LittleEndian.PutUint16(at[c*size:], kernels.BF16FromFloat(float64(colour)))
				}
			}
		}
	})
	return out
}
