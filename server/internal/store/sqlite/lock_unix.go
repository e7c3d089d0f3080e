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

// lock takes the lock that keeps a second hub off the database. It locks a separate
// file, since locks on the database itself belong to SQLite. The lock ends with the
// process.
func lock(file string) (io.Closer, error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create the database's lock file: %w", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		err = writePID(f)
	} else if errors.Is(err, unix.EWOULDBLOCK) {
		err = fmt.Errorf("%w%s; nothing was changed; stop that hub, or choose another file with -db", store.ErrLocked, holder(f))
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func holder(f *os.File) string {
	b := make([]byte, 20)
	n, _ := f.ReadAt(b, 0)
	if pid, err := strconv.Atoi(strings.TrimSpace(string(b[:n]))); err == nil {
		return fmt.Sprintf(" (process %d)", pid)
	}
	return ""
}
