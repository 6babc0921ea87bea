package terrain

// blocksAheadMax bounds the blocks that are baked ahead of a plan's drawing; the rest are baked when it is drawn.
const blocksAheadMax = 1024

// blockIndex knows which blocks of the world the map will hold when all that was claimed is in it, and which of them the batch under way
// needs.
type blockIndex struct {
	look   int32
	levels [][]blockSlot
	batch  int64
	// needs are the blocks of the frame at hand.
	needs []blockJob
}

// blockSlot is one place of a level: its block, and the last batch that needed it.
type blockSlot struct {
	owner blockKey
	batch int64
}

func newBlockIndex(levels int) blockIndex {
	x := blockIndex{levels: make([][]blockSlot, levels)}
	for k := range x.levels {
		x.levels[k] = make([]blockSlot, blocksSide*blocksSide)
	}
	return x
}

// begin starts a batch.
func (x *blockIndex) begin() { x.batch++ }

// forget takes every block for missing.
func (x *blockIndex) forget() { x.look++ }

// claim takes the blocks of a prepared frame into the batch and appends those that are missing. It answers false, and changes nothing,
// where a block would push out one that an earlier frame of the batch needs.
func (x *blockIndex) claim(jobs []blockJob, s *scene, eye eyePoint) ([]blockJob, bool) {
	x.needs = x.needs[:0]
	w := wedge{x: eye.x, z: eye.z, sin: s.sin, cos: s.cos, open: s.view.open}
	for k := range x.levels {
		if near := max(s.view.borders[k], s.nearest); near < s.view.borders[k+1] {
			w.blocks(k, near, s.view.borders[k+1], func(bx, bz int64) {
				x.needs = append(x.needs, blockJob{level: k, key: blockKey{x: bx, z: bz, look: x.look, full: true}})
			})
		}
	}
	for _, n := range x.needs {
		if slot := &x.levels[n.level][n.key.slot()]; slot.batch == x.batch && slot.owner != n.key {
			return jobs, false
		}
	}
	for _, n := range x.needs {
		slot := &x.levels[n.level][n.key.slot()]
		slot.batch = x.batch
		if slot.owner != n.key {
			slot.owner = n.key
			jobs = append(jobs, n)
		}
	}
	return jobs, true
}
