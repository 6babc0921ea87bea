package gpu_test

import (
	"errors"
	"fmt"
	"testing"

	"telefuser/workers/gpu"
)

func TestErrorClasses(t *testing.T) {
	classes := []error{gpu.ErrOutOfMemory, gpu.ErrInvalid, gpu.ErrDeviceLost, gpu.ErrNotReady, gpu.ErrNoDevice}
	for _, c := range []struct {
		code gpu.Code
		want error
	}{
		{2, gpu.ErrOutOfMemory}, {1, gpu.ErrInvalid}, {201, gpu.ErrInvalid}, {209, gpu.ErrInvalid}, {500, gpu.ErrInvalid},
		{600, gpu.ErrNotReady}, {100, gpu.ErrNoDevice}, {906, gpu.ErrInvalid},
		{214, gpu.ErrDeviceLost}, {220, gpu.ErrDeviceLost}, {700, gpu.ErrDeviceLost}, {702, gpu.ErrDeviceLost}, {710, gpu.ErrDeviceLost},
		{715, gpu.ErrDeviceLost}, {716, gpu.ErrDeviceLost}, {719, gpu.ErrDeviceLost}, {999, gpu.ErrDeviceLost}, {46, gpu.ErrDeviceLost},
	} {
		err := fmt.Errorf("room: %w", &gpu.Error{Op: "cuX", Code: c.code, Detail: "words"})
		for _, class := range classes {
			if got, want := errors.Is(err, class), class == c.want; got != want { //nolint:errorlint // the classes are told apart as values
				t.Errorf("code %d is %v: %v, want %v", c.code, class, got, want)
			}
		}
	}
}

func TestXidFatal(t *testing.T) {
	for xid, want := range map[uint64]bool{79: true, 94: true, 48: true, 13: false, 31: false, 43: false, 45: false} {
		if got := gpu.XidFatal(xid); got != want {
			t.Errorf("Xid %d fatal: %v, want %v", xid, got, want)
		}
	}
}
