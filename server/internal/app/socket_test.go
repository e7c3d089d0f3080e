//go:build linux || darwin

package app

import (
	"context"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shortDir returns a temporary directory whose path leaves room for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hookback") //nolint:usetesting // the name of t.TempDir can be too long
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestSocket_ServesAndIsRemoved(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.Socket = filepath.Join(shortDir(t), "run", "4000.sock")
	out := &output{}
	cfg.Stdout = out
	_, stop := startHub(t, cfg)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", cfg.Socket)
	}}}
	resp, err := client.Get("http://localhost/healthz")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Contains(t, out.String(), "Socket      "+cfg.Socket)
	info, err := os.Stat(cfg.Socket)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	info, err = os.Stat(filepath.Dir(cfg.Socket))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o700), info.Mode().Perm())

	second := testConfig(t)
	second.Socket = cfg.Socket
	_, err = New(t.Context(), second)
	require.ErrorContains(t, err, "another program listens")
	stop()
	require.NoFileExists(t, cfg.Socket)
}

// A killed hub leaves its socket.
func TestSocket_StaleFileIsReplaced(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.Socket = filepath.Join(shortDir(t), "s")
	old, err := net.ListenUnix("unix", &net.UnixAddr{Name: cfg.Socket, Net: "unix"})
	require.NoError(t, err)
	old.SetUnlinkOnClose(false)
	require.NoError(t, old.Close())
	require.FileExists(t, cfg.Socket)
	cfg.LocalUsers = []string{"all"}
	startHub(t, cfg)
	conn, err := net.Dial("unix", cfg.Socket)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	info, err := os.Stat(cfg.Socket)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o666), info.Mode().Perm(), "other accounts are admitted")
}

func TestSocket_UnusablePaths(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, []byte("precious"), 0o600))
	shared := filepath.Join(dir, "shared")
	require.NoError(t, os.Mkdir(shared, 0o700))
	require.NoError(t, os.Chmod(shared, 0o777))
	for path, want := range map[string]string{
		file:                         "not a socket",
		filepath.Join(shared, "s"):   "others can write",
		filepath.Join(file, "s"):     "not a directory",
		"/proc/self/hookback/4.sock": "-socket",
	} {
		cfg := testConfig(t)
		cfg.Socket = path
		_, err := New(t.Context(), cfg)
		require.ErrorContains(t, err, want, path)
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "precious", string(text))

	cfg := testConfig(t)
	cfg.Socket = filepath.Join(dir, strings.Repeat("x", 103))
	out := &output{}
	cfg.Stderr = out
	a, _ := startHub(t, cfg)
	require.Nil(t, a.socket)
	require.Equal(t, 1, strings.Count(out.String(), "too long"), out.String())
}
