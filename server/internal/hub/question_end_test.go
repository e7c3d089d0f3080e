package hub

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// A hook that stops waiting states why. Timed out, dismissed and closed are different ends, the same as when
// the hub itself finds out.
func TestCancel_HookStatesHowTheQuestionEnded(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	for reason, want := range map[string]struct {
		state    schema.State
		outcome  schema.Outcome
		source   schema.EndedBy
		end      string
		guidance string
	}{
		schema.ReasonOwnDeadline: {schema.TimedOut, schema.Timeout, schema.ByTimeout, "no one answered in time", "No one answered in time."},
		schema.ReasonDismissed:   {schema.Failed, schema.Cancelled, schema.ByDismissal, "dismissed in the agent", "A person dismissed this in the agent"},
		schema.ReasonAgentGone:   {schema.Failed, schema.Cancelled, schema.ByOrphaned, "the agent is gone", "The agent that asked is gone."},
		"not needed any more":    {schema.Failed, schema.Withdrawn, schema.ByAgent, "withdrawn by the agent", "The agent withdrew the question."},
	} {
		id, secret := h.ask(callbackQuestion)
		for range 2 {
			_, err := h.Cancel(t.Context(), id, schema.Cancel{RequestSecret: secret, Reason: reason}, Caller{})
			require.NoError(t, err)
		}
		st := h.status(id)
		require.Equal(t, want.state, st.Status, reason)
		require.Equal(t, want.outcome, st.Outcome, reason)
		require.Equal(t, want.source, st.Source, reason)
		require.Equal(t, reason, st.Reason)
		require.Equal(t, want.end, schema.EndText(st.Outcome, st.Source))
		require.Contains(t, st.Response.Guidance, want.guidance)
		require.False(t, *st.Response.Permission)
		require.Nil(t, st.RespondedBy, "no person is named")
		require.Equal(t, schema.NoDelivery, st.Delivery.State, "the agent that withdrew it gets nothing")
	}
	id, _ := h.ask(callbackQuestion)
	_, err := h.Cancel(t.Context(), id, schema.Cancel{Reason: schema.ReasonDismissed}, Caller{})
	require.NoError(t, err)
	require.Equal(t, schema.ByCancel, h.status(id).Source, "a person's reason is only a text")
}
