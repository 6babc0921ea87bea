package pipeline

import (
	"fmt"

	"telefuser/workers/contract"
)

// entry is one built-in pipeline: its contract, which costs nothing, and how to make one.
type entry struct {
	contract contract.Contract
	make     func(Options) (Pipeline, error)
}

// table lists the built-in pipelines in the order in which people see them.
func table() []entry {
	return append([]entry{
		{contract: terrainContract(), make: newTerrainOn},
		worldEntry(tinyKind), worldEntry(lingbotV2Kind), worldEntry(lingbotFastKind),
		filmEntry(wanT2VSmall), filmEntry(wanT2V), filmEntry(wanI2V), filmEntry(wan22T2V), filmEntry(wan22I2V), filmEntry(ti2vKind),
	}, faultEntries()...)
}

// filmEntry is a model of whole videos.
func filmEntry(kind func() filmKind) entry {
	return entry{contract: kind().contract, make: newFilm(kind)}
}

// worldEntry is a model of a world.
func worldEntry(kind func() worldKind) entry {
	return entry{contract: kind().contract, make: newWorld(kind)}
}

// Names lists the built-in pipelines.
func Names() []string {
	var names []string
	for _, e := range table() {
		names = append(names, e.contract.Name)
	}
	return names
}

// Contracts lists the contracts of the built-in pipelines, in the order of Names.
func Contracts() []contract.Contract {
	var contracts []contract.Contract
	for _, e := range table() {
		contracts = append(contracts, e.contract)
	}
	return contracts
}

// Options say where a pipeline runs.
type Options struct {
	// Devices are the ordinals of GPUs in this process's view; none means the processor.
	Devices []int
	// ModelsDir is the folder that holds a folder of weights for each pipeline that needs some; empty means that there are none.
	ModelsDir string
	// Weights, where it is not empty, is a folder to take instead, or random:SEED for true shapes whose pictures mean nothing.
	Weights string
	// FaultDir, for tests of what surrounds a device, is a directory whose files are failures to come: see terrainFaults. Empty in real
	// life.
	FaultDir string

	// drivers are paths of CUDA drivers to look at before the machine's own; for tests.
	drivers []string
}

// New makes the built-in pipeline of that name or alias for the processor, not loaded yet. It fails with ErrUnknown.
func New(name string) (Pipeline, error) { return NewOn(name, Options{}) }

// NewOn makes the built-in pipeline of that name or alias, not loaded yet. It fails with ErrUnknown, and with ErrInvalid where the
// pipeline cannot run on such devices.
func NewOn(name string, o Options) (Pipeline, error) {
	for _, e := range table() {
		if e.contract.Answers(name) {
			return e.make(o)
		}
	}
	return nil, fmt.Errorf("%w: %q", ErrUnknown, name)
}
