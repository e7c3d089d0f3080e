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
)

// clock is a hub's clock in a test's hands; what passes on it passes for the hub.
type clock struct {
	began  time.Time
	passed atomic.Int64
}

func newClock() *clock { return &clock{began: time.Now().Round(0)} }

func (c *clock) now() time.Time       { return c.began.Add(time.Duration(c.passed.Load())) }
func (c *clock) in(cfg *Config)       { cfg.Clock = c.now }
func (c *clock) pass(d time.Duration) { c.passed.Add(int64(d)) }

// due does what the loop does when its timer fires.
func (b *bench) due() {
	b.t.Helper()
	_, _, err := b.expireDue(b.t.Context())
	require.NoError(b.t, err)
}

func held(r *schema.Response, d time.Duration) *schema.Response {
	r.HoldMS = d.Milliseconds()
	return r
}

func (b *bench) respond(id schema.EventID, r *schema.Response) schema.Status {
	b.t.Helper()
	raw, err := b.Respond(b.t.Context(), id, r, Caller{})
	require.NoError(b.t, err)
	return *decode(b.t, raw).HumanInTheLoopStatus
}

// statusOf is the status that came with a refusal.
func statusOf(t *testing.T, err error) schema.Status {
	t.Helper()
	var state *schema.StatusError
	require.ErrorAs(t, err, &state)
	return state.Status
}

func TestAHeldAnswerCountsWhenItsTimeIsUp(t *testing.T) {
	t.Parallel()
	clock := newClock()
	b := setup(t, clock.in)
	id, secret := b.ask(mayI)
	st := b.respond(id, held(&schema.Response{Permission: yes().Permission, Reason: "looks right"}, 5*time.Second))
	require.Equal(t, schema.Pending, st.Status)
	require.Equal(t, int64(2), st.Revision)
	require.Equal(t, schema.Millis(clock.now().Add(5*time.Second).UnixMilli()), st.Held.Until)
	require.Equal(t, schema.Approve, st.Held.Outcome)
	require.Equal(t, auth.LocalName, st.Held.By.Name)
	require.Nil(t, st.Response, "nothing is decided")
	require.Zero(t, st.RespondedAt)
	require.Empty(t, b.dispatched)
	answer, err := b.Pull(t.Context(), id, Pull{Secret: secret})
	require.NoError(t, err)
	require.Nil(t, answer, "the agent hears nothing")
	frames, _, err := b.FramesAfter(t.Context(), int64(id))
	require.NoError(t, err)
	require.Len(t, frames, 1)
	require.Nil(t, frames[0].End, "version 1 streams see nothing")

	clock.pass(5*time.Second - time.Millisecond)
	b.due()
	require.Equal(t, schema.Pending, b.status(id).Status)
	clock.pass(time.Millisecond)
	b.due()
	b.due()
	st = b.status(id)
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
	require.Equal(t, []schema.EventID{id}, b.dispatched)
	answer, err = b.Pull(t.Context(), id, Pull{Secret: secret})
	require.NoError(t, err)
	require.Contains(t, string(answer), `"permission":true`)
}

func TestTheLoopWakesForAHold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ends()
	id, _ := b.ask(mayI)
	b.respond(id, held(yes(), 20*time.Millisecond))
	require.Equal(t, schema.Approve, b.settled(id).Outcome)
}

