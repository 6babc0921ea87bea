package kernels

import (
	"fmt"
	"unsafe"

	"telefuser/workers/gpu"
)

// ltAlgorithms is how many of the library's proposals are tried for a shape.
const ltAlgorithms = 4

// ltWorkspace is scratch memory for the library in bytes.
const ltWorkspace = 64 << 20

// cublasLt is NVIDIA's matrix library, used where it is there and faster.
type cublasLt struct {
	create, destroy, descCreate, descDestroy, descSet gpu.Proc
	layoutCreate, layoutDestroy                       gpu.Proc
	prefCreate, prefDestroy, prefSet                  gpu.Proc
	heuristic, matmul                                 gpu.Proc
	handle                                            uintptr
	workspace                                         gpu.Ptr
	plans                                             map[string]*ltPlan
}

// ltPlan is what the library needs for one shape; addresses are set at each call.
type ltPlan struct {
	desc, la, lb, ld uintptr
	algos            []ltAlgo
}

// ltAlgo is cublasLtMatmulHeuristicResult_t.
type ltAlgo struct {
	algo      [8]uint64
	workspace uint64
	state     int32
	waves     float32
	reserved  [4]int32
}

// Values of the library's enumerations.
const (
	ltF32, ltBF16, ltE4M3          = 0, 14, 28
	ltCompute32F                   = 68
	ltTransA, ltTransB             = 3, 4
	ltEpilogue, ltBias, ltBiasType = 7, 8, 26
	ltScaleA, ltScaleB             = 17, 18
	ltScaleModeA, ltScaleModeB     = 31, 32
	ltFastAccumulation             = 25
	ltOuterVector                  = 3 // one scale a row
	ltEpilogueBias, ltEpilogueGELU = 4, 36
)

func openCublasLt(c *CUDA, paths []string) (*cublasLt, error) {
	lib, err := gpu.OpenLibrary(append(paths, "libcublasLt.so.13", "libcublasLt.so.12")...)
	if err != nil {
		return nil, err
	}
	l := &cublasLt{plans: map[string]*ltPlan{}}
	err = lib.Procs(map[string]*gpu.Proc{
		"cublasLtCreate": &l.create, "cublasLtDestroy": &l.destroy,
		"cublasLtMatmulDescCreate": &l.descCreate, "cublasLtMatmulDescDestroy": &l.descDestroy, "cublasLtMatmulDescSetAttribute": &l.descSet,
		"cublasLtMatrixLayoutCreate": &l.layoutCreate, "cublasLtMatrixLayoutDestroy": &l.layoutDestroy,
		"cublasLtMatmulPreferenceCreate": &l.prefCreate, "cublasLtMatmulPreferenceDestroy": &l.prefDestroy,
		"cublasLtMatmulPreferenceSetAttribute": &l.prefSet,
		"cublasLtMatmulAlgoGetHeuristic":       &l.heuristic, "cublasLtMatmul": &l.matmul,
	})
	if err != nil {
		return nil, err
	}
	if err := c.ctx.Current(); err != nil {
		return nil, err
	}
	if err := ltCheck("cublasLtCreate", l.create.Call(uintptr(unsafe.Pointer(&l.handle)))); err != nil {
		return nil, err
	}
	l.workspace, err = c.ctx.Alloc(ltWorkspace)
	return l, err
}

func ltCheck(op string, r uintptr) error {
	if int32(r) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s: cuBLAS status %d", ErrUnsupported, op, int32(r))
}

func (l *cublasLt) close(c *CUDA) error {
	for _, p := range l.plans {
		l.descDestroy.Call(p.desc)
		for _, m := range []uintptr{p.la, p.lb, p.ld} {
			l.layoutDestroy.Call(m)
		}
	}
	l.destroy.Call(l.handle)
	return c.ctx.Free(l.workspace)
}

// supports says whether the library's epilogues cover the product.
func (l *cublasLt) supports(o Gemm) bool {
	return o.Gate.Absent() && o.Residual.Absent() && o.D.Type == BF16 &&
		(o.F == Identity || o.F == GELU && !o.Bias.Absent())
}

func (l *cublasLt) plan(o Gemm) (*ltPlan, error) {
	key := fmt.Sprintf("%s %d %d %d", o.key(), o.A.Stride[0], o.B.Stride[0], o.D.Stride[0])
	if p, ok := l.plans[key]; ok {
		return p, nil
	}
	p := &ltPlan{}
	if err := ltCheck("cublasLtMatmulDescCreate", l.descCreate.Call(uintptr(unsafe.Pointer(&p.desc)), ltCompute32F, ltF32)); err != nil {
		return nil, err
	}
	if err := l.describe(p, o); err != nil {
		return nil, err
	}
	// The library sees columns first: D^T [N, M] = B (K x N, transposed) * A (K x M).
	et := uintptr(ltBF16)
	if o.A.Type == E4M3 {
		et = ltE4M3
	}
	m, k, n := uintptr(o.A.Dim(0)), uintptr(o.A.Dim(1)), uintptr(o.B.Dim(0))
	for _, x := range []struct {
		dst              *uintptr
		t, r, c, leading uintptr
	}{{&p.la, et, k, n, uintptr(o.B.Stride[0])}, {&p.lb, et, k, m, uintptr(o.A.Stride[0])}, {&p.ld, ltBF16, n, m, uintptr(o.D.Stride[0])}} {
		if err := ltCheck("cublasLtMatrixLayoutCreate", l.layoutCreate.Call(uintptr(unsafe.Pointer(x.dst)), x.t, x.r, x.c, x.leading)); err != nil {
			return nil, err
		}
	}
	if err := l.search(p); err != nil {
		return nil, err
	}
	l.plans[key] = p
	return p, nil
}

