package gpu

// Overlap finds two buffers that share memory and a step, by comparing every pair.
func (p *Plan) Overlap() (a, b string, found bool) {
	for i, x := range p.blocks {
		for _, y := range p.blocks[:i] {
			steps := x.first <= y.last && y.first <= x.last
			bytes := x.offset < y.offset+y.bytes && y.offset < x.offset+x.bytes
			if steps && bytes || x.offset%arenaAlign != 0 {
				return x.name, y.name, true
			}
		}
	}
	return "", "", false
}
