package wan

import (
	"fmt"

	"telefuser/workers/kernels"
	"telefuser/workers/models/weights"
)

// checkVAE fails with ErrConfig for a VAE that the operations cannot do.
func checkVAE(c weights.VAEConfig) error {
	ok := c.Base%channelStep == 0 && c.Z%channelStep == 0 && len(c.TimeHalved) == len(c.Multiples)-1 && len(c.Multiples) >= 2 && c.ResBlocks >= 1
	for i, m := range c.Multiples {
		encoder, decoder := c.Widths(i)
		ok = ok && m >= 1 && encoder%channelStep == 0 && decoder%channelStep == 0 &&
			(i == 0 || c.Residual || decoder/2%channelStep == 0) // half of them come out of a doubling
	}
	if !ok || c.Fold() > 2 || c.Residual && !checkLevels(c) {
		return fmt.Errorf("%w: VAE %+v", ErrConfig, c)
	}
	return nil
}

// Stride is how many pixels a latent of a VAE is wide and high, Frames how many frames stand for a latent frame, but for the first one,
// which stands for one.
func Stride(c weights.VAEConfig) int { return c.Fold() << (len(c.Multiples) - 1) }

// Frames is how many frames of the video stand for a latent frame.
func Frames(c weights.VAEConfig) int {
	n := 1
	for _, halved := range c.TimeHalved {
		if halved {
			n *= 2
		}
	}
	return n
}

// patch is the side of the square of latents that makes a token, maskChannels tell of each latent frame's four frames which are given.
const (
	patch        = 2
	maskChannels = 4
	// modelStep divides the sides of all matrices.
	modelStep = 16
)

// checkDiT fails with ErrConfig for a transformer that the operations cannot do.
func checkDiT(c weights.DiTConfig) error {
	multiple := func(n int) bool { return n >= modelStep && n%modelStep == 0 }
	switch {
	case c.Heads < 1 || c.Dim != c.Heads*kernels.HeadDim:
		return fmt.Errorf("%w: %d heads share %d channels; heads are of %d", ErrConfig, c.Heads, c.Dim, kernels.HeadDim)
	case c.Patch != [3]int{1, patch, patch} || c.Out%4 != 0 || c.In != c.Out && c.In != 2*c.Out+maskChannels:
		return fmt.Errorf("%w: %d channels in and %d out by patches of %v", ErrConfig, c.In, c.Out, c.Patch)
	case !multiple(c.FFN) || !multiple(c.TextDim) || !multiple(c.Freq) || c.Image != 0 && !multiple(c.Image):
		return fmt.Errorf("%w: widths %d, %d, %d and %d are no multiples of %d", ErrConfig, c.FFN, c.TextDim, c.Freq, c.Image, modelStep)
	case c.Control == weights.Action:
		return fmt.Errorf("%w: one-hot actions are not known yet", ErrConfig)
	}
	return nil
}

// rayWidth is the width of the camera's tokens, 0 without one.
func rayWidth(c weights.DiTConfig) int {
	return c.Control.ControlChannels() * weights.PixelFold * weights.PixelFold * patch * patch
}

// axes split a head's 64 pairs among frame, row and column: a third of the head for row and for column, the rest for the frame.
func axes() kernels.Axes {
	const each = kernels.HeadDim / 3 / 2
	return kernels.Axes{Frame: kernels.HeadDim/2 - 2*each, Row: each, Column: each}
}
