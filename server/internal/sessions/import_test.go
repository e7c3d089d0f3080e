package sessions

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/store"
)

// postImport imports a session that was last active so long ago.
func (h *testHub) postImport(of string, ago time.Duration, change ...func(*history.ImportedSession)) {
	h.t.Helper()
	ended := h.Clock().Add(-ago).UnixMilli()
	in := history.ImportedSession{
		Hash: "h-" + of, Title: "Title of " + of, Cwd: "/src/" + of, StartedAt: schema.Millis(ended - 60_000), EndedAt: schema.Millis(ended),
		Usage: []history.ImportedUsage{{At: schema.Millis(ended), Model: "opus", Requests: 1, Tokens: history.Tokens{Input: 100, Output: 10}, CostUSD: 0.5}},
		Tools: []history.ImportedTool{{Tool: "Bash", Calls: 2, Failures: 1}},
		Files: []history.ChangedFile{{Path: "/src/a.go", Change: "edited", Added: 1, Calls: 1, LastAt: schema.Millis(ended)}},
	}
	for _, fn := range change {
		fn(&in)
	}
	payload, err := json.Marshal(in)
	require.NoError(h.t, err)
	h.post(fmt.Sprintf(`{"source_app":"shop","session_id":%q,"hook_event_type":"SessionImported","payload":%s}`, of, payload))
}

// listed returns the ids of the sessions, page by page.
func (h *testHub) listed(f store.SessionFilter) (ids []string) {
	h.t.Helper()
	for turn := 0; ; turn++ {
		require.Less(h.t, turn, 20)
		page, err := h.Sessions(h.t.Context(), f)
		require.NoError(h.t, err)
		for i := range page.Sessions {
			ids = append(ids, page.Sessions[i].SessionID)
		}
		if page.Next == "" {
			return ids
		}
		f.Before, err = strconv.ParseInt(page.Next, 10, 64)
		require.NoError(h.t, err)
	}
}

// A later import of an older session is not the newest session.
func TestSessions_ListedByTheirOwnTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	h := newTestHub(t, func(c *Config) { c.Clock = func() time.Time { return now } })
	h.post(`{"source_app":"shop","session_id":"live before","hook_event_type":"Stop","payload":{}}`)
	now = now.Add(2 * time.Hour)
	h.post(`{"source_app":"shop","session_id":"live","hook_event_type":"Stop","payload":{}}`)
	h.postImport("yesterday", 24*time.Hour)
	h.postImport("in between", time.Hour)
	h.postImport("last week", 7*24*time.Hour)
	h.catchUp(h.newProjector())
	want := []string{"live", "in between", "live before", "yesterday", "last week"}
	for _, limit := range []int{1, 2, 3, 10} {
		require.Equal(t, want, h.listed(store.SessionFilter{Limit: limit}), limit)
		require.Equal(t, want, h.listed(store.SessionFilter{App: "shop", Limit: limit}), limit)
	}
	require.ElementsMatch(t, []string{"yesterday", "in between", "last week"}, h.listed(store.SessionFilter{Text: "/src/", Limit: 1}))
	require.Equal(t, []string{"yesterday"}, h.listed(store.SessionFilter{Text: "title of yes", Limit: 5}))

	overview, err := h.Overview(t.Context(), 2, time.UTC)
	require.NoError(t, err)
	require.Len(t, overview.Agents, 1)
	require.EqualValues(t, 4, overview.Agents[0].Sessions, "of the last two days")
	require.EqualValues(t, 4, overview.Agents[0].Tools)
	require.EqualValues(t, 4, overview.Agents[0].Events)
	require.False(t, overview.Agents[0].Ended, "the latest session is a running one")
}

func TestSpendReport_ImportsCountAtTheirTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	h := newTestHub(t, func(c *Config) { c.Clock = func() time.Time { return now } })
	h.postImport("a", 24*time.Hour)
	h.postImport("b", 3*24*time.Hour)
	h.postImport("a", 24*time.Hour, func(in *history.ImportedSession) { in.Hash, in.Usage[0].CostUSD = "more", 2 }) // replaces
	h.postImport("b", 3*24*time.Hour, func(in *history.ImportedSession) { in.Hash, in.Usage[0].Model = "other", "haiku" })
	for _, step := range []func(){func() {}, func() {
		h.postImport("b", 3*24*time.Hour, func(in *history.ImportedSession) { in.Hash = "again"; in.Usage = nil })
	}} {
		step()
		h.catchUp(h.newProjector())
		var sum float64
		var tokens history.Tokens
		for _, s := range h.allSessions() {
			sum += s.CostUSD
			if s.Tokens != nil {
				tokens = tokens.Add(*s.Tokens)
			}
		}
		for _, by := range []string{"day", "model", "app", "person", "day,model"} {
			_, r := h.spendLines(by, 5, time.UTC)
			require.InDelta(t, sum, r.CostUSD, 1e-9, by)
			require.Equal(t, tokens, r.Tokens, by)
		}
	}
	lines, _ := h.spendLines("day,model", 5, time.UTC)
	require.Equal(t, []string{"2026-11-19 opus 100+10 2.00"}, lines)
	spend, err := h.Store.Spend(t.Context(), 0, 1<<40)
	require.NoError(t, err)
	for group := range spend {
		require.True(t, group.Imported)
	}
	h.post(`{"source_app":"shop","session_id":"a","hook_event_type":"ApiRequest","payload":{"model":"opus","usage":{"input_tokens":1},"cost_usd":1}}`)
	h.catchUp(h.newProjector())
	spend, err = h.Store.Spend(t.Context(), now.UnixMilli()/store.QuarterMS, 1<<40)
	require.NoError(t, err)
	require.Len(t, spend, 1)
	for group := range spend {
		require.False(t, group.Imported, "the session runs")
	}
}

func TestFiles_ImportAndWhatFollows(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.postImport("a", time.Hour, func(in *history.ImportedSession) { in.MoreFiles = 3 })
	h.postImport("a", time.Hour, func(in *history.ImportedSession) { in.Hash, in.MoreFiles, in.Files[0].Added = "more", 4, 9 })
	h.post(`{"source_app":"shop","session_id":"a","hook_event_type":"PostToolUse","tool_name":"Write","tool_use_id":"1","payload":{"tool_input":{"file_path":"/src/b.go","content":"x\n"},"tool_response":{}}}`)
	h.catchUp(h.newProjector())
	files, err := h.Files(t.Context(), store.SessionKey{App: "shop", Session: "a"})
	require.NoError(t, err)
	require.EqualValues(t, 4, files.More)
	var paths []string
	for _, f := range files.Files {
		paths = append(paths, fmt.Sprint(f.Path, " ", f.Added, " ", len(f.Events)))
	}
	slices.Sort(paths)
	require.Equal(t, []string{"/src/a.go 9 0", "/src/b.go 1 1"}, paths)
}
