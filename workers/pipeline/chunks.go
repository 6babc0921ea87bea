package pipeline

// The chunks of every built-in pipeline: the first frame stands for itself, each further latent for four frames.
const (
	firstChunkFrames = 13
	laterChunkFrames = 16
)

// The names of the stages of a chunk.
const (
	StageEncode   = "encode"
	StageGenerate = "generate"
	StageDenoise  = "denoise"
	StageDecode   = "decode"
)

// latentFrames is how many frames a latent one stands for; the first stands for one.
const latentFrames = 4

// chunkFrames is how many frames the next chunk delivers after sent frames of total; 0 in total means no end.
func chunkFrames(index, sent, total int) int {
	return chunkFramesOf(laterChunkFrames/latentFrames, index, sent, total)
}

// chunkFramesOf is chunkFrames for chunks of another number of latent frames.
func chunkFramesOf(latents, index, sent, total int) int {
	count := latents * latentFrames
	if index == 0 {
		count -= laterChunkFrames - firstChunkFrames
	}
	if total > 0 {
		count = min(count, total-sent)
	}
	return count
}
