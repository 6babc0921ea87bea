//go:build !amd64

package simd

func best() Level { return Generic }
