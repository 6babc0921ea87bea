package kerneltest_test

import (
	"errors"
	"flag"
	"strings"
	"testing"

	"telefuser/workers/gpu"
	"telefuser/workers/kernels"
)

var cudnn = flag.String("cudnn", "", "path of libcudnn.so.9; empty: the loader's search")

// TestConvolutionsByCuDNN checks the suite's convolutions with NVIDIA's library: what it makes of them is held to the same reference as our
// kernels, which so are held to the library. A shape that it has no plan for is made by our own kernel.
func TestConvolutionsByCuDNN(t *testing.T) {
	if *force != "" || *only != "" && !strings.HasPrefix(*only, "conv3d") {
		t.Skip("other cases are asked for")
	}
	if _, err := gpu.Open(); err != nil {
		t.Skipf("needs an NVIDIA GPU: %v", err)
	}
	if _, err := gpu.OpenLibrary(*cudnn, "libcudnn.so.9"); errors.Is(err, gpu.ErrNoLibrary) {
		t.Skipf("needs cuDNN: %v", err)
	}
	onGPU(t, kernels.CUDAOptions{CuDNN: []string{*cudnn}, Force: "cudnn"}, "conv3d")
}
