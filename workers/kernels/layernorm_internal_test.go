package kernels

import "testing"

func TestRowGridFitsEveryRow(t *testing.T) {
	if longRow.columns() != columnsMax {
		t.Errorf("the longest build holds %d columns, %d are allowed", longRow.columns(), columnsMax)
	}
	for _, z := range []struct {
		columns int
		name    string
		blocks  int // for 9 rows
	}{{8, "1x4", 3}, {1024, "1x4", 3}, {1032, "8x8", 9}, {columnsMax, "8x8", 9}} {
		name, g := rowGrid(9, z.columns, shortRow, longRow)
		if name != z.name || g.X != z.blocks {
			t.Errorf("9 rows of %d: %s with %d blocks, want %s with %d", z.columns, name, g.X, z.name, z.blocks)
		}
	}
}
