//go:build linux || darwin || freebsd

package sqlite

import "golang.org/x/sys/unix"

// measureDisk returns the free and total space of dir's file system.
func measureDisk(dir string) (Disk, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return Disk{}, err
	}
	size := int64(s.Bsize)
	return Disk{Free: int64(s.Bavail) * size, Total: int64(s.Blocks) * size}, nil
}
