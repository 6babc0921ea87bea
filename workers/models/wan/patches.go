package wan

// CutPatches turns latents [t, height, width, channels] into tokens [t * height/2 * width/2, 4 * channels], the channels of the left
// upper latent first, then right upper, left lower, right lower. Heights and widths are even.
func CutPatches(latents []float32, height, width, channels int) []float32 {
	out := make([]float32, len(latents))
	eachPatch(len(latents), height, width, channels, func(token, latent int) { copy(out[token:token+channels], latents[latent:]) })
	return out
}

// JoinPatches is the inverse of CutPatches.
func JoinPatches(tokens []float32, height, width, channels int) []float32 {
	out := make([]float32, len(tokens))
	eachPatch(len(tokens), height, width, channels, func(token, latent int) { copy(out[latent:latent+channels], tokens[token:]) })
	return out
}

// eachPatch calls f with the places of every latent's channels in tokens and in latents.
func eachPatch(n, height, width, channels int, f func(token, latent int)) {
	for i := range n / channels {
		t, y, x := i/width/height, i/width%height, i%width
		token := (t*height/patch+y/patch)*(width/patch) + x/patch
		f((token*patch*patch+y%patch*patch+x%patch)*channels, i*channels)
	}
}
