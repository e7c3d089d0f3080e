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

func (s *socket) say(text string) {
	s.t.Helper()
	require.NoError(s.t, s.ws.Write(context.Background(), websocket.MessageText, []byte(text)))
}

func (s *socket) look(id schema.EventID) {
	s.t.Helper()
	s.say(fmt.Sprintf(`{"type":"looking","id":%d}`, id))
}

// presence is the next frame, which must be one.
func (s *socket) presence() (p schema.Presence) {
	s.t.Helper()
	f := s.next()
	require.Equal(s.t, schema.PresenceFrame, f.Type)
	require.Zero(s.t, f.Seq, "it is no part of the log")
	require.NoError(s.t, json.Unmarshal(f.Data, &p))
	return p
}

// until reads on until the others are as wanted, and returns how many frames that took.
func (s *socket) until(screens int, looking ...schema.ViewedRequest) (frames int) {
	s.t.Helper()
	want := schema.Presence{Screens: screens, Looking: append([]schema.ViewedRequest{}, looking...)}
	for {
		frames++
		if got := s.presence(); fmt.Sprint(got) == fmt.Sprint(want) {
			return frames
		}
	}
}

// page2 opens a version 2 stream.
func page2(r *rig) *socket {
	s := dial(r, "/stream?v=2")
	s.hello()
	return s
}

func TestPagesSeeEachOther(t *testing.T) {
	t.Parallel()
	r := setup(t)
	first := r.post(event(1, permission)).ID
	second := r.post(event(2, permission)).ID
	a, b, silent, old := page2(r), page2(r), page2(r), dial(r, "/stream")
	old.next()
	a.look(first)
	require.Equal(t, schema.Presence{Screens: 1, Looking: []schema.ViewedRequest{{ID: first, Screens: 1}}}, a.presence(), "the page itself is among them")
	b.look(first)
	a.until(2, schema.ViewedRequest{ID: first, Screens: 2})
	b.until(2, schema.ViewedRequest{ID: first, Screens: 2})
	b.look(second)
	a.until(2, schema.ViewedRequest{ID: second, Screens: 1}, schema.ViewedRequest{ID: first, Screens: 1})
	b.look(0)
	a.until(2, schema.ViewedRequest{ID: first, Screens: 1})
	require.NoError(t, b.ws.CloseNow())
	a.until(1, schema.ViewedRequest{ID: first, Screens: 1})

	third := r.post(event(3)).ID
	require.Equal(t, third, silent.event().ID, "who says nothing is told nothing")
	require.Equal(t, third, old.event().ID)
	require.Equal(t, third, a.event().ID, "the log goes on")
}

func TestWhatAPageSaysIsChecked(t *testing.T) {
	t.Parallel()
	r := setup(t)
	id := r.post(event(1, permission)).ID
	a := page2(r)
	for _, nothing := range []string{
		"", "hello", "null", "[]", `{"type":"looking","id":-1}`, `{"type":"looking","id":99}`, `{"type":"looking","id":"1"}`,
		`{"type":"presence","id":1}`, `{"type":"looking","id":1,"x":"` + strings.Repeat("x", maxSaid) + `"}`,
	} {
		a.say(nothing)
	}
	require.NoError(t, a.ws.Write(context.Background(), websocket.MessageText, []byte("\xff")))
	old := dial(r, "/stream")
	old.next()
	old.look(id)
	next := r.post(event(2)).ID
	require.Equal(t, next, a.event().ID, "it is ignored")
	require.Equal(t, next, old.event().ID, "as is what a version 1 page says")
	a.look(id)
	a.until(1, schema.ViewedRequest{ID: id, Screens: 1})
}

// A browser sends a short message in one piece, but it may come in several.
func TestAPageMaySpeakInPieces(t *testing.T) {
	t.Parallel()
	r := setup(t)
	id := r.post(event(1, permission)).ID
	a := page2(r)
	a.look(0)
	a.until(1)

	conn, err := net.Dial("tcp", r.addr)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	said := []byte(fmt.Sprintf(`{"type":"looking","id":%d}`, id))
	frames := append(append(masked(0x01, said[:7]), masked(0x89, nil)...), masked(0x00, said[7:12])...)
	frames = append(frames, masked(0x80, said[12:])...)
	_, err = io.WriteString(conn, "GET /stream?v=2 HTTP/1.1\r\nHost: "+r.addr+"\r\n"+strings.Join(upgrade, "\r\n")+"\r\n\r\n"+string(frames))
	require.NoError(t, err)
	a.until(2, schema.ViewedRequest{ID: id, Screens: 1})
}

// TestAPageThatIsGoneIsForgotten: it does not close its socket, but its pings go
// unanswered.
func TestAPageThatIsGoneIsForgotten(t *testing.T) {
	t.Parallel()
	r := setup(t, func(c *Config) { c.PingInterval, c.StreamWriteTimeout = 100*time.Millisecond, 200*time.Millisecond })
	a, gone := page2(r), page2(r)
	a.look(0)
	gone.look(0) // and reads nothing any more
	a.until(2)
	a.until(1)
}

