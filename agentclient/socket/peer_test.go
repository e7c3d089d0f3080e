//go:build linux

package socket

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program of another account listens on a socket file that looks right.
func TestDialPath_RefusesOtherListener(t *testing.T) {
	t.Parallel()
	requireRoot(t)
	dir := shortDir(t)
	path := filepath.Join(dir, "hub")
	require.NoError(t, os.Chmod(testDir, 0o755))
	require.NoError(t, os.Chown(dir, 65534, -1))
	serve(t, listenAs(t, 65534, path))
	require.NoError(t, os.Chown(dir, 0, -1))
	require.NoError(t, os.Chown(path, 0, -1))
	_, err := DialPath(context.Background(), path)
	require.ErrorContains(t, err, "a program of user id 65534 listens on it")
}

// listenAs listens on a Unix socket as another account.
func listenAs(t *testing.T, uid int, path string) net.Listener {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// The syscall package would change the account of every thread.
	_, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0))
	require.Zero(t, errno)
	ln, err := net.Listen("unix", path)
	_, _, errno = syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), 0, ^uintptr(0))
	require.Zero(t, errno)
	require.NoError(t, err)
	return ln
}
