package httpapi

import (
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSocket_OtherAccountIsDisconnected: nothing that another account sends is read.
func TestSocket_OtherAccountIsDisconnected(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can connect as another account")
	}
	for _, admitted := range []bool{false, true} {
		r := setup(t, func(c *Config) {
			if admitted {
				c.LocalAccounts.UIDs = []uint32{65534}
			}
		})
		path := r.useSocket()
		conn := dialAs(t, 65534, path)
		_, err := io.WriteString(conn, "POST /events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
		if err == nil {
			var b []byte
			b, err = io.ReadAll(conn)
			require.Equal(t, admitted, strings.HasPrefix(string(b), "HTTP/1.1 400 "), "%s %v", b, err)
			continue
		}
		require.False(t, admitted, err)
	}
}

// dialAs connects to a Unix socket as another account.
func dialAs(t *testing.T, uid int, path string) net.Conn {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// The syscall package would change the account of every thread.
	_, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0))
	require.Zero(t, errno)
	conn, err := net.Dial("unix", path)
	_, _, errno = syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), 0, ^uintptr(0))
	require.Zero(t, errno)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(waitLimit)))
	return conn
}
