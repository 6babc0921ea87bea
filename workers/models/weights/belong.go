package weights

import "fmt"

// foreign says, in a sentence, that the VAE makes other latents than the transformers; "" where it does not, or where one of them cannot be told.
func (f Folder) foreign() string {
	place, _ := f.Place(PartVAE)
	if place.Path == "" {
		return ""
	}
	vae, err := place.VAE()
	if err != nil {
		return ""
	}
	for _, part := range []Part{PartDiT, PartHighNoise, PartLowNoise} {
		p, _ := f.Place(part)
		if p.Path == "" {
			continue
		}
		if d, err := p.DiT(); err == nil && d.Out != vae.Z {
			return fmt.Sprintf("its latents have %d channels, and the %s makes %d", vae.Z, part, d.Out)
		}
	}
	return ""
}
