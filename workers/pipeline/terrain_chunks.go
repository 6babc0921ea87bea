package pipeline

import "fmt"

// The bounds of chunk_size, in latent frames.
const (
	chunkLatents    = 4
	chunkLatentsMax = 8
)

// latentsOf reads how many latent frames a chunk has.
func latentsOf(parameters map[string]any) (int, error) {
	latents := chunkLatents
	switch v := parameters["chunk_size"].(type) {
	case nil:
	case int64:
		latents = int(v)
	case float64:
		if latents = int(v); float64(latents) != v {
			latents = 0
		}
	default:
		latents = 0
	}
	if latents < 1 || latents > chunkLatentsMax {
		return 0, fmt.Errorf("%w: chunk_size is no whole number from 1 to %d", ErrInvalid, chunkLatentsMax)
	}
	return latents, nil
}
