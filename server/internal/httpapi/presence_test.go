package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

func (s *streamClient) send(text string) {
	s.t.Helper()
	require.NoError(s.t, s.ws.Write(context.Background(), websocket.MessageText, []byte(text)))
}

func (s *streamClient) sendViewing(id schema.EventID) {
	s.t.Helper()
	s.send(fmt.Sprintf(`{"type":"looking","id":%d}`, id))
}

// presence reads the next frame, which must be a presence frame.
func (s *streamClient) presence() (p schema.Presence) {
	s.t.Helper()
	f := s.next()
	require.Equal(s.t, schema.PresenceFrame, f.Type)
	require.Zero(s.t, f.Seq, "presence is not part of the log")
	require.NoError(s.t, json.Unmarshal(f.Data, &p))
	return p
}

// waitForPresence reads frames until the expected state arrives.
func (s *streamClient) waitForPresence(screens int, viewed ...schema.ViewedRequest) {
	s.t.Helper()
	want := schema.Presence{Screens: screens, Looking: append([]schema.ViewedRequest{}, viewed...)}
	for {
		if fmt.Sprint(s.presence()) == fmt.Sprint(want) {
			return
		}
	}
}

// dialV2 opens a version 2 stream.
func dialV2(r *harness) *streamClient {
	s := dial(r, "/stream?v=2")
	s.hello()
	return s
}

func TestPresence_SharesViewedRequests(t *testing.T) {
	t.Parallel()
	r := setup(t)
	first := r.post(event(1, permission)).ID
	second := r.post(event(2, permission)).ID
	a, b, silent, old := dialV2(r), dialV2(r), dialV2(r), dial(r, "/stream")
	old.next()
	a.sendViewing(first)
	require.Equal(t, schema.Presence{Screens: 1, Looking: []schema.ViewedRequest{{ID: first, Screens: 1}}}, a.presence(), "includes the client itself")
	b.sendViewing(first)
	a.waitForPresence(2, schema.ViewedRequest{ID: first, Screens: 2})
	b.waitForPresence(2, schema.ViewedRequest{ID: first, Screens: 2})
	b.sendViewing(second)
	a.waitForPresence(2, schema.ViewedRequest{ID: second, Screens: 1}, schema.ViewedRequest{ID: first, Screens: 1})
	b.sendViewing(0)
	a.waitForPresence(2, schema.ViewedRequest{ID: first, Screens: 1})
	require.NoError(t, b.ws.CloseNow())
	a.waitForPresence(1, schema.ViewedRequest{ID: first, Screens: 1})

	third := r.post(event(3)).ID
	require.Equal(t, third, silent.event().ID, "clients that report nothing receive no presence")
	require.Equal(t, third, old.event().ID)
	require.Equal(t, third, a.event().ID, "the log continues")
}

func TestPresence_IgnoresInvalidMessages(t *testing.T) {
	t.Parallel()
	r := setup(t)
	id := r.post(event(1, permission)).ID
	a := dialV2(r)
	for _, nothing := range []string{
		"", "hello", "null", "[]", `{"type":"looking","id":-1}`, `{"type":"looking","id":99}`, `{"type":"looking","id":"1"}`,
		`{"type":"presence","id":1}`, `{"type":"looking","id":1,"x":"` + strings.Repeat("x", 1<<10) + `"}`,
	} {
		a.send(nothing)
	}
	require.NoError(t, a.ws.Write(context.Background(), websocket.MessageText, []byte("\xff")))
	old := dial(r, "/stream")
	old.next()
	old.sendViewing(id)
	next := r.post(event(2)).ID
	require.Equal(t, next, a.event().ID, "invalid messages are ignored")
	require.Equal(t, next, old.event().ID, "messages of version 1 clients are ignored")
	a.sendViewing(id)
	a.waitForPresence(1, schema.ViewedRequest{ID: id, Screens: 1})
}

// Browsers send a short message as one frame, but other clients may fragment it.
func TestPresence_AcceptsFragmentedMessages(t *testing.T) {
	t.Parallel()
	r := setup(t)
	id := r.post(event(1, permission)).ID
	a := dialV2(r)
	a.sendViewing(0)
	a.waitForPresence(1)

	conn, err := net.Dial("tcp", r.addr)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	message := []byte(fmt.Sprintf(`{"type":"looking","id":%d}`, id))
	frames := append(append(maskedFrame(0x01, message[:7]), maskedFrame(0x89, nil)...), maskedFrame(0x00, message[7:12])...)
	frames = append(frames, maskedFrame(0x80, message[12:])...)
	_, err = io.WriteString(conn, "GET /stream?v=2 HTTP/1.1\r\nHost: "+r.addr+"\r\n"+strings.Join(upgradeHeaders, "\r\n")+"\r\n\r\n"+string(frames))
	require.NoError(t, err)
	a.waitForPresence(2, schema.ViewedRequest{ID: id, Screens: 1})
}

