package weights

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Part is one of the networks of a model, or its tokenizer.
type Part string

// The parts. Wan 2.2 has two transformers, one for much noise and one for little.
const (
	PartDiT       Part = "transformer"
	PartHighNoise Part = "transformer for high noise"
	PartLowNoise  Part = "transformer for low noise"
	PartVAE       Part = "VAE"
	PartText      Part = "text encoder"
	PartTokenizer Part = "tokenizer"
	PartImage     Part = "image encoder"
)

// Place is where a part of a model lies.
type Place struct {
	Part Part
	// Path is a file or a folder; "" if there is none.
	Path string
	// Sought are the places, from the model's folder on, where the part may lie.
	Sought []string
	// Config is the file with its shape; "" if the shape is known without.
	Config string
	// key is the field of Config that holds the shape; "" for the whole.
	key  string
	tiny bool
}

// DiT is the shape of a transformer, before its tensors were looked at.
func (p Place) DiT() (DiTConfig, error) {
	if p.Config == "" && p.tiny {
		return TinyDiT(), nil
	}
	c, err := p.config()
	if err != nil {
		return DiTConfig{}, err
	}
	return c.DiT()
}

// VAE is the shape of a VAE. The original files have none beside them: their names say whose they are.
func (p Place) VAE() (VAEConfig, error) {
	switch {
	case p.Config == "" && p.tiny:
		return TinyVAE(), nil
	case p.Config == "" && strings.HasPrefix(filepath.Base(p.Path), laterVAE):
		return Wan22VAE(), nil
	case p.Config == "":
		return Wan21VAE(), nil
	}
	c, err := p.config()
	if err != nil {
		return VAEConfig{}, err
	}
	return c.VAE()
}

// Text is the shape of a text encoder. The original file has none beside it: it is UMT5-XXL's.
func (p Place) Text() (UMT5Config, error) {
	if p.Config == "" {
		return UMT5XXL(), nil
	}
	c, err := p.config()
	if err != nil {
		return UMT5Config{}, err
	}
	return c.UMT5()
}

// CLIP is the shape of an image encoder, before its tensors were looked at. The original file has none beside it: it is ViT-H/14's.
func (p Place) CLIP() (CLIPConfig, error) {
	if p.Config == "" {
		return CLIPViTH(), nil
	}
	c, err := p.config()
	if err != nil {
		return CLIPConfig{}, err
	}
	return c.CLIP()
}

// config reads the part of the file that describes the place.
func (p Place) config() (Config, error) {
	if p.Config == "" {
		return Config{}, configError(p.Path, "there is no %s beside it", ConfigName)
	}
	c, err := ReadConfig(p.Config)
	if err != nil || p.key == "" {
		return c, err
	}
	if !c.has(p.key) {
		return Config{}, configError(p.Config, "it has no %q", p.key)
	}
	return parseConfig(p.Config+" "+p.key, c.fields[p.key])
}

// Blueprint is what the part wants of a checkpoint.
func (p Place) Blueprint(c *Checkpoint) (Blueprint, error) {
	switch p.Part {
	case PartVAE:
		v, err := p.VAE()
		if err != nil {
			return Blueprint{}, err
		}
		return v.Blueprint(), nil
	case PartText:
		u, err := p.Text()
		if err != nil {
			return Blueprint{}, err
		}
		return u.Blueprint(), nil
	case PartImage:
		v, err := p.CLIP()
		if err != nil {
			return Blueprint{}, err
		}
		return v.Observe(c).Blueprint(), nil
	case PartTokenizer:
		return Blueprint{}, fmt.Errorf("%w: a tokenizer has none", ErrUnknown)
	default:
		d, err := p.DiT()
		if err != nil {
			return Blueprint{}, err
		}
		return d.Observe(c).Blueprint(), nil
	}
}
