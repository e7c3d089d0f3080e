package conformance

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

func (s suite) TestFlows_AreTakenOnce(t *testing.T) {
	b := s.open(t)
	now := b.Clock.Now()
	want := store.Flow{ID: []byte("id"), Kind: "sign-in", Data: []byte{0, 1, 255}, ExpiresAt: now.Add(time.Minute)}
	require.NoError(t, b.PutFlow(t.Context(), &want, now, 10))
	var taken atomic.Int32
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			got, err := b.TakeFlow(t.Context(), want.ID, now)
			if err != nil {
				require.ErrorIs(t, err, schema.ErrNotFound)
				return
			}
			taken.Add(1)
			require.Equal(t, want.Data, got.Data)
			require.Equal(t, want.Kind, got.Kind)
			require.True(t, want.ExpiresAt.Equal(got.ExpiresAt))
		})
	}
	group.Wait()
	require.EqualValues(t, 1, taken.Load())
}

func (s suite) TestFlows_Expire(t *testing.T) {
	b := s.open(t)
	now := b.Clock.Now()
	require.NoError(t, b.PutFlow(t.Context(), &store.Flow{ID: []byte("id"), Kind: "k", ExpiresAt: now.Add(time.Minute), Data: []byte("x")}, now, 10))
	_, err := b.TakeFlow(t.Context(), []byte("id"), now.Add(time.Minute))
	require.ErrorIs(t, err, schema.ErrNotFound)
	_, err = b.TakeFlow(t.Context(), []byte("id"), now)
	require.NoError(t, err, "a refused attempt does not use it up")

	require.NoError(t, b.PutFlow(t.Context(), &store.Flow{ID: []byte("old"), Kind: "k", ExpiresAt: now.Add(time.Minute), Data: []byte("x")}, now, 10))
	require.NoError(t, b.PutFlow(t.Context(), &store.Flow{ID: []byte("new"), Kind: "other", ExpiresAt: now.Add(time.Hour), Data: []byte("x")}, now.Add(time.Minute), 10))
	_, err = b.TakeFlow(t.Context(), []byte("old"), now)
	require.ErrorIs(t, err, schema.ErrNotFound, "expired ones are removed")
}

// The flows of one kind make room for each other, never for those of another kind.
func (s suite) TestFlows_AreLimitedByKind(t *testing.T) {
	b := s.open(t)
	now := b.Clock.Now()
	put := func(kind, id string, in time.Duration) {
		t.Helper()
		require.NoError(t, b.PutFlow(t.Context(), &store.Flow{ID: []byte(id), Kind: kind, Data: []byte(id), ExpiresAt: now.Add(in)}, now, 3))
	}
	put("other", "stays", time.Second)
	for i := range 10 {
		put("k", fmt.Sprint(i), time.Hour+time.Duration(i)*time.Second)
	}
	put("k", "9", time.Hour) // replaced: it counts once
	for i, want := range []bool{6: false, 7: true, 8: true, 9: true} {
		_, err := b.TakeFlow(t.Context(), fmt.Append(nil, i), now)
		require.Equal(t, want, err == nil, "flow %d", i)
	}
	_, err := b.TakeFlow(t.Context(), []byte("stays"), now)
	require.NoError(t, err)
}
