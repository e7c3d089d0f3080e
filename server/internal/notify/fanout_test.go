package notify

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/delivery"
	"github.com/hookback/hookback/server/internal/store"
)

func manyPeople(n int) []schema.Person {
	var people []schema.Person
	for i := range n {
		people = append(people, schema.Person{Name: fmt.Sprintf("person %04d", i), Role: schema.Operator, Email: fmt.Sprintf("p%d@example.com", i)})
	}
	return people
}

// silentServer accepts connections and writes nothing to them. accepted gets a value for
// the first connection; release breaks all connections and accepts no more.
func silentServer(t *testing.T) (addr string, accepted <-chan struct{}, release func()) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	first := make(chan struct{}, 1)
	var group sync.WaitGroup
	group.Go(func() {
		var conns []net.Conn
		for {
			c, err := ln.Accept()
			if err != nil {
				break
			}
			conns = append(conns, c)
			select {
			case first <- struct{}{}:
			default:
			}
		}
		for _, c := range conns {
			_ = c.Close()
		}
	})
	release = sync.OnceFunc(func() {
		_ = ln.Close()
		group.Wait()
	})
	t.Cleanup(release)
	return ln.Addr().String(), first, release
}

// The agent gets its answer while the mail server still holds the first messages and no
// message can time out.
func TestNotifier_ThousandRecipientsDoNotDelayAnswer(t *testing.T) {
	t.Parallel()
	mailServer, accepted, release := silentServer(t)
	h := newHarnessWith(t, func(h *harness) {
		h.timing.statusInterval, h.timing.maxStatusInterval, h.timing.timeout = 500*time.Millisecond, time.Second, time.Hour
	}, manyPeople(1000)...)
	h.addChannel("smtp://" + mailServer + "/?from=hub@example.com")

	answered := make(chan struct{}, 1)
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		c, err := websocket.Accept(w, req, nil)
		if err != nil {
			return
		}
		if _, _, err := c.Read(req.Context()); err == nil {
			answered <- struct{}{}
		}
		_ = c.CloseNow()
	}))
	t.Cleanup(agent.Close)
	targets, err := delivery.NewDialPolicy(delivery.DialPolicyConfig{})
	require.NoError(t, err)
	dispatcher := delivery.New(delivery.Config{Store: h.Store.(store.Store), Feed: h.Feed, Hub: h.hub, DialPolicy: targets})
	var group sync.WaitGroup
	group.Go(func() { _ = dispatcher.Run(t.Context()) })
	t.Cleanup(group.Wait)

	id := h.askQuestion("May I?", fmt.Sprintf(`"responseWebSocketUrl":"ws%s"`, agent.URL[len("http"):]))
	select {
	case <-accepted:
	case <-time.After(time.Minute):
		require.Fail(t, "no message reached the mail server")
	}
	h.approve(id)
	select {
	case <-answered:
	case <-time.After(time.Minute):
		require.Fail(t, "the answer was not delivered while the mail server was silent")
	}
	notifications, err := h.Store.NotificationsOf(t.Context(), id)
	require.NoError(t, err)
	for _, n := range notifications {
		require.Contains(t, []string{schema.NotificationQueued, schema.NotificationSuppressed}, n.State, "no message was sent or given up before the answer")
	}
	release()
	h.eventually("the other notifications are suppressed", func() bool {
		st := h.status(id)
		return st.NotificationCounts != nil && st.NotificationCounts.Queued == 0 && st.NotificationCounts.Suppressed >= 1000-2*maxConcurrent
	})
	require.Len(t, h.status(id).Notifications, schema.MaxNotifications)
}

