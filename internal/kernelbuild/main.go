package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"telefuser/workers/gpu"
	"telefuser/workers/kernels"
	"telefuser/workers/models/terrain"
)

func main() {
	nvrtc := flag.String("nvrtc", "", "path of libnvrtc.so.13; empty: the loader's search")
	dir := flag.String("dir", "workers/kernels", "where the sources of the kernels room lie")
	terrainDir := flag.String("terrain-dir", "workers/models/terrain", "where the world renderer's source lies")
	wgmma := flag.Bool("wgmma", false, "only write wgmma.cuh")
	flag.Parse()
	if err := run(*nvrtc, *dir, *terrainDir, *wgmma, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var errSerialized = errors.New("kernelbuild: the compiler serialized wgmma")

const readable = 0o644

func run(nvrtcPath, dir, terrainDir string, wgmmaOnly bool, only []string) error {
	if err := os.WriteFile(filepath.Join(dir, "wgmma.cuh"), []byte(wgmmaSource()), readable); err != nil {
		return fmt.Errorf("kernelbuild: %w", err)
	}
	if wgmmaOnly {
		return nil
	}
	n, err := gpu.OpenNVRTC(nvrtcPath)
	if err != nil {
		return fmt.Errorf("kernelbuild: %w", err)
	}
	if err := buildUnits(n, dir, kernels.Units(), only); err != nil {
		return err
	}
	return buildUnits(n, terrainDir, terrain.Units(), only)
}

// buildUnits builds the wanted units of one directory and notes them in its manifest.
func buildUnits(n *gpu.NVRTC, dir string, units []kernels.Unit, only []string) error {
	m := readManifest(filepath.Join(dir, "built", "manifest.json"))
	m.Compiler = "NVRTC " + n.Version()
	for _, u := range units {
		if len(only) > 0 && !slices.Contains(only, u.Name) {
			continue
		}
		if err := build(n, dir, u, m); err != nil {
			return err
		}
	}
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("kernelbuild: %w", err)
	}
	return os.WriteFile(filepath.Join(dir, "built", "manifest.json"), append(b, '\n'), readable)
}

func readManifest(path string) *kernels.Manifest {
	m := &kernels.Manifest{}
	if b, err := os.ReadFile(path); err == nil {
		_ = json.Unmarshal(b, m) // a broken manifest is written anew
	}
	if m.Sources == nil {
		m.Sources = map[string]string{}
	}
	return m
}

// build reads the source from the disk, not from this program's own embedded copy, which is
// older when wgmma.cuh was just written.
func build(n *gpu.NVRTC, dir string, u kernels.Unit, m *kernels.Manifest) error {
	var src []byte
	for _, p := range u.Parts {
		b, err := os.ReadFile(filepath.Join(dir, p))
		if err != nil {
			return fmt.Errorf("kernelbuild: %w", err)
		}
		src = append(src, b...)
	}
	archs := []string{kernels.ArchHopper}
	if u.Portable {
		archs = append(archs, kernels.ArchPTX)
	}
	for _, arch := range archs {
		code, log, err := n.Compile(u.Name+".cu", string(src), arch, "--diag-suppress=177")
		if err != nil {
			return fmt.Errorf("kernelbuild: %s: %w\n%s", u.Name, err, log)
		}
		if strings.Contains(log, "C751") { // C7510 to C7519: serialized, or setmaxnreg ignored
			return fmt.Errorf("%w: %s\n%.2000s", errSerialized, u.Name, log)
		}
		if log != "" {
			fmt.Println(log)
		}
		if arch == kernels.ArchPTX {
			code = bytes.TrimRight(code, "\x00")
		}
		if err := os.WriteFile(filepath.Join(dir, "built", kernels.BuiltName(u.Name, arch)), code, readable); err != nil {
			return fmt.Errorf("kernelbuild: %w", err)
		}
		fmt.Printf("%s %s: %d bytes\n", u.Name, arch, len(code))
	}
	m.Sources[u.Name] = gpu.SourceHash(string(src))
	return nil
}