func (l *cublasLt) set(p *ltPlan, attr uintptr, v int32) error {
	return ltCheck("cublasLtMatmulDescSetAttribute", l.descSet.Call(p.desc, attr, uintptr(unsafe.Pointer(&v)), 4))
}

func (l *cublasLt) setPtr(p *ltPlan, attr uintptr, v gpu.Ptr) error {
	return ltCheck("cublasLtMatmulDescSetAttribute", l.descSet.Call(p.desc, attr, uintptr(unsafe.Pointer(&v)), 8))
}

// describe sets everything but addresses, which bind sets.
func (l *cublasLt) describe(p *ltPlan, o Gemm) error {
	const transpose, keep = 1, 0
	errs := []error{l.set(p, ltTransA, transpose), l.set(p, ltTransB, keep)}
	if !o.Bias.Absent() {
		e := int32(ltEpilogueBias)
		if o.F == GELU {
			e = ltEpilogueGELU
		}
		errs = append(errs, l.set(p, ltEpilogue, e), l.set(p, ltBiasType, ltBF16))
	}
	if o.A.Type == E4M3 {
		fast := int8(1)
		errs = append(errs, l.set(p, ltScaleModeA, ltOuterVector), l.set(p, ltScaleModeB, ltOuterVector),
			ltCheck("cublasLtMatmulDescSetAttribute", l.descSet.Call(p.desc, ltFastAccumulation, uintptr(unsafe.Pointer(&fast)), 1)))
	}
	errs = append(errs, l.bind(p, o))
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *cublasLt) bind(p *ltPlan, o Gemm) error {
	if !o.Bias.Absent() {
		if err := l.setPtr(p, ltBias, o.Bias.Dev); err != nil {
			return err
		}
	}
	if o.A.Type != E4M3 {
		return nil
	}
	if err := l.setPtr(p, ltScaleA, o.ScaleB.Dev); err != nil {
		return err
	}
	return l.setPtr(p, ltScaleB, o.ScaleA.Dev)
}

func (l *cublasLt) search(p *ltPlan) error {
	var pref uintptr
	if err := ltCheck("cublasLtMatmulPreferenceCreate", l.prefCreate.Call(uintptr(unsafe.Pointer(&pref)))); err != nil {
		return err
	}
	defer l.prefDestroy.Call(pref)
	const maxWorkspace = 1
	ws := uint64(ltWorkspace)
	if err := ltCheck("cublasLtMatmulPreferenceSetAttribute", l.prefSet.Call(pref, maxWorkspace, uintptr(unsafe.Pointer(&ws)), 8)); err != nil {
		return err
	}
	res := make([]ltAlgo, ltAlgorithms)
	var n int32
	r := l.heuristic.Call(l.handle, p.desc, p.la, p.lb, p.ld, p.ld, pref, ltAlgorithms, uintptr(unsafe.Pointer(&res[0])), uintptr(unsafe.Pointer(&n)))
	if err := ltCheck("cublasLtMatmulAlgoGetHeuristic", r); err != nil {
		return err
	}
	p.algos = res[:n]
	return nil
}

// run queues a product by the library's i-th proposal.
func (l *cublasLt) run(c *CUDA, o Gemm, i int) error {
	p, err := l.plan(o)
	if err != nil {
		return err
	}
	if i >= len(p.algos) {
		return fmt.Errorf("%w: cuBLASLt proposes %d algorithms", ErrUnsupported, len(p.algos))
	}
	if err := l.bind(p, o); err != nil {
		return err
	}
	if err := c.ctx.Current(); err != nil {
		return err
	}
	one, zero := float32(1), float32(0)
	return ltCheck("cublasLtMatmul", l.matmul.Call(l.handle, p.desc, uintptr(unsafe.Pointer(&one)), uintptr(o.B.Dev), p.la,
		uintptr(o.A.Dev), p.lb, uintptr(unsafe.Pointer(&zero)), uintptr(o.D.Dev), p.ld, uintptr(o.D.Dev), p.ld,
		uintptr(unsafe.Pointer(&p.algos[i].algo)), uintptr(l.workspace), ltWorkspace, c.stream.Handle()))
}
