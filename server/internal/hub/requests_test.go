package hub

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/pgtest"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/postgres"
)

// newSharedDatabase returns the configuration of hubs of a new database.
func newSharedDatabase(t *testing.T) postgres.Config {
	t.Helper()
	return postgres.Config{DSN: pgtest.New(t, postgres.Template) + "&pool_max_conns=4", KeyFile: filepath.Join(t.TempDir(), "hub.key")}
}

// openSharing opens one of several hubs of a database.
func openSharing(t *testing.T, cfg postgres.Config, name string, grace time.Duration) *testHub {
	t.Helper()
	cfg.Name = name
	s, err := postgres.Open(t.Context(), cfg)
	require.NoError(t, err)
	h := &testHub{t: t, Hub: New(Config{Store: s, Feed: feed.New(s.Head(), 64, 1<<20), ReconnectGrace: grace})}
	h.query = query.New(query.Config{Store: s, Feed: h.Feed, Version: "test"})
	t.Cleanup(func() {
		h.requests.stop()
		_ = s.Close()
	})
	return h
}

func openTwoSharing(t *testing.T, grace time.Duration) (a, b *testHub) {
	t.Helper()
	cfg := newSharedDatabase(t)
	a, b = openSharing(t, cfg, "a:1", grace), openSharing(t, cfg, "b:2", grace)
	require.Eventually(t, func() bool {
		return len(a.Store.Members()) == 2 && len(b.Store.Members()) == 2
	}, time.Minute, time.Millisecond)
	return a, b
}

// hold stores a question at a hub, whose program waits in its request; with a known key it repeats one.
func (h *testHub) hold(retries bool, key string) schema.EventID {
	h.t.Helper()
	body := eventWith(fmt.Sprintf(`"idempotency_key":"%[1]s","humanInTheLoop":{"question":"May I use the %[1]s?","type":"permission"}`, key))
	saved, err := h.Ingest(h.t.Context(), []byte(body), Caller{WaitsForAnswer: true, Retries: retries})
	require.NoError(h.t, err)
	return saved.ID
}

// requireAbandoned fails unless the reasons are those of the questions; "": it is pending.
func (h *testHub) requireAbandoned(reasons map[schema.EventID]string) {
	h.t.Helper()
	for id, reason := range reasons {
		st := h.status(id)
		require.Equal(h.t, reason, st.Reason, id)
		if reason == "" {
			require.Equal(h.t, schema.Pending, st.Status, id)
		} else {
			require.Equal(h.t, schema.ByOrphaned, st.Source, id)
		}
	}
}

func TestEndOrphans_EndsQuestionsOfHubsThatAreGone(t *testing.T) {
	t.Parallel()
	a, b := openTwoSharing(t, time.Millisecond)
	held, retried := b.hold(false, "held"), b.hold(true, "retried")
	taken := b.hold(true, "key")
	own := a.hold(false, "own")
	for _, h := range []*testHub{a, b} {
		require.NoError(t, h.endOrphans(t.Context()))
		h.requireAbandoned(map[schema.EventID]string{held: "", retried: "", taken: "", own: ""}) // both hubs are alive
	}
	require.Equal(t, taken, a.hold(true, "key"), "its program sends its request again, to another hub")
	a.Attach(taken)
	require.NoError(t, b.Store.(store.Store).Close())
	_, err := a.Store.(store.Store).Lead(t.Context())
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(a.Store.Members()) == 1 }, time.Minute, time.Millisecond)
	require.NoError(t, a.endOrphans(t.Context()))
	a.awaitSettled(retried)
	a.requireAbandoned(map[schema.EventID]string{held: ReasonHubStopped, retried: ReasonAgentGone, taken: "", own: ""})
}

func TestEndOrphans_LeavesThemToLeader(t *testing.T) {
	t.Parallel()
	a, b := openTwoSharing(t, time.Hour)
	id := a.hold(false, "key")
	_, err := a.Store.(store.Store).Lead(t.Context())
	require.NoError(t, err)
	require.False(t, b.Store.IsLeader())
	require.NoError(t, b.endOrphans(t.Context()))
	b.requireAbandoned(map[schema.EventID]string{id: ""})
}

// A program whose request to one hub broke off reaches another hub: the first one must not give it up.
func TestAttach_LeavesQuestionToHubThatGotItsRepeat(t *testing.T) {
	t.Parallel()
	a, b := openTwoSharing(t, time.Hour)
	id := a.hold(true, "key")
	other := a.hold(true, "other")
	for _, question := range []schema.EventID{id, other} {
		a.Attach(question)(true)
	}
	require.Equal(t, id, b.hold(true, "key"))
	q, err := a.Store.Question(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, b.Store.Self(), q.Owner)
	for question, timer := range a.requests.timers { // they fire now
		a.abandonDetached(question, &timer)
	}
	a.requireAbandoned(map[schema.EventID]string{id: "", other: ReasonAgentGone})
}

func TestResume_IsForTheFirstHub(t *testing.T) {
	t.Parallel()
	cfg := newSharedDatabase(t)
	before := openSharing(t, cfg, "a:1", time.Hour)
	id := before.hold(false, "key")
	require.NoError(t, before.Store.(store.Store).Close())
	a := openSharing(t, cfg, "a:1", time.Hour)
	b := openSharing(t, cfg, "b:2", time.Hour)
	later := a.hold(false, "later")
	require.NoError(t, b.resumeRequests(t.Context()))
	b.requireAbandoned(map[schema.EventID]string{id: "", later: ""})
	require.NoError(t, a.resumeRequests(t.Context()))
	a.requireAbandoned(map[schema.EventID]string{id: ReasonHubStopped, later: ""})
}
