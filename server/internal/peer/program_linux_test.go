//go:build linux

package peer

import (
	"net"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestProgramOf_FindsManyAtOnce looks up the own end of many connections concurrently.
func TestProgramOf_FindsManyAtOnce(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	var group sync.WaitGroup
	for range 50 {
		client, err := net.Dial("tcp4", ln.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = client.Close() })
		accepted, err := ln.Accept()
		require.NoError(t, err)
		t.Cleanup(func() { _ = accepted.Close() })
		group.Go(func() {
			remote, local := endpoints(accepted)
			p, ok := ProgramOf(remote, local)
			if !ok || p.PID != os.Getpid() || p.Start == 0 {
				t.Errorf("found %v, %v", p, ok)
			}
		})
	}
	group.Wait()

	closed, err := net.Dial("tcp4", ln.Addr().String())
	require.NoError(t, err)
	accepted, err := ln.Accept()
	require.NoError(t, err)
	remote, local := endpoints(accepted)
	require.NoError(t, closed.Close())
	require.NoError(t, accepted.Close())
	_, ok := ProgramOf(remote, local)
	require.False(t, ok)
}
