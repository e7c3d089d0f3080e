//go:build darwin || freebsd

package sqlite

import (
	"os"

	"golang.org/x/sys/unix"
)

// setFileLock locks for the process. The lock ends when any of its descriptors of the file is closed; SQLite closes
// none while it has a lock.
const setFileLock = unix.F_SETLK

// fileHolder returns the process that has the lock of lockFile, or 0.
func fileHolder(f *os.File) int {
	holder := unix.Flock_t{Type: unix.F_WRLCK, Whence: 0, Start: hubLockByte, Len: 1}
	_ = unix.FcntlFlock(f.Fd(), unix.F_GETLK, &holder)
	return int(holder.Pid)
}
