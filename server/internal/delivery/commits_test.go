package delivery

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/notify"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/sqlite"
	"github.com/hookback/hookback/server/internal/storetest"
)

// commitCounter counts group commits, and their writes.
type commitCounter struct{ commits, writes atomic.Int64 }

func (c *commitCounter) Committed(commit store.Commit) {
	c.commits.Add(1)
	c.writes.Add(int64(commit.Ops))
}

// askingHub is a hub with all workers that follow questions, except the projector.
type askingHub struct {
	*hub.Hub
	t     *testing.T
	store store.Store
	count commitCounter
	own   int64 // commits of counts
}

func startAskingHub(t *testing.T) *askingHub {
	t.Helper()
	h := &askingHub{t: t}
	var err error
	h.store, err = sqlite.Open(t.Context(), sqlite.Config{Path: storetest.NewSQLiteFile(t), ReserveFileBytes: -1, Commits: &h.count})
	require.NoError(t, err)
	accounts, err := auth.Open(t.Context(), auth.Config{Store: h.store})
	require.NoError(t, err)
	policy, err := NewDialPolicy(DialPolicyConfig{})
	require.NoError(t, err)
	log := feed.New(h.store.Head(), 64, 1<<20)
	h.Hub = hub.New(hub.Config{Store: h.store, Feed: log, DialPolicy: policy, People: accounts})
	dispatcher := New(Config{Store: h.store, Feed: log, Hub: h.Hub, DialPolicy: policy, ProbeInterval: waitLimit})
	notifier := notify.New(notify.Config{Store: h.store, Feed: log, Accounts: accounts, Base: "https://hub.example.com"})
	ctx, stop := context.WithCancel(context.Background())
	var workers sync.WaitGroup
	for _, run := range []func(context.Context) error{h.Run, dispatcher.Run, dispatcher.RunProber, dispatcher.RunLiveness} {
		workers.Go(func() { _ = run(ctx) })
	}
	workers.Go(func() { _ = notifier.Run(ctx, h.Hub) })
	t.Cleanup(func() {
		stop()
		workers.Wait()
		require.NoError(t, h.store.Close())
	})
	return h
}

// ask asks, answers, and waits until the listener has acknowledged the answer.
func (h *askingHub) ask(listener *fakeListener) {
	h.t.Helper()
	body := fmt.Sprintf(`{"source_app":"shop","session_id":"s","hook_event_type":"PermissionRequest","payload":{},
		"humanInTheLoop":{"type":"permission","question":"May I?","protocolVersion":2,"responseWebSocketUrl":%q}}`, listener.url())
	asked, err := h.Ingest(h.t.Context(), []byte(body), hub.Caller{})
	require.NoError(h.t, err)
	h.ResponseSent(asked.ID)
	yes := true
	_, err = h.Respond(h.t.Context(), asked.ID, &schema.Response{Permission: &yes}, hub.Caller{})
	require.NoError(h.t, err)
	require.Eventually(h.t, func() bool {
		q, err := h.store.Question(h.t.Context(), asked.ID)
		return err == nil && q.Delivery != nil && q.Delivery.State == schema.Acked
	}, waitLimit, time.Millisecond)
}

// counts returns the numbers of commits and writes so far. A commit is published before it is
// counted, so it waits for one more write, which it leaves out.
func (h *askingHub) counts() (commits, writes int64) {
	h.t.Helper()
	require.NoError(h.t, h.store.SetNotificationCursor(h.t.Context(), 0))
	h.own++
	return h.count.commits.Load() - h.own, h.count.writes.Load() - h.own
}

// A question costs three commits: the question, the answer with the delivery that is reserved for
// this process, and the acknowledgement.
func TestAsk_CostsThreeCommits(t *testing.T) {
	t.Parallel()
	const asks = 10
	h := startAskingHub(t)
	listener := startListener(t, acknowledge("accepted"))
	h.ask(listener) // the workers have started
	commits, writes := h.counts()
	for range asks {
		h.ask(listener)
	}
	commitsAfter, writesAfter := h.counts()
	require.EqualValues(t, 3*asks, writesAfter-writes)
	require.EqualValues(t, 3*asks, commitsAfter-commits)
}
