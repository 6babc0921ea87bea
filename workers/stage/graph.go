package stage

import "fmt"

// Graph is a checked Spec, ready to run. It is immutable and may serve several schedulers, if its stages' functions may.
type Graph struct {
	nodes  []node // in topological order
	edges  []edge // those between stages and from outside, then one sink for each output
	groups []ResourceGroup
	// external maps a pushed artifact to its edges.
	external map[Port][]int
	sinks    []int
	anchor   Port
}

// node is a stage with its edges resolved to indexes.
type node struct {
	Stage
	in    []int   // per consumed artifact
	out   [][]int // per produced artifact: its edges, the sink among them
	group int     // -1 for none
}

// edge is where one artifact waits for one consumer; target is -1 for the graph's output.
type edge struct {
	artifact Port
	target   int
	capacity int
}

// Build checks spec and makes a graph of it. Errors wrap ErrGraph and name what is wrong.
func Build(spec Spec) (*Graph, error) {
	b := newBuilder(spec)
	for _, check := range []func() error{
		b.checkStages, b.checkGroups, b.checkProducers, b.checkEdges, b.checkInputs, b.checkOutputs, b.checkTypes,
		b.sort, b.checkConnected, b.checkAnchor,
	} {
		if err := check(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrGraph, err)
		}
	}
	return b.graph(), nil
}

// Stages are the stages' ids in topological order.
func (g *Graph) Stages() []string {
	ids := make([]string, len(g.nodes))
	for i := range g.nodes {
		ids[i] = g.nodes[i].ID
	}
	return ids
}

func orOne(n int) int {
	if n == 0 {
		return 1
	}
	return n
}

// graph resolves the checked names.
func (b *builder) graph() *Graph {
	g := &Graph{groups: b.spec.ResourceGroups, external: map[Port][]int{}, anchor: b.spec.LatencyAnchor}
	position := map[string]int{}
	for i, id := range b.order {
		s := b.stages[id]
		s.InFlightPerSession, s.InFlightGlobal = orOne(s.InFlightPerSession), orOne(s.InFlightGlobal)
		position[id] = i
		g.nodes = append(g.nodes, node{Stage: s, in: make([]int, len(s.Consumes)), out: make([][]int, len(s.Produces)), group: b.groupIndex(s.ResourceGroup)})
	}
	for _, e := range b.spec.Edges {
		g.addEdge(edge{artifact: e.Artifact, target: position[e.Target], capacity: orOne(e.CapacityPerSession)}, e.Source, position)
	}
	for _, o := range b.spec.Outputs {
		g.sinks = append(g.sinks, len(g.edges))
		g.addEdge(edge{artifact: o.Artifact, target: -1, capacity: orOne(o.CapacityPerSession)}, b.producer[o.Artifact.Name()], position)
	}
	return g
}

func (g *Graph) addEdge(e edge, source string, position map[string]int) {
	index := len(g.edges)
	g.edges = append(g.edges, e)
	if source == External {
		g.external[e.artifact] = append(g.external[e.artifact], index)
	} else {
		from := &g.nodes[position[source]]
		for i, p := range from.Produces {
			if p == e.artifact {
				from.out[i] = append(from.out[i], index)
			}
		}
	}
	if e.target < 0 {
		return
	}
	to := &g.nodes[e.target]
	for i, p := range to.Consumes {
		if p == e.artifact {
			to.in[i] = index
		}
	}
}
