package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/peer"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
)

const plainEvent = `{"source_app":"a","session_id":"s","hook_event_type":"Stop","payload":{}}`

// eventWith returns plainEvent with the given members prepended.
func eventWith(members string) string { return "{" + members + "," + plainEvent[1:] }

func TestMain(m *testing.M) {
	if runDuplicatesCrashChild() { // this process is a child that a test kills
		return
	}
	goleak.VerifyTestMain(m)
}

// waitLimit bounds how long a test waits for a condition. It only ends a test that would
// hang, so it is generous.
const waitLimit = time.Minute

// testHub is a hub over a real store.
type testHub struct {
	*Hub
	query *query.Service
	t     *testing.T
	path  string

	dispatchedBefore int // see forgetDispatched
}

// factIDs returns the events of all facts of a kind so far, the oldest first.
func (h *testHub) factIDs(kind feed.Kinds) (ids []schema.EventID) {
	h.t.Helper()
	enough := errors.New("enough")
	require.ErrorIs(h.t, h.Feed.Follow(context.Background(), kind, func(b *feed.Batch) error {
		for _, fact := range b.Facts {
			ids = append(ids, schema.EventID(fact.ID))
		}
		return enough
	}), enough)
	return ids
}

// dispatched returns the questions whose answers can be delivered, since forgetDispatched.
func (h *testHub) dispatched() []schema.EventID {
	h.t.Helper()
	return h.factIDs(feed.Leased)[h.dispatchedBefore:]
}

func (h *testHub) forgetDispatched() { h.dispatchedBefore = len(h.factIDs(feed.Leased)) }

type dialPolicyFunc func(url string) error

func (f dialPolicyFunc) Check(url string) error { return f(url) }

type processesFunc func(remote, local netip.AddrPort) (*peer.Process, bool)

func (f processesFunc) ProcessOf(remote, local netip.AddrPort) (*peer.Process, bool) {
	return f(remote, local)
}

func newTestHub(t *testing.T, change ...func(*Config)) *testHub {
	t.Helper()
	return openTestHub(t, storetest.NewFile(t), change...)
}

func openTestHub(t *testing.T, path string, change ...func(*Config)) *testHub {
	t.Helper()
	s := storetest.Open(t, storetest.Options{File: path, Fast: true})
	h := &testHub{t: t, path: path}
	cfg := Config{
		Store: s, Feed: feed.New(s.Head(), 64, 1<<20),
	}
	for _, fn := range change {
		fn(&cfg)
	}
	h.Hub = New(cfg)
	h.query = query.New(query.Config{Store: s, Feed: cfg.Feed, People: cfg.People, Version: "test", Clock: cfg.Clock})
	t.Cleanup(func() { _ = s.Close() })
	return h
}

// startDeadlines runs the hub's deadline loop until the test ends.
func (h *testHub) startDeadlines() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = h.Run(ctx) }()
	h.t.Cleanup(func() { cancel(); <-done })
}

func (h *testHub) post(body string) StoredEvent {
	h.t.Helper()
	saved, err := h.Ingest(h.t.Context(), []byte(body), Caller{})
	require.NoError(h.t, err)
	return saved
}

// appendEvents stores n events with the given payload through the store, which skips the
// cost of scanning and redacting each of them.
func (h *testHub) appendEvents(n int, payload string) {
	h.t.Helper()
	drafts := make([]*store.EventDraft, n)
	for i := range drafts {
		drafts[i] = &store.EventDraft{Event: store.Event{
			UID: uuid.Must(uuid.NewV7()).String(), App: "a", Session: "s", Type: "Stop", ReceivedAt: h.Clock(),
			Envelope: []byte(`"source_app":"a","session_id":"s","hook_event_type":"Stop"`), Payload: []byte(payload),
		}}
	}
	for chunk := range slices.Chunk(drafts, 500) {
		for _, r := range h.Store.AppendAll(h.t.Context(), chunk) {
			require.NoError(h.t, r.Err)
		}
	}
}

// ask posts a question and returns its id and secret.
func (h *testHub) ask(question string) (schema.EventID, string) {
	h.t.Helper()
	saved := h.post(eventWith(`"humanInTheLoop":` + question))
	h.ResponseSent(saved.ID)
	return saved.ID, decodeEvent(h.t, saved.JSON).RequestSecret
}

