package gpu

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Claim is one process's exclusive hold of a GPU among processes that share a
// directory. The operating system ends it with the process, however that dies.
type Claim struct{ file *os.File }

// ClaimDevice takes the GPU with the UUID, or returns ErrClaimed at once if another
// process holds it. dir must be the same for all processes of the machine.
func ClaimDevice(dir, uuid string) (*Claim, error) {
	if uuid == "" || strings.ContainsAny(uuid, "/\x00") {
		return nil, fmt.Errorf("gpu: claim %q: %w", uuid, ErrInvalid)
	}
	const private = 0o700
	if err := os.MkdirAll(dir, private); err != nil {
		return nil, fmt.Errorf("gpu: claim %s: %w", uuid, err)
	}
	f, err := os.OpenFile(filepath.Join(dir, uuid+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("gpu: claim %s: %w", uuid, err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return &Claim{file: f}, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("gpu: claim %s: %w", uuid, ErrClaimed)
	}
	return nil, fmt.Errorf("gpu: claim %s: %w", uuid, err)
}

// Release gives the GPU back.
func (c *Claim) Release() error { return c.file.Close() }
