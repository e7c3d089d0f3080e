//go:build !linux

package store

import "os"

// preallocate gives f size bytes on the disk.
func preallocate(f *os.File, size int64) error { return writeZeros(f, size) }
