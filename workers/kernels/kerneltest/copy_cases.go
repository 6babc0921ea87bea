package kerneltest

import (
	"fmt"

	"telefuser/workers/kernels"
)

// copyCases cut patches, join frames, take turns between frames, and round.
func copyCases() []Case {
	view := func(s *Side, x kernels.Tensor, at int, shape, stride []int) kernels.Tensor {
		s.t.Helper()
		v, err := x.View(at, shape, stride)
		if err != nil {
			s.t.Fatal(err)
		}
		return v
	}
	all := []Case{
		{Name: "copy/vector", Build: func(s *Side) kernels.Op {
			return kernels.Copy{X: s.Normal(bf16, 1, 24), Y: s.Dense(Same, bf16, 24)}
		}},
		{Name: "copy/frames", Build: func(s *Side) kernels.Op {
			return kernels.Copy{X: s.Normal(f32, 1, 5, 3, 4, 8).Rows(3, 5), Y: s.Partial(s.Dense(Same, f32, 7, 3, 4, 8)).Rows(1, 3)}
		}},
		{Name: "copy/patch", Build: func(s *Side) kernels.Op { // the lower left quarter of 2 x 2 places of 4 x 6, into columns of rows
			x := view(s, s.Normal(bf16, 1, 2, 4, 6, 8), 6*8, []int{2, 2, 3, 8}, []int{4 * 6 * 8, 2 * 6 * 8, 2 * 8, 1})
			y := view(s, s.Partial(s.Dense(Same, bf16, 12, 4*8)), 2*8, []int{2, 2, 3, 8}, []int{6 * 32, 3 * 32, 32, 1})
			return kernels.Copy{X: x, Y: y}
		}},
		{Name: "copy/turns", Build: func(s *Side) kernels.Op { // the second half of the channels becomes every second frame
			x := view(s, s.Normal(f32, 1, 3, 5, 16), 8, []int{3, 5, 8}, []int{5 * 16, 16, 1})
			y := view(s, s.Partial(s.Dense(Same, f32, 6, 5, 8)), 5*8, []int{3, 5, 8}, []int{2 * 5 * 8, 8, 1})
			return kernels.Copy{X: x, Y: y}
		}},
		{Name: "copy/repeat", Build: func(s *Side) kernels.Op { // every second channel becomes one place of each 2 x 2
			x := view(s, s.Normal(bf16, 1, 2, 3, 4, 16), 1, []int{2, 3, 4, 8, 1}, []int{3 * 4 * 16, 4 * 16, 16, 2, 1})
			y := view(s, s.Partial(s.Dense(Same, bf16, 2, 6, 8, 8)), 8*8+8, []int{2, 3, 4, 8, 1}, []int{6 * 8 * 8, 2 * 8 * 8, 2 * 8, 1, 1})
			return kernels.Copy{X: x, Y: y}
		}},
		{Name: "copy/fill", Build: func(s *Side) kernels.Op { // one row again and again
			return kernels.Copy{X: view(s, s.Normal(bf16, 1, 4, 24), 0, []int{7, 24}, []int{0, 1}), Y: s.Dense(Same, bf16, 7, 24)}
		}},
	}
	for _, c := range [][2]kernels.DType{{f32, bf16}, {bf16, f32}} {
		all = append(all, Case{Name: "copy/" + c[0].String() + ">" + c[1].String(), Build: func(s *Side) kernels.Op {
			return kernels.Copy{X: s.Strided(c[0], 1, 5, 16, 24), Y: s.Out(Same, c[1], 32, 5, 16)}
		}}, Case{Name: "copy/odd/" + c[0].String() + ">" + c[1].String(), Build: func(s *Side) kernels.Op {
			return kernels.Copy{X: s.Strided(c[0], 1, 300, 13, 15), Y: s.Out(Same, c[1], 17, 300, 13)}
		}}, Case{Name: "copy/vector/" + c[0].String() + ">" + c[1].String(), Build: func(s *Side) kernels.Op {
			return kernels.Copy{X: s.Normal(c[0], 1, 1000), Y: s.Dense(Same, c[1], 1000)}
		}})
	}
	for _, d := range []kernels.DType{f32, bf16, e4m3} { // four dimensions outside of a run, all of them with gaps
		for _, run := range []int{7, 16} {
			all = append(all, Case{Name: fmt.Sprintf("copy/five/%v/%d", d, run), Build: func(s *Side) kernels.Op {
				shape := []int{3, 2, 5, 3, run}
				x := view(s, s.Normal(d, 1, 3, 4, 6, 4, 32), 16, shape, []int{4 * 6 * 4 * 32, 2 * 6 * 4 * 32, 4 * 32, 32, 1})
				y := view(s, s.Partial(s.Dense(Same, d, 3, 3, 5, 3, 48)), 32, shape, []int{3 * 5 * 3 * 48, 5 * 3 * 48, 3 * 48, 48, 1})
				return kernels.Copy{X: x, Y: y}
			}})
		}
	}
	return all
}
