package hub

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

func TestInitialHoldsEveryPendingQuestion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	old, _ := b.ask(mayI)
	for range schema.RecentLimit + 10 {
		b.post(plain)
	}
	seq, raw, err := b.Initial(t.Context())
	require.NoError(t, err)
	require.Equal(t, b.Store.Head(), seq)
	var events []schema.Event
	require.NoError(t, json.Unmarshal(raw, &events))
	require.Len(t, events, schema.RecentLimit)
	require.Equal(t, old, events[0].ID)
	require.Equal(t, schema.EventID(seq), events[len(events)-1].ID)
}

// TestPagesShareTheirFirstMessage: twenty pages that open and never read must not
// cost twenty first messages.
func TestPagesShareTheirFirstMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.post(plain)
	_, first, err := b.Initial(t.Context())
	require.NoError(t, err)
	_, second, err := b.Initial(t.Context())
	require.NoError(t, err)
	require.Same(t, &first[0], &second[0])

	b.post(plain)
	seq, third, err := b.Initial(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(2), seq)
	require.NotEqual(t, string(first), string(third))
}

func TestListsHaveABudget(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, _ := b.ask(mayI)
	filler := strings.Replace(plain, `{}`, `{"a":"`+strings.Repeat("x", schema.MaxListed-100)+`"}`, 1)
	for range 80 {
		b.post(filler)
	}
	b.post(strings.Replace(plain, `{}`, `{"a":"`+strings.Repeat("x", schema.MaxListed)+`"}`, 1))
	_, raw, err := b.Initial(t.Context())
	require.NoError(t, err)
	require.LessOrEqual(t, len(raw), maxPageBytes)
	var events []schema.Event
	require.NoError(t, json.Unmarshal(raw, &events))
	require.Equal(t, id, events[0].ID, "a pending question is never left out")
	last := events[len(events)-1]
	require.True(t, last.PayloadTruncated)
	require.Equal(t, `{}`, string(last.Payload))
	require.Greater(t, last.PayloadBytes, schema.MaxListed)
}

func TestReaderBehindTheRingCatchesUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const n = 1500 // the ring holds 64, a step of catching up 512
	for range n {
		b.post(plain)
	}
	var seq int64
	for seq < n {
		frames, _, err := b.FramesAfter(t.Context(), seq)
		require.NoError(t, err)
		require.NotEmpty(t, frames)
		for _, f := range frames {
			require.Equal(t, seq+1, f.Seq)
			seq = f.Seq
		}
	}
	_, _, err := b.FramesAfter(t.Context(), n+5)
	require.ErrorIs(t, err, store.ErrLogRewound)
}
