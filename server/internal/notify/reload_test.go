package notify

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// The hub that notifies is often not the one at which a person adds or removes a channel.
func TestReload_FollowsChannelsOfAnotherHub(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	f := startServer(t)
	earlier := h.askQuestion("Earlier?")
	c, err := NewChannel(&schema.ChannelDraft{Name: "ops", URL: f.URL}, "ada")
	require.NoError(t, err)
	other := New(Config{Store: h.Store, Guard: loopbackGuard(t)}) // does not run
	require.NoError(t, other.AddChannel(t.Context(), c))
	require.NoError(t, other.Reload(t.Context()))

	require.NoError(t, h.Reload(t.Context()))
	h.requireNotifications(h.askQuestion("May I?"), "asked  sent")
	h.requireNotifications(earlier)

	require.NoError(t, other.RemoveChannel(t.Context(), c.ID, "ada"))
	require.NoError(t, h.Reload(t.Context()))
	require.Eventually(t, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.workers[c.ID] == nil && h.workers[0] != nil
	}, time.Minute, time.Millisecond)
}
