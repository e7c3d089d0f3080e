//go:build unix

package agentclient

import (
	"fmt"
	"os"
	"syscall"
)

// checkOwner returns an error unless f belongs to one of the user ids and its mode has only
// the bits in allowed.
func checkOwner(f *os.File, allowed os.FileMode, owners ...int) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%s: the owner can't be determined", f.Name())
	}
	for _, uid := range owners {
		if int(stat.Uid) != uid {
			continue
		}
		if extra := info.Mode().Perm() &^ allowed; extra != 0 {
			return fmt.Errorf("%s has mode %04o; it may have at most %04o (chmod %o)", f.Name(), info.Mode().Perm(), allowed, info.Mode().Perm()&allowed)
		}
		return nil
	}
	return fmt.Errorf("%s belongs to user id %d, not to %d", f.Name(), stat.Uid, owners[0])
}
