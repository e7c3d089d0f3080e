//go:build linux || darwin || freebsd

package sqlite

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Network disks answer a lock with these errors. No file system of a test does.
func TestLockError_NamesLocalDiskAsCure(t *testing.T) {
	t.Parallel()
	for _, code := range []syscall.Errno{unix.ENOLCK, unix.ENOTSUP, unix.EOPNOTSUPP, unix.ENOSYS} {
		err := lockError("/net/hub.db", os.NewSyscallError("flock", code))
		require.ErrorIs(t, err, code)
		require.ErrorContains(t, err, "/net/hub.db does not support locks")
		require.ErrorContains(t, err, "nothing was stored; choose a file on a local disk with -db")
	}
	require.NotContains(t, lockError("/hub.db", unix.EIO).Error(), "does not support")
}
