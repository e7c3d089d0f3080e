package httpapi

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// openConn opens a connection and sends text on it.
func (r *harness) openConn(text string) *net.TCPConn {
	r.t.Helper()
	c, err := net.Dial("tcp", r.addr)
	require.NoError(r.t, err)
	require.NoError(r.t, c.SetDeadline(time.Now().Add(waitLimit)))
	r.t.Cleanup(func() { _ = c.Close() })
	_, _ = io.WriteString(c, text) // the server may close it during the write
	return c.(*net.TCPConn)
}

// readResponse reads the next response on a connection and discards its body.
func readResponse(t *testing.T, from *bufio.Reader) *http.Response {
	t.Helper()
	resp, err := http.ReadResponse(from, nil)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	return resp
}

func (r *harness) stalledRequest(announced, sent int) string {
	return fmt.Sprintf("POST /events HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", r.addr, announced, strings.Repeat(" ", sent))
}

// TestBodyLimiter_ContentLengthReservesNothing: 300 connections that announce the largest
// allowed body and then stall would reserve 2.4 GB.
//
//nolint:paralleltest // it counts all that is allocated
func TestBodyLimiter_ContentLengthReservesNothing(t *testing.T) {
	r := setup(t, func(c *Config) { c.ReadTimeout = time.Minute })
	r.post(event(1))
	stalled := r.stalledRequest(schema.MaxBody, 20<<10)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	conns := make([]*net.TCPConn, 300)
	for i := range conns {
		conns[i] = r.openConn(stalled)
	}
	require.Eventually(t, func() bool {
		return r.bodies.Reserved() >= int64(len(conns))*(16<<10)
	}, waitLimit, time.Millisecond, "all requests wait for the rest of their body")
	r.post(event(2))
	for _, c := range conns {
		require.NoError(t, c.CloseWrite())
		require.Equal(t, http.StatusBadRequest, readResponse(t, bufio.NewReader(c)).StatusCode, "a truncated body is not stored")
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(len(conns)*schema.MaxBody/32))
	require.Equal(t, int64(2), r.store.Head())
	require.Eventually(t, func() bool { return r.bodies.Reserved() == 0 }, waitLimit, time.Millisecond)
}

// TestBodyLimiter_SharesBudget checks that large bodies beyond the budget get 503 and other
// requests are not affected.
func TestBodyLimiter_SharesBudget(t *testing.T) {
	t.Parallel()
	const budget = 1 << 20
	r := setup(t, func(c *Config) { c.BodyBudget, c.ReadTimeout = budget, time.Minute })
	first := r.openConn(r.stalledRequest(schema.MaxBody, 512<<10))
	require.Eventually(t, func() bool { return r.bodies.Reserved() > budget/3 }, waitLimit, time.Millisecond)
	second := r.openConn(r.stalledRequest(schema.MaxBody, 700<<10))
	resp := readResponse(t, bufio.NewReader(second))
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	require.Regexp(t, "^[1-5]$", resp.Header.Get("Retry-After"))
	require.NotEmpty(t, resp.Header.Get("Content-Security-Policy"))
	require.LessOrEqual(t, r.bodies.Reserved(), int64(budget))
	r.post(event(1))
	require.NoError(t, first.Close())
	require.Eventually(t, func() bool { return r.bodies.Reserved() == 0 }, waitLimit, time.Millisecond)
	r.post(event(2, `"summary":"`+strings.Repeat("y", 500<<10)+`"`))
}

// TestServer_SkipsByteOrderMark: curl --data-binary sends a file of PowerShell 5.1 unchanged.
func TestServer_SkipsByteOrderMark(t *testing.T) {
	t.Parallel()
	r := setup(t)
	require.EqualValues(t, 1, r.post("\ufeff"+event(1)+"\r\n").ID)
	resp, body := r.do("POST", "/events", "\ufeff", "Content-Type", "application/json")
	require.Equal(t, 400, resp.StatusCode, string(body))
}

