package hubtest_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/hubtest"
)

// A card names the other agents that changed the same file within ten minutes.
func TestCollision_OfAnotherAgentsChange(t *testing.T) {
	t.Parallel()
	var passed atomic.Int64
	began := time.Now()
	h := &reportHub{Hub: hubtest.Start(t, hubtest.Clock(func() time.Time { return began.Add(time.Duration(passed.Load())) })), t: t}
	change := func(session, agent, typ, name string) {
		t.Helper()
		h.post(session, typ, fmt.Sprintf(`"tool_name":"Edit","agent_id":%q,"payload":{"cwd":"/srv/app","tool_input":{"file_path":%q,"old_string":"a","new_string":"b"}}`, agent, name))
	}
	change("early", "", "PostToolUse", "/srv/app/a.go")
	passed.Store(int64(10*time.Minute + time.Second))
	change("web", "", "PostToolUse", "a.go")
	change("web", "", "PostToolUse", "/srv/app/./a.go")
	change("denied", "", "PreToolUse", "/srv/app/a.go")
	change("other", "", "PostToolUse", "/srv/app/b.go")
	change("shop", "", "PostToolUse", "/srv/app/a.go")
	change("shop", "helper", "PostToolUse", "/srv/app/a.go")
	ask := func(tool, arguments, more string) (found []string) {
		t.Helper()
		id := h.post("shop", "PermissionRequest", fmt.Sprintf(`"tool_name":%q,"payload":{"cwd":"/srv/app"},"humanInTheLoop":{"question":"Do it?","type":"permission",
			"toolCall":{"name":%q,"arguments":%s%s}}`, tool, tool, arguments, more)).ID
		var read history.QuestionContext
		require.Equal(t, 200, fetch(t, "GET "+h.URL()+schema.At(schema.PathContext, id), "", &read))
		for _, c := range read.Collisions {
			require.NotZero(t, c.EventID)
			found = append(found, c.SessionID+" "+c.Path)
		}
		return found
	}
	both := []string{"shop /srv/app/a.go", "web /srv/app/a.go"}
	require.Equal(t, both, ask("Edit", `{"file_path":"/srv/app/a.go","old_string":"b","new_string":"c"}`, ""), "of a subagent and of another session")
	require.Equal(t, both, ask("Write", `{"file_path":"a.go","content":"x"}`, ""))
	require.Equal(t, both, ask("Bash", `{"command":"rm a.go"}`, `,"consequence":{"sentences":["Removes 1 file."],"changes":["/srv/app/a.go"]}`))
	require.Equal(t, []string{both[0], "other /srv/app/b.go", both[1]}, ask("Bash", `{"command":"rm -r ."}`, `,"consequence":{"sentences":["Removes 2 files."],"changes":["/srv/app"]}`))
	require.Empty(t, ask("Edit", `{"file_path":"/srv/app/c.go","old_string":"b","new_string":"c"}`, ""))
	require.Empty(t, ask("Read", `{"file_path":"/srv/app/a.go"}`, ""))
}
