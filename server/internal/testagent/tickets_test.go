package testagent_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/flows"
	"github.com/hookback/hookback/server/internal/storetest"
	"github.com/hookback/hookback/server/internal/testagent"
)

func TestTickets_WorkOnceAndExpire(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	db := storetest.Open(t, storetest.Options{Fast: true})
	open := func() *testagent.Tickets {
		return &testagent.Tickets{Flows: flows.Flows{Store: db, Clock: func() time.Time { return now }}}
	}
	tickets, otherHub := open(), open()
	newTicket := func() string {
		text, err := tickets.New(ctx)
		require.NoError(t, err)
		return text
	}
	used, old := newTicket(), newTicket()
	require.NotEqual(t, used, old)
	require.NoError(t, otherHub.Redeem(ctx, used))
	require.ErrorIs(t, tickets.Redeem(ctx, used), schema.ErrForbidden)
	require.ErrorIs(t, tickets.Redeem(ctx, ""), schema.ErrForbidden)
	_, err := tickets.Question(ctx, used)
	require.ErrorIs(t, err, schema.ErrNotFound, "not asked yet")
	require.NoError(t, otherHub.Record(ctx, used, 7))
	id, err := tickets.Question(ctx, used)
	require.NoError(t, err)
	require.EqualValues(t, 7, id)
	now = now.Add(61 * time.Second)
	require.ErrorIs(t, tickets.Redeem(ctx, old), schema.ErrForbidden)
	for i := range 300 {
		text := newTicket()
		require.NoError(t, tickets.Redeem(ctx, text))
		require.NoError(t, tickets.Record(ctx, text, schema.EventID(100+i)))
	}
	_, err = tickets.Question(ctx, used)
	require.ErrorIs(t, err, schema.ErrNotFound, "newer ones made it go")
}