func TestUndo(t *testing.T) {
	t.Parallel()
	clock := newClock()
	b := setup(t, clock.in)
	id, _ := b.ask(mayI)
	b.respond(id, held(yes(), 5*time.Second))
	raw, err := b.Undo(t.Context(), id, Caller{})
	require.NoError(t, err)
	st := *decode(t, raw).HumanInTheLoopStatus
	require.Equal(t, schema.Pending, st.Status)
	require.Nil(t, st.Held)
	require.Equal(t, int64(3), st.Revision)

	_, err = b.Undo(t.Context(), id, Caller{})
	require.ErrorIs(t, err, schema.ErrNotHeld, "there is nothing to undo")
	require.Equal(t, schema.Pending, statusOf(t, err).Status)
	clock.pass(10 * time.Second)
	b.due()
	require.Equal(t, schema.Pending, b.status(id).Status, "what was undone never counts")

	require.Equal(t, schema.Deny, b.respond(id, no()).Outcome, "another answer is as good as the first")
	_, err = b.Undo(t.Context(), id, Caller{})
	require.ErrorIs(t, err, schema.ErrNotHeld, "too late")
	require.Equal(t, schema.Deny, statusOf(t, err).Outcome)
	require.Equal(t, []schema.EventID{id}, b.dispatched)

	plain := b.post(with(`"x":1`)).ID
	_, err = b.Undo(t.Context(), plain, Caller{})
	require.ErrorIs(t, err, schema.ErrNoQuestion)
	_, err = b.Undo(t.Context(), 999, Caller{})
	require.ErrorIs(t, err, schema.ErrNotFound)
}

func TestWhileAnAnswerIsHeldThereIsNoOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, _ := b.ask(mayI)
	first := b.respond(id, held(yes(), 5*time.Second))
	require.Equal(t, first, b.respond(id, held(yes(), 5*time.Second)), "said twice, it is held once")
	for _, other := range []*schema.Response{no(), held(no(), time.Second), {Permission: yes().Permission, Reason: "another"}} {
		_, err := b.Respond(t.Context(), id, other, Caller{})
		require.ErrorIs(t, err, schema.ErrHeld)
		require.Equal(t, first, statusOf(t, err))
	}
	st := b.respond(id, yes())
	require.Equal(t, schema.Approve, st.Outcome, "the same answer that is not to be held counts at once")
	require.Nil(t, st.Held)
	require.Equal(t, st, b.status(id))
}

func TestAHeldAnswerIsCheckedWhenItIsGiven(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, _ := b.ask(mayI)
	text := "yes"
	for _, bad := range []*schema.Response{
		held(&schema.Response{Response: &text}, time.Second),
		held(yes(), schema.MaxHold+time.Millisecond),
		held(yes(), -time.Millisecond),
	} {
		_, err := b.Respond(t.Context(), id, bad, Caller{})
		require.ErrorIs(t, err, schema.ErrWrongAnswer)
	}
	_, err := b.Respond(t.Context(), id, &schema.Response{Permission: yes().Permission, HoldMS: 1000, Revision: 2}, Caller{})
	require.ErrorIs(t, err, schema.ErrStale)
	require.Nil(t, b.status(id).Held)
	require.Equal(t, int64(1), b.status(id).Revision)
}

func TestWhatEndsAQuestionDropsTheHold(t *testing.T) {
	t.Parallel()
	clock := newClock()
	b := setup(t, clock.in)
	for name, end := range map[string]func(id schema.EventID, secret string) schema.Outcome{
		"cancelled": func(id schema.EventID, _ string) schema.Outcome {
			_, err := b.Cancel(t.Context(), id, schema.Cancel{}, Caller{})
			require.NoError(t, err)
			return schema.Cancelled
		},
		"withdrawn": func(id schema.EventID, secret string) schema.Outcome {
			_, err := b.Cancel(t.Context(), id, schema.Cancel{RequestSecret: secret}, Caller{})
			require.NoError(t, err)
			return schema.Withdrawn
		},
		"session end": func(schema.EventID, string) schema.Outcome {
			b.post(`{"source_app":"a","session_id":"s","hook_event_type":"SessionEnd","payload":{}}`)
			return schema.Cancelled
		},
	} {
		id, secret := b.ask(mayI)
		b.respond(id, held(yes(), 5*time.Second))
		outcome := end(id, secret)
		st := b.status(id)
		require.Equal(t, outcome, st.Outcome, name)
		require.Nil(t, st.Held, name)
		revision := st.Revision
		clock.pass(6 * time.Second)
		b.due()
		require.Equal(t, revision, b.status(id).Revision, "%s: it ended once", name)
		_, err := b.Undo(t.Context(), id, Caller{})
		require.ErrorIs(t, err, schema.ErrNotHeld, name)
	}
}

