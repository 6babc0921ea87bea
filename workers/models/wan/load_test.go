package wan_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"telefuser/workers/kernels"
	"telefuser/workers/models/wan"
	"telefuser/workers/models/weights"
)

// TestLoadOnCUDA measures how long a transformer of LingBot-World's shape, 37 GB in bf16, takes from the page cache to readiness. It writes the
// file first, into the folder that TELEFUSER_LOAD_DIR names, which should be one in memory.
func TestLoadOnCUDA(t *testing.T) {
	dir := os.Getenv("TELEFUSER_LOAD_DIR")
	if dir == "" {
		t.Skip("set TELEFUSER_LOAD_DIR to a folder with room for 37 GB")
	}
	c := lingBot()
	path := filepath.Join(dir, "diffusion_pytorch_model.safetensors")
	began := time.Now()
	bytes := writeWeights(t, path, c.DiT.Blueprint())
	t.Logf("%.2f GB written in %v", float64(bytes)/1e9, time.Since(began))
	defer os.Remove(path)
	for round := range 3 {
		b, err := openGPU(t)
		if err != nil {
			t.Fatal(err)
		}
		began = time.Now()
		set, err := weights.Load(path, c.DiT.Blueprint())
		if err != nil {
			t.Fatal(err)
		}
		found := time.Since(began)
		if _, err = wan.NewDiT(b, set, c.DiT, kernels.BF16, c.Chunk, c.Height/8, c.Width/8); err != nil {
			t.Fatal(err)
		}
		one, err := b.New(kernels.U8, 1)
		if err == nil {
			err = b.Read(make([]byte, 1), one) // everything before has arrived
		}
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(began)
		t.Logf("round %d: opened in %v, ready after %.2f s, %.2f GB/s", round, found, took.Seconds(), float64(bytes)/1e9/took.Seconds())
		if err := set.Close(); err != nil {
			t.Error(err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// writeWeights makes a safetensors file of bf16 values that mean nothing, and answers its size.
func writeWeights(t *testing.T, path string, b weights.Blueprint) int64 {
	t.Helper()
	header, at := map[string]any{}, int64(0)
	for _, p := range b.Parameters {
		n := int64(2)
		for _, d := range p.Shape {
			n *= int64(d)
		}
		header[p.Name] = map[string]any{"dtype": "BF16", "shape": p.Shape, "data_offsets": []int64{at, at + n}}
		at += n
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	for len(text)%8 != 0 {
		text = append(text, ' ')
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)); err != nil {
		t.Fatal(err)
	}
	const block = 64 << 20
	values := make([]byte, block)
	for i := 0; i < block; i += 2 {
		binary.LittleEndian.PutUint16(values[i:], kernels.BF16FromFloat(float64(i%4093)/4093*0.02-0.01))
	}
	begin, next := int64(8+len(text)), make(chan int64)
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for from := range next {
				if _, err := f.WriteAt(values[:min(block, at-from)], begin+from); err != nil {
					t.Error(fmt.Errorf("at %d: %w", from, err))
				}
			}
		})
	}
	for from := int64(0); from < at; from += block {
		next <- from
	}
	close(next)
	all.Wait()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil || end != begin+at {
		t.Fatalf("%d bytes of %d: %v", end, begin+at, err)
	}
	return end
}
