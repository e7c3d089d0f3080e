package hub

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
)

// sharedStore is the store of one of two hubs in this process. The rows that the other one commits are
// foreign, as a store on PostgreSQL publishes them.
type sharedStore struct {
	store.Store
	publish atomic.Pointer[func([]store.LogRow)]
}

func (s *sharedStore) SetPublish(publish func([]store.LogRow)) { s.publish.Store(&publish) }

// twoHubs are hubs with one database. All writes go through one of them at a time.
type twoHubs struct {
	a, b    *testHub
	writesB atomic.Bool
}

func newTwoHubs(t *testing.T, change ...func(*Config)) *twoHubs {
	t.Helper()
	two := &twoHubs{}
	path := storetest.NewFile(t)
	db := storetest.Open(t, storetest.Options{File: path, Fast: true})
	var stores [2]*sharedStore
	open := func(i int) *testHub {
		stores[i] = &sharedStore{Store: db}
		h := &testHub{t: t, path: path}
		cfg := Config{Store: stores[i], Feed: feed.New(db.Head(), 64, 1<<20)}
		for _, fn := range change {
			fn(&cfg)
		}
		h.Hub = New(cfg)
		h.query = query.New(query.Config{Store: db, Feed: cfg.Feed, People: cfg.People, Version: "test"})
		return h
	}
	two.a, two.b = open(0), open(1)
	db.SetPublish(func(rows []store.LogRow) {
		for i, s := range stores {
			own := slices.Clone(rows)
			for j := range own {
				own[j].Foreign = two.writesB.Load() != (i == 1)
			}
			(*s.publish.Load())(own)
		}
	})
	return two
}

func TestForeignRows_CountForLimits(t *testing.T) {
	t.Parallel()
	two := newTwoHubs(t, func(c *Config) { c.PendingLimits = PendingLimits{Session: 1} })
	askB := func() error {
		two.writesB.Store(true)
		defer two.writesB.Store(false)
		_, err := two.b.Ingest(t.Context(), []byte(askIn("s")), Caller{})
		return err
	}
	id := two.a.post(askIn("s")).ID
	require.ErrorIs(t, askB(), schema.ErrTooMany)
	_, err := two.a.Cancel(t.Context(), id, schema.Cancel{}, Caller{})
	require.NoError(t, err)
	require.NoError(t, askB())
}

// The hub that stored a question waits until its response was sent. Another hub never sees that moment.
func TestForeignRows_ResponseIsNotAwaited(t *testing.T) {
	t.Parallel()
	two := newTwoHubs(t)
	id := two.a.post(askIn("s")).ID
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, two.a.AwaitResponseSent(ended, id), context.Canceled)
	require.NoError(t, two.b.AwaitResponseSent(ended, id))
	require.Empty(t, two.b.unsentResponses)
}

func TestForeignRows_WakePulls(t *testing.T) {
	t.Parallel()
	two := newTwoHubs(t)
	id, secret := two.a.ask(forcePush)
	pulled := make(chan error, 1)
	go func() {
		answer, err := two.b.Pull(context.Background(), id, PullOptions{Wait: waitLimit, Secret: secret})
		if err == nil && answer == nil {
			err = errors.New("no answer")
		}
		pulled <- err
	}()
	require.Eventually(t, func() bool {
		two.b.mu.Lock()
		defer two.b.mu.Unlock()
		return len(two.b.subscribers[id]) == 1
	}, waitLimit, time.Millisecond)
	yes := true
	_, err := two.a.Respond(t.Context(), id, &schema.Response{Permission: &yes}, Caller{})
	require.NoError(t, err)
	require.NoError(t, <-pulled)
}

func TestForeignRows_AskBackIsFollowed(t *testing.T) {
	t.Parallel()
	two := newTwoHubs(t)
	first, _ := two.a.ask(forcePush)
	_, err := two.a.Respond(t.Context(), first, askBack("Why?"), Caller{})
	require.NoError(t, err)
	two.writesB.Store(true)
	again, _ := two.b.ask(forcePush)
	require.Equal(t, first, two.b.status(again).Follows)
}

// The hook of an idle session waits at one hub, the person's prompt reaches another one.
func TestForeignRows_PromptEndsWaitForMessages(t *testing.T) {
	t.Parallel()
	two := newTwoHubs(t)
	key := store.SessionKey{App: "a", Session: "s"}
	status := make(chan control.WaitStatus, 1)
	go func() {
		st, err := two.b.WaitForMessage(context.Background(), key, WaitOptions{Name: "hook", Wait: waitLimit}, Caller{})
		if err == nil {
			status <- st
		}
		close(status)
	}()
	require.Eventually(t, func() bool {
		two.b.mu.Lock()
		defer two.b.mu.Unlock()
		return two.b.messageWaiters[key] != nil
	}, waitLimit, time.Millisecond)
	two.b.mu.Lock()
	two.b.stopBlocks[key] = control.MaxStopBlocks
	two.b.mu.Unlock()
	two.a.post(`{"source_app":"a","session_id":"s","hook_event_type":"UserPromptSubmit","payload":{}}`)
	require.True(t, (<-status).Ended)
	require.True(t, two.b.mayBlockStop(key))
}

