package stage_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"telefuser/workers/stage"
)

func TestBuildSortsStages(t *testing.T) {
	g, err := stage.Build(worldSpec(&journal{}))
	if err != nil {
		t.Fatal(err)
	}
	if got := g.Stages(); !slices.Equal(got, []string{"encode", "denoise", "decode"}) {
		t.Errorf("order %q", got)
	}
}

// pass is a stage that hands its input on.
func pass(id string, in, out stage.Artifact[int]) stage.Stage {
	return stage.Stage{ID: id, Consumes: []stage.Port{in}, Produces: []stage.Port{out}, Run: stage.Map(in, out, nil)}
}

func TestBuildNamesTheFault(t *testing.T) {
	a, b := stage.NewArtifact[int]("a"), stage.NewArtifact[int]("b")
	for fault, edit := range map[string]func(*stage.Spec){
		`no stages`:                                func(s *stage.Spec) { s.Stages = nil },
		`a stage without id`:                       func(s *stage.Spec) { s.Stages[0].ID = "" },
		`stage "decode" is there twice`:            func(s *stage.Spec) { s.Stages[1].ID = "decode" },
		`stage "decode" has no Run`:                func(s *stage.Spec) { s.Stages[0].Run = nil },
		`unknown ordering 7`:                       func(s *stage.Spec) { s.Stages[0].Ordering = 7 },
		`"decode" has a negative bound`:            func(s *stage.Spec) { s.Stages[0].InFlightGlobal = -1 },
		`consumes nothing`:                         func(s *stage.Spec) { s.Stages[2].Consumes = nil },
		`produces nothing`:                         func(s *stage.Spec) { s.Stages[0].Produces = nil },
		`artifact without name`:                    func(s *stage.Spec) { s.Stages[0].Consumes = []stage.Port{stage.NewArtifact[int]("")} },
		`lists artifact "latent" twice`:            func(s *stage.Spec) { s.Stages[0].Consumes = []stage.Port{latent, latent} },
		`group "gpu", which is not declared`:       func(s *stage.Spec) { s.Stages[0].ResourceGroup = "gpu" },
		`concurrency of 1 or more`:                 func(s *stage.Spec) { s.ResourceGroups = []stage.ResourceGroup{{Name: "gpu"}} },
		`"frames" has two producers`:               func(s *stage.Spec) { s.Stages[1].Produces = []stage.Port{latent, frames} },
		`has no artifact`:                          func(s *stage.Spec) { s.Edges[0].Artifact = nil },
		`"paint", which is not there`:              func(s *stage.Spec) { s.Edges[3].Target = "paint" },
		`"decode", which does not consume it`:      func(s *stage.Spec) { s.Edges[2].Target = "decode" },
		`is external on its edge`:                  func(s *stage.Spec) { s.Edges[3].Source = stage.External },
		`"encode", which does not produce it`:      func(s *stage.Spec) { s.Edges[3].Source = "encode" },
		`two edges bring "latent"`:                 func(s *stage.Spec) { s.Edges = append(s.Edges, s.Edges[3]) },
		`negative capacity`:                        func(s *stage.Spec) { s.Edges[3].CapacityPerSession = -2 },
		`no edge brings "control"`:                 func(s *stage.Spec) { s.Edges = slices.Delete(s.Edges, 2, 3) },
		`no outputs`:                               func(s *stage.Spec) { s.Outputs = nil },
		`output without artifact`:                  func(s *stage.Spec) { s.Outputs[0].Artifact = nil },
		`output "control" is produced by no stage`: func(s *stage.Spec) { s.Outputs[0].Artifact = control },
		`output "frames" is there twice`:           func(s *stage.Spec) { s.Outputs = append(s.Outputs, s.Outputs[0]) },
		`output "frames" has a negative capacity`:  func(s *stage.Spec) { s.Outputs[0].CapacityPerSession = -1 },
		`"frames" of stage "decode" goes nowhere`:  func(s *stage.Spec) { s.Outputs[0].Artifact = latent },
		`artifact "latent" has two types`:          func(s *stage.Spec) { s.Edges[3].Artifact = stage.NewArtifact[int]("latent") },
		`anchor "latent" is no external artifact`:  func(s *stage.Spec) { s.LatencyAnchor = latent },
		`stages ["p" "q"] wait for each other`:     func(s *stage.Spec) { cycle(s, a, b) },
		`stage "p" is not connected with`:          func(s *stage.Spec) { island(s, a, b) },
	} {
		t.Run(fault, func(t *testing.T) {
			spec := worldSpec(&journal{})
			edit(&spec)
			_, err := stage.Build(spec)
			if !errors.Is(err, stage.ErrGraph) || !strings.Contains(err.Error(), fault) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func cycle(s *stage.Spec, a, b stage.Artifact[int]) {
	s.Stages = append(s.Stages, pass("p", a, b), pass("q", b, a))
	s.Edges = append(s.Edges, stage.Edge{Artifact: b, Source: "p", Target: "q"}, stage.Edge{Artifact: a, Source: "q", Target: "p"})
}

func island(s *stage.Spec, a, b stage.Artifact[int]) {
	s.Stages = append(s.Stages, pass("p", a, b))
	s.Edges = append(s.Edges, stage.Edge{Artifact: a, Target: "p"})
	s.Outputs = append(s.Outputs, stage.Output{Artifact: b})
}

func TestTypedArtifacts(t *testing.T) {
	n, e := stage.NewArtifact[int]("n"), stage.NewArtifact[error]("e")
	values := stage.Values{n.Of(3), e.Of(nil)}
	if v, ok := n.From(values); v != 3 || !ok {
		t.Errorf("n is %v, %v", v, ok)
	}
	if v, ok := e.From(values); v != nil || !ok {
		t.Errorf("a nil interface is %v, %v", v, ok)
	}
	if _, ok := stage.NewArtifact[string]("n").From(values); ok {
		t.Error("another type was found under the same name")
	}
}
