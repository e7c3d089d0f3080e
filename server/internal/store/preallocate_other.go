//go:build !linux

package store

import "os"

// allocate gives f size bytes on the disk.
func allocate(f *os.File, size int64) error { return fill(f, size) }
