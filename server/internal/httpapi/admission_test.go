package httpapi

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
)

// fewPlaces fills quickly.
func fewPlaces(c *Config) {
	c.Places = middleware.PlaceLimits{Waiting: middleware.PlaceLimit{Total: 4, PerOwner: 2}, Streams: middleware.PlaceLimit{Total: 2, PerOwner: 2}, Idle: 8}
}

// openWait sends a long poll for the answer to a question and does not read the response.
func (r *harness) openWait(id schema.EventID) *bufio.Reader {
	c, err := net.Dial("tcp", r.addr)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = c.Close() })
	_, err = fmt.Fprintf(c, "GET %s?wait=60 HTTP/1.1\r\nHost: %s\r\n\r\n", schema.At(schema.PathResponse, id), r.addr)
	require.NoError(r.t, err)
	return bufio.NewReader(c)
}

// TestAdmission_WaitingRequestsLeaveRoom fills the places of waiting requests and of streams without
// a person. Other requests are served, and a refusal has a Retry-After.
func TestAdmission_WaitingRequestsLeaveRoom(t *testing.T) {
	t.Parallel()
	r := setup(t, fewPlaces)
	ada := r.owner("ada")
	r.expectOK(nil, "POST "+schema.PathLock, `{"locked":false}`, ada.headers()...)
	_, mine := r.createToken(ada, `{"name":"mine","person":"ada"}`)
	question := r.post(event(1, permission))
	waits := make([]*bufio.Reader, 4)
	for i := range waits {
		waits[i] = r.openWait(question.ID)
	}
	require.Eventually(t, func() bool { return r.places.InUse(middleware.WaitingPlace) == 4 }, waitLimit, time.Millisecond)
	resp, body := r.do("GET", schema.At(schema.PathResponse, question.ID)+"?wait=60", "")
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode, "%s", body)
	require.Equal(t, "application/problem+json", resp.Header.Get("Content-Type"))
	require.Contains(t, string(body), `"code":"busy"`)
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, seconds, 1)
	require.LessOrEqual(t, seconds, 5)
	r.expectOK(nil, "GET "+schema.At(schema.PathEvent, question.ID), "", ada.headers()...)

	for range 2 {
		dial(r, schema.PathStream)
	}
	_, refused, err := websocket.Dial(t.Context(), "ws://"+r.addr+schema.PathStream, nil) //nolint:bodyclose // Dial closes it
	require.Error(t, err)
	require.Equal(t, http.StatusServiceUnavailable, refused.StatusCode)
	conn, _, err := websocket.Dial(t.Context(), "ws://"+r.addr+schema.PathStream, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {mine[1]}}})
	require.NoError(t, err, "a person's stream has a place of its own")
	require.NoError(t, conn.CloseNow())

	r.answer(question.ID, `{"permission":true}`)
	for _, in := range waits {
		line, err := in.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "HTTP/1.1 200 OK\r\n", line)
	}
	require.Eventually(t, func() bool { return r.places.InUse(middleware.WaitingPlace) == 0 }, waitLimit, time.Millisecond, "places are given back")
	require.Eventually(t, func() bool { return r.places.InUse(middleware.SignedInPlace) == 0 }, waitLimit, time.Millisecond)
	resp, metrics := r.do("GET", schema.PathMetrics, "")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Contains(t, string(metrics), `hookback_http_refused_total{class="waiting"} 1`)
	require.Contains(t, string(metrics), `hookback_http_places_used{class="streams"} 2`)
}

// TestAdmission_ClosesOldestIdleConnection opens connections that never complete a request.
func TestAdmission_ClosesOldestIdleConnection(t *testing.T) {
	t.Parallel()
	r := setup(t, fewPlaces)
	stream := dial(r, schema.PathStream+"?v=2")
	wait := r.openWait(r.post(event(1, permission)).ID)
	require.Eventually(t, func() bool { return r.places.InUse(middleware.WaitingPlace) == 1 }, waitLimit, time.Millisecond)
	conns := make([]net.Conn, 9) // one more than there is room for, besides the client's own
	for i := range conns {
		c, err := net.Dial("tcp", r.addr)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		part := []string{"", "GET / HTTP/1.1\r\nHo", "POST /events HTTP/1.1\r\nHost: " + r.addr + "\r\nContent-Length: 100\r\n\r\n{"}[i%3]
		_, err = io.WriteString(c, part)
		require.NoError(t, err)
		conns[i] = c
	}
	require.NoError(t, conns[0].SetReadDeadline(time.Now().Add(waitLimit)))
	_, err := conns[0].Read(make([]byte, 1))
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the hub closes the oldest")
	require.LessOrEqual(t, r.conns.IdleCount(), 8)

	resp, _ := r.do("GET", schema.PathHealth, "")
	require.Equal(t, http.StatusOK, resp.StatusCode, "a new connection gets through")
	_, err = stream.read()
	require.NoError(t, err, "a stream is not idle")
	r.post(event(2))
	_, err = stream.read()
	require.NoError(t, err)
	r.answer(1, `{"permission":true}`)
	line, err := wait.ReadString('\n')
	require.NoError(t, err, "a waiting request is not idle")
	require.Equal(t, "HTTP/1.1 200 OK\r\n", line)
}
