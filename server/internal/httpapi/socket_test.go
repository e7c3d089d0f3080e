package httpapi

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/socket"
	"github.com/hookback/hookback/schema"
)

// useSocket serves the harness on a Unix socket too and sends its requests there.
func (r *harness) useSocket() (path string) {
	r.t.Helper()
	if !socket.Supported {
		r.t.Skip("this system's sockets do not name accounts")
	}
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