func TestAHoldEndsBeforeTheDeadline(t *testing.T) {
	t.Parallel()
	clock := newClock()
	b := setup(t, clock.in)
	ask := func(seconds float64) schema.EventID {
		id, _ := b.ask(fmt.Sprintf(`{"question":"q","type":"permission","timeout":%v}`, seconds))
		return id
	}
	id := ask(3)
	st := b.respond(id, held(yes(), 5*time.Second))
	require.Equal(t, st.ExpiresAt-1000, st.Held.Until)
	clock.pass(10 * time.Second) // the hub was busy, or down
	b.due()
	require.Equal(t, schema.Approve, b.status(id).Outcome, "it was given in time, and due in time")

	id = ask(1)
	require.Equal(t, schema.Responded, b.respond(id, held(yes(), 5*time.Second)).Status, "there is no time to hold it")

	id = ask(3)
	b.respond(id, held(yes(), 5*time.Second))
	_, err := b.Undo(t.Context(), id, Caller{})
	require.NoError(t, err)
	clock.pass(3 * time.Second)
	b.due()
	require.Equal(t, schema.Timeout, b.status(id).Outcome, "the deadline holds all the same")
}

func TestAHeldAnswerSurvivesARestart(t *testing.T) {
	t.Parallel()
	clock := newClock()
	b := setup(t, clock.in)
	ids := map[schema.EventID]schema.Outcome{}
	for range 3 {
		kept, _ := b.ask(mayI)
		b.respond(kept, held(no(), 5*time.Second))
		ids[kept] = schema.Deny
		undone, _ := b.ask(mayI)
		b.respond(undone, held(yes(), 5*time.Second))
		_, err := b.Undo(t.Context(), undone, Caller{})
		require.NoError(t, err)
		ids[undone] = ""
	}
	require.NoError(t, b.Store.Close())
	clock.pass(5 * time.Second)
	b = open(t, b.path, clock.in)
	b.due()
	b.due()
	for id, outcome := range ids {
		require.Equal(t, outcome, b.status(id).Outcome)
	}
	require.Len(t, b.dispatched, 3)
}

func TestAClockThatIsSetEndsNoHold(t *testing.T) {
	t.Parallel()
	clock := newClock()
	var set atomic.Int64
	b := setup(t, func(c *Config) { c.Clock = func() time.Time { return clock.now().Add(time.Duration(set.Load())) } })
	b.elapsed = func(time.Time, time.Time) time.Duration { return 0 }
	never, _ := b.ask(`{"question":"q","type":"permission","timeout":0}`)
	b.respond(never, held(yes(), 5*time.Second))
	until := b.status(never).Held.Until
	set.Store(int64(time.Hour))
	b.detectClockStep(t.Context())
	b.due()
	st := b.status(never)
	require.Equal(t, schema.Pending, st.Status)
	require.Equal(t, until+schema.Millis(time.Hour.Milliseconds()), st.Held.Until)
	clock.pass(5 * time.Second)
	b.due()
	require.Equal(t, schema.Approve, b.status(never).Outcome)
}

// Undo, another person and the clock race: whoever is first, the rest is told so.
func TestHoldUndoAndTimeRace(t *testing.T) {
	t.Parallel()
	clock := newClock()
	b := setup(t, clock.in)
	for range 20 {
		id, _ := b.ask(mayI)
		b.respond(id, held(yes(), 5*time.Second))
		clock.pass(5 * time.Second)
		var wg sync.WaitGroup
		errs := make([]error, 4)
		wg.Go(func() { _, errs[0] = b.Undo(t.Context(), id, Caller{}) })
		wg.Go(func() { _, errs[1] = b.Undo(t.Context(), id, Caller{}) })
		wg.Go(func() { _, errs[2] = b.Respond(t.Context(), id, no(), Caller{}) })
		wg.Go(func() { errs[3] = b.expire(t.Context(), id) })
		wg.Wait()
		require.NoError(t, errs[3])
		require.False(t, errs[0] == nil && errs[1] == nil, "it was undone once")
		undone := errs[0] == nil || errs[1] == nil
		switch st := b.status(id); {
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
