package sqlite

import (
	"os"

	"golang.org/x/sys/unix"
)

// preallocate reserves size bytes of disk for f, with fallocate where the file system
// supports it.
func preallocate(f *os.File, size int64) error {
	if unix.Fallocate(int(f.Fd()), 0, 0, size) == nil {
		return nil
	}
	return writeZeros(f, size)
}