func decodeEvent(t *testing.T, b []byte) schema.Event {
	t.Helper()
	var e schema.Event
	require.NoError(t, json.Unmarshal(b, &e), string(b))
	return e
}

func (h *testHub) status(id schema.EventID) schema.Status {
	h.t.Helper()
	raw, err := h.query.Event(h.t.Context(), id)
	require.NoError(h.t, err)
	return *decodeEvent(h.t, raw).HumanInTheLoopStatus
}

// awaitSettled waits until the question is settled and returns its status.
func (h *testHub) awaitSettled(id schema.EventID) schema.Status {
	h.t.Helper()
	changed, stop := h.subscribe(id)
	defer stop()
	for {
		if st := h.status(id); st.IsSettled() {
			return st
		}
		select {
		case <-changed:
		case <-time.After(waitLimit):
			h.t.Fatal("the question is not settled")
		}
	}
}

func approval() *schema.Response { v := true; return &schema.Response{Permission: &v} }
func denial() *schema.Response   { v := false; return &schema.Response{Permission: &v} }

const (
	callbackQuestion = `{"question":"May I?","type":"permission","responseWebSocketUrl":"ws://127.0.0.1:50123/secret"}`
	expiringQuestion = `{"question":"May I?","type":"permission","responseWebSocketUrl":"ws://127.0.0.1:50123/secret","timeout":0.05}`
	pullQuestion     = `{"question":"May I?","type":"permission"}`
)

func TestIngest_IgnoresForgedHubMembers(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	saved := h.post(`{"id":99,"source_app":"a","session_id":"s","hook_event_type":"Stop","payload":{"a": 1},"x-future":[1],
		"humanInTheLoop":` + callbackQuestion + `,"humanInTheLoopStatus":{"status":"responded","response":{"permission":true}}}`)
	e := decodeEvent(t, saved.JSON)
	require.Equal(t, schema.EventID(1), e.ID)
	require.Equal(t, schema.Pending, e.HumanInTheLoopStatus.Status)
	require.Equal(t, `{"a": 1}`, string(e.Payload))
	require.Contains(t, e.Extra, "x-future")
	require.NotZero(t, e.Timestamp)
	require.Equal(t, "ws://127.0.0.1:50123/secret", e.HumanInTheLoop.ResponseWebSocketURL, "the response to the POST keeps the address")

	for name, read := range map[string]func() ([]byte, error){
		"one":    func() ([]byte, error) { return h.query.Event(t.Context(), 1) },
		"recent": func() ([]byte, error) { return h.query.Recent(t.Context(), 10, query.Complete) },
		"found": func() ([]byte, error) {
			return h.query.FindEvents(t.Context(), store.Filter{Status: "pending", Limit: 10}, query.Complete)
		},
		"stream": func() ([]byte, error) { f, _, err := h.query.FramesAfter(t.Context(), 0); return f[0].Data, err },
	} {
		raw, err := read()
		require.NoError(t, err, name)
		require.Contains(t, string(raw), "May I?", name)
		require.NotContains(t, string(raw), "50123", "%s: the address is a secret", name)
		require.NotContains(t, string(raw), "requestSecret", name)
	}
}

func TestRespond_StoresPublishesAndDispatches(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id, _ := h.ask(callbackQuestion)
	raw, err := h.Respond(t.Context(), id, &schema.Response{Permission: denial().Permission, Reason: "not today"}, Caller{})
	require.NoError(t, err)

	st := decodeEvent(t, raw).HumanInTheLoopStatus
	require.Equal(t, schema.Responded, st.Status)
	require.Equal(t, schema.Deny, st.Outcome)
	require.Equal(t, schema.ByHuman, st.Source)
	require.False(t, *st.Response.Permission)
	require.Contains(t, st.Response.Guidance, "not today")
	require.Equal(t, schema.Queued, st.Delivery.State)
	require.Equal(t, int64(2), st.Revision)
	require.False(t, st.RespondedBy.Verified, "local mode verifies no one")
	require.Equal(t, []schema.EventID{id}, h.dispatched())

	frames, _, err := h.query.FramesAfter(t.Context(), int64(id))
	require.NoError(t, err)
	require.Len(t, frames, 1)
	require.True(t, frames[0].Status)
	var change schema.StatusChange
	require.NoError(t, json.Unmarshal(frames[0].Data, &change))
	require.Equal(t, *st, change.HumanInTheLoopStatus)
	require.Equal(t, id, decodeEvent(t, frames[0].End).ID, "version 1 streams get the complete event again")
}

