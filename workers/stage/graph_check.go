package stage

import "fmt"

// builder checks one spec. Each check may rely on those before it.
type builder struct {
	spec     Spec
	stages   map[string]Stage
	producer map[string]string // artifact -> stage
	order    []string          // topological
}

func newBuilder(spec Spec) *builder {
	return &builder{spec: spec, stages: map[string]Stage{}, producer: map[string]string{}}
}

func (b *builder) checkStages() error {
	if len(b.spec.Stages) == 0 {
		return fmt.Errorf("no stages")
	}
	for _, s := range b.spec.Stages {
		_, twice := b.stages[s.ID]
		switch {
		case s.ID == "":
			return fmt.Errorf("a stage without id")
		case twice:
			return fmt.Errorf("stage %q is there twice", s.ID)
		case s.Run == nil:
			return fmt.Errorf("stage %q has no Run", s.ID)
		case s.Ordering != Strict && s.Ordering != Unordered:
			return fmt.Errorf("stage %q has unknown ordering %d", s.ID, s.Ordering)
		case s.InFlightPerSession < 0 || s.InFlightGlobal < 0:
			return fmt.Errorf("stage %q has a negative bound in flight", s.ID)
		case len(s.Consumes) == 0:
			return fmt.Errorf("stage %q consumes nothing, so nothing would bound it", s.ID)
		case len(s.Produces) == 0:
			return fmt.Errorf("stage %q produces nothing", s.ID)
		}
		if err := checkPorts(s); err != nil {
			return err
		}
		b.stages[s.ID] = s
	}
	return nil
}

func checkPorts(s Stage) error {
	for _, list := range [][]Port{s.Consumes, s.Produces} {
		seen := map[string]bool{}
		for _, p := range list {
			if p == nil || p.Name() == "" {
				return fmt.Errorf("stage %q has an artifact without name", s.ID)
			}
			if seen[p.Name()] {
				return fmt.Errorf("stage %q lists artifact %q twice", s.ID, p.Name())
			}
			seen[p.Name()] = true
		}
	}
	return nil
}

func (b *builder) checkGroups() error {
	seen := map[string]bool{}
	for _, g := range b.spec.ResourceGroups {
		if g.Name == "" || seen[g.Name] || g.MaxConcurrency < 1 {
			return fmt.Errorf("resource group %q needs a name of its own and a concurrency of 1 or more, not %d", g.Name, g.MaxConcurrency)
		}
		seen[g.Name] = true
	}
	for _, s := range b.spec.Stages {
		if s.ResourceGroup != "" && !seen[s.ResourceGroup] {
			return fmt.Errorf("stage %q is in resource group %q, which is not declared", s.ID, s.ResourceGroup)
		}
	}
	return nil
}

func (b *builder) groupIndex(name string) int {
	for i, g := range b.spec.ResourceGroups {
		if g.Name == name {
			return i
		}
	}
	return -1
}

func (b *builder) checkProducers() error {
	for _, s := range b.spec.Stages {
		for _, p := range s.Produces {
			if other, twice := b.producer[p.Name()]; twice {
				return fmt.Errorf("artifact %q has two producers, %q and %q", p.Name(), other, s.ID)
			}
			b.producer[p.Name()] = s.ID
		}
	}
	return nil
}

// checkTypes holds every mention of an artifact to one Go type.
func (b *builder) checkTypes() error {
	known := map[string]Port{}
	check := func(p Port) error {
		if first, ok := known[p.Name()]; ok && first != p {
			return fmt.Errorf("artifact %q has two types, %T and %T", p.Name(), first, p)
		}
		known[p.Name()] = p
		return nil
	}
	var ports []Port
	for _, s := range b.spec.Stages {
		ports = append(append(ports, s.Produces...), s.Consumes...)
	}
	for _, e := range b.spec.Edges {
		ports = append(ports, e.Artifact)
	}
	for _, o := range b.spec.Outputs {
		ports = append(ports, o.Artifact)
	}
	for _, p := range ports {
		if err := check(p); err != nil {
			return err
		}
	}
	return nil
}
