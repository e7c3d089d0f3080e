//go:build linux || darwin

package agentclient_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/socket"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/hubtest"
)

// TestClient_UnixSocket asks through a hub's socket. The hub calls back over TCP.
func TestClient_UnixSocket(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "hookback") //nolint:usetesting // the name of t.TempDir can be too long
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "hub.sock")
	r := &realHub{server: hubtest.Start(t, hubtest.Socket(path))}
	r.ctx = testContext(t)
	options := agentclient.Options{Hubs: []string{"unix://" + path}, OnUnreachable: agentclient.Allow}
	r.client = agentclient.NewWithTimings(options, agentclient.Timings{WithdrawTimeout: 30 * time.Second, Grace: 30 * time.Second})
	t.Cleanup(func() { _ = r.client.Close() })

	id, got := r.postQuestion(r.ctx, agentclient.Request{Question: "May I?"})
	_, err = r.request("POST", schema.At(schema.PathRespond, id), schema.Response{Permission: new(true)})
	require.NoError(t, err)
	answer := <-got
	require.NoError(t, answer.err)
	require.True(t, answer.Approved())

	// An unsafe socket is not the same as no hub, which Allow would approve.
	require.NoError(t, os.Chmod(dir, 0o777))
	client := newClient(t, options, agentclient.Timings{})
	d, err := client.AskPermission(r.ctx, "May I?")
	require.ErrorAs(t, err, new(*socket.UnsafeError))
	require.False(t, d.Approved())

	require.NoError(t, os.Chmod(dir, 0o700))
	r.server.Stop()
	d, err = newClient(t, options, agentclient.Timings{}).AskPermission(r.ctx, "May I?")
	require.NoError(t, err)
	require.Equal(t, agentclient.NoHub, d.Source, "no file")
}
