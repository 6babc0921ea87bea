package kernels

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"

	"telefuser/workers/gpu"
)

//go:embed *.cu *.cuh built
var files embed.FS

// Unit is one kernel source and what is built from it.
type Unit struct {
	Name     string
	Parts    []string // files joined to the source, in order
	Portable bool     // also built as PTX for compute_80 and newer; otherwise sm_90a alone
}

// Units lists every kernel source.
func Units() []Unit {
	plain := []string{"layernorm", "rmsnorm_rope", "residual", "activation", "quantise", "softmax", "embedding", "i420", "resize", "noise", "rmsnorm", "multiply", "copy",
		"gemm_plain", "attention_plain", "conv3d_plain"}
	var all []Unit
	for _, n := range plain {
		parts := []string{"prelude.cuh", n + ".cu"}
		switch n {
		case "layernorm", "rmsnorm_rope", "quantise", "softmax":
			parts = []string{"prelude.cuh", "flow.cuh", n + ".cu"}
		}
		all = append(all, Unit{Name: n, Parts: parts, Portable: true})
	}
	for _, n := range []string{"gemm", "attention", "conv3d"} {
		all = append(all, Unit{Name: n, Parts: []string{"prelude.cuh", "wgmma.cuh", n + ".cu"}})
	}
	return all
}

// Source joins the unit's parts.
func (u Unit) Source() (string, error) {
	var s []byte
	for _, p := range u.Parts {
		b, err := files.ReadFile(p)
		if err != nil {
			return "", fmt.Errorf("kernels: source of %s: %w", u.Name, err)
		}
		s = append(s, b...)
	}
	return string(s), nil
}

// Manifest tells what the files under built/ were built from.
type Manifest struct {
	Compiler string            `json:"compiler"`
	Sources  map[string]string `json:"sources"` // unit to the SHA-256 of its source
}

// ReadManifest reads the embedded manifest.
func ReadManifest() (Manifest, error) {
	var m Manifest
	b, err := files.ReadFile("built/manifest.json")
	if err != nil {
		return m, fmt.Errorf("kernels: manifest: %w", err)
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return m, fmt.Errorf("kernels: manifest: %w", err)
	}
	return m, nil
}

// Names of built files.
const (
	ArchHopper  = "sm_90a"
	ArchPTX     = "compute_80"
	capHopper   = 90
	capPortable = 80
)

// BuiltName is the name of a unit's file for an architecture, under built/.
func BuiltName(unit, arch string) string {
	if arch == ArchPTX {
		return unit + "." + arch + ".ptx"
	}
	return unit + "." + arch + ".cubin"
}

// LoadImage collects a unit's source and builds.
func LoadImage(name string) (*gpu.Image, error) {
	units := Units()
	i := slices.IndexFunc(units, func(u Unit) bool { return u.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("%w: no kernel source %q", ErrUnsupported, name)
	}
	u := units[i]
	src, err := u.Source()
	if err != nil {
		return nil, err
	}
	m, err := ReadManifest()
	if err != nil {
		return nil, err
	}
	img := &gpu.Image{Name: name, Source: src, BuiltFrom: m.Sources[name], Cubins: map[string][]byte{}, ArchMin: capHopper}
	if b, err := files.ReadFile("built/" + BuiltName(name, ArchHopper)); err == nil {
		img.Cubins[ArchHopper] = b
	}
	if u.Portable {
		img.ArchMin, img.PTXMin = capPortable, capPortable
		if b, err := files.ReadFile("built/" + BuiltName(name, ArchPTX)); err == nil {
			img.PTX = b
		}
	}
	return img, nil
}
