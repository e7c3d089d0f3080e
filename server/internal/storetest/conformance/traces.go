package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/store"
)

func (s suite) TestTraces_CursorIsReplaced(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	_, isSet, err := b.TraceCursor(t.Context())
	require.NoError(t, err)
	require.False(t, isSet)
	for _, want := range []store.TraceCursor{{Sent: 0, Resume: 0}, {Sent: 90, Resume: 40}, {Sent: 95, Resume: 30}} {
		require.NoError(t, b.SetTraceCursor(t.Context(), want))
		got, isSet, err := b.TraceCursor(t.Context())
		require.NoError(t, err)
		require.True(t, isSet)
		require.Equal(t, want, got)
	}
}

func (s suite) TestTraces_EntriesAreThoseOfProjections(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	for range 5 {
		b.MustAppend(t, NewDraft("app", "s", "PreToolUse", "Bash"))
	}
	want, wantUpTo, err := b.LogEntries(t.Context(), store.ProjectionReader, 1, 3)
	require.NoError(t, err)
	got, upTo, err := b.LogEntries(t.Context(), store.TraceReader, 1, 3)
	require.NoError(t, err)
	require.Equal(t, wantUpTo, upTo)
	require.Len(t, got, len(want))
	for i := range got {
		require.Equal(t, want[i].Seq, got[i].Seq)
		require.Equal(t, want[i].Event.UID, got[i].Event.UID)
	}
	_, upTo, err = b.LogEntries(t.Context(), store.TraceReader, 5, 3)
	require.NoError(t, err)
	require.EqualValues(t, 5, upTo)
}
