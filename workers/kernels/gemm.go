package kernels

import (
	"fmt"

	"telefuser/workers/gpu"
)

// Gemm computes D = act(A * B^T * scaleA * scaleB + bias) * gate + residual.
//
//	A [M, K], B [N, K] bf16, or f32, or e4m3 with ScaleA [M] and ScaleB [N] f32   Bias [N] bf16, or f32 beside f32
//	Gate [N] f32   Residual [M, N] and D [M, N] of one type, bf16 or f32
//
// Bias, Gate and Residual may be absent; Residual may be D itself. K and N are multiples of
// 16 elements, rows start at multiples of 16 bytes. CUDA has no kernel for f32.
type Gemm struct {
	A, B, D                              Tensor
	ScaleA, ScaleB, Bias, Gate, Residual Tensor
	F                                    Function
}

// Check tells whether the tensors fit.
func (o Gemm) Check() error {
	const op, step = "gemm", 16
	for _, t := range []Tensor{o.A, o.B, o.D} {
		if t.Rank() != 2 || !t.contiguous(1) || t.Len() == 0 || t.Stride[0]*t.Type.Bytes()%16 != 0 || t.Stride[0] < t.Dim(1) || t.Dev%16 != 0 {
			return misfit(op, "matrix %v, strides %v at %#x", t.Shape, t.Stride, uint64(t.Dev))
		}
	}
	m, k, n := o.A.Dim(0), o.A.Dim(1), o.B.Dim(0)
	switch {
	case o.B.Dim(1) != k || o.D.Dim(0) != m || o.D.Dim(1) != n:
		return misfit(op, "a %v, b %v, d %v", o.A.Shape, o.B.Shape, o.D.Shape)
	case k%step != 0 || n%step != 0:
		return misfit(op, "k %d and n %d must be multiples of %d", k, n, step)
	case o.A.Type != o.B.Type || !wide(o.A.Type) && o.A.Type != E4M3 || !wide(o.D.Type):
		return misfit(op, "%v by %v to %v", o.A.Type, o.B.Type, o.D.Type)
	case o.F == ExactGELU:
		return misfit(op, "an exact GELU: it is an Activation")
	case o.A.Type != E4M3 && (!o.ScaleA.Absent() || !o.ScaleB.Absent()):
		return misfit(op, "scales with %v", o.A.Type)
	}
	if r := o.Residual; !r.Absent() {
		if r.Type != o.D.Type || r.Rank() != 2 || r.Dim(0) != m || r.Dim(1) != n || !r.contiguous(1) || r.Stride[0]%8 != 0 {
			return misfit(op, "residual %v of %v", r.Shape, r.Type)
		}
	}
	scaled := o.A.Type == E4M3
	for _, err := range []error{
		checkVector(op, o.ScaleA, F32, m, !scaled), checkVector(op, o.ScaleB, F32, n, !scaled),
		checkBias(op, o.Bias, o.A.Type, n, true), checkVector(op, o.Gate, F32, n, true),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func (o Gemm) reference() {
	m, k, n := o.A.Dim(0), o.A.Dim(1), o.B.Dim(0)
	a, b := make([]float64, k), make([]float64, n*k)
	for j := range n {
		o.B.row(j, b[j*k:(j+1)*k])
	}
	for i := range m {
		o.A.row(i, a)
		for j := range n {
			var v float64
			for x, w := range b[j*k : (j+1)*k] {
				v += a[x] * w
			}
			o.D.Set(i*o.D.Stride[0]+j, o.epilogue(i, j, v))
		}
	}
}

// epilogue is what happens to one sum.
func (o Gemm) epilogue(i, j int, v float64) float64 {
	if o.A.Type == E4M3 {
		v *= o.ScaleA.Get(i) * o.ScaleB.Get(j)
	}
	if !o.Bias.Absent() {
		v += o.Bias.Get(j)
	}
	v = o.F.Apply(v)
	if !o.Gate.Absent() {
		v *= o.Gate.Get(j)
	}
	if !o.Residual.Absent() {
		v += o.Residual.Get(i*o.Residual.Stride[0] + j)
	}
	return v
}

func (o Gemm) launch(c *CUDA) error {
	if err := narrowOnly("gemm", o.A, o.Bias); err != nil {
		return err
	}
	if !c.hopper() {
		return o.launchPlain(c)
	}
	return c.choose(o.key(), o.candidates(c))
}

// key names the shape for which a choice is remembered.
func (o Gemm) key() string {
	return fmt.Sprintf("gemm %v>%v %dx%dx%d f%d bias%v gate%v res%v", o.A.Type, o.D.Type, o.A.Dim(0), o.B.Dim(0), o.A.Dim(1),
		o.F, !o.Bias.Absent(), !o.Gate.Absent(), !o.Residual.Absent())
}

// candidates are the implementations that can do this product, likeliest first.
func (o Gemm) candidates(c *CUDA) []candidate {
	var all []candidate
	for _, v := range gemmTiles {
		if o.direct() == "" || v.direct {
			all = append(all, candidate{"own " + v.name, func() error { return o.launchOwn(c, v) }})
		}
	}
	if c.lt != nil && c.lt.supports(o) {
		for i := range ltAlgorithms {
			all = append(all, candidate{fmt.Sprintf("cublaslt %d", i), func() error { return c.lt.run(c, o, i) }})
		}
	}
	return all
}

// gemmTile is one build of the fast kernel: rows and columns of its tile, stages, and the bytes
// that stage the output and hold the epilogue's factors. box is the rows of a piece of the staged
// output, group how many tile rows are visited together; direct says that there are builds with
// plain stores. An a in the name: the warpgroups work on alternate tiles.
type gemmTile struct {
	name            string
	bm, bn, stages  int
	output, factors int
	box             int
	warpgroups      int // consumers
	direct          bool
	group           int
}

// factorBytes is what one warpgroup keeps of a tile's factors: scale, gate and bias of its
// columns, scale of its rows.
func factorBytes(rows, columns int) int { return 10*columns + 4*rows }

const piece = 64 * 128 // bytes of 64 rows of the staged output

var gemmTiles = [...]gemmTile{ //nolint:gochecknoglobals // constant table
	{"192x256", 192, 256, 3, 4 * piece, 2 * factorBytes(192, 256), 64, 2, false, 33},
	{"128x192a", 128, 192, 4, 4 * piece, 2 * factorBytes(128, 192), 64, 2, false, 33},
	{"160x256", 160, 256, 3, 2 * piece, 2 * factorBytes(160, 256), 32, 2, false, 13},
	{"192x192", 192, 192, 4, 3 * piece, 3 * factorBytes(64, 192), 64, 3, false, 11},
	{"128x256", 128, 256, 4, 2 * piece, 2 * factorBytes(64, 256), 64, 2, true, 16},
	{"128x128a", 128, 128, 6, 2 * piece, 2 * factorBytes(128, 128), 64, 2, true, 16},
}

// direct names the build with plain stores that the output needs; "": the copy engine writes it.
func (o Gemm) direct() string {
	switch {
	case o.D.Type == F32:
		return "_f32"
	case !o.Residual.Absent():
		return "_res"
	}
	return ""
}

// hopperThreads is a producer and two consumer warpgroups.
const hopperThreads = 3 * 128

// stagesShared is the shared memory of a pipeline: tiles, alignment and two barriers a stage.
func stagesShared(rows, stages int) int {
	const rowBytes, align, barriers = 128, 1024, 16
	return stages*(rows*rowBytes+barriers) + align
}

func (o Gemm) launchOwn(c *CUDA, v gemmTile) error {
	const rowBytes, cluster, warpgroup = 128, 2, 128
	ta, err := operandMap(c, o.A, v.bm/cluster, rowBytes, gpu.Swizzle128) // each block fetches half of the shared rows
	if err != nil {
		return err
	}
	tb, err := operandMap(c, o.B, v.bn, rowBytes, gpu.Swizzle128)
	if err != nil {
		return err
	}
	td, shared := &gpu.TensorMap{}, stagesShared(v.bm+v.bn, v.stages)+v.factors
	if o.direct() == "" {
		if td, err = operandMap(c, o.D, v.box, rowBytes, gpu.Swizzle128); err != nil {
			return err
		}
		shared += v.output
	}
	pairs := (o.A.Dim(0) + v.bm - 1) / v.bm * (((o.B.Dim(0)+v.bn-1)/v.bn + 1) / cluster)
	g := gpu.Grid{X: cluster * min(pairs, c.ctx.Multiprocessors()/cluster), Threads: (v.warpgroups + 1) * warpgroup, SharedBytes: shared}
	return c.launch("gemm", fmt.Sprintf("gemm_%v_%s%s", o.A.Type, v.name, o.direct()), g, func(a *gpu.Args) {
		a.Map(ta).Map(tb).Map(td)
		o.epilogueArgs(a)
		a.I32(o.A.Dim(0)).I32(o.B.Dim(0)).I32(o.A.Dim(1)).I32(v.group)
	})
}

func (o Gemm) epilogueArgs(a *gpu.Args) {
	f32, ldr := 0, 0
	if o.D.Type == F32 {
		f32 = 1
	}
	if !o.Residual.Absent() {
		ldr = o.Residual.Stride[0]
	}
	a.Ptr(o.D.Dev).I64(int64(o.D.Stride[0])).Ptr(o.Bias.Dev).Ptr(o.Gate.Dev).Ptr(o.Residual.Dev).I64(int64(ldr)).
		Ptr(o.ScaleA.Dev).Ptr(o.ScaleB.Dev).I32(int(o.F)).I32(f32)
}

func (o Gemm) launchPlain(c *CUDA) error {
	const tile, threads = 64, 256
	m, n := o.A.Dim(0), o.B.Dim(0)
	g := gpu.Grid{X: (n + tile - 1) / tile, Y: (m + tile - 1) / tile, Threads: threads}
	return c.launch("gemm_plain", "gemm_plain_"+o.A.Type.String(), g, func(a *gpu.Args) {
		a.Ptr(o.A.Dev).I64(int64(o.A.Stride[0])).Ptr(o.B.Dev).I64(int64(o.B.Stride[0]))
		o.epilogueArgs(a)
		a.I32(m).I32(n).I32(o.A.Dim(1))
	})
}

// mapType is the tensor map's name for a type.
func mapType(t DType) gpu.MapType {
	switch t {
	case BF16:
		return gpu.MapBF16
	case F32:
		return gpu.MapF32
	default:
		return gpu.MapU8
	}
}

// operandMap describes tiles of rows x rowBytes of a matrix.
func operandMap(c *CUDA, t Tensor, rows, rowBytes int, s gpu.Swizzle) (*gpu.TensorMap, error) {
	return c.ctx.NewTensorMap(gpu.MapSpec{
		Type: mapType(t.Type), Addr: t.Dev, Dims: []int{t.Dim(1), t.Dim(0)}, Strides: []int64{int64(t.Stride[0] * t.Type.Bytes())},
		Box: []int{rowBytes / t.Type.Bytes(), rows}, Swizzle: s,
	})
}
