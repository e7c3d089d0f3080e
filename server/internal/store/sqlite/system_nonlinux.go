//go:build !linux

package sqlite

import (
	"errors"
	"os"
)

// preallocate reserves size bytes of disk for f.
func preallocate(f *os.File, size int64) error { return writeZeros(f, size) }

// findLostDatabase fails on systems that give no access to the open files of a process.
func findLostDatabase(string) (*lostDatabase, error) {
	return nil, errors.New("rescue needs Linux, where the open files of a process can be read; nothing was written; if the file was moved, move it back; otherwise restore a backup")
}
