package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/bus"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

// newHubs opens a database with two hubs.
func newHubs(t testing.TB) (a, b *testStore) {
	t.Helper()
	cfg := testConfig(t)
	cfg.Name = "a:1"
	a = newTestStore(t, cfg)
	cfg.Name = "b:2"
	return a, newTestStore(t, cfg)
}

// awaitRows waits until a hub has published the whole log.
func awaitRows(t testing.TB, b *testStore, head int64) {
	t.Helper()
	require.Eventually(t, func() bool { return len(b.Published()) == int(head) }, time.Minute, time.Millisecond)
	for i, row := range b.Published() {
		require.EqualValues(t, i+1, row.Seq, "in order and without gaps")
	}
}

func TestHubs_WriteOneDenseLog(t *testing.T) {
	t.Parallel()
	a, b := newHubs(t)
	const writers, each = 16, 40
	var wg sync.WaitGroup
	for _, s := range []*testStore{a, b} {
		for w := range writers {
			wg.Go(func() {
				for i := range each {
					d := conformance.NewDraft("app", fmt.Sprint(w), "Stop", "")
					if i%4 == 0 {
						d = conformance.NewQuestionDraft(fmt.Sprint(w), time.Time{})
					}
					s.MustAppend(t, d)
				}
			})
		}
	}
	wg.Wait()
	const total = 2 * writers * each
	for _, s := range []*testStore{a, b} {
		awaitRows(t, s, total)
		conformance.RequireDense(t, s.Store)
		foreign := 0
		for _, row := range s.Published() {
			if row.Foreign {
				foreign++
			}
			require.Equal(t, row.Event.Question != nil, row.Kinds&feed.NewQuestion != 0)
		}
		require.Equal(t, total/2, foreign)
		require.EqualValues(t, total/4, s.State.Pending.Len())
	}
}

func TestHubs_OneAnswerWins(t *testing.T) {
	t.Parallel()
	a, b := newHubs(t)
	for range 5 {
		id := a.MustAppend(t, conformance.NewQuestionDraft("s", time.Time{})).ID
		q := a.MustQuestion(t, id)
		var won atomic.Int64
		var wg sync.WaitGroup
		for _, s := range []*testStore{a, b} {
			for range 20 {
				wg.Go(func() {
					c := conformance.AnswerChange(q)
					c.Ledger = []store.LedgerRecord{{Action: "question.answered", Actor: "ann", QuestionID: id}}
					if err := s.Apply(t.Context(), c); err == nil {
						won.Add(1)
					} else {
						require.ErrorIs(t, err, store.ErrConflict)
					}
				})
			}
		}
		wg.Wait()
		require.EqualValues(t, 1, won.Load())
	}
	awaitRows(t, a, 10)
	awaitRows(t, b, 10)
	require.Zero(t, a.State.Pending.Len())
	require.Zero(t, b.State.Pending.Len())
	requireChain(t, a.Store)
}

// requireChain verifies the audit log.
func requireChain(t testing.TB, s store.Store) {
	t.Helper()
	entries, err := s.Ledger(t.Context(), store.LedgerPage{Limit: 10_000, Oldest: true})
	require.NoError(t, err)
	prev := sign.FirstPrev
	for i, line := range entries {
		var e sign.LedgerEntry
		require.NoError(t, json.Unmarshal(line, &e))
		require.EqualValues(t, i+1, e.N)
		require.Equal(t, prev, e.Prev)
		prev = e.Hash
	}
}

func TestHubs_ShareOneAuditLog(t *testing.T) {
	t.Parallel()
	a, b := newHubs(t)
	var wg sync.WaitGroup
	for _, s := range []*testStore{a, b} {
		for range 60 {
			wg.Go(func() {
				require.NoError(t, s.Store.AppendLedger(t.Context(), store.LedgerRecord{Action: "test", Actor: "ann"}))
			})
		}
	}
	wg.Wait()
	requireChain(t, b.Store)
	entries, err := b.Store.Ledger(t.Context(), store.LedgerPage{Limit: 1000})
	require.NoError(t, err)
	require.Len(t, entries, 120)
}

