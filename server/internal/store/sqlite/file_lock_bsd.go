//go:build darwin || freebsd

package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile locks the file itself, independent of its name. The lock belongs to the process
// and ends when any of its descriptors of the file is closed; SQLite closes none while it has
// a lock. It conflicts with no lock of SQLite, which uses the 512 bytes at 0x40000000.
func lockFile(f *os.File) error {
	l := unix.Flock_t{Type: unix.F_WRLCK, Whence: 0, Start: hubLockByte, Len: 1}
	err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &l)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES):
		holder := unix.Flock_t{Type: unix.F_WRLCK, Whence: 0, Start: hubLockByte, Len: 1}
		_ = unix.FcntlFlock(f.Fd(), unix.F_GETLK, &holder)
		return lockedElsewhere(int(holder.Pid))
	default:
		return lockError(f.Name(), err)
	}
}

// unlockFile does nothing: the lock ends with the descriptor.
func unlockFile(*os.File) {}