func TestRespond_RepeatIsIdempotent(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id, _ := h.ask(callbackQuestion)
	first, err := h.Respond(t.Context(), id, approval(), Caller{})
	require.NoError(t, err)
	again, err := h.Respond(t.Context(), id, approval(), Caller{})
	require.NoError(t, err)
	require.JSONEq(t, string(first), string(again))
	require.Len(t, h.dispatched(), 1)

	_, err = h.Respond(t.Context(), id, denial(), Caller{})
	require.ErrorIs(t, err, schema.ErrDecided)
	var state *schema.StatusError
	require.ErrorAs(t, err, &state)
	require.Equal(t, schema.Approve, state.Status.Outcome)
}

func TestRespond_ConcurrentAnswersHaveOneWinner(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	labels := make([]string, 50)
	for i := range labels {
		labels[i] = fmt.Sprintf("label %d", i)
	}
	choices, _ := json.Marshal(labels)
	id, _ := h.ask(`{"question":"Which?","type":"choice","choices":` + string(choices) + `}`)

	errs := make([]error, len(labels))
	var wg sync.WaitGroup
	for i := range labels {
		wg.Go(func() {
			_, errs[i] = h.Respond(t.Context(), id, &schema.Response{Choice: &labels[i]}, Caller{})
		})
	}
	wg.Wait()
	won := h.status(id).Outcome
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

func TestResolution_AnswerCancelAndDeadlineRace(t *testing.T) {
	t.Parallel()
	clock := newFakeClock()
	h := newTestHub(t, clock.configure)
	for range 20 {
		id, secret := h.ask(callbackQuestion)
		clock.advance(301 * time.Second)
		var wg sync.WaitGroup
		ends := make([]error, 4)
		wg.Go(func() { _, ends[0] = h.Respond(t.Context(), id, approval(), Caller{}) })
		wg.Go(func() { _, ends[1] = h.Cancel(t.Context(), id, schema.Cancel{}, Caller{}) })
		wg.Go(func() { _, ends[2] = h.Cancel(t.Context(), id, schema.Cancel{RequestSecret: secret}, Caller{}) })
		wg.Go(func() { ends[3] = h.expire(t.Context(), id) })
		wg.Wait()
		require.NoError(t, ends[3])
		won := h.status(id).Outcome
		for i, outcome := range []schema.Outcome{schema.Approve, schema.Cancelled, schema.Withdrawn} {
			if outcome == won {
				require.NoError(t, ends[i])
			} else {
				require.True(t, errors.Is(ends[i], schema.ErrDecided) || errors.Is(ends[i], schema.ErrExpired), "%v", ends[i])
			}
		}
	}
	frames, _, err := h.query.FramesAfter(t.Context(), 0)
	require.NoError(t, err)
	resolutions := 0
	for _, f := range frames {
		if f.End != nil {
			resolutions++
		}
	}
	require.Equal(t, 20, resolutions, "every question is resolved exactly once")
}

func TestDeadline_IsTimeoutNotDenial(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.startDeadlines()
	id, _ := h.ask(expiringQuestion)
	st := h.awaitSettled(id)
	require.Equal(t, schema.TimedOut, st.Status)
	require.Equal(t, schema.Timeout, st.Outcome)
	require.False(t, *st.Response.Permission)
	require.Contains(t, st.Response.Guidance, "not a refusal")
	_, err := h.Respond(t.Context(), id, approval(), Caller{})
	require.ErrorIs(t, err, schema.ErrExpired)

	free, _ := h.ask(`{"question":"Name?","type":"question","timeout":0.05}`)
	st = h.awaitSettled(free)
	require.Nil(t, st.Response.Permission)
	require.Nil(t, st.Response.Response)
}

// TestDeadline_DefaultIsFiveMinutes: without a timeout, a permission is not approved after five minutes, and its agent
// reads that no one answered.
func TestDeadline_DefaultIsFiveMinutes(t *testing.T) {
	t.Parallel()
	clock := newFakeClock()
	h := newTestHub(t, clock.configure)
	id, _ := h.ask(`{"question":"Delete?","type":"permission"}`)
	clock.advance(5*time.Minute - time.Millisecond)
	h.runDue()
	require.Equal(t, schema.Pending, h.status(id).Status)
	clock.advance(time.Millisecond)
	h.runDue()
	require.Equal(t, schema.TimedOut, h.status(id).Status)
	a := h.pullAnswer(id)
	require.False(t, *a.Permission)
	require.Equal(t, schema.Timeout, a.Outcome)
	require.Contains(t, a.Guidance, "No one answered in time.")
}

func TestDeadline_ExpiresAfterDowntime(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id, _ := h.ask(expiringQuestion)
	require.Equal(t, schema.Pending, h.status(id).Status)
	require.NoError(t, h.Store.(store.Store).Close())

	h = openTestHub(t, h.path, func(c *Config) {
		c.Clock = func() time.Time { return time.Now().Add(time.Hour) }
	})
	h.startDeadlines()
	require.Equal(t, schema.Timeout, h.awaitSettled(id).Outcome)
}

func TestRespond_RejectsInvalidAnswers(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id, _ := h.ask(callbackQuestion)
	text := "sure"
	for name, r := range map[string]*schema.Response{
		"nothing": {}, "a text": {Response: &text}, "both": {Permission: approval().Permission, Response: &text},
		"edited arguments without a call": {Permission: approval().Permission, ModifiedArguments: json.RawMessage(`{}`)},
	} {
		_, err := h.Respond(t.Context(), id, r, Caller{})
		require.ErrorIs(t, err, schema.ErrWrongAnswer, name)
	}
	require.Equal(t, schema.Pending, h.status(id).Status)
	_, err := h.Respond(t.Context(), id, &schema.Response{Permission: approval().Permission, Revision: 7}, Caller{})
	require.ErrorIs(t, err, schema.ErrStale)

	_, err = h.Respond(t.Context(), 404, approval(), Caller{})
	require.ErrorIs(t, err, schema.ErrNotFound)
	event := h.post(plainEvent)
	_, err = h.Respond(t.Context(), event.ID, approval(), Caller{})
	require.ErrorIs(t, err, schema.ErrNoQuestion)
}

func TestIngest_NamesFieldOfInvalidQuestion(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	for body, field := range map[string]string{
		`{"question":"","type":"permission"}`:                                              "humanInTheLoop.question",
		`{"question":"q","type":"vote"}`:                                                   "humanInTheLoop.type",
		`{"question":"q","type":"choice","choices":[]}`:                                    "humanInTheLoop.choices",
		`{"question":"q","type":"choice","choices":["__timeout__"]}`:                       "humanInTheLoop.choices",
		`{"question":"q","type":"permission","timeout":-1}`:                                "humanInTheLoop.timeout",
		`{"question":"q","type":"permission","timeout":"soon"}`:                            "humanInTheLoop.timeout",
		`{"question":"q","type":"permission","toolCall":{"name":3}}`:                       "humanInTheLoop.toolCall.name",
		`{"question":"q","type":"permission","responseWebSocketUrl":"http://127.0.0.1:1"}`: "humanInTheLoop.responseWebSocketUrl",
		`7`: "humanInTheLoop",
	} {
		_, err := h.Ingest(t.Context(), []byte(eventWith(`"humanInTheLoop":`+body)), Caller{})
		var f *schema.FieldError
		require.ErrorAs(t, err, &f, body)
		require.Equal(t, field, f.Field, body)
	}
	require.Zero(t, h.Store.Head(), "nothing is stored")
}

func TestCancel_CancelsOrWithdraws(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id, _ := h.ask(callbackQuestion)
	_, err := h.Cancel(t.Context(), id, schema.Cancel{RequestSecret: "guess"}, Caller{})
	require.ErrorIs(t, err, schema.ErrForbidden)
	_, err = h.Cancel(t.Context(), id, schema.Cancel{Reason: "wrong branch"}, Caller{})
	require.NoError(t, err)
	st := h.status(id)
	require.Equal(t, schema.Cancelled, st.Outcome)
	require.Equal(t, "wrong branch", st.Reason)
	require.False(t, *st.Response.Permission)
	require.Equal(t, schema.Queued, st.Delivery.State, "the agent is notified")

	id, secret := h.ask(callbackQuestion)
	for range 2 {
		_, err = h.Cancel(t.Context(), id, schema.Cancel{RequestSecret: secret}, Caller{})
		require.NoError(t, err)
	}
	st = h.status(id)
	require.Equal(t, schema.Withdrawn, st.Outcome)
	require.Equal(t, schema.NoDelivery, st.Delivery.State, "the agent that withdrew it gets nothing")
	_, err = h.Respond(t.Context(), id, approval(), Caller{})
	require.ErrorIs(t, err, schema.ErrExpired)
	_, err = h.Pull(t.Context(), id, PullOptions{})
	require.ErrorIs(t, err, schema.ErrExpired)
}

func TestSessionEnd_CancelsPendingQuestions(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	mine, _ := h.ask(callbackQuestion)
	other := h.post(strings.Replace(eventWith(`"humanInTheLoop":`+callbackQuestion), `"session_id":"s"`, `"session_id":"other"`, 1))
	h.post(strings.Replace(plainEvent, "Stop", "SessionEnd", 1))
	st := h.status(mine)
	require.Equal(t, schema.Cancelled, st.Outcome)
	require.Equal(t, schema.BySessionEnd, st.Source)
	require.Equal(t, schema.Pending, h.status(other.ID).Status)
}

func TestIdempotencyKey_ReturnsFirstEvent(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	body := eventWith(`"idempotency_key":"k","humanInTheLoop":` + callbackQuestion)
	first := h.post(body)
	again := h.post(body)
	require.Equal(t, first.ID, again.ID)
	require.Equal(t, decodeEvent(t, first.JSON).RequestSecret, decodeEvent(t, again.JSON).RequestSecret)
	_, err := h.Respond(t.Context(), first.ID, approval(), Caller{})
	require.NoError(t, err)
	e := decodeEvent(t, h.post(body).JSON)
	require.True(t, *e.HumanInTheLoopStatus.Response.Permission, "a late repeat gets the answer")
	require.Equal(t, int64(2), h.Store.Head(), "one event, one answer")
}

func TestIdempotencyKey_RedispatchesAnswer(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	body := eventWith(`"idempotency_key":"k","humanInTheLoop":` + withSecret(callbackQuestion, ownSecret))
	id := h.post(body).ID
	h.ResponseSent(id)
	h.post(body)
	require.Empty(t, h.dispatched(), "there is no answer yet")
	_, err := h.Respond(t.Context(), id, approval(), Caller{})
	require.NoError(t, err)
	h.post(strings.Replace(body, "50123", "50124", 1))
	require.Equal(t, []schema.EventID{id, id}, h.dispatched())
	q, err := h.Store.Question(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, "ws://127.0.0.1:50124/secret", q.URL)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, h.AwaitResponseSent(ctx, id), context.Canceled, "the repeat has no response yet")
	h.ResponseSent(id)
	require.NoError(t, h.AwaitResponseSent(ctx, id))
}

