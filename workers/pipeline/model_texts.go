package pipeline

import (
	"context"

	"telefuser/workers/models/machine"
	"telefuser/workers/models/umt5"
	"telefuser/workers/models/weights"
)

// textsKept is how many prompts' features are remembered: 16 of 4096 x 512 numbers are 134 MB.
const textsKept = 16

// textsOn makes a model's text encoder; nil where it has none. On a GPU it keeps all layers there; on the processor each passes through one layer's
// memory.
func textsOn(ctx context.Context, m *machine.Machine, w *modelWeights) (*umt5.Texts, error) {
	if w.text == nil {
		return nil, nil //nolint:nilnil // none is no error
	}
	b, err := m.Backend(ctx)
	if err != nil {
		return nil, err
	}
	encoder, err := umt5.NewEncoder(b, w.text, w.umt5, umt5.Options{Type: m.Activations(), Resident: m.GPU(), TokensMax: w.dit.TextLen})
	if err != nil {
		return nil, err
	}
	return umt5.NewTexts(w.pieces, encoder, w.dit.TextLen, textsKept), nil
}

// weightsMark is how a contract says that weights come from a seed; empty where they are some model's.
func weightsMark(o Options) string {
	if _, random, err := weights.ParseRandom(o.Weights); random && err == nil {
		return o.Weights
	}
	return ""
}
