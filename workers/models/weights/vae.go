package weights

import (
	"fmt"
	"strconv"
	"strings"
)

// Blueprint lists a VAE's parameters by the names of the original checkpoint.
func (v VAEConfig) Blueprint() Blueprint {
	l := &list{}
	v.encoder(l)
	l.affine("conv1", 2*v.Z, 2*v.Z, 1, 1, 1)
	l.affine("conv2", v.Z, v.Z, 1, 1, 1)
	v.decoder(l)
	if v.Mean == nil {
		l.table("mean", sigmaBias, v.Z)
		l.gain("std", v.Z)
	}
	return Blueprint{Model: "VAE", Parameters: *l, Rename: v.rename}
}

func (v VAEConfig) encoder(l *list) {
	const rgb = 3
	channels, at := v.Base, 0
	l.affine("encoder.conv1", channels, rgb, 3, 3, 3)
	next := func() string { at++; return fmt.Sprintf("encoder.downsamples.%d.", at-1) }
	for i, m := range v.Multiples {
		for range v.ResBlocks {
			resBlock(l, next(), channels, m*v.Base)
			channels = m * v.Base
		}
		if i == len(v.Multiples)-1 {
			break
		}
		name := next()
		l.affine(name+"resample.1", channels, channels, 3, 3)
		if v.TimeHalved[i] {
			l.affine(name+"time_conv", channels, channels, 3, 1, 1)
		}
	}
	middle(l, "encoder.middle.", channels)
	l.gain("encoder.head.0.gamma", channels, 1, 1, 1)
	l.affine("encoder.head.2", 2*v.Z, channels, 3, 3, 3)
}

func (v VAEConfig) decoder(l *list) {
	const rgb = 3
	last := len(v.Multiples) - 1
	channels, at := v.Multiples[last]*v.Base, 0
	l.affine("decoder.conv1", channels, v.Z, 3, 3, 3)
	middle(l, "decoder.middle.", channels)
	next := func() string { at++; return fmt.Sprintf("decoder.upsamples.%d.", at-1) }
	for i := range v.Multiples {
		out := v.Multiples[last-i] * v.Base
		for range v.ResBlocks + 1 {
			resBlock(l, next(), channels, out)
			channels = out
		}
		if i == last {
			break
		}
		name := next()
		l.affine(name+"resample.1", channels/2, channels, 3, 3)
		if v.TimeHalved[last-1-i] {
			l.affine(name+"time_conv", 2*channels, channels, 3, 1, 1)
		}
		channels /= 2 // by the convolution after the doubling
	}
	l.gain("decoder.head.0.gamma", channels, 1, 1, 1)
	l.affine("decoder.head.2", rgb, channels, 3, 3, 3)
}

// resBlock adds two convolutions with their norms, and a third where the channels change.
func resBlock(l *list, at string, in, out int) {
	l.gain(at+"residual.0.gamma", in, 1, 1, 1)
	l.affine(at+"residual.2", out, in, 3, 3, 3)
	l.gain(at+"residual.3.gamma", out, 1, 1, 1)
	l.affine(at+"residual.6", out, out, 3, 3, 3)
	if in != out {
		l.affine(at+"shortcut", out, in, 1, 1, 1)
	}
}

// middle adds the two blocks and the attention at the least size.
func middle(l *list, at string, channels int) {
	resBlock(l, at+"0.", channels, channels)
	l.gain(at+"1.norm.gamma", channels, 1, 1)
	l.affine(at+"1.to_qkv", 3*channels, channels, 1, 1)
	l.affine(at+"1.proj", channels, channels, 1, 1)
	resBlock(l, at+"2.", channels, channels)
}

// vaeNames turn beginnings of names of the diffusers layout into the original ones.
var vaeNames = pairs{ //nolint:gochecknoglobals // constant table
	{"quant_conv.", "conv1."}, {"post_quant_conv.", "conv2."},
	{"encoder.conv_in.", "encoder.conv1."}, {"encoder.norm_out.", "encoder.head.0."}, {"encoder.conv_out.", "encoder.head.2."},
	{"decoder.conv_in.", "decoder.conv1."}, {"decoder.norm_out.", "decoder.head.0."}, {"decoder.conv_out.", "decoder.head.2."},
	{"encoder.mid_block.resnets.0.", "encoder.middle.0."}, {"encoder.mid_block.resnets.1.", "encoder.middle.2."},
	{"encoder.mid_block.attentions.0.", "encoder.middle.1."},
	{"decoder.mid_block.resnets.0.", "decoder.middle.0."}, {"decoder.mid_block.resnets.1.", "decoder.middle.2."},
	{"decoder.mid_block.attentions.0.", "decoder.middle.1."},
	{"encoder.down_blocks.", "encoder.downsamples."},
}

// partNames do so for the part of a block that a name ends with.
var partNames = pairs{ //nolint:gochecknoglobals // constant table
	{"norm1.", "residual.0."}, {"conv1.", "residual.2."}, {"norm2.", "residual.3."}, {"conv2.", "residual.6."}, {"conv_shortcut.", "shortcut."},
}

// rename turns a name of diffusers' AutoencoderKLWan into the original one. There, the levels of
// the decoder are blocks of their own; here they stand in one row.
func (v VAEConfig) rename(name string) string {
	name = v.flatten(vaeNames.rename(name))
	for _, row := range []string{"encoder.middle.", "decoder.middle.", "encoder.downsamples.", "decoder.upsamples."} {
		if rest, ok := strings.CutPrefix(name, row); ok {
			number, part, _ := strings.Cut(rest, ".")
			return row + number + "." + partNames.rename(part)
		}
	}
	return name
}

// flatten turns decoder.up_blocks.B.resnets.R. and .upsamplers.0. into decoder.upsamples.N.
func (v VAEConfig) flatten(name string) string {
	rest, ok := strings.CutPrefix(name, "decoder.up_blocks.")
	parts := strings.SplitN(rest, ".", 4)
	if !ok || len(parts) < 4 {
		return name
	}
	block, err := strconv.Atoi(parts[0])
	at, err2 := strconv.Atoi(parts[2])
	row := v.ResBlocks + 2 // its blocks and what doubles the size
	switch {
	case err != nil || err2 != nil || block < 0 || block > levelsMax:
		return name
	case parts[1] == "resnets" && at >= 0 && at <= v.ResBlocks:
		return fmt.Sprintf("decoder.upsamples.%d.%s", block*row+at, parts[3])
	case parts[1] == "upsamplers" && at == 0:
		return fmt.Sprintf("decoder.upsamples.%d.%s", block*row+row-1, parts[3])
	default:
		return name
	}
}