// Idempotency keys hold across hubs.
func TestHubs_ReplayKeyOfOtherHub(t *testing.T) {
	t.Parallel()
	a, b := newHubs(t)
	draft := func() *store.EventDraft {
		d := conformance.NewQuestionDraft("s", time.Time{})
		d.IdempotencyKey = "once"
		return d
	}
	var wg sync.WaitGroup
	var stored atomic.Int64
	for i := range 20 {
		wg.Go(func() {
			r, err := []*testStore{a, b}[i%2].Append(t.Context(), draft())
			require.NoError(t, err)
			require.EqualValues(t, 1, r.Event.ID)
			if !r.Replayed {
				stored.Add(1)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, stored.Load())
}

// Questions that ask the same form one group, wherever they were asked, and its leader may end on
// another hub.
func TestHubs_GroupDuplicates(t *testing.T) {
	t.Parallel()
	a, b := newHubs(t)
	draft := func() *store.EventDraft {
		d := conformance.NewQuestionDraft("s", time.Time{})
		d.NewQuestion.DuplicateKey = []byte("same")
		return d
	}
	first := a.MustAppend(t, draft()).ID
	second := b.MustAppend(t, draft()).ID
	third := a.MustAppend(t, draft()).ID
	members, err := a.GroupMembers(t.Context(), first)
	require.NoError(t, err)
	require.Len(t, members, 2)
	b.Answer(t, first)
	q := a.MustQuestion(t, third)
	require.Contains(t, string(q.Status), fmt.Sprintf(`"sameAs":%d`, second))
	a.MustAppend(t, conformance.NewDraft("app", "s", "Stop", "")) // catches up
	members, err = a.GroupMembers(t.Context(), second)
	require.NoError(t, err)
	require.Len(t, members, 1)
	require.Equal(t, third, members[0].ID)
}

// The state in memory for the hooks of agents follows the other hubs.
func TestHubs_HandOverMessagesOfOtherHub(t *testing.T) {
	t.Parallel()
	a, b := newHubs(t)
	m, isNew, err := a.Store.CreateMessage(t.Context(), store.MessageDraft{
		MessageDraft: control.MessageDraft{SourceApp: "app", SessionID: "s", Text: "stop"}, From: "ann", SentAt: a.Clock.Now(), Key: "1",
	})
	require.NoError(t, err)
	require.True(t, isNew)
	key := store.SessionKey{App: m.SourceApp, Session: m.SessionID}
	require.Eventually(t, func() bool { return b.Store.HasWaitingMessages(key) }, time.Minute, time.Millisecond)
	_, err = b.Store.WithdrawMessage(t.Context(), m.ID, "ann")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return !a.Store.HasWaitingMessages(key) }, time.Minute, time.Millisecond)
	_, err = a.Store.WithdrawMessage(t.Context(), m.ID, "ann")
	require.ErrorIs(t, err, schema.ErrHandedOver)
}

// A decision by a caller waits for the accounts and rules that another hub has changed.
func TestApply_RefusesDecisionBeforeReload(t *testing.T) {
	t.Parallel()
	a, b := newHubs(t)
	release, reloads := make(chan struct{}), atomic.Int64{}
	b.ObservePolicy(func(context.Context) error {
		<-release
		if reloads.Add(1) == 1 {
			return errors.New("not yet")
		}
		return nil
	})
	id := b.MustAppend(t, conformance.NewQuestionDraft("s", time.Time{})).ID
	c := conformance.AnswerChange(b.MustQuestion(t, id))
	_, err := a.Store.ChangePeople(t.Context(), &store.PeopleChange{People: store.People{Persons: []store.Person{{Name: "ann", Role: schema.Admin}}}})
	require.NoError(t, err)
	c.Authority = store.OfCaller
	require.ErrorIs(t, b.Apply(t.Context(), c), store.ErrPolicyChanged)
	close(release)
	require.Eventually(t, func() bool { return !errors.Is(b.Apply(t.Context(), c), store.ErrPolicyChanged) }, time.Minute, time.Millisecond)
	require.EqualValues(t, 2, reloads.Load())
	require.Equal(t, schema.Responded, b.MustQuestion(t, id).State)
}

// dump returns all rows of the tables.
func dump(t testing.TB, dsn string, skip ...string) map[string]string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.Background())) }()
	rows, _ := conn.Query(t.Context(), `SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema() AND NOT table_name = ANY($1)`, skip)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Greater(t, len(tables), 30)
	all := map[string]string{}
	for _, table := range tables {
		var text *string
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT string_agg(r::text, E'\n' ORDER BY r::text) FROM `+pgx.Identifier{table}.Sanitize()+` r`).Scan(&text))
		if text != nil {
			all[table] = *text
		}
	}
	return all
}

func TestOpen_SecondHubChangesNoRow(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.Name = "a:1"
	a := newTestStore(t, cfg)
	id := a.MustAppend(t, conformance.NewQuestionDraft("s", time.Time{})).ID
	c := conformance.AnswerChange(a.MustQuestion(t, id))
	c.Delivery = &store.Delivery{AnswerID: "x", State: schema.Queued, Due: a.Clock.Now(), Leased: a.Clock.Now().Add(time.Minute), Until: a.Clock.Now().Add(time.Hour)}
	require.NoError(t, a.Apply(t.Context(), c))
	dsn := cfg.DSN[:len(cfg.DSN)-len("&pool_max_conns=4")]
	before := dump(t, dsn, "hubs", "leases")
	cfg.Name = "b:2"
	b := newTestStore(t, cfg)
	require.Equal(t, before, dump(t, dsn, "hubs", "leases"))
	require.Equal(t, a.Store.Epoch(), b.Store.Epoch())
	require.True(t, a.WasFirst())
	require.False(t, b.WasFirst())
	require.Eventually(t, func() bool { return len(a.Members()) == 2 && len(b.Members()) == 2 }, time.Minute, time.Millisecond)

	leased, _, err := b.LeaseDeliveries(t.Context(), a.Clock.Now(), a.Clock.Now().Add(time.Minute), 10)
	require.NoError(t, err)
	require.Empty(t, leased, "the other hub has the lease")
	require.NoError(t, a.engine.Close())
	leased, _, err = b.LeaseDeliveries(t.Context(), a.Clock.Now(), a.Clock.Now().Add(time.Minute), 10)
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{id}, leased, "a hub that stops frees its own")
}

func TestOpen_RefusesBesideHubOfEarlierVersion(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	conn, err := pgx.Connect(t.Context(), cfg.DSN[:len(cfg.DSN)-len("&pool_max_conns=4")])
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), `SELECT pg_advisory_lock`+lockKey)
	require.NoError(t, err)
	_, err = Open(t.Context(), cfg)
	require.ErrorIs(t, err, store.ErrLocked)
	require.NoError(t, conn.Close(t.Context()))
	s, err := Open(t.Context(), cfg)
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

func TestLead_MovesToOtherHub(t *testing.T) {
	t.Parallel()
	a, b := newHubs(t)
	leading, err := a.Lead(t.Context())
	require.NoError(t, err)
	require.True(t, a.IsLeader())
	require.False(t, b.IsLeader())
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = b.Lead(ended)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, a.engine.Close())
	<-leading.Done()
	_, err = b.Lead(t.Context())
	require.NoError(t, err)
}

func TestAnnounce_TellsOtherHubs(t *testing.T) {
	t.Parallel()
	a, b := newHubs(t)
	changed := make(chan struct{}, 100)
	b.ObserveMembers(func() { changed <- struct{}{} })
	a.Announce(store.MemberFacts{Watching: 3})
	require.Eventually(t, func() bool {
		<-changed
		watching := 0
		for _, m := range b.Members() {
			watching += m.Watching
		}
		return watching == 3
	}, time.Minute, time.Millisecond)
}

// A hub whose connection broke continues after the commits of others.
func TestWriter_ContinuesAfterOtherHub(t *testing.T) {
	t.Parallel()
	a, b := newHubs(t)
	a.MustAppend(t, conformance.NewDraft("app", "s", "Stop", ""))
	terminateWriter(t, a)
	b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", ""))
	require.Eventually(t, func() bool {
		_, err := a.Append(t.Context(), conformance.NewDraft("app", "s", "Stop", ""))
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	awaitRows(t, a, a.Head())
	awaitRows(t, b, a.Head())
}

// A hub must stop after its database lost confirmed commits.
func TestWriter_StopsAfterLostCommits(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, testConfig(t))
	b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", ""))
	b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", ""))
	for _, query := range []string{`DELETE FROM events WHERE seq = 2`, `UPDATE streams SET head = 1, events = 1, commits = commits - 1`} {
		_, err := b.readers.pool.Exec(t.Context(), query)
		require.NoError(t, err)
	}
	terminateWriter(t, b)
	require.Eventually(t, func() bool {
		_, err := b.Append(t.Context(), conformance.NewDraft("app", "s", "Stop", ""))
		return errors.Is(err, schema.ErrStopping)
	}, time.Minute, 10*time.Millisecond)
	require.ErrorContains(t, b.Wait(t.Context()), "lost commits")
}

// silentBus carries nothing.
type silentBus struct{ rings chan int64 }

func (silentBus) Ring(int64)            {}
func (b silentBus) Rings() <-chan int64 { return b.rings }
func (silentBus) Up() bool              { return true }
func (silentBus) Stats() bus.Stats      { return bus.Stats{} }
func (silentBus) Close() error          { return nil }

func TestFollower_NeedsNoBus(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.bus = silentBus{}
	cfg.Name = "a:1"
	a := newTestStore(t, cfg)
	cfg.Name = "b:2"
	b := newTestStore(t, cfg)
	a.MustAppend(t, conformance.NewDraft("app", "s", "Stop", ""))
	awaitRows(t, b, 1)
	require.True(t, b.Published()[0].Foreign)
	require.True(t, b.isCurrent())
}

// A group that runs again because of a repeated key, and once more because of another hub, stores its
// new events: their keys are not known yet.
func TestHubs_StoreNewKeysBesideRepeatedOnes(t *testing.T) {
	t.Parallel()
	a, b := newHubs(t)
	const rounds, posters = 40, 8
	var wg sync.WaitGroup
	for p := range posters {
		hubs := []*testStore{a, b}
		wg.Go(func() {
			for round := range rounds {
				d := conformance.NewQuestionDraft(fmt.Sprint(p), time.Time{})
				d.IdempotencyKey = fmt.Sprint(p, "-", round)
				first, err := hubs[p%2].Append(t.Context(), d)
				require.NoError(t, err)
				require.False(t, first.Replayed)
				for _, s := range hubs {
					again, err := s.Append(t.Context(), d)
					require.NoError(t, err)
					require.True(t, again.Replayed)
					require.Equal(t, first.Event.ID, again.Event.ID)
				}
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, rounds*posters, a.Head())
}

// A loopback address means a process of the machine whose hub stored it. A hub of another machine leaves
// the delivery to that one, until its retries are over.
func TestHubs_LeaveLoopbackAddressesToTheirMachine(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.Name, cfg.Machine = "a:1", "a"
	a := newTestStore(t, cfg)
	cfg.Name, cfg.Machine = "b:1", "b"
	b := newTestStore(t, cfg)
	ask := func(s *testStore, url string) (id schema.EventID, until time.Time) {
		d := conformance.NewQuestionDraft("s", time.Time{})
		d.NewQuestion.URL = url
		id = s.MustAppend(t, d).ID
		now := a.Clock.Now()
		until = now.Add(time.Hour)
		c := conformance.AnswerChange(b.MustQuestion(t, id))
		c.Delivery = &store.Delivery{AnswerID: "x", State: schema.Queued, Due: now, Leased: now.Add(time.Minute), Until: until}
		require.NoError(t, b.Apply(t.Context(), c))
		return id, until
	}
	remote, _ := ask(a, "wss://agent.example/secret")
	require.False(t, b.MustQuestion(t, remote).Delivery.Leased.IsZero())

	id, until := ask(a, "ws://127.0.0.1:9/secret")
	require.Equal(t, store.Place{Owner: a.Self(), Machine: "a"}, b.MustQuestion(t, id).Place)
	require.True(t, b.MustQuestion(t, id).Delivery.Leased.IsZero())
	now := a.Clock.Now()
	leased, next, err := b.LeaseDeliveries(t.Context(), now, now.Add(time.Minute), 10)
	require.NoError(t, err)
	require.Empty(t, leased)
	require.True(t, next.After(now), "the lease of the other delivery")
	leased, _, err = a.LeaseDeliveries(t.Context(), now, now.Add(time.Minute), 10)
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{id}, leased)
	leased, _, err = b.LeaseDeliveries(t.Context(), until, until.Add(time.Minute), 10)
	require.NoError(t, err)
	require.Contains(t, leased, id, "gives it up")

	own, _ := ask(b, "ws://localhost:9/secret")
	require.False(t, b.MustQuestion(t, own).Delivery.Leased.IsZero())
}

// A clock without a monotonic reading shows no step when the clock of the hub's machine is set.
func TestNow_HasNoMonotonicReading(t *testing.T) {
	t.Parallel()
	s, err := openEngine(t.Context(), testConfig(t))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	now := s.Now()
	require.NotContains(t, now.String(), "m=", "a monotonic reading")
	require.WithinDuration(t, time.Now(), now, time.Minute)
	require.False(t, s.Now().Before(now))
}
