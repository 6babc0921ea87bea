package kernels

import "testing"

func TestFlowShapesFitTheGPU(t *testing.T) {
	const warp, vector, elementBytes = 32, 8, 2
	const sharedMax, staticMax, barriers, threadsMax = 227 << 10, 2 << 10, 15, 1024
	for _, z := range []struct {
		name         string
		shape        flowShape
		planes, more int
	}{{"layernorm to bf16", flowWide, 4, 0}, {"layernorm to e4m3", flowFives, 4, 0}, {"rope", flowFives, 2, 1024}, {"softmax", flowWide, 0, 0}} {
		s := z.shape
		if s.warps*warp*s.vectors*vector < flowColumns {
			t.Errorf("%s: a row of %d does not fit", z.name, flowColumns)
		}
		row := s.warps * warp * s.vectors * vector * elementBytes
		if shared := z.planes*row + s.groups*(row+z.more); shared > sharedMax-staticMax {
			t.Errorf("%s: %d bytes of shared memory", z.name, shared)
		}
		if s.groups > barriers || s.groups*s.warps*warp > threadsMax {
			t.Errorf("%s: %d groups of %d warps", z.name, s.groups, s.warps)
		}
	}
}
