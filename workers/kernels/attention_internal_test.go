package kernels

import "testing"

func TestSplitClusters(t *testing.T) {
	for _, z := range []struct{ clusters, resident, steps, full, split int }{
		{980, 66, 147, 980, 1}, // 56 are left, too many to be halved
		{490, 66, 147, 462, 2}, // 28 are left
		{132, 66, 147, 132, 1},
		{1, 66, 114, 0, 14},
		{3, 66, 15, 3, 1}, // too few keys
	} {
		full, split := splitClusters(z.clusters, z.resident, z.steps)
		if full != z.full || split != z.split {
			t.Errorf("%d clusters, %d at once, %d steps: %d whole, the rest by %d each; want %d, %d", z.clusters, z.resident, z.steps, full, split, z.full, z.split)
		}
		if parts := (z.clusters - full) * split; parts > z.resident {
			t.Errorf("%d clusters: %d parts, room for %d", z.clusters, parts, z.resident)
		}
	}
}
