//go:build linux || darwin || freebsd

package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hookback/hookback/server/internal/store"
)

// lock takes the lock that keeps a second hub off the name of the database, and names its
// process. It locks a separate file, because on some systems such a lock of the database
// itself conflicts with SQLite's locks. See lockFile for other names of the same file. The
// lock ends with the process.
func lock(file string) (io.Closer, error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create the database's lock file: %w", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		err = writePID(f)
	} else if errors.Is(err, unix.EWOULDBLOCK) {
		err = lockedError(holder(f), "")
	} else {
		err = lockError(file, err)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return heldLock{f}, nil
}

// heldLock is the file of a lock.
type heldLock struct{ *os.File }

// Close ends the lock although a program that this process has just forked still has a copy of the descriptor.
func (l heldLock) Close() error {
	_ = unix.Flock(int(l.Fd()), unix.LOCK_UN)
	return l.File.Close()
}

// hubLockByte is the byte that lockFile locks. SQLite locks the 512 bytes at 0x40000000.
const hubLockByte = 0x40000400

// lockFile locks the file itself, independent of its name: another hub that has it open has it under another name, by a
// hard link or a bind mount. The lock conflicts with no lock of SQLite, which uses the 512 bytes at 0x40000000.
func lockFile(f *os.File) error {
	l := unix.Flock_t{Type: unix.F_WRLCK, Whence: 0, Start: hubLockByte, Len: 1}
	err := unix.FcntlFlock(f.Fd(), setFileLock, &l)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES):
		return lockedError(fileHolder(f), ", under another name of the same file")
	case errors.Is(err, unix.EINVAL):
		return nil // a kernel without such locks, as in some sandboxes: the lock of the name remains
	default:
		return lockError(f.Name(), err)
	}
}

// unlockFile ends the lock of lockFile, also for a copy of the descriptor in a program that was just forked.
func unlockFile(f *os.File) {
	l := unix.Flock_t{Type: unix.F_UNLCK, Whence: 0, Start: hubLockByte, Len: 1}
	_ = unix.FcntlFlock(f.Fd(), setFileLock, &l)
}

// lockedError is the error of a lock that another hub holds. pid 0 is unknown.
func lockedError(pid int, place string) error {
	process := ""
	if pid != 0 {
		process = fmt.Sprintf(" (process %d)", pid)
	}
	return fmt.Errorf("%w%s%s; nothing was changed; stop that hub, or choose another file with -db", store.ErrLocked, process, place)
}

// lockError explains why a file cannot be locked.
func lockError(file string, err error) error {
	if errors.Is(err, unix.ENOLCK) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("the file system of %s does not support locks (%w), as some network disks; nothing was stored; choose a file on a local disk with -db", file, err)
	}
	return fmt.Errorf("lock %s: %w", file, err)
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// holder returns the process that wrote itself into a lock file, or 0.
func holder(f *os.File) int {
	b := make([]byte, 20)
	n, _ := f.ReadAt(b, 0)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(b[:n])))
	return pid
}

func (systemDisk) Measure(dir string) (Disk, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return Disk{}, err
	}
	size := int64(s.Bsize)
	return Disk{Free: int64(s.Bavail) * size, Total: int64(s.Blocks) * size}, nil
}
