package hub

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/store"
)

// fakeClock is a manual clock for a hub.
type fakeClock struct {
	start   time.Time
	elapsed atomic.Int64
}

func newFakeClock() *fakeClock { return &fakeClock{start: time.Now().Round(0)} }

func (c *fakeClock) now() time.Time          { return c.start.Add(time.Duration(c.elapsed.Load())) }
func (c *fakeClock) configure(cfg *Config)   { cfg.Clock = c.now }
func (c *fakeClock) advance(d time.Duration) { c.elapsed.Add(int64(d)) }

// runDue does one pass of the deadline loop.
func (h *testHub) runDue() {
	h.t.Helper()
	_, _, err := h.expireDue(h.t.Context())
	require.NoError(h.t, err)
}

func withHold(r *schema.Response, d time.Duration) *schema.Response {
	r.HoldMS = d.Milliseconds()
	return r
}

func (h *testHub) respond(id schema.EventID, r *schema.Response) schema.Status {
	h.t.Helper()
	raw, err := h.Respond(h.t.Context(), id, r, Caller{})
	require.NoError(h.t, err)
	return *decodeEvent(h.t, raw).HumanInTheLoopStatus
}

// statusOfError returns the status in a StatusError.
func statusOfError(t *testing.T, err error) schema.Status {
	t.Helper()
	var state *schema.StatusError
	require.ErrorAs(t, err, &state)
	return state.Status
}

func TestUndoWindow_AnswerCountsWhenItEnds(t *testing.T) {
	t.Parallel()
	clock := newFakeClock()
	h := newTestHub(t, clock.configure)
	id, secret := h.ask(callbackQuestion)
	st := h.respond(id, withHold(&schema.Response{Permission: approval().Permission, Reason: "looks right"}, 5*time.Second))
	require.Equal(t, schema.Pending, st.Status)
	require.Equal(t, int64(2), st.Revision)
	require.Equal(t, schema.Millis(clock.now().Add(5*time.Second).UnixMilli()), st.Held.Until)
	require.Equal(t, schema.Approve, st.Held.Outcome)
	require.Equal(t, auth.LocalName, st.Held.By.Name)
	require.Nil(t, st.Response, "a held answer decides nothing yet")
	require.Zero(t, st.RespondedAt)
	require.Empty(t, h.dispatched())
	answer, err := h.Pull(t.Context(), id, PullOptions{Secret: secret})
	require.NoError(t, err)
	require.Nil(t, answer, "the agent gets nothing yet")
	frames, _, err := h.query.FramesAfter(t.Context(), int64(id))
	require.NoError(t, err)
	require.Len(t, frames, 1)
	require.Nil(t, frames[0].End, "version 1 streams get no resolution yet")

	clock.advance(5*time.Second - time.Millisecond)
	h.runDue()
	require.Equal(t, schema.Pending, h.status(id).Status)
	clock.advance(time.Millisecond)
	h.runDue()
	h.runDue()
	st = h.status(id)
	require.Equal(t, schema.Responded, st.Status)
	require.Equal(t, schema.Approve, st.Outcome)
	require.Equal(t, schema.ByHuman, st.Source)
	require.Equal(t, "looks right", st.Reason)
	require.Equal(t, auth.LocalName, st.RespondedBy.Name)
	require.Equal(t, schema.Millis(clock.now().UnixMilli()), st.RespondedAt)
	require.True(t, *st.Response.Permission)
	require.Contains(t, st.Response.Guidance, "looks right")
	require.Nil(t, st.Held)
	require.Equal(t, schema.Queued, st.Delivery.State)
	require.Equal(t, int64(3), st.Revision, "it counts once")
	require.Equal(t, []schema.EventID{id}, h.dispatched())
	answer, err = h.Pull(t.Context(), id, PullOptions{Secret: secret})
	require.NoError(t, err)
	require.Contains(t, string(answer), `"permission":true`)
}

func TestUndoWindow_WakesDeadlineLoop(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.startDeadlines()
	id, _ := h.ask(callbackQuestion)
	h.respond(id, withHold(approval(), 20*time.Millisecond))
	require.Equal(t, schema.Approve, h.awaitSettled(id).Outcome)
}

