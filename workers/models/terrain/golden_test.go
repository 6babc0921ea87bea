package terrain_test

type goldenFrame struct {
	prompt, style string
	seed          int64
	width, height int
	want          string
}

func goldenFrames() []goldenFrame {
	return []goldenFrame{
		{"alpine lake", "", 0, 320, 192, "9482d52582c5c0d2e6f78ff9"},
		{"desert", "night", 42, 192, 320, "126d6d47a2132eb62b7c2c99"},
	}
}
