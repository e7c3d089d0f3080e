package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
)

func TestMain(m *testing.M) {
	if crashed() || crashedSame() { // this process is the child of a test that kills it
		return
	}
	goleak.VerifyTestMain(m)
}

// bench is a hub over a real store.
type bench struct {
	*Hub
	t    *testing.T
	path string

	mu         sync.Mutex
	dispatched []schema.EventID
}

func setup(t *testing.T, change ...func(*Config)) *bench {
	t.Helper()
	return open(t, storetest.NewFile(t), change...)
}

func open(t *testing.T, path string, change ...func(*Config)) *bench {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Path: path, ReserveFileBytes: 1 << 16})
	require.NoError(t, err)
	b := &bench{t: t, path: path}
	cfg := Config{
		Store: s, Feed: feed.New(s.Head(), 64, 1<<20), Version: "test",
		Dispatch: func(id schema.EventID) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.dispatched = append(b.dispatched, id)
		},
	}
	for _, fn := range change {
		fn(&cfg)
	}
	b.Hub = New(cfg)
	t.Cleanup(func() { _ = s.Close() })
	return b
}

// ends runs the deadlines until the test ends.
func (b *bench) ends() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = b.Run(ctx) }()
	b.t.Cleanup(func() { cancel(); <-done })
}

func (b *bench) post(body string) StoredEvent {
	b.t.Helper()
	saved, err := b.Ingest(b.t.Context(), []byte(body), Caller{})
	require.NoError(b.t, err)
	return saved
}

// ask posts a question and returns its id and secret.
func (b *bench) ask(question string) (schema.EventID, string) {
	b.t.Helper()
	saved := b.post(with(`"humanInTheLoop":` + question))
	b.ResponseSent(saved.ID)
	return saved.ID, decode(b.t, saved.JSON).RequestSecret
}

func decode(t *testing.T, b []byte) schema.Event {
	t.Helper()
	var e schema.Event
	require.NoError(t, json.Unmarshal(b, &e), string(b))
	return e
}

func (b *bench) status(id schema.EventID) schema.Status {
	b.t.Helper()
	raw, err := b.Event(b.t.Context(), id)
	require.NoError(b.t, err)
	return *decode(b.t, raw).HumanInTheLoopStatus
}

// settled waits until the question has its end.
func (b *bench) settled(id schema.EventID) schema.Status {
	b.t.Helper()
	changed, stop := b.subscribe(id)
	defer stop()
	for {
		if st := b.status(id); st.Settled() {
			return st
		}
		select {
		case <-changed:
		case <-time.After(10 * time.Second):
			b.t.Fatal("the question does not end")
		}
	}
}

func yes() *schema.Response { v := true; return &schema.Response{Permission: &v} }
func no() *schema.Response  { v := false; return &schema.Response{Permission: &v} }

const (
	mayI    = `{"question":"May I?","type":"permission","responseWebSocketUrl":"ws://127.0.0.1:50123/secret"}`
	mayI50  = `{"question":"May I?","type":"permission","responseWebSocketUrl":"ws://127.0.0.1:50123/secret","timeout":0.05}`
	pullOne = `{"question":"May I?","type":"permission"}`
)

func TestEventIsKeptAndForgeriesAreNot(t *testing.T) {
	t.Parallel()
	b := setup(t)
	saved := b.post(`{"id":99,"source_app":"a","session_id":"s","hook_event_type":"Stop","payload":{"a": 1},"x-future":[1],
		"humanInTheLoop":` + mayI + `,"humanInTheLoopStatus":{"status":"responded","response":{"permission":true}}}`)
	e := decode(t, saved.JSON)
	require.Equal(t, schema.EventID(1), e.ID)
	require.Equal(t, schema.Pending, e.HumanInTheLoopStatus.Status)
	require.Equal(t, `{"a": 1}`, string(e.Payload))
	require.Contains(t, e.Extra, "x-future")
	require.NotZero(t, e.Timestamp)
	require.Equal(t, "ws://127.0.0.1:50123/secret", e.HumanInTheLoop.ResponseWebSocketURL, "its poster sees the address")

	for name, read := range map[string]func() ([]byte, error){
		"one":    func() ([]byte, error) { return b.Event(t.Context(), 1) },
		"recent": func() ([]byte, error) { return b.Recent(t.Context(), 10) },
		"found":  func() ([]byte, error) { return b.FindEvents(t.Context(), store.Filter{Status: "pending", Limit: 10}) },
		"stream": func() ([]byte, error) { f, _, err := b.FramesAfter(t.Context(), 0); return f[0].Data, err },
	} {
		raw, err := read()
		require.NoError(t, err, name)
		require.Contains(t, string(raw), "May I?", name)
		require.NotContains(t, string(raw), "50123", "%s: the address is a secret", name)
		require.NotContains(t, string(raw), "requestSecret", name)
	}
}

