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

// Layer names a layer of the encoder's row "encoder.downsamples" or the decoder's "decoder.upsamples": number at of a level. Where levels have ways
// around them, each is a row of its own.
func (v VAEConfig) Layer(row string, level, at int) string {
	if v.Residual {
		return fmt.Sprintf("%s.%d.%s.%d", row, level, row[strings.LastIndexByte(row, '.')+1:], at)
	}
	each := v.ResBlocks + 1 // and what halves the size
	if row == vaeUp {
		each++
	}
	return fmt.Sprintf("%s.%d", row, level*each+at)
}

// The rows of layers.
const (
	vaeDown = "encoder.downsamples"
	vaeUp   = "decoder.upsamples"
)

func (v VAEConfig) encoder(l *list) {
	channels := v.Base
	l.affine("encoder.conv1", channels, v.Colours(), 3, 3, 3)
	for i := range v.Multiples {
		out, _ := v.Widths(i)
		for at := range v.ResBlocks {
			resBlock(l, v.Layer(vaeDown, i, at)+".", channels, out)
			channels = out
		}
		if i == len(v.Multiples)-1 {
			break
		}
		name := v.Layer(vaeDown, i, v.ResBlocks)
		l.affine(name+".resample.1", channels, channels, 3, 3)
		if v.TimeHalved[i] {
			l.affine(name+".time_conv", channels, channels, 3, 1, 1)
		}
	}
	middle(l, "encoder.middle.", channels)
	l.gain("encoder.head.0.gamma", channels, 1, 1, 1)
	l.affine("encoder.head.2", 2*v.Z, channels, 3, 3, 3)
}

func (v VAEConfig) decoder(l *list) {
	last := len(v.Multiples) - 1
	_, channels := v.Widths(last)
	l.affine("decoder.conv1", channels, v.Z, 3, 3, 3)
	middle(l, "decoder.middle.", channels)
	for i := range v.Multiples {
		_, out := v.Widths(last - i)
		for at := range v.ResBlocks + 1 {
			resBlock(l, v.Layer(vaeUp, i, at)+".", channels, out)
			channels = out
		}
		if i == last {
			break
		}
		name := v.Layer(vaeUp, i, v.ResBlocks+1)
		if !v.Residual {
			channels /= 2 // by the convolution after the doubling
		}
		l.affine(name+".resample.1", channels, out, 3, 3)
		if v.TimeHalved[last-1-i] {
			l.affine(name+".time_conv", 2*out, out, 3, 1, 1)
		}
	}
	l.gain("decoder.head.0.gamma", channels, 1, 1, 1)
	l.affine("decoder.head.2", v.Colours(), channels, 3, 3, 3)
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
}

// partNames do so for the part of a block that a name ends with.
var partNames = pairs{ //nolint:gochecknoglobals // constant table
	{"norm1.", "residual.0."}, {"conv1.", "residual.2."}, {"norm2.", "residual.3."}, {"conv2.", "residual.6."}, {"conv_shortcut.", "shortcut."},
}

// rename turns a name of diffusers' AutoencoderKLWan into the original one.
func (v VAEConfig) rename(name string) string {
	name = v.flatten(vaeNames.rename(name))
	for _, row := range []string{"encoder.middle.", "decoder.middle.", vaeDown + ".", vaeUp + "."} {
		rest, ok := strings.CutPrefix(name, row)
		if !ok {
			continue
		}
		// the part follows the last number: an inner row has two
		number, part, _ := strings.Cut(rest, ".")
		if inner, after, found := strings.Cut(part, "."); found && (inner == "downsamples" || inner == "upsamples") {
			at, deeper, _ := strings.Cut(after, ".")
			number, part = number+"."+inner+"."+at, deeper
		}
		return row + number + "." + partNames.rename(part)
	}
	return name
}

// flatten turns what diffusers calls a block's resnets and its sampler into layers of a row. Its encoder has one row already, where levels have no ways
// around them.
func (v VAEConfig) flatten(name string) string {
	for _, half := range []struct {
		blocks, row string
		resnets     int
	}{{"encoder.down_blocks.", vaeDown, v.ResBlocks}, {"decoder.up_blocks.", vaeUp, v.ResBlocks + 1}} {
		rest, ok := strings.CutPrefix(name, half.blocks)
		if !ok {
			continue
		}
		if half.row == vaeDown && !v.Residual {
			return half.row + "." + rest
		}
		number, part, _ := strings.Cut(rest, ".")
		level, err := strconv.Atoi(number)
		if at, after, ok := layerOf(part, half.resnets); ok && err == nil && level >= 0 && level <= levelsMax {
			return v.Layer(half.row, level, at) + "." + after
		}
	}
	return name
}

// layerOf reads resnets.R. and the sampler behind so many of them.
func layerOf(part string, resnets int) (at int, after string, ok bool) {
	for _, sampler := range []string{"upsamplers.0.", "upsampler.", "downsampler."} {
		if after, ok = strings.CutPrefix(part, sampler); ok {
			return resnets, after, true
		}
	}
	rest, ok := strings.CutPrefix(part, "resnets.")
	number, after, _ := strings.Cut(rest, ".")
	at, err := strconv.Atoi(number)
	return at, after, ok && err == nil && at >= 0 && at < resnets
}