// An event at one hub takes the messages that pages at another one show as waiting.
func TestForeignRows_ReportTakenMessages(t *testing.T) {
	t.Parallel()
	two := newTwoHubs(t)
	_, _, err := two.a.Store.CreateMessage(t.Context(), store.MessageDraft{MessageDraft: control.MessageDraft{SourceApp: "a", SessionID: "s", Text: "stop"}, From: "ada"})
	require.NoError(t, err)
	require.NoError(t, two.b.Reload(t.Context()))
	require.Len(t, two.b.factIDs(feed.Messages), 1)
	two.a.post(`{"source_app":"a","session_id":"s","hook_event_type":"SessionEnd","payload":{}}`)
	require.Len(t, two.b.factIDs(feed.Messages), 2)
}

func TestReload_FollowsRules(t *testing.T) {
	t.Parallel()
	two := newTwoHubs(t)
	postB := func(body string) schema.EventID {
		two.writesB.Store(true)
		defer two.writesB.Store(false)
		return two.b.post(body).ID
	}
	rule := two.a.makeRule("allow")
	early := postB(bashRequest("s", "npm test early")) // before this hub has the rule
	require.Equal(t, schema.Pending, two.b.status(early).Status)
	require.NoError(t, two.b.Reload(t.Context()))
	require.Contains(t, two.b.factIDs(feed.Rules), schema.EventID(0))
	two.writesB.Store(true)
	two.b.startDeadlines()
	require.Eventually(t, func() bool { return two.b.status(early).Outcome == schema.Approve }, waitLimit, time.Millisecond)
	require.Equal(t, schema.Approve, two.b.status(postB(bashRequest("s", "npm test now"))).Outcome)

	_, err := two.a.RevokeRule(t.Context(), rule.ID, Caller{Identity: ada})
	require.NoError(t, err)
	require.NoError(t, two.b.Reload(t.Context()))
	require.Equal(t, schema.Pending, two.b.status(postB(bashRequest("s", "npm test later"))).Status)
}

// Between the revocation and Reload, the store refuses the decision.
func TestReload_RevokedRuleDecidesNothingBefore(t *testing.T) {
	t.Parallel()
	two := newTwoHubs(t)
	rule := two.a.makeRule("allow")
	require.NoError(t, two.b.Reload(t.Context()))
	_, err := two.a.RevokeRule(t.Context(), rule.ID, Caller{Identity: ada})
	require.NoError(t, err)
	two.writesB.Store(true)
	require.Equal(t, "pending", two.b.postedOutcome(bashRequest("s", "npm test")))
}

func TestReload_ReportsFreezesAndMessagesOnce(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t, storetest.Options{Fast: true})
	people, err := auth.Open(t.Context(), auth.Config{Store: db})
	require.NoError(t, err)
	b := New(Config{Store: &sharedStore{Store: db}, Feed: feed.New(0, 64, 1<<20), People: people})
	facts := func(kind feed.Kinds) (n int) {
		enough := errors.New("enough")
		require.ErrorIs(t, b.Feed.Follow(t.Context(), kind, func(batch *feed.Batch) error {
			n = len(batch.Facts)
			return enough
		}), enough)
		return n
	}
	require.NoError(t, b.Reload(t.Context()))
	require.Zero(t, facts(feed.Frozen|feed.Messages))

	freeze, _, err := db.CreateFreeze(t.Context(), control.Freeze{Scope: control.FreezeAll, By: "ada"}) // by another hub
	require.NoError(t, err)
	m, _, err := db.CreateMessage(t.Context(), store.MessageDraft{MessageDraft: control.MessageDraft{SourceApp: "a", SessionID: "s", Text: "stop"}, From: "ada"})
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, b.Reload(t.Context()))
	}
	require.Equal(t, 1, facts(feed.Frozen))
	require.Equal(t, 1, facts(feed.Messages))

	_, err = db.LiftFreeze(t.Context(), freeze.ID, "ada", b.Clock())
	require.NoError(t, err)
	_, err = db.WithdrawMessage(t.Context(), m.ID, "ada")
	require.NoError(t, err)
	require.NoError(t, b.Reload(t.Context()))
	require.Equal(t, 2, facts(feed.Frozen))
	require.Equal(t, 2, facts(feed.Messages))
}

// A lock at one hub drops what anonymous callers answered, and both hubs refuse them.
func TestReload_LockDropsAnonymousAnswers(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t, storetest.Options{Fast: true})
	open := func() *Hub {
		people, err := auth.Open(t.Context(), auth.Config{Store: db})
		require.NoError(t, err)
		return New(Config{Store: &sharedStore{Store: db}, Feed: feed.New(0, 64, 1<<20), People: people})
	}
	a, b := open(), open()
	saved, err := b.Ingest(t.Context(), []byte(askIn("s")), Caller{})
	require.NoError(t, err)
	yes := true
	_, err = b.Respond(t.Context(), saved.ID, &schema.Response{Permission: &yes, HoldMS: 30_000}, Caller{})
	require.NoError(t, err)
	code, err := a.People.OwnerCode(t.Context())
	require.NoError(t, err)
	_, err = a.People.SignIn(t.Context(), auth.SignInAttempt{Code: code, Name: "ada"})
	require.NoError(t, err)
	require.NoError(t, b.People.Reload(t.Context()))
	require.NoError(t, b.Reload(t.Context()))
	held, err := db.OpenUndoWindows(t.Context())
	require.NoError(t, err)
	require.Empty(t, held)
	_, err = b.Respond(t.Context(), saved.ID, &schema.Response{Permission: &yes}, Caller{})
	require.ErrorIs(t, err, schema.ErrSignIn)
}
