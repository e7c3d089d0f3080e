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
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
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

// pipeConn is the server's end of such a connection, with addresses. It reports when the
// server starts to read or write.
type pipeConn struct {
	net.Conn
	received atomic.Int64
	reading  chan int64    // bytes received before each Read
	writing  chan struct{} // one value per Write
}

func (*pipeConn) LocalAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }
func (*pipeConn) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9999}
}

func (c *pipeConn) Read(p []byte) (int, error) {
	c.reading <- c.received.Load()
	n, err := c.Conn.Read(p)
	c.received.Add(int64(n))
	return n, err
}

func (c *pipeConn) Write(p []byte) (int, error) {
	c.writing <- struct{}{}
	return c.Conn.Write(p)
}

// allAccounts admits the connections of servePipe, whose owner the kernel does not know.
func allAccounts(c *Config) { c.LocalAccounts.All = true }

// servePipe serves one unbuffered connection. stop ends the server.
func (r *harness) servePipe() (agent net.Conn, server *pipeConn, stop func()) {
	r.t.Helper()
	ln := &pipeListener{accept: make(chan net.Conn), closed: make(chan struct{})}
	served := make(chan error, 1)
	go func() { served <- r.Serve(ln) }()
	agent, end := net.Pipe()
	server = &pipeConn{Conn: end, reading: make(chan int64, 1000), writing: make(chan struct{}, 1000)}
	ln.accept <- server
	require.NoError(r.t, agent.SetDeadline(time.Now().Add(waitLimit)))
	return agent, server, func() {
		_ = agent.Close()
		r.shutdown()
		require.NoError(r.t, <-served)
	}
}

// isResponseSent reports whether the hub may dial the agent of a question.
func (r *harness) isResponseSent(id schema.EventID) bool {
	ctx, cancel := context.WithCancel(r.t.Context())
	cancel() // does not wait
	return r.Hub.AwaitResponseSent(ctx, id) == nil
}

// TestAfterResponse_WaitsUntilClientReads: a version 1 agent blocks in its POST. A call
// before the response was sent would find no listener.
func TestAfterResponse_WaitsUntilClientReads(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, c net.Conn){
		"agent reads late": func(t *testing.T, c net.Conn) {
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			require.NoError(t, err)
			_, err = io.Copy(io.Discard, resp.Body)
			require.NoError(t, err)
			require.Equal(t, 200, resp.StatusCode)
		},
		"agent disconnects": func(t *testing.T, c net.Conn) { require.NoError(t, c.Close()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t, allAccounts)
			agent, server, stop := r.servePipe()
			for n, body := range []string{event(1), event(2, permission)} { // the second one on a used connection
				_, err := fmt.Fprintf(agent, "POST /events HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
				require.NoError(t, err)
				if n == 0 {
					resp, err := http.ReadResponse(bufio.NewReader(agent), nil)
					require.NoError(t, err)
					_, _ = io.Copy(io.Discard, resp.Body)
					<-server.writing
				}
			}
			id := schema.EventID(2)
			require.Eventually(t, func() bool { return r.store.Head() == int64(id) }, waitLimit, time.Millisecond)
			r.respond(id) // the person answers before the agent reads its response

			<-server.writing
			require.False(t, r.isResponseSent(id), "the agent has not read its 200")
			end(t, agent)
			require.Eventually(t, func() bool { return r.isResponseSent(id) }, waitLimit, time.Millisecond)
			stop()
		})
	}
}

// TestAfterResponse_WaitsForPipelinedResponse: with half of the next request buffered, the
// HTTP server delays the response and reads on.
func TestAfterResponse_WaitsForPipelinedResponse(t *testing.T) {
	t.Parallel()
	r := setup(t, allAccounts)
	agent, server, stop := r.servePipe()
	defer stop()
	first, next := event(1, permission), event(2)
	sent, err := fmt.Fprintf(agent, "POST /events HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%sPOST /events HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s",
		len(first), first, len(next), next[:10])
	require.NoError(t, err)
	for received := int64(0); received < int64(sent); {
		received = <-server.reading
	}
	require.EqualValues(t, 1, r.store.Head(), "the first request was handled before the server read on")
	require.False(t, r.isResponseSent(1), "its response waits for the next one")
	_, err = io.WriteString(agent, next[10:])
	require.NoError(t, err)
	replies := bufio.NewReader(agent)
	for range 2 {
		resp, err := http.ReadResponse(replies, nil)
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, resp.Body)
		require.Equal(t, 200, resp.StatusCode)
	}
	require.Eventually(t, func() bool { return r.isResponseSent(1) }, waitLimit, time.Millisecond)
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

