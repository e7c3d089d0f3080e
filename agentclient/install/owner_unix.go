//go:build unix

package install

import (
	"os"
	"syscall"
)

// keepOwner gives f the owner of the file whose place it takes: sudo must not take
// a user's settings away.
func keepOwner(f *os.File, target string) error {
	was, err := os.Stat(target)
	if err != nil {
		return nil //nolint:nilerr // a new file is its maker's
	}
	is, err := f.Stat()
	if err != nil {
		return err
	}
	a, aok := was.Sys().(*syscall.Stat_t)
	b, bok := is.Sys().(*syscall.Stat_t)
	if !aok || !bok || a.Uid == b.Uid && a.Gid == b.Gid {
		return nil
	}
	return f.Chown(int(a.Uid), int(a.Gid))
}
