package pipeline

import (
	"fmt"

	"telefuser/workers/contract"
)

// entry is one built-in pipeline: its contract, which costs nothing, and how to make one.
type entry struct {
	contract contract.Contract
	make     func() Pipeline
}

// table lists the built-in pipelines in the order in which people see them.
func table() []entry {
	return []entry{
		{contract: terrainContract(), make: func() Pipeline { return NewTerrain() }},
	}
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

// New makes the built-in pipeline of that name or alias, not loaded yet. It fails with ErrUnknown.
func New(name string) (Pipeline, error) {
	for _, e := range table() {
		if e.contract.Answers(name) {
			return e.make(), nil
		}
	}
	return nil, fmt.Errorf("%w: %q", ErrUnknown, name)
}