func TestFindEvents_TrimsFarFromCursor(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.appendEvents(80, `{"a":"`+strings.Repeat("x", schema.MaxListed-100)+`"}`) // more than query.MaxPageBytes
	for want, f := range map[schema.EventID]store.Filter{1: {Limit: 80, Oldest: true}, 2: {Limit: 80, After: 1}} {
		raw, err := h.query.FindEvents(t.Context(), f, query.Complete)
		require.NoError(t, err)
		first, _, n := firstAndLast(t, raw)
		require.Less(t, n, 79)
		require.Equal(t, want, first.ID)
	}
	raw, err := h.query.FindEvents(t.Context(), store.Filter{Limit: 80}, query.Complete)
	require.NoError(t, err)
	_, last, _ := firstAndLast(t, raw)
	require.Equal(t, schema.EventID(80), last.ID)
}

func TestBlockedAddress_IsReportedNotDialed(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(c *Config) {
		c.DialPolicy = dialPolicyFunc(func(string) error { return errors.New("10.0.0.1 is not allowed") })
	})
	id, _ := h.ask(callbackQuestion)
	require.Equal(t, schema.Blocked, h.status(id).Delivery.State)
	_, err := h.Respond(t.Context(), id, approval(), Caller{})
	require.NoError(t, err)
	st := h.status(id)
	require.Equal(t, schema.Blocked, st.Delivery.State)
	require.Contains(t, st.Delivery.LastError, "10.0.0.1")
	require.Empty(t, h.dispatched())
}

