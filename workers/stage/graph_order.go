package stage

import "fmt"

// sort puts the stages in topological order; stages that do not depend on each other keep the order of the spec.
func (b *builder) sort() error {
	done := map[string]bool{}
	for len(b.order) < len(b.spec.Stages) {
		before := len(b.order)
		for _, s := range b.spec.Stages {
			if !done[s.ID] && b.fed(s.ID, done) {
				done[s.ID] = true
				b.order = append(b.order, s.ID)
			}
		}
		if len(b.order) == before {
			return fmt.Errorf("stages %q wait for each other in a cycle", b.undone(done))
		}
	}
	return nil
}

// fed says whether all sources of a stage are done.
func (b *builder) fed(id string, done map[string]bool) bool {
	for _, e := range b.spec.Edges {
		if e.Target == id && e.Source != External && !done[e.Source] {
			return false
		}
	}
	return true
}

func (b *builder) undone(done map[string]bool) []string {
	var left []string
	for _, s := range b.spec.Stages {
		if !done[s.ID] {
			left = append(left, s.ID)
		}
	}
	return left
}

// checkConnected wants one graph, not several side by side. Stages that share an external artifact are connected.
func (b *builder) checkConnected() error {
	seen := map[string]bool{"stage " + b.order[0]: true}
	for grew := true; grew; {
		grew = false
		for _, e := range b.spec.Edges {
			source, target := "stage "+e.Source, "stage "+e.Target
			if e.Source == External {
				source = "artifact " + e.Artifact.Name()
			}
			if seen[source] != seen[target] {
				seen[source], seen[target], grew = true, true, true
			}
		}
	}
	for _, id := range b.order {
		if !seen["stage "+id] {
			return fmt.Errorf("stage %q is not connected with stage %q", id, b.order[0])
		}
	}
	return nil
}