func TestUndo_ReturnsQuestionToPending(t *testing.T) {
	t.Parallel()
	clock := newFakeClock()
	h := newTestHub(t, clock.configure)
	id, _ := h.ask(callbackQuestion)
	h.respond(id, withHold(approval(), 5*time.Second))
	raw, err := h.Undo(t.Context(), id, Caller{})
	require.NoError(t, err)
	st := *decodeEvent(t, raw).HumanInTheLoopStatus
	require.Equal(t, schema.Pending, st.Status)
	require.Nil(t, st.Held)
	require.Equal(t, int64(3), st.Revision)

	_, err = h.Undo(t.Context(), id, Caller{})
	require.ErrorIs(t, err, schema.ErrNotHeld, "there is nothing to undo")
	require.Equal(t, schema.Pending, statusOfError(t, err).Status)
	clock.advance(10 * time.Second)
	h.runDue()
	require.Equal(t, schema.Pending, h.status(id).Status, "an undone answer never counts")

	require.Equal(t, schema.Deny, h.respond(id, denial()).Outcome, "another answer is accepted after an undo")
	_, err = h.Undo(t.Context(), id, Caller{})
	require.ErrorIs(t, err, schema.ErrNotHeld, "too late")
	require.Equal(t, schema.Deny, statusOfError(t, err).Outcome)
	require.Equal(t, []schema.EventID{id}, h.dispatched())

	plain := h.post(eventWith(`"x":1`)).ID
	_, err = h.Undo(t.Context(), plain, Caller{})
	require.ErrorIs(t, err, schema.ErrNoQuestion)
	_, err = h.Undo(t.Context(), 999, Caller{})
	require.ErrorIs(t, err, schema.ErrNotFound)
}

func TestUndoWindow_BlocksOtherAnswers(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id, _ := h.ask(callbackQuestion)
	first := h.respond(id, withHold(approval(), 5*time.Second))
	require.Equal(t, first, h.respond(id, withHold(approval(), 5*time.Second)), "a repeat does not restart the undo window")
	for _, other := range []*schema.Response{denial(), withHold(denial(), time.Second), {Permission: approval().Permission, Reason: "another"}} {
		_, err := h.Respond(t.Context(), id, other, Caller{})
		require.ErrorIs(t, err, schema.ErrHeld)
		require.Equal(t, first, statusOfError(t, err))
	}
	st := h.respond(id, approval())
	require.Equal(t, schema.Approve, st.Outcome, "the same answer without an undo window counts immediately")
	require.Nil(t, st.Held)
	require.Equal(t, st, h.status(id))
}

func TestUndoWindow_ValidatesAnswerUpFront(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id, _ := h.ask(callbackQuestion)
	text := "yes"
	for _, bad := range []*schema.Response{
		withHold(&schema.Response{Response: &text}, time.Second),
		withHold(approval(), schema.MaxHold+time.Millisecond),
		withHold(approval(), -time.Millisecond),
	} {
		_, err := h.Respond(t.Context(), id, bad, Caller{})
		require.ErrorIs(t, err, schema.ErrWrongAnswer)
	}
	_, err := h.Respond(t.Context(), id, &schema.Response{Permission: approval().Permission, HoldMS: 1000, Revision: 2}, Caller{})
	require.ErrorIs(t, err, schema.ErrStale)
	require.Nil(t, h.status(id).Held)
	require.Equal(t, int64(1), h.status(id).Revision)
}

func TestUndoWindow_ResolutionDropsHeldAnswer(t *testing.T) {
	t.Parallel()
	clock := newFakeClock()
	h := newTestHub(t, clock.configure)
	for name, end := range map[string]func(id schema.EventID, secret string) schema.Outcome{
		"cancelled": func(id schema.EventID, _ string) schema.Outcome {
			_, err := h.Cancel(t.Context(), id, schema.Cancel{}, Caller{})
			require.NoError(t, err)
			return schema.Cancelled
		},
		"withdrawn": func(id schema.EventID, secret string) schema.Outcome {
			_, err := h.Cancel(t.Context(), id, schema.Cancel{RequestSecret: secret}, Caller{})
			require.NoError(t, err)
			return schema.Withdrawn
		},
		"session end": func(schema.EventID, string) schema.Outcome {
			h.post(`{"source_app":"a","session_id":"s","hook_event_type":"SessionEnd","payload":{}}`)
			return schema.Cancelled
		},
	} {
		id, secret := h.ask(callbackQuestion)
		h.respond(id, withHold(approval(), 5*time.Second))
		outcome := end(id, secret)
		st := h.status(id)
		require.Equal(t, outcome, st.Outcome, name)
		require.Nil(t, st.Held, name)
		revision := st.Revision
		clock.advance(6 * time.Second)
		h.runDue()
		require.Equal(t, revision, h.status(id).Revision, "%s: it is resolved once", name)
		_, err := h.Undo(t.Context(), id, Caller{})
		require.ErrorIs(t, err, schema.ErrNotHeld, name)
	}
}