func TestPull_DeliversAnswer(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id, secret := h.ask(pullQuestion)
	raw, err := h.Pull(t.Context(), id, PullOptions{})
	require.NoError(t, err)
	require.Nil(t, raw, "not yet")
	_, err = h.Pull(t.Context(), id, PullOptions{Secret: "guess"})
	require.ErrorIs(t, err, schema.ErrForbidden)

	got := make(chan []byte, 1)
	go func() {
		raw, _ := h.Pull(t.Context(), id, PullOptions{Wait: waitLimit, Secret: secret})
		got <- raw
	}()
	_, err = h.Respond(t.Context(), id, approval(), Caller{})
	require.NoError(t, err)
	var a schema.Answer
	require.NoError(t, json.Unmarshal(<-got, &a))
	require.True(t, *a.Permission)
	require.Equal(t, id, a.HookEvent.ID)
	require.NotEmpty(t, a.AnswerID)
	st := h.status(id)
	require.Equal(t, schema.Pulled, st.Delivery.State)
	require.Equal(t, int64(3), st.Revision)

	again, err := h.Pull(t.Context(), id, PullOptions{})
	require.NoError(t, err)
	require.NotNil(t, again, "a pull without the secret reads it again")
	require.Equal(t, int64(3), h.status(id).Revision)
}

