//go:build !linux

package sqlite

import "os"

// preallocate reserves size bytes of disk for f.
func preallocate(f *os.File, size int64) error { return writeZeros(f, size) }
