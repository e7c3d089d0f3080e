package hub

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

// Every way to an approval ends at the same checks. Each case prepares a request, freezes its
// agent, and tries to approve it.
func TestFreeze_NoPathApproves(t *testing.T) {
	t.Parallel()
	type frozenHub struct {
		*testHub
		clock  *fakeClock
		freeze func()
	}
	for name, try := range map[string]func(h frozenHub) schema.EventID{
		"the last vote": func(h frozenHub) schema.EventID {
			id := h.askPeople(2, `"ada","op-bo"`)
			h.mustVote(id, "ada", approval())
			h.freeze()
			_, err := h.vote(id, "op-bo", approval())
			require.ErrorIs(h.t, err, schema.ErrFrozen)
			return id
		},
		"the first vote": func(h frozenHub) schema.EventID {
			id := h.askPeople(2, `"ada","op-bo"`)
			h.freeze()
			_, err := h.vote(id, "ada", approval())
			require.ErrorIs(h.t, err, schema.ErrFrozen)
			return id
		},
		"the end of the undo window": func(h frozenHub) schema.EventID {
			id := h.askPeople(1, `"ada"`)
			h.mustVote(id, "ada", withHold(approval(), 20*time.Second))
			h.freeze()
			h.clock.advance(time.Minute)
			h.runDue()
			return id
		},
		"an answer to hold": func(h frozenHub) schema.EventID {
			id := h.askPeople(1, `"ada"`)
			h.freeze()
			_, err := h.vote(id, "ada", withHold(approval(), 20*time.Second))
			require.ErrorIs(h.t, err, schema.ErrFrozen)
			h.clock.advance(time.Minute)
			h.runDue()
			return id
		},
		"bulk": func(h frozenHub) schema.EventID {
			id, _ := h.ask(`{"question":"Go on?","type":"permission"}`)
			h.freeze()
			results, err := h.ApproveAll(h.t.Context(), &schema.Approvals{Requests: []schema.SeenRevision{{ID: id, Revision: 1}}}, h.as("ada"))
			require.NoError(h.t, err)
			require.Contains(h.t, string(results), `"code":"frozen"`)
			return id
		},
		"a rule for pending requests": func(h frozenHub) schema.EventID {
			id := h.post(bashRequest("s", "npm test")).ID
			h.freeze()
			_, err := h.CreateRule(h.t.Context(), &schema.RuleDraft{From: id, Then: schema.ThenAllow, Scope: schema.ScopeCall, Reach: schema.ReachEverywhere, ApplyNow: true}, h.as("ada"))
			require.NoError(h.t, err)
			return id
		},
		"a rule for a new request": func(h frozenHub) schema.EventID {
			from := h.post(bashRequest("s", "npm test")).ID
			_, err := h.CreateRule(h.t.Context(), &schema.RuleDraft{From: from, Then: schema.ThenAllow, Scope: schema.ScopeCall, Reach: schema.ReachEverywhere}, h.as("ada"))
			require.NoError(h.t, err)
			h.freeze()
			return h.post(bashRequest("s", "npm test")).ID
		},
		"a recipient who is removed": func(h frozenHub) schema.EventID {
			id := h.askPeople(1, `"ada","op-bo"`)
			h.mustVote(id, "op-bo", withHold(approval(), 20*time.Second))
			h.freeze()
			h.remove("op-bo")
			h.clock.advance(time.Minute)
			h.runDue()
			return id
		},
		"an edited call": func(h frozenHub) schema.EventID {
			id := h.post(strings.Replace(bashRequest("s", "npm test"), `"arguments"`, `"editable":true,"arguments"`, 1)).ID
			h.freeze()
			_, err := h.vote(id, "ada", editedApproval(`{"command":"ls"}`, 1))
			require.ErrorIs(h.t, err, schema.ErrFrozen)
			return id
		},
		"the deadline": func(h frozenHub) schema.EventID {
			id, _ := h.ask(`{"question":"Go on?","type":"permission","timeout":60}`)
			h.freeze()
			h.clock.advance(time.Hour)
			h.runDue()
			return id
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := newFakeClock()
			h := frozenHub{testHub: newTestHub(t, clock.configure), clock: clock}
			h.setPeople("ada", "op-bo")
			h.freeze = func() {
				t.Helper()
				_, _, err := h.Freeze(t.Context(), &control.FreezeDraft{Scope: control.FreezeAll}, h.as("ada"))
				require.NoError(t, err)
			}
			id := try(h)
			st := h.status(id)
			require.NotEqual(t, schema.Approve, st.Outcome)
			require.Nil(t, st.Held)
			q, err := h.Store.Question(t.Context(), id)
			require.NoError(t, err)
			if q.Answer != nil {
				var a schema.Answer
				require.NoError(t, json.Unmarshal(q.Answer, &a))
				require.False(t, a.Permission != nil && *a.Permission)
			}
		})
	}
}
