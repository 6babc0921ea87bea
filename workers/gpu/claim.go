package gpu

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Claim is a process's hold of a GPU among the processes that claim in the same directory. The operating system ends it with the process,
// however that dies.
type Claim struct{ file *os.File }

// Sharing says who else may hold a GPU at the same time.
type Sharing bool

// The ways to hold a GPU.
const (
	Alone  Sharing = false // nobody
	Shared Sharing = true  // processes that claim it as Shared as well
)

// ClaimDevice takes the GPU with the UUID, or returns ErrClaimed at once if another process holds it in a way that leaves no room. dir must
// be the same for all processes of the machine, whoever runs them.
func ClaimDevice(dir, uuid string, sharing Sharing) (*Claim, error) {
	if uuid == "" || strings.ContainsAny(uuid, "/\x00") {
		return nil, fmt.Errorf("gpu: claim %q: %w", uuid, ErrInvalid)
	}
	if err := commonDirectory(dir); err != nil {
		return nil, fmt.Errorf("gpu: claim %s: %w", uuid, err)
	}
	f, err := commonFile(filepath.Join(dir, uuid+".lock"))
	if err != nil {
		return nil, fmt.Errorf("gpu: claim %s: %w", uuid, err)
	}
	how := syscall.LOCK_EX
	if sharing == Shared {
		how = syscall.LOCK_SH
	}
	err = syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if err == nil {
		return &Claim{file: f}, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("gpu: claim %s: %w", uuid, ErrClaimed)
	}
	return nil, fmt.Errorf("gpu: claim %s: %w", uuid, err)
}

// commonDirectory makes a directory in which every user may make files, and nobody may remove another's.
func commonDirectory(dir string) error {
	const common = 0o777 | fs.ModeSticky
	err := os.Mkdir(dir, common)
	switch {
	case err == nil:
		return os.Chmod(dir, common) // past the umask
	case errors.Is(err, fs.ErrExist):
		return nil
	}
	return err
}

// commonFile opens a file that anybody may have made. Reading is enough for a lock, and a file that is there is not opened for making: the
// system refuses that in a directory like this one where the file is another user's.
func commonFile(path string) (*os.File, error) {
	f, err := os.Open(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	const readable = 0o644
	f, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, readable)
	switch {
	case errors.Is(err, fs.ErrExist): // somebody was faster
		return os.Open(path)
	case err != nil:
		return nil, err
	}
	if err := f.Chmod(readable); err != nil { // past the umask
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Release gives the GPU back.
func (c *Claim) Release() error { return c.file.Close() }
