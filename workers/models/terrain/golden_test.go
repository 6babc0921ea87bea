package terrain_test

type goldenFrame struct {
	prompt, style string
	seed          int64
	width, height int
	want          string
}

func goldenFrames() []goldenFrame {
	return []goldenFrame{
		{"alpine lake", "", 0, 320, 192, "682afbe4600765b7802cb3de"},
		{"desert", "night", 42, 192, 320, "8339577025edfc25fe3e526c"},
	}
}