// TestServer_AnswersHalfClosedConnections: a program may close its sending side after the request
// (nc -N, socat) and wait for the response. A program that is gone looks the same until data is
// sent to it (TestPull_EndsOnDisconnect).
func TestServer_AnswersHalfClosedConnections(t *testing.T) {
	t.Parallel()
	post := func(line, body string) string {
		return fmt.Sprintf("POST %s\r\nHost: HUB\r\nX-Claude-Entrypoint: cli\r\nContent-Length: %d\r\n\r\n%s", line, len(body), body)
	}
	const ask = `{"question":"half closed?"}`
	hook := hookSample(t, "PermissionRequest-Bash")
	for name, c := range map[string]struct{ request, want string }{
		"ask":                 {post("/ask HTTP/1.1", ask), `"permission":true`},
		"ask, limited":        {post("/ask HTTP/1.1\r\nPrefer: wait=60", ask), `"permission":true`},
		"hook":                {post(schema.PathClaudeCode+" HTTP/1.1", hook), `"behavior":"allow"`},
		"long poll":           {"GET " + schema.At(schema.PathResponse, 1) + "?wait=60 HTTP/1.1\r\nHost: HUB\r\n\r\n", `"permission":true`},
		"long poll, HTTP/1.0": {"GET " + schema.At(schema.PathResponse, 1) + "?wait=60 HTTP/1.0\r\nHost: HUB\r\n\r\n", `"permission":true`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t, fastHooks)
			if strings.HasPrefix(c.request, "GET") {
				r.post(event(1, permission))
			}
			conn, err := net.Dial("tcp", r.addr)
			require.NoError(t, err)
			defer func() { _ = conn.Close() }()
			require.NoError(t, conn.SetDeadline(time.Now().Add(waitLimit)))
			_, err = io.WriteString(conn, strings.Replace(c.request, "HUB", r.addr, 1))
			require.NoError(t, err)
			require.NoError(t, conn.(*net.TCPConn).CloseWrite())
			r.waitForQuestion(1)
			in := bufio.NewReader(conn)
			read := func() *http.Response {
				resp, err := http.ReadResponse(in, nil)
				require.NoError(t, err)
				return resp
			}
			resp, heartbeats := (*http.Response)(nil), make([]byte, 5)
			switch name {
			case "ask", "hook":
				resp = read()
				_, err = io.ReadFull(resp.Body, heartbeats)
				require.NoError(t, err)
				require.Equal(t, "     ", string(heartbeats))
			case "ask, limited", "long poll":
				require.Equal(t, 100, read().StatusCode)
				require.Equal(t, 100, read().StatusCode)
			}
			r.respond(1)
			if resp == nil {
				resp = read()
			}
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Contains(t, string(body), c.want)
		})
	}
}

// TestPull_KeepsConnectionUsable: reading ahead to detect a disconnect must not consume the
// next request.
func TestPull_KeepsConnectionUsable(t *testing.T) {
	t.Parallel()
	r := setup(t, func(c *Config) { c.ReadTimeout, c.WriteTimeout = 500*time.Millisecond, 500*time.Millisecond })
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
	require.Equal(t, 204, read(), "the wait is longer than ReadTimeout")
	_, err = io.WriteString(c, health)
	require.NoError(t, err)
	require.Equal(t, 200, read())
	_, err = io.WriteString(c, pull)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return r.conns.Count() >= 1 }, waitLimit, time.Millisecond)
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
	require.Eventually(t, func() bool { return r.places.InUse(middleware.WaitingPlace) == 1 }, waitLimit, time.Millisecond)
	r.shutdown()
	require.Contains(t, []int{204, 503}, <-status)
	require.NotContains(t, r.log.String(), forcedClose)
	http.DefaultClient.CloseIdleConnections()
}
