package ratings

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/store"
)

// pastCalls returns the past calls as "id tool decided outcome answer", and whether they are complete.
func (x *fixture) pastCalls(text string) (list []string, complete bool) {
	x.t.Helper()
	terms, err := filter.Parse(text)
	require.NoError(x.t, err)
	calls, complete, err := x.PastCalls(x.t.Context(), terms, time.Now())
	require.NoError(x.t, err)
	for i := range calls {
		c := &calls[i]
		require.NotZero(x.t, c.At)
		require.Equal(x.t, c.ToolName, c.Call.Name)
		list = append(list, strings.TrimSpace(fmt.Sprintf("%d %s %s %s %s", c.ID, c.ToolName, c.Decided, c.Outcome, c.Answer)))
	}
	return list, complete
}

func TestPastCalls_JoinEventsOfCalls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		post func(x *fixture)
		want string
	}{
		"no calls":     {func(x *fixture) { x.post("Stop", `{}`, "") }, ""},
		"ran":          {func(x *fixture) { x.start("t1", ""); x.end("PostToolUse", "t1") }, "1 Bash agent ran"},
		"an end alone": {func(x *fixture) { x.end("PostToolUse", "t1") }, ""},
		"approved, then failed": {func(x *fixture) {
			x.start("t1", "")
			x.respond(x.post("PermissionRequest", `{}`, question), true)
			x.end("PostToolUseFailure", "t1")
		}, "1 Bash person failed approve"},
		"denied at its start": {func(x *fixture) { x.respond(x.start("t1", question), false) }, "1 Bash person refused deny"},
		"pending":             {func(x *fixture) { x.start("t1", question) }, "1 Bash person open"},
		"the same call twice": {func(x *fixture) {
			x.post("PreToolUse", `{`+pipedScript+`}`, "")
			x.post("PostToolUse", `{`+pipedScript+`}`, "")
			x.post("PreToolUse", `{`+pipedScript+`}`, "")
		}, "1 Bash agent ran, 3 Bash agent open"},
		"an event twice": {func(x *fixture) { x.start("t1", ""); x.start("t1", "") }, "1 Bash agent open"},
		"by grant": {func(x *fixture) {
			x.start("t1", `"hook":{"verdict":"allow","by":"grant"}`)
			x.end("PostToolUse", "t1")
		}, "1 Bash grant ran"},
		"no answer in time": {func(x *fixture) {
			_, err := x.hub.Cancel(x.t.Context(), x.start("t1", question), schema.Cancel{}, hub.Caller{})
			require.NoError(x.t, err)
		}, "1 Bash person open"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newFixture(t)
			c.post(x)
			list, complete := x.pastCalls("")
			require.True(t, complete)
			require.Equal(t, c.want, strings.Join(list, ", "))
		})
	}
}

// A call of which a list shows no arguments is known as such, and one without a name is reported missing.
func TestPastCalls_LeftOutPayloads(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	long := `{"tool_input":{"command":"` + strings.Repeat("a", schema.MaxListed) + `"}}`
	x.post("PreToolUse", long, `"tool_name":"Bash","tool_use_id":"t1"`)
	terms, err := filter.Parse("")
	require.NoError(t, err)
	calls, complete, err := x.PastCalls(t.Context(), terms, time.Now())
	require.NoError(t, err)
	require.True(t, complete)
	require.Len(t, calls, 1)
	require.True(t, calls[0].IsCut)
	require.Empty(t, calls[0].Call.Arguments)
	x.post("PreToolUse", long, "")
	list, complete := x.pastCalls("")
	require.Len(t, list, 1)
	require.False(t, complete)
}

func TestPastCalls_SelectEvents(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	x.start("t1", "")
	x.post("PreToolUse", `{"tool_name":"Write","tool_use_id":"t2","tool_input":{"file_path":"a"}}`, "")
	list, _ := x.pastCalls(`tool:Write`)
	require.Equal(t, []string{"2 Write agent open"}, list)
	var visited []schema.EventID
	terms, err := filter.Parse("")
	require.NoError(t, err)
	complete, err := x.SearchBack(t.Context(), terms, time.Now(), func(e *store.Event) bool {
		visited = append(visited, e.ID)
		return len(visited) < 2
	})
	require.NoError(t, err)
	require.False(t, complete, "the caller stopped it")
	require.Equal(t, []schema.EventID{2, 1}, visited, "newest first")
	complete, err = x.SearchBack(t.Context(), terms, time.Now().Add((PastDays+1)*24*time.Hour), func(*store.Event) bool { return false })
	require.NoError(t, err)
	require.True(t, complete, "older events are not read")
}