func TestAnswerIsStoredPublishedAndDispatched(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, _ := b.ask(mayI)
	raw, err := b.Respond(t.Context(), id, &schema.Response{Permission: no().Permission, Reason: "not today"}, Caller{})
	require.NoError(t, err)

	st := decode(t, raw).HumanInTheLoopStatus
	require.Equal(t, schema.Responded, st.Status)
	require.Equal(t, schema.Deny, st.Outcome)
	require.Equal(t, schema.ByHuman, st.Source)
	require.False(t, *st.Response.Permission)
	require.Contains(t, st.Response.Guidance, "not today")
	require.Equal(t, schema.Queued, st.Delivery.State)
	require.Equal(t, int64(2), st.Revision)
	require.False(t, st.RespondedBy.Verified, "in local mode nobody is verified")
	require.Equal(t, []schema.EventID{id}, b.dispatched)

	frames, _, err := b.FramesAfter(t.Context(), int64(id))
	require.NoError(t, err)
	require.Len(t, frames, 1)
	require.True(t, frames[0].Status)
	var change schema.StatusChange
	require.NoError(t, json.Unmarshal(frames[0].Data, &change))
	require.Equal(t, *st, change.HumanInTheLoopStatus)
	require.Equal(t, id, decode(t, frames[0].End).ID, "version 1 gets the whole event once more")
}

func TestSameAnswerAgainChangesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, _ := b.ask(mayI)
	first, err := b.Respond(t.Context(), id, yes(), Caller{})
	require.NoError(t, err)
	again, err := b.Respond(t.Context(), id, yes(), Caller{})
	require.NoError(t, err)
	require.JSONEq(t, string(first), string(again))
	require.Len(t, b.dispatched, 1)

	_, err = b.Respond(t.Context(), id, no(), Caller{})
	require.ErrorIs(t, err, schema.ErrDecided)
	var state *schema.StatusError
	require.ErrorAs(t, err, &state)
	require.Equal(t, schema.Approve, state.Status.Outcome)
}

func TestFiftyAnswersAtOnceHaveOneWinner(t *testing.T) {
	t.Parallel()
	b := setup(t)
	labels := make([]string, 50)
	for i := range labels {
		labels[i] = fmt.Sprintf("label %d", i)
	}
	choices, _ := json.Marshal(labels)
	id, _ := b.ask(`{"question":"Which?","type":"choice","choices":` + string(choices) + `}`)

	errs := make([]error, len(labels))
	var wg sync.WaitGroup
	for i := range labels {
		wg.Go(func() {
			_, errs[i] = b.Respond(t.Context(), id, &schema.Response{Choice: &labels[i]}, Caller{})
		})
	}
	wg.Wait()
	won := b.status(id).Outcome
	winners := 0
	for i, err := range errs {
		if err == nil {
			winners++
			require.Equal(t, labels[i], string(won))
			continue
		}
		require.ErrorIs(t, err, schema.ErrDecided)
		var state *schema.StatusError
		require.ErrorAs(t, err, &state)
		require.Equal(t, won, state.Status.Outcome)
		require.NotNil(t, state.Status.RespondedBy)
	}
	require.Equal(t, 1, winners)
}

