package weights

import (
	"cmp"
	"strconv"
)

// VAEConfig is the shape of a VAE of Wan: that of 2.1, or the residual one of 2.2.
type VAEConfig struct {
	Base       int   // channels of the encoder's first level
	Z          int   // channels of a latent
	Multiples  []int // of Base, one a level
	ResBlocks  int   // a level of the encoder; the decoder has one more
	TimeHalved []bool
	// DecoderBase is what Base is to the decoder; 0: the same.
	DecoderBase int
	// Residual says that each level has a way around it: the mean of what it joins on the way down, and what it repeats on the way up.
	Residual bool
	// Patch is the side of the squares of pixels that are folded into channels before anything else; 0: 1, which is none.
	Patch int
	// Mean and Std are those of a latent's channels; nil: they are tensors of the checkpoint, mean and std.
	Mean, Std []float64
}

// Limits of a VAE's dimensions.
const (
	baseMax, zMax, levelsMax, multipleMax, resBlocksMax, foldMax = 512, 256, 6, 16, 8, 2
)

// Widths are the channels of a level of the encoder and of the decoder; the first is the one of the largest size.
func (v VAEConfig) Widths(level int) (encoder, decoder int) {
	return v.Multiples[level] * v.Base, v.Multiples[level] * cmp.Or(v.DecoderBase, v.Base)
}

// Fold is the side of the squares of pixels that are folded into channels, 1 without.
func (v VAEConfig) Fold() int { return max(v.Patch, 1) }

// Colours are the channels of a folded picture.
func (v VAEConfig) Colours() int { return 3 * v.Fold() * v.Fold() }

// Wan21VAE is the VAE of Wan 2.1, 2.2-A14B and LingBot-World, whose original file has no configuration.
func Wan21VAE() VAEConfig {
	return VAEConfig{
		Base: 96, Z: 16, Multiples: []int{1, 2, 4, 4}, ResBlocks: 2, TimeHalved: []bool{false, true, true},
		Mean: []float64{
			-0.7571, -0.7089, -0.9113, 0.1075, -0.1745, 0.9653, -0.1517, 1.5508,
			0.4134, -0.0715, 0.5517, -0.3632, -0.1922, -0.9497, 0.2503, -0.2921,
		},
		Std: []float64{
			2.8184, 1.4541, 2.3275, 2.6558, 1.2196, 1.7708, 2.6052, 2.0743,
			3.2687, 2.1526, 2.8652, 1.5579, 1.6382, 1.1253, 2.8251, 1.9160,
		},
	}
}

// Wan22VAE is the VAE of Wan 2.2 TI2V 5B, whose original file has no configuration.
func Wan22VAE() VAEConfig {
	return VAEConfig{
		Base: 160, DecoderBase: 256, Z: 48, Multiples: []int{1, 2, 4, 4}, ResBlocks: 2, TimeHalved: []bool{false, true, true}, Residual: true, Patch: 2,
		Mean: []float64{
			-0.2289, -0.0052, -0.1323, -0.2339, -0.2799, 0.0174, 0.1838, 0.1557, -0.1382, 0.0542, 0.2813, 0.0891,
			0.1570, -0.0098, 0.0375, -0.1825, -0.2246, -0.1207, -0.0698, 0.5109, 0.2665, -0.2108, -0.2158, 0.2502,
			-0.2055, -0.0322, 0.1109, 0.1567, -0.0729, 0.0899, -0.2799, -0.1230, -0.0313, -0.1649, 0.0117, 0.0723,
			-0.2839, -0.2083, -0.0520, 0.3748, 0.0152, 0.1957, 0.1433, -0.2944, 0.3573, -0.0548, -0.1681, -0.0667,
		},
		Std: []float64{
			0.4765, 1.0364, 0.4514, 1.1677, 0.5313, 0.4990, 0.4818, 0.5013, 0.8158, 1.0344, 0.5894, 1.0901,
			0.6885, 0.6165, 0.8454, 0.4978, 0.5759, 0.3523, 0.7135, 0.6804, 0.5833, 1.4146, 0.8986, 0.5659,
			0.7069, 0.5338, 0.4889, 0.4917, 0.4069, 0.4999, 0.6866, 0.4093, 0.5709, 0.6065, 0.6415, 0.4944,
			0.5726, 1.2042, 0.5458, 1.6887, 0.3971, 1.0600, 0.3943, 0.5537, 0.5444, 0.4089, 0.7468, 0.7744,
		},
	}
}

// TinyVAE is the VAE of tiny-world, whose folder needs no config.json.
func TinyVAE() VAEConfig {
	return VAEConfig{Base: 16, Z: 16, Multiples: []int{1, 2, 4, 4}, ResBlocks: 2, TimeHalved: []bool{false, true, true}}
}

// VAE reads a VAE's shape in the words of diffusers' AutoencoderKLWan. The error wraps ErrConfig.
func (c Config) VAE() (VAEConfig, error) {
	r := &reader{Config: c}
	v := VAEConfig{
		Base:      r.integer(8, baseMax, 96, "base_dim"),
		Z:         r.integer(1, zMax, 16, "z_dim"),
		ResBlocks: r.integer(1, resBlocksMax, 2, "num_res_blocks"),
		Multiples: values(r, 2, levelsMax, []int{1, 2, 4, 4}, "dim_mult"),
		Residual:  r.flag("is_residual"),
		Patch:     r.integer(0, foldMax, 0, "patch_size"),
	}
	if v.DecoderBase = r.integer(8, baseMax, v.Base, "decoder_base_dim"); v.DecoderBase == v.Base {
		v.DecoderBase = 0
	}
	for _, m := range v.Multiples {
		if m < 1 || m > multipleMax {
			r.fail("dim_mult holds %d; it goes from 1 to %d", m, multipleMax)
		}
	}
	v.TimeHalved = values(r, 1, levelsMax, []bool{false, true, true}, "temperal_downsample")
	if len(v.TimeHalved) != len(v.Multiples)-1 {
		r.fail("temperal_downsample has %d values, and %d are wanted", len(v.TimeHalved), len(v.Multiples)-1)
	}
	v.Mean = values[float64](r, v.Z, v.Z, nil, "latents_mean")
	v.Std = values[float64](r, v.Z, v.Z, nil, "latents_std")
	if (v.Mean == nil) != (v.Std == nil) {
		r.fail("latents_mean and latents_std belong together")
	}
	for _, s := range v.Std {
		if !(s > 0) {
			r.fail("latents_std holds %g", s)
		}
	}
	r.want("attn_scales", "[]")
	r.want("in_channels", strconv.Itoa(v.Colours()))
	r.want("out_channels", strconv.Itoa(v.Colours()))
	return v, r.err
}