// TestBodyLimiter_PreventsRequestSmuggling: the server would parse the unread rest of a
// body as a request of the same client.
func TestBodyLimiter_PreventsRequestSmuggling(t *testing.T) {
	t.Parallel()
	r := setup(t)
	smuggled := "POST /events HTTP/1.1\r\nHost: " + r.addr + "\r\nContent-Length: " + fmt.Sprint(len(event(666))) + "\r\n\r\n" + event(666)
	padding := strings.Repeat(" ", 20<<10)
	with := func(line, body string, headers ...string) string {
		return line + " HTTP/1.1\r\nHost: " + r.addr + "\r\n" + strings.Join(append(headers, ""), "\r\n") +
			"Content-Length: " + fmt.Sprint(len(body)) + "\r\n\r\n" + body
	}
	requests := []struct {
		text   string
		status int
	}{
		{with("POST /events", event(1)), 200},
		{with("BREW /events", padding+smuggled), 405},
		{with("POST /nowhere", padding+smuggled), 404},
		{with("GET /healthz", padding+smuggled), 200},
		{with("POST /events", padding+smuggled, "Origin: http://evil.example"), 403},
		{with("POST /events", padding+event(2)+padding), 200},
		{"POST /events HTTP/1.1\r\nHost: " + r.addr + "\r\nTransfer-Encoding: chunked\r\n\r\n" +
			fmt.Sprintf("%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n", len(padding), padding, len(event(3)), event(3)), 200},
		{with("POST /events", ""), 400},
		{with("POST /events", event(4)), 200},
	}
	var all strings.Builder
	for _, q := range requests {
		all.WriteString(q.text)
	}
	answers := bufio.NewReader(r.openConn(all.String()))
	for i, q := range requests {
		require.Equal(t, q.status, readResponse(t, answers).StatusCode, "%d", i)
	}
	require.Equal(t, int64(4), r.store.Head())

	tooLarge := r.openConn(r.stalledRequest(schema.MaxBody+1, 30<<10) + smuggled)
	from := bufio.NewReader(tooLarge)
	require.Equal(t, http.StatusRequestEntityTooLarge, readResponse(t, from).StatusCode)
	_, err := from.ReadByte()
	require.Error(t, err, "the rest of an unread body is not parsed as a request")
	require.Equal(t, int64(4), r.store.Head())
}

// TestServer_RejectsTwoBodyLengths: a proxy in front of the hub and the HTTP server could
// disagree about the end of a request that has both length headers, and the rest would be
// another request. fasthttp itself ignores one of the headers.
func TestServer_RejectsTwoBodyLengths(t *testing.T) {
	t.Parallel()
	r := setup(t)
	chunked := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(event(1)), event(1))
	const both = "Content-Length: %d\r\nTransfer-Encoding: chunked\r\n"
	valid := fmt.Sprintf("POST /events HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", r.addr, len(event(2)), event(2))
	for name, c := range map[string]struct{ headers, body string }{
		"length first":     {fmt.Sprintf(both, len(chunked)), chunked},
		"encoding first":   {fmt.Sprintf("transfer-encoding: chunked\r\ncontent-length: %d\r\n", len(chunked)), chunked},
		"identity":         {fmt.Sprintf("Transfer-Encoding: identity\r\nContent-Length: %d\r\n", len(event(1))), event(1)},
		"length of 0":      {fmt.Sprintf(both, 0), chunked},
		"headers between":  {fmt.Sprintf("Content-Length: %d\r\nAccept: */*\r\nTRANSFER-ENCODING:chunked\r\n", len(chunked)), chunked},
		"a smuggling body": {fmt.Sprintf(both, 5+len(valid)), "0\r\n\r\n" + valid},
	} {
		request := "POST /events HTTP/1.1\r\nHost: " + r.addr + "\r\n" + c.headers + "\r\n" + c.body
		answers := bufio.NewReader(r.openConn(request + valid))
		resp := readResponse(t, answers)
		require.Equal(t, http.StatusBadRequest, resp.StatusCode, name)
		_, err := http.ReadResponse(answers, nil)
		require.Error(t, err, "%s: the connection closes", name)

		answers = bufio.NewReader(r.openConn(valid + request + valid))
		require.Equal(t, http.StatusOK, readResponse(t, answers).StatusCode, name)
		require.Equal(t, http.StatusBadRequest, readResponse(t, answers).StatusCode, "%s: pipelined", name)
		_, err = http.ReadResponse(answers, nil)
		require.Error(t, err, "%s: the connection closes", name)
	}
	require.EqualValues(t, 6, r.store.Head(), "the valid request before each pipelined one")
}
