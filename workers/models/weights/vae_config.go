package weights

import "strconv"

// VAEConfig is the shape of a Wan 2.1 VAE.
type VAEConfig struct {
	Base       int   // channels of the first level
	Z          int   // channels of a latent
	Multiples  []int // of Base, one a level
	ResBlocks  int   // a level of the encoder; the decoder has one more
	TimeHalved []bool
	// Mean and Std are those of a latent's channels; nil: they are tensors of the checkpoint, mean and std.
	Mean, Std []float64
}

// Limits of a VAE's dimensions.
const (
	baseMax, zMax, levelsMax, multipleMax, resBlocksMax = 512, 256, 6, 16, 8
)

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
	r.want("decoder_base_dim", strconv.Itoa(v.Base))
	r.want("is_residual", "false")
	r.want("attn_scales", "[]")
	r.want("in_channels", "3")
	r.want("out_channels", "3")
	r.want("patch_size")
	return v, r.err
}
