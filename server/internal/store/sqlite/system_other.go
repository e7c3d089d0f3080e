//go:build !(linux || darwin || freebsd)

package sqlite

import (
	"io"
	"math"
	"os"
)

// lock does nothing on systems without flock. Two hubs on one file lose no data, since
// SQLite locks it, but each misses the events that the other publishes.
func lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

func lockFile(*os.File) error { return nil }

func unlockFile(*os.File) {}

// Measure reports unlimited space on systems without statfs. Only SQLite notices a
// full disk there.
func (systemDisk) Measure(string) (Disk, error) {
	return Disk{Free: math.MaxInt64, Total: math.MaxInt64}, nil
}
