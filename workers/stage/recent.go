package stage

// recent remembers the last max things in the order in which they came.
type recent[K comparable, V any] struct {
	max  int
	vals map[K]V
	ring []K
	next int
}

func newRecent[K comparable, V any](max int) *recent[K, V] {
	return &recent[K, V]{max: max, vals: map[K]V{}}
}

func (r *recent[K, V]) get(k K) (V, bool) {
	v, ok := r.vals[k]
	return v, ok
}

// put remembers k, and forgets the oldest when there are too many. A k that is known keeps its place.
func (r *recent[K, V]) put(k K, v V) {
	if _, known := r.vals[k]; !known {
		if len(r.ring) < r.max {
			r.ring = append(r.ring, k)
		} else {
			delete(r.vals, r.ring[r.next])
			r.ring[r.next] = k
			r.next = (r.next + 1) % r.max
		}
	}
	r.vals[k] = v
}