// The first update of the question is held until all messages are sent. All of them are
// then reported in one more update, plus at most one for each message whose result was
// being stored at that moment.
func TestStatusBatcher_CombinesChanges(t *testing.T) {
	t.Parallel()
	mailServer := startMailServer(t)
	hold := make(chan struct{})
	h := newHarnessWith(t, func(h *harness) { h.onShow = func(schema.EventID) { <-hold } }, manyPeople(60)...)
	release := sync.OnceFunc(func() { close(hold) })
	t.Cleanup(release)
	h.addChannel("smtp://" + mailServer.addr + "/?from=hub@example.com")
	id := h.askQuestion("May I?")
	h.eventually("all are sent", func() bool {
		notifications, err := h.Store.NotificationsOf(t.Context(), id)
		waiting := func(n store.Notification) bool { return n.State != schema.NotificationSent }
		return err == nil && len(notifications) == 60 && !slices.ContainsFunc(notifications, waiting)
	})
	release()
	h.eventually("all messages are sent", func() bool {
		st := h.status(id)
		return st.NotificationCounts != nil && st.NotificationCounts.Sent == 60
	})
	require.LessOrEqual(t, int(h.Store.Head())-int(id), 2+maxConcurrent)
	seen := map[string]int{}
	for _, msg := range mailServer.messages() {
		seen[msg.to]++
	}
	require.Len(t, seen, 60)
	for to, n := range seen {
		require.Equal(t, 1, n, to)
	}
}

// A question that keeps changing is updated at growing intervals, and is dropped after an
// interval without changes.
func TestStatusBatcher_BacksOff(t *testing.T) {
	t.Parallel()
	s := newStatusBatcher(newCore(Config{timing: timing{timeout: time.Hour, statusInterval: time.Hour, maxStatusInterval: 3 * time.Hour}}))
	before := time.Now()
	s.markChanged(7)
	s.markChanged(7)
	ids, wait := s.takeDue(before)
	require.Empty(t, ids, "not before the first interval ends")
	require.Equal(t, maxSleep, wait)
	now := s.pending[7].nextAt
	require.False(t, now.Before(before.Add(time.Hour)))
	for _, pause := range []time.Duration{2 * time.Hour, 3 * time.Hour, 3 * time.Hour} {
		ids, _ = s.takeDue(now)
		require.Equal(t, []schema.EventID{7}, ids, "many changes are one update")
		for range 10 {
			s.markChanged(7)
		}
		ids, _ = s.takeDue(now.Add(pause - 1))
		require.Empty(t, ids)
		now = now.Add(pause)
	}
	ids, _ = s.takeDue(now)
	require.Len(t, ids, 1)
	ids, _ = s.takeDue(now.Add(3 * time.Hour))
	require.Empty(t, ids)
	require.Empty(t, s.pending)
}

// Messages that were in flight when the hub stopped may be sent twice, all others are sent
// once, and none is lost.
func TestNotifier_ResumesAfterRestart(t *testing.T) {
	t.Parallel()
	h := newHarness(t, manyPeople(30)...)
	server := startServer(t)
	for _, p := range h.accounts() {
		h.addPersonalChannel(p.Name, server.URL)
	}
	server.hold = make(chan struct{})
	id := h.askQuestion("May I?")
	h.eventually("some messages are in flight", func() bool { return len(server.requests()) >= 3 })
	h.restart()
	server.mu.Lock()
	close(server.hold)
	server.hold = nil
	server.mu.Unlock()
	h.eventually("all messages are sent", func() bool { return h.countSent(id) == 30 })
	times := map[string]int{}
	for i := range server.requests() {
		times[server.requestHeader(i).Get("webhook-id")]++
	}
	require.Len(t, times, 30)
	for message, n := range times {
		require.LessOrEqual(t, n, 2, "%s: only messages in flight are sent again, with the same id", message)
	}
}

func (h *harness) countSent(id schema.EventID) (n int) {
	for _, notification := range h.status(id).Notifications {
		if notification.State == schema.NotificationSent {
			n++
		}
	}
	return n
}

func TestNotifier_SendsByAllChannels(t *testing.T) {
	t.Parallel()
	h, server := newHarness(t, ada, grace), startServer(t)
	for range MaxChannels / 2 {
		h.addPersonalChannel("ada", server.URL)
		h.addPersonalChannel("grace", server.URL)
	}
	c, err := NewChannel(&schema.ChannelDraft{Name: "x", URL: server.URL}, "ada")
	require.NoError(t, err)
	require.ErrorIs(t, h.AddChannel(t.Context(), c), schema.ErrInvalid, "one too many")
	id := h.askQuestion("May I?")
	h.eventually("all messages are sent", func() bool { return h.countSent(id) == MaxChannels })
	require.Len(t, server.requests(), MaxChannels)
}
