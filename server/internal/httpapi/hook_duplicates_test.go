package httpapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// TestClaudeCodeHook_DuplicatesShareOneAnswer: two subagents of one session call the hook
// with equal questions. One answer settles both.
func TestClaudeCodeHook_DuplicatesShareOneAnswer(t *testing.T) {
	t.Parallel()
	r := setup(t, fastHooks)
	body := hookSample(t, "PermissionRequest-Bash")
	of := func(agent string) string {
		return strings.Replace(body, `"hook_event_name"`, fmt.Sprintf(`"agent_id":%q,"hook_event_name"`, agent), 1)
	}
	dialV2(r) // without a viewer, a subagent's hook does not wait
	require.Eventually(t, func() bool { return r.Hub.Viewers.Count() == 1 }, waitLimit, 1e6)
	first := r.runHook("", of("first"))
	r.waitForQuestion(1)
	second := r.runHook("", of("second"))
	require.Eventually(t, func() bool { return r.event(1).HumanInTheLoopStatus.Waiters == 2 }, waitLimit, 1e6)
	shown := r.event(1).HumanInTheLoopStatus.Revision
	r.answer(1, fmt.Sprintf(`{"permission":false,"reason":"not both","revision":%d}`, shown))
	for _, waiting := range []<-chan hookResult{first, second} {
		h := <-waiting
		require.Equal(t, 200, h.status)
		require.Contains(t, h.body, `"behavior":"deny"`)
		require.Contains(t, h.body, "not both")
	}
	require.Equal(t, schema.EventID(1), r.waitUntilSettled(2).SameAs)
}

// TestClaudeCodeHook_RuleAnswersQuestion checks that a rule answers without a person.
func TestClaudeCodeHook_RuleAnswersQuestion(t *testing.T) {
	t.Parallel()
	r := setup(t, fastHooks)
	body := strings.Replace(hookSample(t, "PermissionRequest-Bash"), "DROP TABLE orders_old", "SELECT 1", 1)
	waiting := r.runHook("", body)
	question := r.waitForQuestion(1)
	require.Empty(t, question.HumanInTheLoopStatus.Risk)
	r.answer(1, `{"permission":true}`)
	require.Equal(t, 200, (<-waiting).status)
	var rule schema.Rule
	r.requestJSON("POST "+schema.PathRules, `{"from":1,"then":"deny","scope":"call","reach":"session","ttlSeconds":0,"reason":"once was enough"}`, &rule, r.owner("ada").headers()...)
	h := <-r.runHook("", strings.Replace(body, `"hook_event_name"`, `"agent_id":"second","hook_event_name"`, 1))
	require.Contains(t, h.body, `"behavior":"deny"`)
	require.Contains(t, h.body, "A rule of ada denied this")
	require.Contains(t, h.body, "once was enough")
}
