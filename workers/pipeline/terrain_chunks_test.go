package pipeline_test

import (
	"errors"
	"reflect"
	"testing"

	"telefuser/workers/pipeline"
)

// TestChunkSizeChangesChunksAndNoFrame makes the same film in chunks of one, two and four latent frames.
func TestChunkSizeChangesChunksAndNoFrame(t *testing.T) {
	t.Parallel()
	_, whole := drain(t, open(t, request(22)))
	for size, want := range map[any][]int{int64(1): {1, 4, 4, 4, 4, 4, 1}, 2.0: {5, 8, 8, 1}, int64(4): {13, 9}} {
		req := request(22)
		req.Parameters = map[string]any{"chunk_size": size}
		chunks, frames := drain(t, open(t, req))
		var got []int
		for _, c := range chunks {
			got = append(got, len(c.Frames))
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("chunk_size %v: %v, want %v", size, got, want)
		}
		if !reflect.DeepEqual(frames, whole) {
			t.Errorf("chunk_size %v changes the frames", size)
		}
	}
}

func TestLiveChunksOfOneLatentFrame(t *testing.T) {
	t.Parallel()
	req := request(0)
	req.Parameters = map[string]any{"chunk_size": int64(1)}
	session := open(t, req)
	if chunk := next(t, session); len(chunk.Frames) != 1 {
		t.Fatalf("the first chunk has %d frames", len(chunk.Frames))
	}
	control(t, session, keys("a", "w"))
	if chunk := next(t, session); len(chunk.Frames) != 4 || chunk.Applied.Keys != "w" || !reflect.DeepEqual(chunk.Applied.ControlIDs, []string{"a"}) {
		t.Fatalf("%d frames, %+v", len(chunk.Frames), chunk.Applied)
	}
}

func TestChunkSizeHasBounds(t *testing.T) {
	t.Parallel()
	p, err := pipeline.New("terrain")
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []any{int64(0), int64(9), int64(-1), 1.5, "4", true} {
		req := request(13)
		req.Parameters = map[string]any{"chunk_size": size}
		if _, err := p.Open(t.Context(), req); !errors.Is(err, pipeline.ErrInvalid) {
			t.Errorf("%v: %v", size, err)
		}
	}
}
