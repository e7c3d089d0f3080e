package hub

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/store"
)

// setDelivery changes the delivery of a settled question, as the dispatcher would.
func (h *testHub) setDelivery(id schema.EventID, edit func(*store.Delivery)) {
	h.t.Helper()
	_, err := h.transition(h.t.Context(), id, func(a *question.Snapshot) (*store.Change, error) {
		d := *a.Delivery
		d.Due, d.Leased, d.Attempts = time.Time{}, time.Time{}, 3
		edit(&d)
		shown := schema.Delivery{State: d.State, Attempts: d.Attempts}
		if !d.Due.IsZero() {
			shown.NextAttemptAt = schema.Millis(d.Due.UnixMilli())
		}
		st := a.Status
		st.Delivery = &shown
		c, err := statusChange(a, st)
		c.Delivery = &d
		return c, err
	})
	require.NoError(h.t, err)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forgetDispatched()
}

func (h *testHub) askAndApprove() schema.EventID {
	h.t.Helper()
	id, _ := h.ask(callbackQuestion)
	h.respond(id, approval())
	return id
}

func (h *testHub) countUndelivered() int {
	h.t.Helper()
	found, err := h.Store.Find(h.t.Context(), store.Filter{Status: store.Undelivered})
	require.NoError(h.t, err)
	return len(found)
}

func TestRedeliver_QueuesImmediately(t *testing.T) {
	t.Parallel()
	clock := newFakeClock()
	h := newTestHub(t, clock.configure)
	for name, edit := range map[string]func(*store.Delivery){
		"gave up":            func(d *store.Delivery) { d.State = schema.Unreachable },
		"waits for a retry":  func(d *store.Delivery) { d.State, d.Due = schema.Unreachable, clock.now().Add(time.Minute) },
		"refused":            func(d *store.Delivery) { d.State = schema.Refused },
		"no acknowledgement": func(d *store.Delivery) { d.State = schema.Unconfirmed },
		"too late":           func(d *store.Delivery) { d.State = schema.TooLate },
		"handled":            func(d *store.Delivery) { d.State, d.Handled = schema.Refused, clock.now() },
	} {
		id := h.askAndApprove()
		clock.advance(2 * time.Hour) // past the retry window
		h.setDelivery(id, edit)
		raw, err := h.Redeliver(t.Context(), id, Caller{})
		require.NoError(t, err, name)
		require.Equal(t, &schema.Delivery{State: schema.Queued, Attempts: 3}, decodeEvent(t, raw).HumanInTheLoopStatus.Delivery, name)
		require.Equal(t, []schema.EventID{id}, h.dispatched(), name)
		q, err := h.Store.Question(t.Context(), id)
		require.NoError(t, err)
		require.False(t, q.Delivery.Due.After(clock.now()), name)
		require.True(t, q.Delivery.Until.After(clock.now()), "%s: there is time for another attempt", name)
		require.True(t, q.Delivery.Leased.After(clock.now()), "%s: the lease keeps the outbox worker from sending it too", name)
		require.True(t, q.Delivery.Handled.IsZero(), name)
	}
}

func TestRedeliver_RefusesUnsafeRetries(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	refused := func(id schema.EventID, code error) string {
		_, err := h.Redeliver(t.Context(), id, Caller{})
		require.ErrorIs(t, err, code)
		require.NotEmpty(t, statusOfError(t, err).Status)
		var hint *schema.HintError
		if errors.As(err, &hint) {
			return hint.Hint
		}
		return ""
	}
	sent := h.askAndApprove()
	h.setDelivery(sent, func(d *store.Delivery) { d.State, d.Sent = schema.Unconfirmed, true })
	require.Contains(t, refused(sent, schema.ErrNoRetry), "never sends an answer twice")

	pulls, _ := h.ask(pullQuestion)
	refused(pulls, schema.ErrUndecided)
	h.respond(pulls, approval())
	require.Contains(t, refused(pulls, schema.ErrNoRetry), "fetches")

	withdrawn, secret := h.ask(callbackQuestion)
	_, err := h.Cancel(t.Context(), withdrawn, schema.Cancel{RequestSecret: secret}, Caller{})
	require.NoError(t, err)
	require.Contains(t, refused(withdrawn, schema.ErrNoRetry), "withdrew its question")

	for _, state := range []schema.DeliveryState{schema.Delivered, schema.Acked, schema.Pulled, schema.Sending} {
		id := h.askAndApprove()
		h.setDelivery(id, func(d *store.Delivery) { d.State, d.Sent = state, true })
		before := h.status(id)
		_, err := h.Redeliver(t.Context(), id, Caller{})
		require.NoError(t, err, state)
		require.Equal(t, before, h.status(id), state)
		require.Empty(t, h.dispatched(), state)
	}
}

func TestRedeliver_RechecksDialPolicy(t *testing.T) {
	t.Parallel()
	closed := errors.New("this address is not this machine's")
	h := newTestHub(t, func(c *Config) { c.DialPolicy = dialPolicyFunc(func(string) error { return closed }) })
	id := h.askAndApprove()
	require.Equal(t, schema.Blocked, h.status(id).Delivery.State)
	_, err := h.Redeliver(t.Context(), id, Caller{})
	require.ErrorIs(t, err, schema.ErrNoRetry)
	h.DialPolicy = nil
	_, err = h.Redeliver(t.Context(), id, Caller{})
	require.NoError(t, err)
	require.Equal(t, schema.Queued, h.status(id).Delivery.State)
}

func TestHandled_LeavesUndeliveredList(t *testing.T) {
	t.Parallel()
	clock := newFakeClock()
	h := newTestHub(t, clock.configure)
	id := h.askAndApprove()
	h.setDelivery(id, func(d *store.Delivery) { d.State, d.Due = schema.Unreachable, clock.now().Add(time.Second) })
	require.Equal(t, 1, h.countUndelivered())

	raw, err := h.MarkHandled(t.Context(), id, Caller{})
	require.NoError(t, err)
	d := decodeEvent(t, raw).HumanInTheLoopStatus.Delivery
	require.Equal(t, &schema.Delivery{State: schema.Unreachable, Attempts: 3, HandledAt: schema.Millis(clock.now().UnixMilli())}, d)
	require.Zero(t, h.countUndelivered())
	clock.advance(time.Minute)
	due, next, err := h.Store.(store.Store).LeaseDeliveries(t.Context(), clock.now(), clock.now().Add(time.Second), 9)
	require.NoError(t, err)
	require.Empty(t, due, "there are no automatic retries")
	require.True(t, next.IsZero())

	again, err := h.MarkHandled(t.Context(), id, Caller{})
	require.NoError(t, err)
	require.JSONEq(t, string(raw), string(again))

	pending, _ := h.ask(callbackQuestion)
	_, err = h.MarkHandled(t.Context(), pending, Caller{})
	require.ErrorIs(t, err, schema.ErrUndecided)
	arrived := h.askAndApprove()
	h.setDelivery(arrived, func(d *store.Delivery) { d.State = schema.Acked })
	_, err = h.MarkHandled(t.Context(), arrived, Caller{})
	require.NoError(t, err)
	require.Zero(t, h.status(arrived).Delivery.HandledAt, "a delivered answer cannot be marked as handled")
}
