package notify

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/delivery"
)

func crowd(n int) []schema.Person {
	var people []schema.Person
	for i := range n {
		people = append(people, schema.Person{Name: fmt.Sprintf("person %04d", i), Role: schema.Operator, Email: fmt.Sprintf("p%d@example.com", i)})
	}
	return people
}

// TestAThousandRecipientsDelayNoAnswer: the mail server takes nothing, and the answer is
// dialled back meanwhile as if nobody was to be told.
func TestAThousandRecipientsDelayNoAnswer(t *testing.T) {
	t.Parallel()
	office := listen(t) // of a server that never says a word
	office.block = make(chan struct{})
	t.Cleanup(func() { close(office.block) })
	r := &rig{t: t, db: t.TempDir() + "/hub.db", people: crowd(1000), pace: swift}
	r.pace.show, r.pace.slowest = 500*time.Millisecond, time.Second
	r.start()
	t.Cleanup(func() { r.closed() })
	r.channel("smtp://" + office.Listener.Addr().String() + "/?from=hub@example.com")

	answered := make(chan time.Time, 1)
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		c, err := websocket.Accept(w, req, nil)
		if err != nil {
			return
		}
		if _, _, err := c.Read(req.Context()); err == nil {
			answered <- time.Now()
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
	r.eventually("a part of the crowd is to be told", func() bool {
		notices, err := r.Store.NotificationsOf(t.Context(), id)
		return err == nil && len(notices) > 0
	})
	began := time.Now()
	r.answer(id)
	select {
	case at := <-answered:
		t.Logf("dialled back %v after the answer", at.Sub(began))
		require.Less(t, at.Sub(began), time.Second)
	case <-time.After(20 * time.Second):
		require.Fail(t, "the answer was not dialled back")
	}
	r.eventually("nobody is told any more", func() bool {
		st := r.status(id)
		return st.NotificationCounts != nil && st.NotificationCounts.Queued == 0 && st.NotificationCounts.Suppressed >= 1000-2*atOnce
	})
	require.Len(t, r.status(id).Notifications, schema.MaxNotifications)
}

// TestACardChangesSeldom: what became of many messages is a few changes of the question.
func TestACardChangesSeldom(t *testing.T) {
	t.Parallel()
	office := postOffice(t)
	r := setup(t, crowd(60)...)
	r.channel("smtp://" + office.addr + "/?from=hub@example.com")
	id := r.ask("May I?")
	began := time.Now()
	r.eventually("all are told", func() bool {
		st := r.status(id)
		return st.NotificationCounts != nil && st.NotificationCounts.Sent == 60
	})
	changes := int(r.Store.Head()) - int(id)
	require.LessOrEqual(t, changes, 2+int(time.Since(began)/swift.show))
	require.Less(t, changes, 60)
	seen := map[string]int{}
	for _, l := range office.all() {
		seen[l.to]++
	}
	require.Len(t, seen, 60)
	for to, n := range seen {
		require.Equal(t, 1, n, to)
	}
}

// TestARestartInTheMiddle: what was on its way when the hub was stopped goes again, the
// rest goes once, nothing is lost.
func TestARestartInTheMiddle(t *testing.T) {
	t.Parallel()
	r := setup(t, crowd(30)...)
	far := listen(t)
	for _, p := range r.people {
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
