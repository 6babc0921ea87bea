package engine

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// newFrameMemory makes shared memory and the file to hand on. Pages cost nothing until they are written. The file cannot be made shorter, so that no reader falls off its end.
func newFrameMemory(bytes int64) (*frameMemory, *os.File, error) {
	fd, err := unix.MemfdCreate("telefuser-frames", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, nil, fmt.Errorf("engine: frame memory: %w", err)
	}
	file := os.NewFile(uintptr(fd), "telefuser-frames")
	err = file.Truncate(bytes)
	if err == nil {
		_, err = unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	}
	var data []byte
	if err == nil {
		data, err = unix.Mmap(int(file.Fd()), 0, int(bytes), unix.PROT_READ, unix.MAP_SHARED)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("engine: frame memory: %w", err), file.Close())
	}
	return &frameMemory{data: data, holders: 1}, file, nil
}

// mapFrames maps memory that was inherited as a descriptor, which it closes: no child of ours is to have it.
func mapFrames(fd int, bytes int64) ([]byte, error) {
	file := os.NewFile(uintptr(fd), "telefuser-frames")
	if file == nil {
		return nil, fmt.Errorf("engine: frame memory: descriptor %d", fd)
	}
	defer func() { _ = file.Close() }() // the mapping stays
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("engine: frame memory: %w", err)
	}
	if bytes < 1 || info.Size() != bytes || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("engine: frame memory: %d bytes, %d were promised", info.Size(), bytes)
	}
	data, err := unix.Mmap(fd, 0, int(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("engine: frame memory: %w", err)
	}
	return data, nil
}

func unmapFrames(data []byte) error { return unix.Munmap(data) }