func TestAwaitResponseSent_BlocksUntilSent(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	saved := h.post(eventWith(`"humanInTheLoop":` + callbackQuestion))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, h.AwaitResponseSent(ctx, saved.ID), context.Canceled)
	waited := make(chan error, 1)
	go func() { waited <- h.AwaitResponseSent(t.Context(), saved.ID) }()
	h.ResponseSent(saved.ID)
	require.NoError(t, <-waited)
	require.NoError(t, h.AwaitResponseSent(t.Context(), saved.ID))
}

func TestIngestBatch_StoresValidEvents(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	raw, ids, err := h.IngestBatch(t.Context(), []byte(`[`+plainEvent+`,{"payload":{}},`+eventWith(`"humanInTheLoop":`+callbackQuestion)+`]`), Caller{})
	require.NoError(t, err)
	var results []schema.BatchResult
	require.NoError(t, json.Unmarshal(raw, &results))
	require.Len(t, results, 3)
	require.Equal(t, schema.EventID(1), results[0].Event.ID)
	require.Equal(t, "source_app", results[1].Problem.Field)
	require.Equal(t, []schema.EventID{2}, ids)
	_, _, err = h.IngestBatch(t.Context(), []byte(plainEvent), Caller{})
	require.ErrorIs(t, err, schema.ErrInvalid)

	many := strings.Repeat(plainEvent+",", schema.MaxBatch)
	raw, _, err = h.IngestBatch(t.Context(), []byte("["+many[:len(many)-1]+"]"), Caller{})
	require.NoError(t, err)
	results = nil
	require.NoError(t, json.Unmarshal(raw, &results))
	for i, r := range results {
		require.Equal(t, schema.EventID(3+i), r.Event.ID, "a batch keeps its order")
	}
	_, _, err = h.IngestBatch(t.Context(), []byte("["+many+plainEvent+"]"), Caller{})
	require.ErrorContains(t, err, "more than")
}

// statusChange returns a change of the question's status only.
func statusChange(s *question.Snapshot, st schema.Status) (*store.Change, error) {
	st.Revision = s.Version + 1
	status, err := json.Marshal(st)
	return &store.Change{Event: &s.Event, Version: s.Version, State: st.Status, Status: status}, err
}

// isVoted reports whether the question is addressed to certain people or needs several votes.
func isVoted(st *schema.Status) bool { return st.RequiredApprovals > 1 || len(st.Recipients) > 0 }
