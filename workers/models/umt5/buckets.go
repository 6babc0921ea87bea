package umt5

import "math"

// bucket is the place in a layer's table of a key that lies so many tokens behind its query.
// Half of the buckets are for keys behind, half for those before; of a half, the first half are of one
// distance each, and the others grow with its logarithm up to distance, from where on all are the last.
func bucket(behind, buckets, distance int) int {
	half := buckets / 2
	base := 0
	if behind > 0 {
		base = half
	} else {
		behind = -behind
	}
	exact := half / 2
	if behind < exact {
		return base + behind
	}
	// In float32, as the published models were trained: the borders hang on its rounding.
	ratio := float32(math.Log(float64(float32(behind)/float32(exact)))) / float32(math.Log(float64(distance)/float64(exact)))
	return base + min(exact+int(ratio*float32(half-exact)), half-1)
}

// masked is the bias of a key that does not count; its probability is 0.
const masked = -1e30

// biases fills one head's [n, n] from a layer's table [buckets, heads]. Keys from length on do not count.
func (e *Encoder) biases(out []float32, table []float32, head, n, length int) {
	byPlace := make([]float32, 2*n-1) // of key minus query
	for i := range byPlace {
		byPlace[i] = table[bucket(i-n+1, e.config.Buckets, e.config.Distance)*e.config.Heads+head]
	}
	for q := range n {
		row := out[q*n : (q+1)*n]
		copy(row, byPlace[n-1-q:])
		for k := length; k < n; k++ {
			row[k] = masked
		}
	}
}
