package wan

import (
	"fmt"
	"math"

	"telefuser/workers/media"
	"telefuser/workers/models/clip"
	"telefuser/workers/models/umt5"
	"telefuser/workers/models/weights"
)

// publicVAE is a clip of some chunks of latent frames, there and back.
type publicVAE struct{ Width, Height, Chunk, Chunks int }

// publicClip are pictures of so many columns and rows.
type publicClip struct{ Pictures [][2]int }

// publicText are token ids, text by text.
type publicText struct{ IDs [][]int32 }

// publicSolver is a walk by UniPC along a flow that stands in a formula.
type publicSolver struct {
	Shift    float64
	Steps, N int
}

// solver writes the latents after each step, and the times.
func (p *publicRun) solver() {
	q := p.Solver
	u, err := NewUniPC(FlowSigmas(q.Shift, q.Steps))
	p.ok(err)
	x := p.input("solver", 1, q.N)
	var all, times []float32
	for {
		time, ok := u.Time()
		if !ok {
			break
		}
		flow := make([]float32, len(x))
		for i, v := range x {
			flow[i] = float32(0.9*float64(v) + 0.3*math.Cos(3*float64(v)+time/300))
		}
		u.Next(x, flow)
		all, times = append(all, x...), append(times, float32(time))
	}
	p.put("solver/latents", all)
	p.put("solver/times", times)
}

// vae encodes frames of noise, and decodes latents of noise.
func (p *publicRun) vae(part string, v *publicVAE) {
	c, err := p.config(part).VAE()
	p.ok(err)
	latents, frames := p.clip(c, p.weights(part, c.Blueprint()), v)
	for i := range latents {
		p.put(fmt.Sprintf("%s/latents.%d", part, i), latents[i])
		p.put(fmt.Sprintf("%s/frames.%d", part, i), frames[i])
	}
}

// clip are the latents of frames of noise, and the frames of latents of noise, by chunk.
func (p *publicRun) clip(c weights.VAEConfig, set *weights.Set, v *publicVAE) (made, back [][]float32) {
	p.t.Helper()
	h, w := v.Height/Stride(c), v.Width/Stride(c)
	encoder, err := NewEncoder(p.b, set, c, p.act, v.Chunk, v.Height, v.Width)
	p.ok(err)
	decoder, err := NewDecoder(p.b, set, c, p.act, v.Chunk, h, w)
	p.ok(err)
	from, err := encoder.NewState()
	p.ok(err)
	to, err := decoder.NewState()
	p.ok(err)
	for i := range v.Chunks {
		frames := Frames(c) * v.Chunk
		if i == 0 {
			frames -= Frames(c) - 1
		}
		latents, err := encoder.Encode(from, p.input(fmt.Sprintf("frames.%d", i), 0.5, frames*v.Height*v.Width*3))
		p.ok(err)
		rgb, err := decoder.Decode(to, p.input(fmt.Sprintf("codes.%d", i), 1, v.Chunk*h*w*c.Z))
		p.ok(err)
		made, back = append(made, latents), append(back, rgb)
	}
	return made, back
}

// text encodes ids.
func (p *publicRun) text() {
	c, err := p.config("text").UMT5()
	p.ok(err)
	e, err := umt5.NewEncoder(p.b, p.weights("text", c.Blueprint()), c, umt5.Options{Type: p.act, Resident: true})
	p.ok(err)
	for i, ids := range p.Text.IDs {
		v, err := e.Encode(umt5.Tokens{IDs: ids, Length: len(ids)})
		p.ok(err)
		p.put(fmt.Sprintf("text/%d", i), v)
	}
}

// pictures encodes pictures whose bytes stand in a formula.
func (p *publicRun) pictures() {
	c, err := p.config("clip").CLIP()
	p.ok(err)
	e, err := clip.NewEncoder(p.b, p.weights("clip", c.Blueprint()), c, p.act)
	p.ok(err)
	for i, size := range p.Clip.Pictures {
		img := media.Image{Width: size[0], Height: size[1]}
		for y := range img.Height {
			for x := range img.Width {
				for channel := range 3 {
					img.RGB = append(img.RGB, byte(7*x+13*y+31*channel+x*y/9))
				}
			}
		}
		v, err := e.Encode(img)
		p.ok(err)
		p.put(fmt.Sprintf("clip/%d", i), v)
	}
}
