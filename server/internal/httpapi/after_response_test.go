package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// pipeListener is a listener of unbuffered connections: a write returns when the peer has
// read it.
type pipeListener struct {
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-p.accept:
		return c, nil
	case <-p.closed:
		return nil, io.EOF
	}
}
func (p *pipeListener) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

// pipeConn is the server's end of such a connection, with addresses.
type pipeConn struct{ net.Conn }

func (pipeConn) LocalAddr() net.Addr  { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }
func (pipeConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9999} }

// TestAfterResponse_WaitsUntilClientReads: a version 1 agent blocks in its POST. A call
// before the response was sent would find no listener.
func TestAfterResponse_WaitsUntilClientReads(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, c net.Conn){
		"it reads slowly": func(t *testing.T, c net.Conn) {
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			require.NoError(t, err)
			_, err = io.Copy(io.Discard, resp.Body)
			require.NoError(t, err)
			require.Equal(t, 200, resp.StatusCode)
		},
		"it dies": func(t *testing.T, c net.Conn) { require.NoError(t, c.Close()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			ln := &pipeListener{accept: make(chan net.Conn), closed: make(chan struct{})}
			served := make(chan error, 1)
			go func() { served <- r.Serve(ln) }()
			agent, server := net.Pipe()
			ln.accept <- pipeConn{server}
			for n, body := range []string{event(1), event(2, permission)} { // the second one on a used connection
				_, err := fmt.Fprintf(agent, "POST /events HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
				require.NoError(t, err)
				if n == 0 {
					resp, err := http.ReadResponse(bufio.NewReader(agent), nil)
					require.NoError(t, err)
					_, _ = io.Copy(io.Discard, resp.Body)
				}
			}
			id := schema.EventID(2)
			require.Eventually(t, func() bool { return r.store.Head() == int64(id) }, waitLimit, time.Millisecond)
			r.respond(id) // the person answers before the agent reads its response

			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			require.ErrorIs(t, r.Hub.AwaitResponseSent(ctx, id), context.DeadlineExceeded, "the agent has not read its 200")
			end(t, agent)
			ctx, cancel = context.WithTimeout(t.Context(), waitLimit)
			defer cancel()
			start := time.Now()
			require.NoError(t, r.Hub.AwaitResponseSent(ctx, id))
			require.Less(t, time.Since(start), 5*time.Second)
			_ = agent.Close()
			r.shutdown()
			require.NoError(t, <-served)
		})
	}
}

// TestAfterResponse_WaitsForPipelinedResponse: with half of the next request buffered, the
// HTTP server delays the response and reads on.
func TestAfterResponse_WaitsForPipelinedResponse(t *testing.T) {
	t.Parallel()
	r := setup(t)
	c, err := net.Dial("tcp", r.addr)
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	require.NoError(t, c.SetDeadline(time.Now().Add(waitLimit)))
	asks, next := event(1, permission), event(2)
	_, err = fmt.Fprintf(c, "POST /events HTTP/1.1\r\nHost: %[1]s\r\nContent-Length: %[2]d\r\n\r\n%[3]sPOST /events HTTP/1.1\r\nHost: %[1]s\r\nContent-Length: %[4]d\r\n\r\n%[5]s",
		r.addr, len(asks), asks, len(next), next[:10])
	require.NoError(t, err)
	require.Eventually(t, func() bool { return r.store.Head() == 1 }, waitLimit, time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, r.Hub.AwaitResponseSent(ctx, 1), context.DeadlineExceeded, "its response waits for the next one")
	_, err = io.WriteString(c, next[10:])
	require.NoError(t, err)
	replies := bufio.NewReader(c)
	for range 2 {
		resp, err := http.ReadResponse(replies, nil)
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, resp.Body)
		require.Equal(t, 200, resp.StatusCode)
	}
	require.NoError(t, r.Hub.AwaitResponseSent(t.Context(), 1))
}

// TestPull_EndsOnDisconnect: an agent that died during its long poll must not count as
// having its answer.
func TestPull_EndsOnDisconnect(t *testing.T) {
	t.Parallel()
	r := setup(t)
	question := r.post(event(1, permission))
	c, err := net.Dial("tcp", r.addr)
	require.NoError(t, err)
	_, err = fmt.Fprintf(c, "GET %s?wait=60 HTTP/1.1\r\nHost: %s\r\n%s: %s\r\n\r\n",
		schema.At(schema.PathResponse, question.ID), r.addr, schema.SecretHeader, question.RequestSecret)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return strings.Contains(r.metrics(), "hookback_connections 2\n") }, waitLimit, time.Millisecond)
	require.NoError(t, c.Close())
	require.Eventually(t, func() bool {
		return strings.Contains(r.metrics(), `route="/events/:id/response",status="204"} 1`)
	}, waitLimit, time.Millisecond, "the handler has ended")
	r.respond(question.ID)
	q, err := r.store.Question(t.Context(), question.ID)
	require.NoError(t, err)
	require.NotEqual(t, schema.Pulled, q.Delivery.State)
}

// TestPull_KeepsConnectionUsable: reading ahead to detect a disconnect must not consume the
// next request.
func TestPull_KeepsConnectionUsable(t *testing.T) {
	t.Parallel()
	r := setup(t, func(c *Config) { c.ReadTimeout, c.WriteTimeout = 100*time.Millisecond, 100*time.Millisecond })
	question := r.post(event(1, permission))
	c, err := net.Dial("tcp", r.addr)
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	require.NoError(t, c.SetDeadline(time.Now().Add(waitLimit)))
	replies := bufio.NewReader(c)
	read := func() int {
		resp, err := http.ReadResponse(replies, nil)
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode
	}
	pull := fmt.Sprintf("GET %s?wait=1 HTTP/1.1\r\nHost: %s\r\n\r\n", schema.At(schema.PathResponse, question.ID), r.addr)
	health := fmt.Sprintf("GET /healthz HTTP/1.1\r\nHost: %s\r\n\r\n", r.addr)
	_, err = io.WriteString(c, pull)
	require.NoError(t, err)
	require.Equal(t, 204, read(), "it waited longer than a request may take to arrive")
	_, err = io.WriteString(c, health)
	require.NoError(t, err)
	require.Equal(t, 200, read())
	_, err = io.WriteString(c, pull)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return r.conns.count() >= 1 }, waitLimit, time.Millisecond)
	_, err = io.WriteString(c, health) // before the pull is answered
	require.NoError(t, err)
	require.Equal(t, 204, read())
	require.Equal(t, 200, read())
}

func TestPull_EndsOnShutdown(t *testing.T) {
	t.Parallel()
	r := setup(t)
	question := r.post(event(1, permission))
	status := make(chan int, 1)
	go func() {
		resp, err := http.Get("http://" + r.addr + schema.At(schema.PathResponse, question.ID) + "?wait=60") //nolint:noctx // the server stops
		if err != nil {
			status <- 0
			return
		}
		_ = resp.Body.Close()
		status <- resp.StatusCode
	}()
	// An open connection is not enough: one without a request is just closed.
	require.Eventually(t, func() bool {
		used := 0
		r.conns.each(func(c *conn) {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.hasRead {
				used++
			}
		})
		return used == 2
	}, waitLimit, time.Millisecond)
	start := time.Now()
	r.shutdown()
	require.Contains(t, []int{204, 503}, <-status)
	require.Less(t, time.Since(start), 4*time.Second)
	http.DefaultClient.CloseIdleConnections()
}