func TestAnswerCancelAndDeadlineRace(t *testing.T) {
	t.Parallel()
	clock := newClock()
	b := setup(t, clock.in)
	for range 20 {
		id, secret := b.ask(mayI)
		clock.pass(301 * time.Second)
		var wg sync.WaitGroup
		ends := make([]error, 4)
		wg.Go(func() { _, ends[0] = b.Respond(t.Context(), id, yes(), Caller{}) })
		wg.Go(func() { _, ends[1] = b.Cancel(t.Context(), id, schema.Cancel{}, Caller{}) })
		wg.Go(func() { _, ends[2] = b.Cancel(t.Context(), id, schema.Cancel{RequestSecret: secret}, Caller{}) })
		wg.Go(func() { ends[3] = b.expire(t.Context(), id) })
		wg.Wait()
		require.NoError(t, ends[3])
		won := b.status(id).Outcome
		for i, outcome := range []schema.Outcome{schema.Approve, schema.Cancelled, schema.Withdrawn} {
			if outcome == won {
				require.NoError(t, ends[i])
			} else {
				require.True(t, errors.Is(ends[i], schema.ErrDecided) || errors.Is(ends[i], schema.ErrExpired), "%v", ends[i])
			}
		}
	}
	frames, _, err := b.FramesAfter(t.Context(), 0)
	require.NoError(t, err)
	endsSeen := 0
	for _, f := range frames {
		if f.End != nil {
			endsSeen++
		}
	}
	require.Equal(t, 20, endsSeen, "every question ends exactly once")
}

func TestDeadlineIsATimeoutNotARefusal(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ends()
	id, _ := b.ask(mayI50)
	st := b.settled(id)
	require.Equal(t, schema.TimedOut, st.Status)
	require.Equal(t, schema.Timeout, st.Outcome)
	require.False(t, *st.Response.Permission)
	require.Contains(t, st.Response.Guidance, "not a refusal")
	_, err := b.Respond(t.Context(), id, yes(), Caller{})
	require.ErrorIs(t, err, schema.ErrExpired)

	free, _ := b.ask(`{"question":"Name?","type":"question","timeout":0.05}`)
	st = b.settled(free)
	require.Nil(t, st.Response.Permission)
	require.Nil(t, st.Response.Response)
}

func TestDeadlineThatPassedWhileTheHubWasDown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, _ := b.ask(mayI50)
	require.Equal(t, schema.Pending, b.status(id).Status)
	require.NoError(t, b.Store.Close())

	b = open(t, b.path, func(c *Config) {
		c.Clock = func() time.Time { return time.Now().Add(time.Hour) }
	})
	b.ends()
	require.Equal(t, schema.Timeout, b.settled(id).Outcome)
}

func TestWrongAnswersChangeNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, _ := b.ask(mayI)
	text := "sure"
	for name, r := range map[string]*schema.Response{
		"nothing": {}, "a text": {Response: &text}, "both": {Permission: yes().Permission, Response: &text},
		"an edit of no call": {Permission: yes().Permission, ModifiedArguments: json.RawMessage(`{}`)},
	} {
		_, err := b.Respond(t.Context(), id, r, Caller{})
		require.ErrorIs(t, err, schema.ErrWrongAnswer, name)
	}
	require.Equal(t, schema.Pending, b.status(id).Status)
	_, err := b.Respond(t.Context(), id, &schema.Response{Permission: yes().Permission, Revision: 7}, Caller{})
	require.ErrorIs(t, err, schema.ErrStale)

	_, err = b.Respond(t.Context(), 404, yes(), Caller{})
	require.ErrorIs(t, err, schema.ErrNotFound)
	event := b.post(plain)
	_, err = b.Respond(t.Context(), event.ID, yes(), Caller{})
	require.ErrorIs(t, err, schema.ErrNoQuestion)
}

func TestBadQuestionsAreRefusedWithTheirField(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for body, field := range map[string]string{
		`{"question":"","type":"permission"}`:                                              "humanInTheLoop.question",
		`{"question":"q","type":"vote"}`:                                                   "humanInTheLoop.type",
		`{"question":"q","type":"choice"}`:                                                 "humanInTheLoop.choices",
		`{"question":"q","type":"choice","choices":["__timeout__"]}`:                       "humanInTheLoop.choices",
		`{"question":"q","type":"permission","timeout":-1}`:                                "humanInTheLoop.timeout",
		`{"question":"q","type":"permission","timeout":"soon"}`:                            "humanInTheLoop.timeout",
		`{"question":"q","type":"permission","toolCall":{"name":3}}`:                       "humanInTheLoop.toolCall.name",
		`{"question":"q","type":"permission","responseWebSocketUrl":"http://127.0.0.1:1"}`: "humanInTheLoop.responseWebSocketUrl",
		`7`: "humanInTheLoop",
	} {
		_, err := b.Ingest(t.Context(), []byte(with(`"humanInTheLoop":`+body)), Caller{})
		var f *schema.FieldError
		require.ErrorAs(t, err, &f, body)
		require.Equal(t, field, f.Field, body)
	}
	require.Zero(t, b.Store.Head(), "nothing is stored")
}

