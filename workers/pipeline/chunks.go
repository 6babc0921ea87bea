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
	StageDecode   = "decode"
)

// chunkFrames is how many frames the next chunk delivers after sent frames of total; 0 in total means no end.
func chunkFrames(index, sent, total int) int {
	count := laterChunkFrames
	if index == 0 {
		count = firstChunkFrames
	}
	if total > 0 {
		count = min(count, total-sent)
	}
	return count
}
