package httpapi

import (
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
