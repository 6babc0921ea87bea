package main

import (
	"fmt"
	"io"
	"strings"

	"telefuser/workers/contract"
	"telefuser/workers/engine"
	"telefuser/workers/gpu"
)

// fitBasis says where a number of engines comes from.
type fitBasis string

// The bases.
const (
	fitMeasured fitBasis = "measured" // an engine was measured on such a GPU
	fitDeclared fitBasis = "declared" // the pipeline's contract says what an engine with all its sessions needs
	fitUnknown  fitBasis = "unknown"
)

// gpuFit is how many engines of a pipeline the GPUs of this machine hold. Nil means unknown.
type gpuFit struct {
	Pipeline string `json:"pipeline"`
	CPU      bool   `json:"cpu"`
	// Engines is the number on all GPUs together, each engine with one session.
	Engines *int      `json:"engines"`
	GPUs    []gpuRoom `json:"gpus"`
}

// gpuRoom is what fits on one GPU beside what is there.
type gpuRoom struct {
	GPU   int      `json:"gpu"`
	Basis fitBasis `json:"basis"`
	// FreeBytes is nil where NVML does not tell; then what fits is counted as if the GPU were empty.
	FreeBytes *int64 `json:"free_bytes"`
	// EngineBytes is what one engine with one session needs of the GPU; Engines how many of them fit; Sessions how many sessions one
	// engine can hold.
	EngineBytes *int64 `json:"engine_bytes"`
	Engines     *int   `json:"engines"`
	Sessions    *int   `json:"sessions"`
}

// fitOf counts the engines of a pipeline that the GPUs hold, in groups as large as one engine wants.
func fitOf(c contract.Contract, all []gpu.DeviceInfo, known engine.Footprints) gpuFit {
	fit := gpuFit{Pipeline: c.Name, CPU: c.Device.CPU, GPUs: []gpuRoom{}}
	group := max(c.Device.GPUs, 1)
	sum, counted := 0, true
	for _, info := range all {
		room := roomOn(info, c, footprintOf(known, c, info.Name, group))
		fit.GPUs = append(fit.GPUs, room)
		if room.Engines == nil {
			counted = false
			continue
		}
		sum += *room.Engines
	}
	if counted {
		sum /= group
		fit.Engines = &sum
	}
	return fit
}

// roomOn is what fits on one GPU, from the best that is known.
func roomOn(info gpu.DeviceInfo, c contract.Contract, measured engine.Footprint) gpuRoom {
	room := gpuRoom{GPU: info.Ordinal, Basis: fitUnknown, FreeBytes: freeBytes(info)}
	free := int64(info.MemoryBytes)
	if room.FreeBytes != nil {
		free = *room.FreeBytes
	}
	if bytes, ok := measured.Bytes(1); ok {
		engines, _ := measured.Engines(free, 1)
		sessions, _ := measured.Sessions(free, max(c.SessionsMax, 1))
		room.Basis, room.EngineBytes, room.Engines, room.Sessions = fitMeasured, &bytes, &engines, &sessions
		return room
	}
	if declared := c.Device.MemoryBytes; declared != nil && *declared > 0 {
		engines := int(free / *declared)
		sessions := 0
		if engines > 0 {
			sessions = max(c.SessionsMax, 1)
		}
		room.Basis, room.EngineBytes, room.Engines, room.Sessions = fitDeclared, declared, &engines, &sessions
	}
	return room
}

// printFits writes a line for each pipeline, and for each GPU of it.
func (r gpuReport) printFits(w io.Writer) {
	fmt.Fprintln(w, "\nPIPELINE\tON THE CPU\tENGINES THAT FIT")
	for _, f := range r.Fits {
		fmt.Fprintf(w, "%s\t%v\t%s\n", f.Pipeline, f.CPU, known("%d", f.Engines))
	}
	fmt.Fprintln(w, "\nGPU\tPIPELINE\tFREE\tONE ENGINE NEEDS\tENGINES\tSESSIONS OF ONE ENGINE")
	for _, f := range r.Fits {
		for _, g := range f.GPUs {
			need := gibibytes(g.EngineBytes)
			if g.Basis != fitUnknown {
				need = strings.Join([]string{need, string(g.Basis)}, ", ")
			}
			fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", g.GPU, f.Pipeline, gibibytes(g.FreeBytes), need, known("%d", g.Engines), known("%d", g.Sessions))
		}
	}
}
