package terrain_test

type goldenFrame struct {
	prompt, style string
	seed          int64
	width, height int
	want          string
}

func goldenFrames() []goldenFrame {
	return []goldenFrame{
		{"alpine lake", "", 0, 320, 192, "144cd62bad1580eedbe0b6c8"},
		{"desert", "night", 42, 192, 320, "126d6d47a2132eb62b7c2c99"},
	}
}
