package stage_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"telefuser/workers/stage"
)

// token is what flows through the random graphs: it knows whose it is, and its hash says what it was made of.
type token struct {
	key  stage.SessionKey
	seq  int64
	hash uint64
}

type tokenPort = stage.Artifact[token]

// shape is a random graph as the model knows it.
type shape struct {
	spec      stage.Spec
	externals []tokenPort
	outputs   []tokenPort
	maker     map[string]int // artifact -> index of its stage
	inputs    [][]tokenPort
	products  [][]tokenPort
	capacity  map[[2]string]int // artifact, target ("" for outputs)
}

func mix(parts ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, parts...)
	return h.Sum64()
}

// randomShape makes graphs until one is connected.
func randomShape(rng *rand.Rand) *shape {
	for {
		g := tryShape(rng)
		for i := range g.spec.Stages {
			g.spec.Stages[i].Run = stage.Map(tokenPort{}, tokenPort{}, nil) // replaced by the world
		}
		if _, err := stage.Build(g.spec); err == nil {
			return g
		}
	}
}

func tryShape(rng *rand.Rand) *shape {
	g := &shape{maker: map[string]int{}, capacity: map[[2]string]int{}}
	var known []tokenPort
	for i := range 1 + rng.IntN(2) {
		known = append(known, stage.NewArtifact[token](fmt.Sprintf("ext%d", i)))
	}
	externals, used := known, map[string]bool{}
	for i := range 1 + rng.IntN(5) {
		s := stage.Stage{ID: fmt.Sprintf("s%d", i), InFlightPerSession: 1 + rng.IntN(2), InFlightGlobal: 1 + rng.IntN(2)}
		if rng.IntN(4) == 0 {
			s.Ordering = stage.Unordered
		}
		if rng.IntN(3) == 0 {
			s.ResourceGroup = "gpu"
		}
		var in, out []tokenPort
		for _, k := range rng.Perm(len(known))[:1+rng.IntN(min(3, len(known)))] {
			in = append(in, known[k])
			s.Consumes = append(s.Consumes, known[k])
			g.edge(rng, known[k], s.ID, used)
		}
		for k := range 1 + rng.IntN(2) {
			out = append(out, stage.NewArtifact[token](fmt.Sprintf("a%d.%d", i, k)))
			s.Produces = append(s.Produces, out[k])
			g.maker[out[k].Name()] = i
		}
		known = append(known, out...)
		g.inputs, g.products = append(g.inputs, in), append(g.products, out)
		g.spec.Stages = append(g.spec.Stages, s)
	}
	g.spec.ResourceGroups = []stage.ResourceGroup{{Name: "gpu", MaxConcurrency: 1 + rng.IntN(2)}}
	for _, e := range externals {
		if used[e.Name()] {
			g.externals = append(g.externals, e)
		}
	}
	for _, p := range known[len(externals):] {
		if !used[p.Name()] || rng.IntN(6) == 0 {
			c := 1 + rng.IntN(3)
			g.outputs = append(g.outputs, p)
			g.spec.Outputs = append(g.spec.Outputs, stage.Output{Artifact: p, CapacityPerSession: c})
			g.capacity[[2]string{p.Name(), ""}] = c
		}
	}
	g.spec.LatencyAnchor = g.externals[0]
	return g
}

func (g *shape) edge(rng *rand.Rand, p tokenPort, target string, used map[string]bool) {
	source := stage.External
	if i, made := g.maker[p.Name()]; made {
		source = fmt.Sprintf("s%d", i)
	}
	c := 1 + rng.IntN(3)
	used[p.Name()] = true
	g.spec.Edges = append(g.spec.Edges, stage.Edge{Artifact: p, Source: source, Target: target, CapacityPerSession: c})
	g.capacity[[2]string{p.Name(), target}] = c
}

// want is what the graph must make of one artifact of one sequence.
func (g *shape) want(key stage.SessionKey, seq int64, p tokenPort) token {
	i, made := g.maker[p.Name()]
	if !made {
		return token{key, seq, mix("external", p.Name(), key, seq)}
	}
	var hashes []uint64
	for _, in := range g.inputs[i] {
		hashes = append(hashes, g.want(key, seq, in).hash)
	}
	return token{key, seq, mix(p.Name(), hashes)}
}
