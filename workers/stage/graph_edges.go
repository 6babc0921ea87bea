package stage

import "fmt"

func (b *builder) checkEdges() error {
	type end struct{ artifact, target string }
	seen := map[end]bool{}
	for _, e := range b.spec.Edges {
		if e.Artifact == nil || e.Artifact.Name() == "" {
			return fmt.Errorf("an edge from %q to %q has no artifact", e.Source, e.Target)
		}
		name := e.Artifact.Name()
		target, known := b.stages[e.Target]
		switch {
		case !known:
			return fmt.Errorf("the edge of %q leads to stage %q, which is not there", name, e.Target)
		case !lists(target.Consumes, name):
			return fmt.Errorf("the edge of %q leads to stage %q, which does not consume it", name, e.Target)
		case e.Source == External && b.producer[name] != "":
			return fmt.Errorf("artifact %q is external on its edge to %q, but stage %q produces it", name, e.Target, b.producer[name])
		case e.Source != External && b.producer[name] != e.Source:
			return fmt.Errorf("the edge of %q starts at stage %q, which does not produce it", name, e.Source)
		case seen[end{name, e.Target}]:
			return fmt.Errorf("two edges bring %q to stage %q", name, e.Target)
		case e.CapacityPerSession < 0:
			return fmt.Errorf("the edge of %q to %q has a negative capacity", name, e.Target)
		}
		seen[end{name, e.Target}] = true
	}
	return nil
}

// checkInputs wants an edge for everything that is consumed.
func (b *builder) checkInputs() error {
	for _, s := range b.spec.Stages {
		for _, p := range s.Consumes {
			if !b.hasEdge(p.Name(), s.ID) {
				return fmt.Errorf("no edge brings %q to stage %q", p.Name(), s.ID)
			}
		}
	}
	return nil
}

func (b *builder) hasEdge(artifact, target string) bool {
	for _, e := range b.spec.Edges {
		if e.Artifact.Name() == artifact && e.Target == target {
			return true
		}
	}
	return false
}

// checkOutputs wants at least one output, each from a stage, and a taker for everything that is produced. Since every stage produces
// something and there is no cycle, every stage then leads to an output: what nobody waits for would be bounded by nothing.
func (b *builder) checkOutputs() error {
	if len(b.spec.Outputs) == 0 {
		return fmt.Errorf("no outputs")
	}
	taken := map[string]bool{}
	for _, o := range b.spec.Outputs {
		switch {
		case o.Artifact == nil || o.Artifact.Name() == "":
			return fmt.Errorf("an output without artifact")
		case b.producer[o.Artifact.Name()] == "":
			return fmt.Errorf("output %q is produced by no stage", o.Artifact.Name())
		case taken[o.Artifact.Name()]:
			return fmt.Errorf("output %q is there twice", o.Artifact.Name())
		case o.CapacityPerSession < 0:
			return fmt.Errorf("output %q has a negative capacity", o.Artifact.Name())
		}
		taken[o.Artifact.Name()] = true
	}
	for _, e := range b.spec.Edges {
		taken[e.Artifact.Name()] = true
	}
	for _, s := range b.spec.Stages {
		for _, p := range s.Produces {
			if !taken[p.Name()] {
				return fmt.Errorf("artifact %q of stage %q goes nowhere", p.Name(), s.ID)
			}
		}
	}
	return nil
}

func (b *builder) checkAnchor() error {
	if b.spec.LatencyAnchor == nil {
		return nil
	}
	for _, e := range b.spec.Edges {
		if e.Source == External && e.Artifact == b.spec.LatencyAnchor {
			return nil
		}
	}
	return fmt.Errorf("latency anchor %q is no external artifact", b.spec.LatencyAnchor.Name())
}

func lists(ports []Port, name string) bool {
	for _, p := range ports {
		if p.Name() == name {
			return true
		}
	}
	return false
}
