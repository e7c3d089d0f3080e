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

func (s suite) TestSetPublish_WorksAfterOpen(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	var got []store.LogRow
	b.SetPublish(func(rows []store.LogRow) { got = append(got, rows...) })
	b.MustAppend(t, NewQuestionDraft("s", time.Time{}))
	require.Len(t, got, 1)
}