// TestPresence_ForgetsSilentTabs: the client does not close its socket, but it does not
// answer pings.
func TestPresence_ForgetsSilentTabs(t *testing.T) {
	t.Parallel()
	r := setup(t, func(c *Config) { c.PingInterval, c.StreamWriteTimeout = 500*time.Millisecond, 3*time.Second })
	a, silent := dialV2(r), dialV2(r)
	a.sendViewing(0)
	silent.sendViewing(0) // and reads nothing afterwards
	a.waitForPresence(2)
	a.waitForPresence(1)
}

// TestPresence_CoalescesChanges checks that every client receives the final state after many
// changes, and after more messages than the rate limit of one client allows.
func TestPresence_CoalescesChanges(t *testing.T) {
	t.Parallel()
	const pages, changes = 40, 12
	r := setup(t)
	id, other := r.post(event(1, permission)).ID, r.post(event(2, permission)).ID
	a := dialV2(r)
	a.sendViewing(id)
	for range pages {
		p := dialV2(r)
		for n := range changes {
			p.sendViewing(schema.EventID(n % 2))
		}
		p.sendViewing(id)
	}
	a.waitForPresence(pages+1, schema.ViewedRequest{ID: id, Screens: pages + 1})

	p := dialV2(r)
	for n := range 17 {
		p.sendViewing(schema.EventID(n % 2))
	}
	p.sendViewing(other)
	a.waitForPresence(pages+2, schema.ViewedRequest{ID: id, Screens: pages + 1}, schema.ViewedRequest{ID: other, Screens: 1})
}

func TestHello_NamesDashboardBuild(t *testing.T) {
	t.Parallel()
	r := setup(t)
	hello := dial(r, "/stream?v=2").hello()
	resp, _ := r.do("GET", "/", "", "Accept", "text/html", "Accept-Encoding", "identity")
	require.Equal(t, `"`+hello.Page+`"`, resp.Header.Get("ETag"), "the build is identified by its ETag")
	require.NotEmpty(t, hello.Page)
	bare := setup(t, func(c *Config) { c.Assets = nil })
	require.Empty(t, dial(bare, "/stream?v=2").hello().Page)
}

// TestWatching_ReportsViewerCountToPoster: an agent that can ask elsewhere does so if no
// one is viewing the dashboard. Only the poster of a question receives the number of
// viewers.
func TestWatching_ReportsViewerCountToPoster(t *testing.T) {
	t.Parallel()
	r := setup(t)
	keyed := event(1, permission, `"idempotency_key":"k","watching":7`)
	question := r.post(keyed)
	require.NotNil(t, question.Watching)
	require.Zero(t, *question.Watching)

	old := dial(r, "/stream")
	require.NotContains(t, string(old.next().Data), "watching", "the initial message")
	page := dialV2(r)
	again := r.post(keyed)
	require.Equal(t, question.ID, again.ID)
	require.Equal(t, 2, *again.Watching, "a repeated post gets the current count")
	_, batch := r.do("POST", schema.PathBatch, "["+event(2, permission)+","+event(3)+"]")
	require.Equal(t, 1, strings.Count(string(batch), `"watching":2`), "only one of the two is a question")
	require.Equal(t, 1, strings.Count(string(batch), `"watching"`))
	require.Nil(t, r.post(event(4)).Watching, "the event has no question")

	for range 3 {
		require.NotContains(t, string(page.next().Data), "watching")
		require.NotContains(t, string(old.next().Data), "watching")
	}
	for _, path := range []string{"/events/1", "/events/recent", "/events?status=pending", "/events/1/context"} {
		_, b := r.do("GET", path, "")
		require.NotContains(t, string(b), "watching", path)
	}
	require.NoError(t, page.ws.Close(websocket.StatusNormalClosure, ""))
	require.NoError(t, old.ws.CloseNow())
	require.Eventually(t, func() bool {
		return *r.post(keyed).Watching == 0
	}, waitLimit, time.Millisecond)
}
