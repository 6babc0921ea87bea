package terrain_test

type goldenFrame struct {
	prompt, style string
	seed          int64
	width, height int
	want          string
}

func goldenFrames() []goldenFrame {
	return []goldenFrame{
		{"alpine lake", "", 0, 320, 192, "c82625bf98ce65b4a8bf5790"},
		{"desert", "night", 42, 192, 320, "edf2352eae2fc55423cdc3da"},
	}
}
