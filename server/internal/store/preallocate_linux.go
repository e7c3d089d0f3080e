package store

import (
	"os"

	"golang.org/x/sys/unix"
)

// allocate gives f size bytes on the disk, at once where the file system can.
func allocate(f *os.File, size int64) error {
	if unix.Fallocate(int(f.Fd()), 0, 0, size) == nil {
		return nil
	}
	return fill(f, size)
}
