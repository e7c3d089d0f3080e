package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/peer"
)

// fullListener fails to accept a number of times, like a process without free file
// descriptors.
type fullListener struct {
	net.Listener
	failures atomic.Int32 // failures left
	err      error
}

func (l *fullListener) Accept() (net.Conn, error) {
	if l.failures.Add(-1) >= 0 {
		return nil, l.err
	}
	return l.Listener.Accept()
}

// countingProcesses counts how often a process is looked up.
type countingProcesses struct {
	lookups atomic.Int32
	found   *peer.Process
}

func (p *countingProcesses) ProcessOf(netip.AddrPort, netip.AddrPort) (*peer.Process, bool) {
	p.lookups.Add(1)
	return p.found, p.found != nil
}

// The process at the other end is looked up once for each connection that asks or answers, and
// never for one that does neither.
func TestCaller_ProcessIsFoundOncePerConnection(t *testing.T) {
	t.Parallel()
	processes := &countingProcesses{found: &peer.Process{Program: peer.Program{PID: 4711}, Boot: "b", Chain: []peer.ProcessRef{{PID: 4711, Start: 1}}}}
	r := setup(t, func(c *Config) { c.Hub.Processes = processes })
	r.post(event(1))
	require.Zero(t, processes.lookups.Load())
	for connection := range int32(2) {
		for range 3 {
			asked := r.post(event(2, `"humanInTheLoop":{"question":"q","type":"permission"}`))
			r.answer(asked.ID, `{"permission":true}`)
		}
		require.Equal(t, connection+1, processes.lookups.Load())
		r.client.CloseIdleConnections()
	}
}

func newFullListener(t *testing.T, refusals int32, errno syscall.Errno) *fullListener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := &fullListener{Listener: ln, err: &net.OpError{Op: "accept", Net: "tcp", Addr: ln.Addr(), Err: os.NewSyscallError("accept4", errno)}}
	l.failures.Store(refusals)
	return l
}

// TestListener_RetriesWhenOutOfFileDescriptors: the HTTP server treats EMFILE as the end of
// its listener, and a hub whose listener ends stops.
func TestListener_RetriesWhenOutOfFileDescriptors(t *testing.T) {
	t.Parallel()
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE} {
		r := setup(t)
		ln := newFullListener(t, 2, errno)
		served := make(chan error, 1)
		go func() { served <- r.Serve(ln) }()

		resp, err := r.client.Get("http://" + ln.Addr().String() + "/healthz")
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.Contains(t, r.log.String(), "accept failed")

		r.client.CloseIdleConnections()
		r.shutdown()
		require.NoError(t, <-served)
	}
}

func TestListener_StopsWhileOutOfFileDescriptors(t *testing.T) {
	t.Parallel()
	r := setup(t)
	served := make(chan error, 1)
	ln := newFullListener(t, 1<<30, syscall.EMFILE)
	go func() { served <- r.Serve(ln) }()
	require.Eventually(t, func() bool { return ln.failures.Load() < 1<<30 }, waitLimit, time.Millisecond)
	r.shutdown()
	require.NoError(t, <-served)
}
