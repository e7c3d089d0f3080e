package httpapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// TestHooksThatAskTheSameAreOneCard: two subagents of one session, whose hooks both
// wait; one look, one answer, and each is told.
func TestHooksThatAskTheSameAreOneCard(t *testing.T) {
	t.Parallel()
	r := setup(t, quickly)
	body := sample(t, "PermissionRequest-Bash")
	of := func(agent string) string {
		return strings.Replace(body, `"hook_event_name"`, fmt.Sprintf(`"agent_id":%q,"hook_event_name"`, agent), 1)
	}
	one := r.hook("", of("first"))
	r.asked(1)
	two := r.hook("", of("second"))
	require.Eventually(t, func() bool { return r.event(1).HumanInTheLoopStatus.Waiters == 2 }, patience, 1e6)
	shown := r.event(1).HumanInTheLoopStatus.Revision
	r.answer(1, fmt.Sprintf(`{"permission":false,"reason":"not both","revision":%d}`, shown))
	for _, waiting := range []<-chan hooked{one, two} {
		h := <-waiting
		require.Equal(t, 200, h.status)
		require.Contains(t, h.body, `"behavior":"deny"`)
		require.Contains(t, h.body, "not both")
	}
	require.Equal(t, schema.EventID(1), r.ended(2).SameAs)
}

// TestARuleAnswersAHook: nobody has to be there.
func TestARuleAnswersAHook(t *testing.T) {
	t.Parallel()
	r := setup(t, quickly)
	body := strings.Replace(sample(t, "PermissionRequest-Bash"), "DROP TABLE orders_old", "SELECT 1", 1)
	waiting := r.hook("", body)
	asked := r.asked(1)
	require.Empty(t, asked.HumanInTheLoopStatus.Risk)
	r.answer(1, `{"permission":true}`)
	require.Equal(t, 200, (<-waiting).status)
	var rule schema.Rule
	r.call("POST "+schema.PathRules, `{"from":1,"then":"deny","scope":"call","reach":"session","ttlSeconds":0,"reason":"once was enough"}`, &rule)
	h := <-r.hook("", strings.Replace(body, `"hook_event_name"`, `"agent_id":"second","hook_event_name"`, 1))
	require.Contains(t, h.body, `"behavior":"deny"`)
	require.Contains(t, h.body, "A rule of local user refused this")
	require.Contains(t, h.body, "once was enough")
}
