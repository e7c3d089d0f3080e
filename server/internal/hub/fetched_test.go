package hub

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

func TestPull_WithoutSecretIsFetched(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id, secret := h.ask(pullQuestion)
	_, err := h.Pull(t.Context(), id, PullOptions{})
	require.NoError(t, err)
	require.Nil(t, h.status(id).Delivery, "nothing to fetch yet")
	_, err = h.Respond(t.Context(), id, approval(), Caller{})
	require.NoError(t, err)
	require.Equal(t, schema.NoDelivery, h.status(id).Delivery.State)

	_, err = h.Pull(t.Context(), id, PullOptions{Secret: "guess"})
	require.ErrorIs(t, err, schema.ErrForbidden)
	require.Equal(t, schema.NoDelivery, h.status(id).Delivery.State, "a wrong secret changes nothing")
	var revision int64
	for range 2 {
		raw, err := h.Pull(t.Context(), id, PullOptions{})
		require.NoError(t, err)
		require.NotNil(t, raw)
		st := h.status(id)
		require.Equal(t, schema.Fetched, st.Delivery.State)
		if revision != 0 {
			require.Equal(t, revision, st.Revision, "only the first one changes the status")
		}
		revision = st.Revision
	}
	_, err = h.Pull(t.Context(), id, PullOptions{Secret: secret})
	require.NoError(t, err)
	require.Equal(t, schema.Pulled, h.status(id).Delivery.State, "the secret confirms it later")
	_, err = h.Pull(t.Context(), id, PullOptions{})
	require.NoError(t, err)
	require.Equal(t, schema.Pulled, h.status(id).Delivery.State)
}

// TestPull_EndsWithItsContext: a hub that stops ends the pulls, also those that have not read yet.
func TestPull_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id, _ := h.ask(pullQuestion)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	answer, err := h.Pull(ctx, id, PullOptions{Wait: time.Minute})
	require.NoError(t, err)
	require.Nil(t, answer)
}
