package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/store"
)

func (s suite) TestOpen_KeepsHubIDAndKey(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	id, key := b.HubID(), b.Identity().Public()
	require.NotEmpty(t, id)
	b.Reopen(t)
	require.Equal(t, id, b.HubID())
	require.Equal(t, key, b.Identity().Public())
	require.NotEqual(t, key, s.open(t).Identity().Public())
}

func (s suite) TestOpen_BeginsEpoch(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	first := b.Epoch()
	b.MustAppend(t, NewDraft("app", "s", "Stop", ""))
	require.True(t, b.HasPosition(first, 1))
	require.True(t, b.HasPosition(first, 2), "the epoch has not ended")
	require.False(t, b.HasPosition("another", 1))
	b.Reopen(t)
	require.NotEqual(t, first, b.Epoch())
	b.MustAppend(t, NewDraft("app", "s", "Stop", ""))
	require.True(t, b.HasPosition(first, 1))
	require.False(t, b.HasPosition(first, 2), "the database had one event when the epoch ended")
	require.True(t, b.HasPosition(b.Epoch(), 2))
	for range 100 {
		b.Reopen(t)
	}
	require.False(t, b.HasPosition(first, 1), "old epochs are forgotten")
}

func (s suite) TestSetPublish_WorksAfterOpen(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	var got []store.LogRow
	b.SetPublish(func(rows []store.LogRow) { got = append(got, rows...) })
	b.MustAppend(t, NewQuestionDraft("s", time.Time{}))
	require.Len(t, got, 1)
}
