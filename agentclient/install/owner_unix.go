//go:build unix

package install

import (
	"os"
	"syscall"
)

// keepOwner gives the new file the owner of the target that it replaces, so that a run with
// sudo doesn't make root the owner of a user's settings.
func keepOwner(target string) func(*os.File) error {
	return func(f *os.File) error {
		targetInfo, err := os.Stat(target)
		if err != nil {
			return nil //nolint:nilerr // a new file belongs to the current user
		}
		fileInfo, err := f.Stat()
		if err != nil {
			return err
		}
		a, aok := targetInfo.Sys().(*syscall.Stat_t)
		b, bok := fileInfo.Sys().(*syscall.Stat_t)
		if !aok || !bok || a.Uid == b.Uid && a.Gid == b.Gid {
			return nil
		}
		return f.Chown(int(a.Uid), int(a.Gid))
	}
}
