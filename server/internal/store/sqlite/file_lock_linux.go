package sqlite

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// lockFile locks the file itself, independent of its name, with an open file description
// lock. It conflicts with no lock of SQLite, which uses the 512 bytes at 0x40000000.
func lockFile(f *os.File) error {
	l := unix.Flock_t{Type: unix.F_WRLCK, Whence: 0, Start: hubLockByte, Len: 1}
	err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &l)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES):
		return lockedElsewhere(fileHolder(f))
	case errors.Is(err, unix.EINVAL):
		return nil // a kernel without such locks, as in some sandboxes: the lock of the name remains
	default:
		return lockError(f.Name(), err)
	}
}

// unlockFile ends the lock of lockFile, also for a copy of the descriptor in a program that was just forked.
func unlockFile(f *os.File) {
	l := unix.Flock_t{Type: unix.F_UNLCK, Whence: 0, Start: hubLockByte, Len: 1}
	_ = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &l)
}

// fileHolder returns the process that has the lock of lockFile, or 0. Only processes of the
// same account can be inspected.
func fileHolder(f *os.File) int {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	inode := info.Sys().(*syscall.Stat_t).Ino //nolint:forcetypeassert // on this system it always is
	lock := fmt.Sprintf(":%d %d %d", inode, hubLockByte, hubLockByte)
	descriptors, _ := filepath.Glob("/proc/[0-9]*/fdinfo/*")
	for _, d := range descriptors {
		text, err := os.ReadFile(d)
		if err != nil || !bytes.Contains(text, []byte("OFDLCK")) {
			continue
		}
		for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
			if strings.Contains(lines.Text(), "OFDLCK") && strings.HasSuffix(lines.Text(), lock) {
				pid, _ := strconv.Atoi(strings.Split(d, "/")[2])
				return pid
			}
		}
	}
	return 0
}