func TestCancelAndWithdraw(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, _ := b.ask(mayI)
	_, err := b.Cancel(t.Context(), id, schema.Cancel{RequestSecret: "guess"}, Caller{})
	require.ErrorIs(t, err, schema.ErrForbidden)
	_, err = b.Cancel(t.Context(), id, schema.Cancel{Reason: "wrong branch"}, Caller{})
	require.NoError(t, err)
	st := b.status(id)
	require.Equal(t, schema.Cancelled, st.Outcome)
	require.Equal(t, "wrong branch", st.Reason)
	require.False(t, *st.Response.Permission)
	require.Equal(t, schema.Queued, st.Delivery.State, "the agent is told")

	id, secret := b.ask(mayI)
	for range 2 {
		_, err = b.Cancel(t.Context(), id, schema.Cancel{RequestSecret: secret}, Caller{})
		require.NoError(t, err)
	}
	st = b.status(id)
	require.Equal(t, schema.Withdrawn, st.Outcome)
	require.Equal(t, schema.NoDelivery, st.Delivery.State, "nothing is sent to who took it back")
	_, err = b.Respond(t.Context(), id, yes(), Caller{})
	require.ErrorIs(t, err, schema.ErrExpired)
	_, err = b.Pull(t.Context(), id, Pull{})
	require.ErrorIs(t, err, schema.ErrExpired)
}

func TestSessionEndCancelsWhatItStillAsks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mine, _ := b.ask(mayI)
	other := b.post(strings.Replace(with(`"humanInTheLoop":`+mayI), `"session_id":"s"`, `"session_id":"other"`, 1))
	b.post(strings.Replace(plain, "Stop", "SessionEnd", 1))
	st := b.status(mine)
	require.Equal(t, schema.Cancelled, st.Outcome)
	require.Equal(t, schema.BySessionEnd, st.Source)
	require.Equal(t, schema.Pending, b.status(other.ID).Status)
}

func TestRepeatedPostIsTheFirstEvent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	body := with(`"idempotency_key":"k","humanInTheLoop":` + mayI)
	first := b.post(body)
	again := b.post(body)
	require.Equal(t, first.ID, again.ID)
	require.Equal(t, decode(t, first.JSON).RequestSecret, decode(t, again.JSON).RequestSecret)
	_, err := b.Respond(t.Context(), first.ID, yes(), Caller{})
	require.NoError(t, err)
	e := decode(t, b.post(body).JSON)
	require.True(t, *e.HumanInTheLoopStatus.Response.Permission, "a late repeat is told the answer")
	require.Equal(t, int64(2), b.Store.Head(), "one event, one answer")
}

func TestRepeatedPostHasTheAnswerDialledAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	body := with(`"idempotency_key":"k","humanInTheLoop":` + mayI)
	id := b.post(body).ID
	b.ResponseSent(id)
	b.post(body)
	require.Empty(t, b.dispatched, "there is no answer yet")
	_, err := b.Respond(t.Context(), id, yes(), Caller{})
	require.NoError(t, err)
	b.post(strings.Replace(body, "50123", "50124", 1))
	require.Equal(t, []schema.EventID{id, id}, b.dispatched)
	q, err := b.Store.Question(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, "ws://127.0.0.1:50124/secret", q.URL)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, b.AwaitResponseSent(ctx, id), context.Canceled, "the repeat has no response yet")
	b.ResponseSent(id)
	require.NoError(t, b.AwaitResponseSent(ctx, id))
}

