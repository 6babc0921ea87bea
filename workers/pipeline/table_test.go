package pipeline_test

import (
	"errors"
	"reflect"
	"testing"

	"telefuser/workers/contract"
	"telefuser/workers/pipeline"
)

func TestTableHoldsTogether(t *testing.T) {
	t.Parallel()
	names := pipeline.Names()
	if len(names) == 0 || names[0] != "terrain" {
		t.Fatalf("names %v", names)
	}
	var contracted []string
	seen := map[string]bool{}
	for _, c := range pipeline.Contracts() {
		contracted = append(contracted, c.Name)
		p, err := pipeline.New(c.Name)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(p.Contract(), c) {
			t.Errorf("%s: the pipeline's contract is not the table's", c.Name)
		}
		if c.Version == "" || c.OwnedBy == "" || c.CreatedAtUnix == 0 || c.SessionsMax < 1 || len(c.Tasks) == 0 {
			t.Errorf("%s: the contract has gaps", c.Name)
		}
		for _, name := range append([]string{c.Name}, c.Aliases...) {
			if seen[name] {
				t.Errorf("two pipelines answer to %s", name)
			}
			seen[name] = true
		}
		if err := p.Load(t.Context(), func(float64) {}); err != nil && (c.Name == "terrain" || !errors.Is(err, pipeline.ErrInvalid)) {
			t.Errorf("%s does not load: %v", c.Name, err) // without weights, others say so
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if !reflect.DeepEqual(names, contracted) {
		t.Errorf("names %v, contracts %v", names, contracted)
	}
	for _, name := range []string{"", "scripted", "sora-2", "Terrain"} {
		if _, err := pipeline.New(name); !errors.Is(err, pipeline.ErrUnknown) {
			t.Errorf("New(%q): %v", name, err)
		}
	}
}

// TestContractsKeepTheirWord opens what the contract resolves to.
func TestContractsKeepTheirWord(t *testing.T) {
	t.Parallel()
	for _, size := range []string{"64x64", "832x480", "720x1280", "1280x720", "1024x1792", "1792x1024", "1080x1920", "1920x1080", "1920x1088", "1088x1920"} {
		c := pipeline.Contracts()[0]
		resolved, err := contract.Validate(c, contract.Input{Inputs: []string{"prompt"}, Fields: map[string]any{"size": size, "num_frames": "1"}})
		if err != nil {
			t.Fatalf("%s: %v", size, err)
		}
		session := open(t, pipeline.Request{
			Task: resolved.Task, Prompt: "hills", Width: resolved.Width, Height: resolved.Height, FPS: resolved.FPS, Frames: resolved.Frames, Parameters: resolved.Parameters,
		})
		if resolved.Width*resolved.Height > 1280*720 {
			// What is left costs seconds; that every size renders is terrain's own test.
			continue
		}
		_, frames := drain(t, session)
		if len(frames) != 1 || frames[0].Width != resolved.Width || frames[0].Height != resolved.Height {
			t.Errorf("%s gives %d frames", size, len(frames))
		}
	}
}
