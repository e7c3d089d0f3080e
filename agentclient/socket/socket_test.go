//go:build linux || darwin

package socket

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema/control"
)

// testDir is the account's directory in these tests.
var testDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "hookback") // the name of t.TempDir can be too long
	if err != nil {
		panic(err)
	}
	testDir = dir
	accountDir = func() (string, error) { return dir, nil }
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// shortDir returns a directory of a test whose path leaves room for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(testDir, "") //nolint:usetesting // the name of t.TempDir can be too long
	require.NoError(t, err)
	return dir
}

// listen serves HTTP on a Unix socket until the test ends. It answers with the Host header.
func listen(t *testing.T, path string) {
	t.Helper()
	ln, err := net.Listen("unix", path)
	require.NoError(t, err)
	serve(t, ln)
}

func serve(t *testing.T, ln net.Listener) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "socket "+r.Host)
	}))
	_ = server.Listener.Close()
	server.Listener = ln
	server.Start()
	t.Cleanup(server.Close)
}

func get(t *testing.T, address string) (string, error) {
	t.Helper()
	transport := NewTransport(&http.Transport{})
	t.Cleanup(transport.CloseIdleConnections)
	resp, err := (&http.Client{Transport: transport}).Get(address)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

// A client prefers the socket of the port and uses TCP if there is none or nothing listens.
func TestTransport_PrefersSocket(t *testing.T) {
	t.Parallel()
	tcp := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "tcp") }))
	t.Cleanup(tcp.Close)
	_, port, err := net.SplitHostPort(tcp.Listener.Addr().String())
	require.NoError(t, err)
	path := filepath.Join(testDir, port+".sock")

	got, err := get(t, tcp.URL)
	require.NoError(t, err)
	require.Equal(t, "tcp", got, "there is no file")

	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	stale.SetUnlinkOnClose(false)
	require.NoError(t, stale.Close())
	got, err = get(t, tcp.URL)
	require.NoError(t, err)
	require.Equal(t, "tcp", got, "nothing listens")
	require.NoError(t, os.Remove(path))

	listen(t, path)
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]"} {
		got, err = get(t, "http://"+host+":"+port)
		require.NoError(t, err)
		require.Equal(t, "socket "+host+":"+port, got)
	}

	require.NoError(t, os.Chmod(path, 0))
	if os.Geteuid() != 0 {
		got, err = get(t, tcp.URL)
		require.NoError(t, err)
		require.Equal(t, "tcp", got, "the hub excludes this account")
	}
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	_, err = get(t, tcp.URL)
	var unsafe *UnsafeError
	require.ErrorAs(t, err, &unsafe, "an unsafe socket is no reason to use TCP")
	require.NoError(t, os.Remove(path))
}

func TestTransport_SocketAddress(t *testing.T) {
	t.Parallel()
	path := filepath.Join(shortDir(t), "hub")
	listen(t, path)
	got, err := get(t, HTTPAddress("unix://"+path)+"/events")
	require.NoError(t, err)
	require.Equal(t, "socket localhost", got)

	_, err = get(t, HTTPAddress("unix://"+path+"x")+"/events")
	require.ErrorIs(t, err, ErrNone)
	var op *net.OpError
	require.ErrorAs(t, err, &op)
	require.Equal(t, "dial", op.Op)
	require.Equal(t, "http://hub:4000", HTTPAddress("http://hub:4000"))
}

func TestDialPath_RefusesUnsafeSocket(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[string]func(t *testing.T, path string){
		"not a socket": func(t *testing.T, path string) {
			require.NoError(t, os.Rename(path, path+"0"))
			require.NoError(t, os.Symlink(path+"0", path))
		},
		"others can write": func(t *testing.T, path string) { require.NoError(t, os.Chmod(filepath.Dir(path), 0o770)) },
		"it belongs to user id 65534": func(t *testing.T, path string) {
			requireRoot(t)
			require.NoError(t, os.Chown(path, 65534, -1))
		},
		"belongs to user id 65533": func(t *testing.T, path string) {
			requireRoot(t)
			require.NoError(t, os.Chown(filepath.Dir(path), 65533, -1))
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(shortDir(t), "hub")
			listen(t, path)
			conn, err := DialPath(context.Background(), path)
			require.NoError(t, err)
			require.NoError(t, conn.Close())
			spoil(t, path)
			_, err = DialPath(context.Background(), path)
			var unsafe *UnsafeError
			require.ErrorAs(t, err, &unsafe)
			require.ErrorContains(t, err, want)
			require.ErrorContains(t, err, path)
		})
	}
}

func requireRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can change the owner of a file")
	}
}

func TestPeer_NamesThisProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(shortDir(t), "hub")
	ln, err := net.Listen("unix", path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	client, err := net.Dial("unix", path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	server, err := ln.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Close() })
	for _, conn := range []net.Conn{client, server} {
		uid, pid, err := Peer(conn)
		require.NoError(t, err)
		require.EqualValues(t, os.Geteuid(), uid)
		require.Equal(t, os.Getpid(), pid)
	}
	pipe, _ := net.Pipe()
	_, _, err = Peer(pipe)
	require.Error(t, err)
}

// The environment, which an agent can set, does not move the socket.
func TestHubPath_IgnoresEnvironment(t *testing.T) {
	want, err := findAccountDir()
	require.NoError(t, err)
	for _, name := range []string{"HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"} {
		t.Setenv(name, t.TempDir())
	}
	got, err := findAccountDir()
	require.NoError(t, err)
	require.Equal(t, want, got)
	path, err := HubPath("4000")
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(path, "/4000.sock"))
}

// A file of freezes that can't be read freezes everything: the hub that wrote it may have done so.
func TestReadFreezes_UnreadableFreezesAll(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "4000.freezes")
	require.Empty(t, ReadFreezes(file))
	require.NoError(t, WriteFreezes(file, []control.Freeze{{Scope: control.FreezeApp, SourceApp: "a"}}, 0o600))
	require.False(t, ReadFreezes(file)[0].Stops("b", "s"))
	for _, text := range []string{"", "[", "{}"} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		require.True(t, ReadFreezes(file)[0].Stops("b", "s"), text)
	}
}
