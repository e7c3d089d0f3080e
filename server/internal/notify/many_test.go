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

func crowd(n int) []schema.Person {
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

// TestAThousandRecipientsDelayNoAnswer: the agent gets its answer while the mail server
// still holds the first messages and no message can time out.
func TestAThousandRecipientsDelayNoAnswer(t *testing.T) {
	t.Parallel()
	mailServer, accepted, release := silentServer(t)
	r := &rig{t: t, db: t.TempDir() + "/hub.db", people: crowd(1000), pace: swift}
	r.pace.show, r.pace.slowest, r.pace.timeout = 500*time.Millisecond, time.Second, time.Hour
	r.start()
	t.Cleanup(func() { r.closed() })
	r.channel("smtp://" + mailServer + "/?from=hub@example.com")

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
	dispatcher := delivery.New(delivery.Config{Store: r.Store, DialPolicy: targets, AwaitResponseSent: r.hub.AwaitResponseSent})
	r.hub.Dispatch = dispatcher.Dispatch
	var group sync.WaitGroup
	group.Go(func() { _ = dispatcher.Run(t.Context()) })
	t.Cleanup(group.Wait)

	id := r.ask("May I?", fmt.Sprintf(`"responseWebSocketUrl":"ws%s"`, agent.URL[len("http"):]))
	select {
	case <-accepted:
	case <-time.After(time.Minute):
		require.Fail(t, "no message reached the mail server")
	}
	r.answer(id)
	select {
	case <-answered:
	case <-time.After(time.Minute):
		require.Fail(t, "the answer was not dialled back while the mail server was silent")
	}
	notices, err := r.Store.NotificationsOf(t.Context(), id)
	require.NoError(t, err)
	for _, n := range notices {
		require.Contains(t, []string{schema.NotificationQueued, schema.NotificationSuppressed}, n.State, "no message was sent or given up before the answer")
	}
	release()
	r.eventually("nobody is told any more", func() bool {
		st := r.status(id)
		return st.NotificationCounts != nil && st.NotificationCounts.Queued == 0 && st.NotificationCounts.Suppressed >= 1000-2*atOnce
	})
	require.Len(t, r.status(id).Notifications, schema.MaxNotifications)
}

// TestACardChangesSeldom: what became of many messages is a few changes of the question.
// The first change is held until all messages are sent; the rest of what happened is one
// change, and at most one more for each message that was just being stored.
func TestACardChangesSeldom(t *testing.T) {
	t.Parallel()
	office := postOffice(t)
	hold := make(chan struct{})
	r := &rig{t: t, db: t.TempDir() + "/hub.db", people: crowd(60), pace: swift, onShow: func(schema.EventID) { <-hold }}
	r.start()
	t.Cleanup(func() { r.closed() })
	release := sync.OnceFunc(func() { close(hold) })
	t.Cleanup(release)
	r.channel("smtp://" + office.addr + "/?from=hub@example.com")
	id := r.ask("May I?")
	r.eventually("all are sent", func() bool {
		notices, err := r.Store.NotificationsOf(t.Context(), id)
		waiting := func(n store.Notification) bool { return n.State != schema.NotificationSent }
		return err == nil && len(notices) == 60 && !slices.ContainsFunc(notices, waiting)
	})
	release()
	r.eventually("all are told", func() bool {
		st := r.status(id)
		return st.NotificationCounts != nil && st.NotificationCounts.Sent == 60
	})
	require.LessOrEqual(t, int(r.Store.Head())-int(id), 2+atOnce)
	seen := map[string]int{}
	for _, l := range office.all() {
		seen[l.to]++
	}
	require.Len(t, seen, 60)
	for to, n := range seen {
		require.Equal(t, 1, n, to)
	}
}

// TestTheShowerSlowsDown: a card that keeps changing is shown at growing intervals, and
// forgotten when nothing happens in one.
func TestTheShowerSlowsDown(t *testing.T) {
	t.Parallel()
	s := newShower(&Notifier{Config: Config{pace: pace{show: time.Hour, slowest: 3 * time.Hour}}})
	before := time.Now()
	s.touch(7)
	s.touch(7)
	ids, wait := s.due(before)
	require.Empty(t, ids, "not before the first interval is over")
	require.Equal(t, nap, wait)
	now := s.cards[7].next
	require.False(t, now.Before(before.Add(time.Hour)))
	for _, pause := range []time.Duration{2 * time.Hour, 3 * time.Hour, 3 * time.Hour} {
		ids, _ = s.due(now)
		require.Equal(t, []schema.EventID{7}, ids, "many touches are one change")
		for range 10 {
			s.touch(7)
		}
		ids, _ = s.due(now.Add(pause - 1))
		require.Empty(t, ids)
		now = now.Add(pause)
	}
	ids, _ = s.due(now)
	require.Len(t, ids, 1)
	ids, _ = s.due(now.Add(3 * time.Hour))
	require.Empty(t, ids)
	require.Empty(t, s.cards)
}

// TestARestartInTheMiddle: what was on its way when the hub was stopped goes again, the
// rest goes once, nothing is lost.
func TestARestartInTheMiddle(t *testing.T) {
	t.Parallel()
	r := setup(t, crowd(30)...)
	far := listen(t)
	for _, p := range r.accounts() {
		r.channelOf(p.Name, far.URL)
	}
	far.block = make(chan struct{})
	id := r.ask("May I?")
	r.eventually("some are on their way", func() bool { return len(far.got()) >= 3 })
	r.restart()
	far.mu.Lock()
	close(far.block)
	far.block = nil
	far.mu.Unlock()
	r.eventually("all are told", func() bool { return r.sent(id) == 30 })
	times := map[string]int{}
	for i := range far.got() {
		times[far.header(i).Get("webhook-id")]++
	}
	require.Len(t, times, 30)
	for message, n := range times {
		require.LessOrEqual(t, n, 2, "%s: at most the one that was on its way goes again, under the same id", message)
	}
}

func (r *rig) sent(id schema.EventID) (n int) {
	for _, one := range r.status(id).Notifications {
		if one.State == schema.NotificationSent {
			n++
		}
	}
	return n
}

func TestManyChannelsAndTwoPeople(t *testing.T) {
	t.Parallel()
	r, far := setup(t, ada, grace), listen(t)
	for range MaxChannels / 2 {
		r.channelOf("ada", far.URL)
		r.channelOf("grace", far.URL)
	}
	c, err := Draft(&schema.ChannelDraft{Name: "x", URL: far.URL}, "ada")
	require.NoError(t, err)
	require.ErrorIs(t, r.AddChannel(t.Context(), c), schema.ErrInvalid, "one too many")
	id := r.ask("May I?")
	r.eventually("all are told", func() bool { return r.sent(id) == MaxChannels })
	require.Len(t, far.got(), MaxChannels)
}