func TestUndoWindow_EndsBeforeDeadline(t *testing.T) {
	t.Parallel()
	clock := newFakeClock()
	h := newTestHub(t, clock.configure)
	ask := func(seconds float64) schema.EventID {
		id, _ := h.ask(fmt.Sprintf(`{"question":"q","type":"permission","timeout":%v}`, seconds))
		return id
	}
	id := ask(3)
	st := h.respond(id, withHold(approval(), 5*time.Second))
	require.Equal(t, st.ExpiresAt-1000, st.Held.Until)
	clock.advance(10 * time.Second) // the hub was busy or down
	h.runDue()
	require.Equal(t, schema.Approve, h.status(id).Outcome, "answer and end of the undo window were before the deadline")

	id = ask(1)
	require.Equal(t, schema.Responded, h.respond(id, withHold(approval(), 5*time.Second)).Status, "too little time is left for an undo window")

	id = ask(3)
	h.respond(id, withHold(approval(), 5*time.Second))
	_, err := h.Undo(t.Context(), id, Caller{})
	require.NoError(t, err)
	clock.advance(3 * time.Second)
	h.runDue()
	require.Equal(t, schema.Timeout, h.status(id).Outcome, "the deadline still applies")
}

func TestUndoWindow_SurvivesRestart(t *testing.T) {
	t.Parallel()
	clock := newFakeClock()
	h := newTestHub(t, clock.configure)
	ids := map[schema.EventID]schema.Outcome{}
	for range 3 {
		kept, _ := h.ask(callbackQuestion)
		h.respond(kept, withHold(denial(), 5*time.Second))
		ids[kept] = schema.Deny
		undone, _ := h.ask(callbackQuestion)
		h.respond(undone, withHold(approval(), 5*time.Second))
		_, err := h.Undo(t.Context(), undone, Caller{})
		require.NoError(t, err)
		ids[undone] = ""
	}
	require.NoError(t, h.Store.(store.Store).Close())
	clock.advance(5 * time.Second)
	h = openTestHub(t, h.path, clock.configure)
	h.runDue()
	h.runDue()
	for id, outcome := range ids {
		require.Equal(t, outcome, h.status(id).Outcome)
	}
	require.Len(t, h.dispatched(), 3)
}

func TestUndoWindow_SurvivesClockStep(t *testing.T) {
	t.Parallel()
	clock := newFakeClock()
	var set atomic.Int64
	h := newTestHub(t, func(c *Config) { c.Clock = func() time.Time { return clock.now().Add(time.Duration(set.Load())) } })
	h.elapsed = func(time.Time, time.Time) time.Duration { return 0 }
	never, _ := h.ask(`{"question":"q","type":"permission","timeout":0}`)
	h.respond(never, withHold(approval(), 5*time.Second))
	until := h.status(never).Held.Until
	set.Store(int64(time.Hour))
	h.detectClockStep(t.Context())
	h.runDue()
	st := h.status(never)
	require.Equal(t, schema.Pending, st.Status)
	require.Equal(t, until+schema.Millis(time.Hour.Milliseconds()), st.Held.Until)
	clock.advance(5 * time.Second)
	h.runDue()
	require.Equal(t, schema.Approve, h.status(never).Outcome)
}

// TestUndoWindow_UndoAnswerAndExpiryRace: the first of an undo, another answer and the end of
// the undo window wins, and the others are refused.
func TestUndoWindow_UndoAnswerAndExpiryRace(t *testing.T) {
	t.Parallel()
	clock := newFakeClock()
	h := newTestHub(t, clock.configure)
	for range 20 {
		id, _ := h.ask(callbackQuestion)
		h.respond(id, withHold(approval(), 5*time.Second))
		clock.advance(5 * time.Second)
		var wg sync.WaitGroup
		errs := make([]error, 4)
		wg.Go(func() { _, errs[0] = h.Undo(t.Context(), id, Caller{}) })
		wg.Go(func() { _, errs[1] = h.Undo(t.Context(), id, Caller{}) })
		wg.Go(func() { _, errs[2] = h.Respond(t.Context(), id, denial(), Caller{}) })
		wg.Go(func() { errs[3] = h.expire(t.Context(), id) })
		wg.Wait()
		require.NoError(t, errs[3])
		require.False(t, errs[0] == nil && errs[1] == nil, "it was undone once")
		undone := errs[0] == nil || errs[1] == nil
		switch st := h.status(id); {
		case errs[2] == nil:
			require.True(t, undone)
			require.Equal(t, schema.Deny, st.Outcome)
		case undone:
			require.ErrorIs(t, errs[2], schema.ErrHeld)
			require.Equal(t, schema.Pending, st.Status)
		default:
			require.Equal(t, schema.Approve, st.Outcome)
		}
	}
}
