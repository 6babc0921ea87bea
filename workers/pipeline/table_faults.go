//go:build faults

package pipeline

import (
	"fmt"
	"os"
	"path/filepath"
)

// scriptFile, in FaultDir, holds the words of a scripted pipeline's script; absent means none.
const scriptFile = "script"

// faultEntries makes the scripted pipeline and the small models known by their names, in programs that are built to be tested.
func faultEntries() []entry {
	return []entry{
		{contract: NewScripted("").Contract(), make: newScriptedOn}, {contract: smallWorld().contract, make: NewSmallWorld},
		{contract: smallFast().contract, make: NewSmallFast},
		{contract: smallFilm().contract, make: NewSmallFilm}, {contract: smallPair().contract, make: NewSmallPair},
		{contract: smallTI2V().contract, make: NewSmallTI2V},
		{contract: smallSight().contract, make: NewSmallSight},
	}
}

func newScriptedOn(o Options) (Pipeline, error) {
	if o.FaultDir == "" {
		return NewScripted(""), nil
	}
	words, err := os.ReadFile(filepath.Join(o.FaultDir, scriptFile))
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("pipeline: script: %w", err)
	}
	return NewScripted(string(words)), nil
}
