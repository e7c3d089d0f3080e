package lifeline

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/pgtest"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/postgres"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

// abandonRecorder records what a hub was told to abandon.
type abandonRecorder struct {
	mu   sync.Mutex
	list []string
}

func (a *abandonRecorder) Abandon(_ context.Context, id schema.EventID, _, reason string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, fmt.Sprint(id, " ", reason))
	return nil
}

func (a *abandonRecorder) has(id schema.EventID, reason string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Contains(a.list, fmt.Sprint(id, " ", reason))
}

func (a *abandonRecorder) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.list)
}

// testHub is a hub of a database.
type testHub struct {
	store.Store
	*Requests
	abandonRecorder
}

// newDatabase returns the configuration of hubs of a new database.
func newDatabase(t *testing.T) postgres.Config {
	t.Helper()
	return postgres.Config{DSN: pgtest.New(t, postgres.Template) + "&pool_max_conns=4", KeyFile: filepath.Join(t.TempDir(), "hub.key")}
}

func openHub(t *testing.T, cfg postgres.Config, name string, grace time.Duration) *testHub {
	t.Helper()
	cfg.Name = name
	s, err := postgres.Open(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	h := &testHub{Store: s}
	h.Requests = New(Config{Store: s, Hub: h, Grace: grace, Log: slog.New(slog.DiscardHandler)}, s.Head())
	return h
}

func openHubs(t *testing.T, grace time.Duration) (a, b *testHub) {
	t.Helper()
	cfg := newDatabase(t)
	a, b = openHub(t, cfg, "a:1", grace), openHub(t, cfg, "b:2", grace)
	require.Eventually(t, func() bool { return len(a.Members()) == 2 && len(b.Members()) == 2 }, time.Minute, time.Millisecond)
	return a, b
}

// ask stores a question at a hub; with a known key it repeats one.
func (h *testHub) ask(t *testing.T, of store.Lifeline, key string) schema.EventID {
	t.Helper()
	d := conformance.NewQuestionDraft("s", time.Time{})
	d.NewQuestion.URL, d.NewQuestion.Lifeline, d.IdempotencyKey = "", of, key
	r, err := h.Append(t.Context(), d)
	require.NoError(t, err)
	return r.Event.ID
}

func TestEndOrphans_EndsQuestionsOfHubsThatAreGone(t *testing.T) {
	t.Parallel()
	a, b := openHubs(t, time.Millisecond)
	held, retried := b.ask(t, store.ByRequest, ""), b.ask(t, store.ByRetry, "")
	taken := b.ask(t, store.ByRetry, "key")
	own := a.ask(t, store.ByRequest, "")
	for _, h := range []*testHub{a, b} {
		require.NoError(t, h.EndOrphans(t.Context()))
		require.Zero(t, h.count(), "both hubs are alive")
	}
	require.Equal(t, taken, a.ask(t, store.ByRetry, "key"), "its program sends its request again, to another hub")
	a.Attach(taken)
	require.NoError(t, b.Store.Close())
	_, err := a.Lead(t.Context())
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(a.Members()) == 1 }, time.Minute, time.Millisecond)
	require.NoError(t, a.EndOrphans(t.Context()))
	require.True(t, a.has(held, ReasonHubStopped))
	require.Eventually(t, func() bool { return a.has(retried, ReasonAgentGone) }, time.Minute, time.Millisecond)
	require.Equal(t, 2, a.count(), "neither %d nor %d", taken, own)
}

func TestEndOrphans_LeavesThemToLeader(t *testing.T) {
	t.Parallel()
	a, b := openHubs(t, time.Hour)
	a.ask(t, store.ByRequest, "")
	_, err := a.Lead(t.Context())
	require.NoError(t, err)
	require.False(t, b.IsLeader())
	require.NoError(t, b.EndOrphans(t.Context()))
	require.Zero(t, b.count())
}

// A program whose request to one hub broke off reaches another hub: the first one must not give it up.
func TestAttach_LeavesQuestionToHubThatGotItsRepeat(t *testing.T) {
	t.Parallel()
	a, b := openHubs(t, time.Hour)
	id := a.ask(t, store.ByRetry, "key")
	other := a.ask(t, store.ByRetry, "other")
	for _, question := range []schema.EventID{id, other} {
		a.Attach(question)(true)
	}
	require.Equal(t, id, b.ask(t, store.ByRetry, "key"))
	q, err := a.Question(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, b.Self(), q.Owner)
	for question, timer := range a.timers { // they fire now
		a.abandonDetached(question, &timer)
	}
	require.False(t, a.has(id, ReasonAgentGone))
	require.True(t, a.has(other, ReasonAgentGone))
}

func TestResume_IsForTheFirstHub(t *testing.T) {
	t.Parallel()
	cfg := newDatabase(t)
	before := openHub(t, cfg, "a:1", time.Hour)
	id := before.ask(t, store.ByRequest, "")
	require.NoError(t, before.Store.Close())
	a := openHub(t, cfg, "a:1", time.Hour)
	b := openHub(t, cfg, "b:2", time.Hour)
	later := a.ask(t, store.ByRequest, "")
	require.NoError(t, b.Resume(t.Context()))
	require.Zero(t, b.count())
	require.NoError(t, a.Resume(t.Context()))
	require.True(t, a.has(id, ReasonHubStopped))
	require.False(t, a.has(later, ReasonHubStopped))
}
