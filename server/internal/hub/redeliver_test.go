package hub

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// delivered puts a question's delivery where the dispatcher would.
func (b *bench) delivered(id schema.EventID, edit func(*store.Delivery)) {
	b.t.Helper()
	_, err := b.transition(b.t.Context(), id, func(a *snapshot) (*store.Change, error) {
		d := *a.Delivery
		d.Due, d.Leased, d.Attempts = time.Time{}, time.Time{}, 3
		edit(&d)
		shown := schema.Delivery{State: d.State, Attempts: d.Attempts}
		if !d.Due.IsZero() {
			shown.NextAttemptAt = schema.Millis(d.Due.UnixMilli())
		}
		return a.deliveryChange(&d, shown)
	})
	require.NoError(b.t, err)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dispatched = nil
}

func (b *bench) answered() schema.EventID {
	b.t.Helper()
	id, _ := b.ask(mayI)
	b.respond(id, yes())
	return id
}

func (b *bench) undelivered() int {
	b.t.Helper()
	found, err := b.Store.Find(b.t.Context(), store.Filter{Status: store.Undelivered})
	require.NoError(b.t, err)
	return len(found)
}

func TestRedeliverTriesNow(t *testing.T) {
	t.Parallel()
	clock := newClock()
	b := setup(t, clock.in)
	for name, edit := range map[string]func(*store.Delivery){
		"gave up":            func(d *store.Delivery) { d.State = schema.Unreachable },
		"waits":              func(d *store.Delivery) { d.State, d.Due = schema.Unreachable, clock.now().Add(time.Minute) },
		"refused":            func(d *store.Delivery) { d.State = schema.Refused },
		"no acknowledgement": func(d *store.Delivery) { d.State = schema.Unconfirmed },
		"too late":           func(d *store.Delivery) { d.State = schema.TooLate },
		"handled":            func(d *store.Delivery) { d.State, d.Handled = schema.Refused, clock.now() },
	} {
		id := b.answered()
		clock.pass(2 * time.Hour) // it was given up long ago
		b.delivered(id, edit)
		raw, err := b.Redeliver(t.Context(), id, Caller{})
		require.NoError(t, err, name)
		require.Equal(t, &schema.Delivery{State: schema.Queued, Attempts: 3}, decode(t, raw).HumanInTheLoopStatus.Delivery, name)
		require.Equal(t, []schema.EventID{id}, b.dispatched, name)
		q, err := b.Store.Question(t.Context(), id)
		require.NoError(t, err)
		require.False(t, q.Delivery.Due.After(clock.now()), name)
		require.True(t, q.Delivery.Until.After(clock.now()), "%s: there is time for another attempt", name)
		require.True(t, q.Delivery.Leased.After(clock.now()), "%s: the dispatcher's loop leaves it to whom it was handed", name)
		require.True(t, q.Delivery.Handled.IsZero(), name)
	}
}

func TestRedeliverKeepsItsPromises(t *testing.T) {
	t.Parallel()
	b := setup(t)
	refused := func(id schema.EventID, code error) string {
		_, err := b.Redeliver(t.Context(), id, Caller{})
		require.ErrorIs(t, err, code)
		require.NotEmpty(t, statusOf(t, err).Status)
		var hint *schema.HintError
		if errors.As(err, &hint) {
			return hint.Hint
		}
		return ""
	}
	sent := b.answered()
	b.delivered(sent, func(d *store.Delivery) { d.State, d.Sent = schema.Unconfirmed, true })
	require.Contains(t, refused(sent, schema.ErrNoRetry), "nothing is ever sent to it twice")

	pulls, _ := b.ask(pullOne)
	refused(pulls, schema.ErrUndecided)
	b.respond(pulls, yes())
	require.Contains(t, refused(pulls, schema.ErrNoRetry), "fetches")

	withdrawn, secret := b.ask(mayI)
	_, err := b.Cancel(t.Context(), withdrawn, schema.Cancel{RequestSecret: secret}, Caller{})
	require.NoError(t, err)
	require.Contains(t, refused(withdrawn, schema.ErrNoRetry), "took its question back")

	for _, state := range []schema.DeliveryState{schema.Delivered, schema.Acked, schema.Pulled, schema.Sending} {
		id := b.answered()
		b.delivered(id, func(d *store.Delivery) { d.State, d.Sent = state, true })
		before := b.status(id)
		_, err := b.Redeliver(t.Context(), id, Caller{})
		require.NoError(t, err, state)
		require.Equal(t, before, b.status(id), state)
		require.Empty(t, b.dispatched, state)
	}
}

func TestRedeliverAsksWhatMayBeDialledNow(t *testing.T) {
	t.Parallel()
	closed := errors.New("this address is not this machine's")
	b := setup(t, func(c *Config) { c.Blocked = func(string) error { return closed } })
	id := b.answered()
	require.Equal(t, schema.Blocked, b.status(id).Delivery.State)
	_, err := b.Redeliver(t.Context(), id, Caller{})
	require.ErrorIs(t, err, schema.ErrNoRetry)
	b.Blocked = func(string) error { return nil }
	_, err = b.Redeliver(t.Context(), id, Caller{})
	require.NoError(t, err)
	require.Equal(t, schema.Queued, b.status(id).Delivery.State)
}

func TestHandledLeavesTheTray(t *testing.T) {
	t.Parallel()
	clock := newClock()
	b := setup(t, clock.in)
	id := b.answered()
	b.delivered(id, func(d *store.Delivery) { d.State, d.Due = schema.Unreachable, clock.now().Add(time.Second) })
	require.Equal(t, 1, b.undelivered())

	raw, err := b.Handled(t.Context(), id, Caller{})
	require.NoError(t, err)
	d := decode(t, raw).HumanInTheLoopStatus.Delivery
	require.Equal(t, &schema.Delivery{State: schema.Unreachable, Attempts: 3, HandledAt: schema.Millis(clock.now().UnixMilli())}, d)
	require.Zero(t, b.undelivered())
	clock.pass(time.Minute)
	due, next, err := b.Store.LeaseDeliveries(t.Context(), clock.now(), clock.now().Add(time.Second), 9)
	require.NoError(t, err)
	require.Empty(t, due, "nothing is tried by itself any more")
	require.True(t, next.IsZero())

	again, err := b.Handled(t.Context(), id, Caller{})
	require.NoError(t, err)
	require.JSONEq(t, string(raw), string(again))

	pending, _ := b.ask(mayI)
	_, err = b.Handled(t.Context(), pending, Caller{})
	require.ErrorIs(t, err, schema.ErrUndecided)
	arrived := b.answered()
	b.delivered(arrived, func(d *store.Delivery) { d.State = schema.Acked })
	_, err = b.Handled(t.Context(), arrived, Caller{})
	require.NoError(t, err)
	require.Zero(t, b.status(arrived).Delivery.HandledAt, "there is nothing to take care of")
}
