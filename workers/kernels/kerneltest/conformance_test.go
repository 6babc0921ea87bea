package kerneltest_test

import (
	"context"
	"errors"
	"flag"
	"strings"
	"testing"

	"telefuser/workers/gpu"
	"telefuser/workers/kernels"
	"telefuser/workers/kernels/kerneltest"
	"telefuser/workers/kernels/simd"
)

var (
	quick    = flag.Bool("quick", false, "small shapes and one seed, for slow tools such as compute-sanitizer")
	only     = flag.String("only", "", "only cases whose name starts so")
	cublaslt = flag.String("cublaslt", "", "path of libcublasLt.so.13")
	force    = flag.String("force", "", "only this implementation, such as 'own 160x256', instead of all")
)

// known is what the reference computed for the tests before.
var known kerneltest.Known

func TestReference(t *testing.T) {
	kerneltest.Run(t, kernels.Reference{}, kerneltest.Options{Quick: *quick, Only: *only, Known: &known})
}

// TestCPU runs every level that this processor has; those below the best one on the small shapes. Operations of e4m3 have no fast path.
func TestCPU(t *testing.T) {
	for _, l := range simd.Levels() {
		t.Run(l.String(), func(t *testing.T) {
			c := kernels.NewCPU(kernels.CPUOptions{Level: &l, Workers: 3, Eager: true})
			kerneltest.Run(t, c, kerneltest.Options{Quick: *quick || l < simd.Best(), Only: *only, Not: "e4m3", Known: &known})
		})
	}
}

// onThread is a CUDA backend that any goroutine may call: subtests run on their own.
type onThread struct {
	dev *gpu.Device
	c   *kernels.CUDA
}

func (o *onThread) do(fn func() error) error {
	return o.dev.Do(context.Background(), func(*gpu.Context) error { return fn() })
}

func (o *onThread) Name() string { return o.c.Name() }

func (o *onThread) New(d kernels.DType, shape ...int) (x kernels.Tensor, err error) {
	err = o.do(func() error { x, err = o.c.New(d, shape...); return err })
	return x, err
}

func (o *onThread) Write(dst kernels.Tensor, src []byte) error {
	return o.do(func() error { return o.c.Write(dst, src) })
}

func (o *onThread) Read(dst []byte, src kernels.Tensor) error {
	return o.do(func() error { return o.c.Read(dst, src) })
}

func (o *onThread) Run(op kernels.Op) error { return o.do(func() error { return o.c.Run(op) }) }

// onGPU runs the suite with a backend on the first GPU, or skips the test and says why.
func onGPU(t *testing.T, o kernels.CUDAOptions, only string) {
	t.Helper()
	d, err := gpu.Open()
	if errors.Is(err, gpu.ErrNoDriver) || errors.Is(err, gpu.ErrNoDevice) {
		t.Skipf("needs an NVIDIA GPU: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	dev, err := d.OpenDevice(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dev.Close() }()
	b := &onThread{dev: dev}
	err = dev.Do(context.Background(), func(x *gpu.Context) error { b.c, err = kernels.NewCUDA(x, o); return err })
	if err != nil {
		t.Fatal(err)
	}
	kerneltest.Run(t, b, kerneltest.Options{Quick: *quick, Only: only, After: func(t *testing.T) {
		if err := b.do(func() error { return b.c.Release(0) }); err != nil {
			t.Fatal(err)
		}
	}})
	if err := b.do(b.c.Close); err != nil {
		t.Fatal(err)
	}
}

func TestCUDA(t *testing.T) {
	onGPU(t, kernels.CUDAOptions{Force: *force}, *only)
}

// TestCUDAPlain runs the kernels for any GPU, from portable code.
func TestCUDAPlain(t *testing.T) {
	if *force != "" {
		t.Skip("one implementation is forced")
	}
	onGPU(t, kernels.CUDAOptions{Plain: true}, *only)
}

// TestGemmImplementations runs every implementation of the product.
func TestGemmImplementations(t *testing.T) {
	if *force != "" || *only != "" && !strings.HasPrefix(*only, "gemm") {
		t.Skip("other cases are asked for")
	}
	names := []string{"own 128x192a", "own 160x256", "own 192x192", "own 128x256", "own 128x128a"}
	if *cublaslt != "" {
		names = append(names, "cublaslt 0", "cublaslt 1")
	}
	for _, n := range names {
		t.Run(strings.ReplaceAll(n, " ", "_"), func(t *testing.T) {
			o := kernels.CUDAOptions{Force: n}
			if *cublaslt != "" {
				o.CuBLASLt = []string{*cublaslt}
			}
			onGPU(t, o, "gemm")
		})
	}
}

// TestConvolutionImplementations runs every implementation of the convolution.
func TestConvolutionImplementations(t *testing.T) {
	if *force != "" || *only != "" && !strings.HasPrefix(*only, "conv3d") {
		t.Skip("other cases are asked for")
	}
	for _, n := range []string{"taps", "halo 192x1", "halo 96x2", "halo 128x2", "halo 16x2"} {
		t.Run(strings.ReplaceAll(n, " ", "_"), func(t *testing.T) {
			onGPU(t, kernels.CUDAOptions{Force: n}, "conv3d")
		})
	}
}

// TestAttentionImplementations runs every implementation of attention.
func TestAttentionImplementations(t *testing.T) {
	if *force != "" || *only != "" && !strings.HasPrefix(*only, "attention") {
		t.Skip("other cases are asked for")
	}
	for _, n := range []string{"own 128"} {
		t.Run(strings.ReplaceAll(n, " ", "_"), func(t *testing.T) {
			onGPU(t, kernels.CUDAOptions{Force: n}, "attention")
		})
	}
}
