package store

import (
	"os"

	"golang.org/x/sys/unix"
)

// preallocate gives f size bytes on the disk, at once where the file system can.
func preallocate(f *os.File, size int64) error {
	if unix.Fallocate(int(f.Fd()), 0, 0, size) == nil {
		return nil
	}
	return writeZeros(f, size)
}
