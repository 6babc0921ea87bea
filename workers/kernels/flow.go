package kernels

import "telefuser/workers/gpu"

// flowShape is one build of a kernel whose rows of bf16 flow through groups of warps (flow.cuh): warps
// that share a row, vectors of eight elements a thread, groups of a block.
type flowShape struct{ warps, vectors, groups int }

// Builds for rows of up to flowColumns elements, by how many registers their work needs.
var ( //nolint:gochecknoglobals // constants
	flowWide  = flowShape{4, 5, 8}
	flowFives = flowShape{5, 4, 6}
)

// Rows that flow are long enough for their builds not to work on zeros for the most part.
const (
	flowColumns    = 5120
	flowColumnsMin = flowColumns/2 + 8
)

// flows says whether rows of so many columns of a type have a kernel of that kind on this GPU.
func (c *CUDA) flows(columns int, t DType) bool {
	return c.hopper() && t == BF16 && columns >= flowColumnsMin && columns <= flowColumns
}

// grid shapes a launch of one block on each multiprocessor. In shared memory lie so many planes of factors of
// all rows, and for each group a row and so many bytes more.
func (s flowShape) grid(c *CUDA, rows, planes, more int) gpu.Grid {
	const warp, vectorBytes = 32, 16
	plane := s.warps * warp * s.vectors * vectorBytes
	return gpu.Grid{X: min(rows, c.ctx.Multiprocessors()), Threads: s.warps * warp * s.groups, SharedBytes: planes*plane + s.groups*(plane+more)}
}
