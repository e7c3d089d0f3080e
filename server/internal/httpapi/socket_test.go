//go:build linux

package httpapi

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// useSocket serves the harness on a Unix socket too and sends its requests there.
func (r *harness) useSocket() (path string) {
	r.t.Helper()
	dir, err := os.MkdirTemp("", "hookback") // the name of t.TempDir can be too long
	require.NoError(r.t, err)
	require.NoError(r.t, os.Chmod(dir, 0o755))
	r.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path = filepath.Join(dir, "s")
	ln, err := net.Listen("unix", path)
	require.NoError(r.t, err)
	require.NoError(r.t, os.Chmod(path, 0o666))
	address, err := net.ResolveTCPAddr("tcp", r.addr)
	require.NoError(r.t, err)
	served := make(chan error, 1)
	go func() { served <- r.ServeSocket(ln, address) }()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	r.client = &http.Client{Transport: transport, Timeout: waitLimit}
	r.t.Cleanup(func() {
		transport.CloseIdleConnections()
		r.shutdown()
		require.NoError(r.t, <-served)
	})
	return path
}

func TestSocket_CallerIsLocal(t *testing.T) {
	t.Parallel()
	r := setup(t, func(c *Config) {
		c.TrustProxy, c.ProxyHeader = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, "X-User"
	})
	r.useSocket()
	question := r.post(event(1, permission))
	r.expectOK(nil, "GET "+schema.PathRecent, "", "Host", "localhost")
	resp, _ := r.do("GET", schema.PathRecent, "", "Host", "evil.example")
	require.Equal(t, http.StatusMisdirectedRequest, resp.StatusCode)
	r.expectProblem("sign_in", "GET "+schema.PathRecent, "", "X-Forwarded-For", "192.0.2.1")

	var answered schema.Event
	r.expectOK(&answered, "POST "+schema.At(schema.PathRespond, question.ID), `{"permission":true}`, "X-User", "mallory")
	require.NotEqual(t, "mallory", answered.HumanInTheLoopStatus.RespondedBy.Name, "the socket is no trusted proxy")
}

func TestSocket_LockedHubCanBeRead(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.useSocket()
	ada := r.owner("ada")
	question := r.post(event(1, permission))
	r.expectOK(nil, "POST "+schema.PathLock, `{"locked":true}`, ada.headers()...)
	r.expectOK(nil, "GET "+schema.PathRecent, "")
	r.expectOK(nil, "POST "+schema.PathEvents, event(2))
	r.expectProblem("sign_in", "POST "+schema.At(schema.PathRespond, question.ID), `{"permission":true}`)
}

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