func TestListGivesWayAtTheEndAwayFromItsCursor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	filler := strings.Replace(plain, `{}`, `{"a":"`+strings.Repeat("x", schema.MaxListed-100)+`"}`, 1)
	for range 80 { // more than maxPageBytes
		b.post(filler)
	}
	for want, f := range map[schema.EventID]store.Filter{1: {Limit: 80, Oldest: true}, 2: {Limit: 80, After: 1}} {
		raw, err := b.FindEvents(t.Context(), f)
		require.NoError(t, err)
		var events []schema.Event
		require.NoError(t, json.Unmarshal(raw, &events))
		require.Less(t, len(events), 79)
		require.Equal(t, want, events[0].ID)
	}
	raw, err := b.FindEvents(t.Context(), store.Filter{Limit: 80})
	require.NoError(t, err)
	var events []schema.Event
	require.NoError(t, json.Unmarshal(raw, &events))
	require.Equal(t, schema.EventID(80), events[len(events)-1].ID)
}

func TestBlockedAddressIsShownAndNotDialled(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.Blocked = func(string) error { return errors.New("10.0.0.1 is not allowed") } })
	id, _ := b.ask(mayI)
	require.Equal(t, schema.Blocked, b.status(id).Delivery.State)
	_, err := b.Respond(t.Context(), id, yes(), Caller{})
	require.NoError(t, err)
	st := b.status(id)
	require.Equal(t, schema.Blocked, st.Delivery.State)
	require.Contains(t, st.Delivery.LastError, "10.0.0.1")
	require.Empty(t, b.dispatched)
}

func TestPull(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, secret := b.ask(pullOne)
	raw, err := b.Pull(t.Context(), id, Pull{})
	require.NoError(t, err)
	require.Nil(t, raw, "not yet")
	_, err = b.Pull(t.Context(), id, Pull{Secret: "guess"})
	require.ErrorIs(t, err, schema.ErrForbidden)

	got := make(chan []byte, 1)
	go func() {
		raw, _ := b.Pull(t.Context(), id, Pull{Wait: 10 * time.Second, Secret: secret})
		got <- raw
	}()
	_, err = b.Respond(t.Context(), id, yes(), Caller{})
	require.NoError(t, err)
	var a schema.Answer
	require.NoError(t, json.Unmarshal(<-got, &a))
	require.True(t, *a.Permission)
	require.Equal(t, id, a.HookEvent.ID)
	require.NotEmpty(t, a.AnswerID)
	st := b.status(id)
	require.Equal(t, schema.Pulled, st.Delivery.State)
	require.Equal(t, int64(3), st.Revision)

	again, err := b.Pull(t.Context(), id, Pull{})
	require.NoError(t, err)
	require.NotNil(t, again, "anyone may read it again")
	require.Equal(t, int64(3), b.status(id).Revision)
}

func TestNothingIsDialledBeforeThePostWasAnswered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	saved := b.post(with(`"humanInTheLoop":` + mayI))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, b.AwaitResponseSent(ctx, saved.ID), context.Canceled)
	waited := make(chan error, 1)
	go func() { waited <- b.AwaitResponseSent(t.Context(), saved.ID) }()
	b.ResponseSent(saved.ID)
	require.NoError(t, <-waited)
	require.NoError(t, b.AwaitResponseSent(t.Context(), saved.ID))
}

func TestBatchStoresTheGoodOnes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	raw, ids, err := b.IngestBatch(t.Context(), []byte(`[`+plain+`,{"payload":{}},`+with(`"humanInTheLoop":`+mayI)+`]`), Caller{})
	require.NoError(t, err)
	var results []schema.BatchResult
	require.NoError(t, json.Unmarshal(raw, &results))
	require.Len(t, results, 3)
	require.Equal(t, schema.EventID(1), results[0].Event.ID)
	require.Equal(t, "source_app", results[1].Problem.Field)
	require.Equal(t, []schema.EventID{2}, ids)
	_, _, err = b.IngestBatch(t.Context(), []byte(plain), Caller{})
	require.ErrorIs(t, err, schema.ErrInvalid)

	many := strings.Repeat(plain+",", schema.MaxBatch)
	raw, _, err = b.IngestBatch(t.Context(), []byte("["+many[:len(many)-1]+"]"), Caller{})
	require.NoError(t, err)
	results = nil
	require.NoError(t, json.Unmarshal(raw, &results))
	for i, r := range results {
		require.Equal(t, schema.EventID(3+i), r.Event.ID, "a batch keeps its order")
	}
	_, _, err = b.IngestBatch(t.Context(), []byte("["+many+plain+"]"), Caller{})
	require.ErrorContains(t, err, "more than")
}