// TestPresenceComesTogether: however much goes on, a page is told a few times a
// second, and in the end how it is.
func TestPresenceComesTogether(t *testing.T) {
	t.Parallel()
	const pages, changes = 40, 12
	r := setup(t)
	id, other := r.post(event(1, permission)).ID, r.post(event(2, permission)).ID
	a := page2(r)
	began := time.Now()
	a.look(id)
	for range pages {
		p := page2(r)
		for n := range changes {
			p.look(schema.EventID(n % 2))
		}
		p.look(id)
	}
	frames := a.until(pages+1, schema.ViewedRequest{ID: id, Screens: pages + 1})
	require.LessOrEqual(t, frames, 3+int(time.Since(began)/steady), "of %d changes", pages*changes)

	began = time.Now()
	p := page2(r)
	for n := range 2*maxAtOnce + 1 {
		p.look(schema.EventID(n % 2))
	}
	p.look(other)
	a.until(pages+2, schema.ViewedRequest{ID: id, Screens: pages + 1}, schema.ViewedRequest{ID: other, Screens: 1})
	require.GreaterOrEqual(t, time.Since(began), maxAtOnce*sayEvery, "a page that says too much is listened to slowly")
}

func TestPresenceNamesWhatMostLookAt(t *testing.T) {
	t.Parallel()
	looking := map[*stream]schema.EventID{}
	for n := range 3 * maxLooked {
		looking[&stream{}] = schema.EventID(n + 1)
	}
	looking[&stream{}] = 7
	looking[&stream{}] = 0
	p := seen(looking)
	require.Equal(t, 3*maxLooked+2, p.Screens)
	require.Len(t, p.Looking, maxLooked)
	require.Equal(t, schema.ViewedRequest{ID: 7, Screens: 2}, p.Looking[0])
	require.Equal(t, schema.ViewedRequest{ID: 3 * maxLooked, Screens: 1}, p.Looking[1], "then the newest")
}

func TestHelloNamesThePage(t *testing.T) {
	t.Parallel()
	r := setup(t)
	hello := dial(r, "/stream?v=2").hello()
	resp, _ := r.do("GET", "/", "", "Accept", "text/html", "Accept-Encoding", "identity")
	require.Equal(t, `"`+hello.Page+`"`, resp.Header.Get("ETag"), "by its content")
	require.NotEmpty(t, hello.Page)
	bare := setup(t, func(c *Config) { c.Assets = nil })
	require.Empty(t, dial(bare, "/stream?v=2").hello().Page)
}

// BenchmarkPresence is one change among a thousand pages, up to their wake-up.
func BenchmarkPresence(b *testing.B) {
	var p presence
	pages := make([]*stream, 1000)
	p.due = true // told by hand
	for n := range pages {
		pages[n] = &stream{wake: make(chan struct{}, 1)}
		p.look(pages[n], schema.EventID(n+1))
	}
	for n := 0; b.Loop(); n++ {
		p.look(pages[n%1000], schema.EventID(n))
		p.tell()
		p.due = true
	}
}

// TestWatching: an agent with another way to ask takes it when nobody looks. Only
// the poster of a question is told how many do.
func TestWatching(t *testing.T) {
	t.Parallel()
	r := setup(t)
	asked := r.post(event(1, permission, `"idempotency_key":"k","watching":7`))
	require.NotNil(t, asked.Watching)
	require.Zero(t, *asked.Watching)

	old := dial(r, "/stream")
	require.NotContains(t, string(old.next().Data), "watching", "the first message")
	page := page2(r)
	again := r.post(event(1, permission, `"idempotency_key":"k"`))
	require.Equal(t, asked.ID, again.ID)
	require.Equal(t, 2, *again.Watching, "a repeat is told how it is now")
	_, batch := r.do("POST", schema.PathBatch, "["+event(2, permission)+","+event(3)+"]")
	require.Equal(t, 1, strings.Count(string(batch), `"watching":2`), "of the two, one asks")
	require.Equal(t, 1, strings.Count(string(batch), `"watching"`))
	require.Nil(t, r.post(event(4)).Watching, "it asks nothing")

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
		return *r.post(event(1, permission, `"idempotency_key":"k"`)).Watching == 0
	}, patience, time.Millisecond)
}

func TestWhoLooksAtAPageIsKnownWhileTheyDo(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada, grace := &stream{person: "ada"}, &stream{person: "grace"}
	require.False(t, r.ViewerCount("ada"), "not known")
	r.Server.presence.attend(ada, true)
	r.Server.presence.attend(grace, false)
	r.Server.presence.attend(&stream{}, true) // nobody's
	require.True(t, r.ViewerCount("ada"))
	require.False(t, r.ViewerCount("grace"))
	require.False(t, r.ViewerCount(""), "an open hub knows nobody, so nobody counts as looking")
	r.Server.presence.attend(ada, false)
	require.False(t, r.ViewerCount("ada"))
	r.Server.presence.attend(ada, true)
	r.Server.presence.leave(ada)
	require.False(t, r.ViewerCount("ada"), "the page is closed")
	r.Server.presence.focused = map[*stream]time.Time{ada: time.Now().Add(-schema.ViewingTimeout)}
	require.False(t, r.ViewerCount("ada"), "it has not said so for a while")
}
