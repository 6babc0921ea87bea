package terrain

import (
	"embed"
	"encoding/json"
	"fmt"

	"telefuser/workers/gpu"
	"telefuser/workers/kernels"
)

//go:embed terrain.cu built
var kernelFiles embed.FS

// kernelUnit is the one kernel source of this package; internal/kernelbuild writes built/ from it.
const kernelUnit = "terrain"

// Units lists the kernel sources of this package for the program that builds them.
func Units() []kernels.Unit {
	return []kernels.Unit{{Name: kernelUnit, Parts: []string{kernelUnit + ".cu"}, Portable: true}}
}

// LoadImage collects the kernels' source and what was built from it.
func LoadImage() (*gpu.Image, error) {
	read := func(name string) []byte {
		b, _ := kernelFiles.ReadFile(name) // an image without a build says so when it is loaded
		return b
	}
	var m kernels.Manifest
	if err := json.Unmarshal(read("built/manifest.json"), &m); err != nil {
		return nil, fmt.Errorf("terrain: manifest: %w", err)
	}
	const portable = 80 // compute_80, the lowest that the source was built for
	image := &gpu.Image{
		Name: kernelUnit, Source: string(read(kernelUnit + ".cu")), BuiltFrom: m.Sources[kernelUnit],
		Cubins: map[string][]byte{}, ArchMin: portable, PTXMin: portable,
		PTX: read("built/" + kernels.BuiltName(kernelUnit, kernels.ArchPTX)),
	}
	if cubin := read("built/" + kernels.BuiltName(kernelUnit, kernels.ArchHopper)); len(cubin) > 0 {
		image.Cubins[kernels.ArchHopper] = cubin
	}
	return image, nil
}
