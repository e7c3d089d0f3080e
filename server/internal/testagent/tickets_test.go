package testagent_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/testagent"
)

func TestTickets_WorkOnceAndExpire(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	tickets := &testagent.Tickets{Clock: func() time.Time { return now }}
	used, old := tickets.New(), tickets.New()
	require.NotEqual(t, used, old)
	require.NoError(t, tickets.Redeem(used))
	require.ErrorIs(t, tickets.Redeem(used), schema.ErrForbidden)
	require.ErrorIs(t, tickets.Redeem(""), schema.ErrForbidden)
	_, err := tickets.Question(used)
	require.ErrorIs(t, err, schema.ErrNotFound, "not asked yet")
	tickets.Record(used, 7)
	id, err := tickets.Question(used)
	require.NoError(t, err)
	require.EqualValues(t, 7, id)
	now = now.Add(61 * time.Second)
	require.ErrorIs(t, tickets.Redeem(old), schema.ErrForbidden)
	for range 1000 {
		tickets.New()
	}
	_, err = tickets.Question(used)
	require.ErrorIs(t, err, schema.ErrNotFound, "newer ones made it go")
}
