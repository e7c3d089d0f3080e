package httpapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/query"
)

// Clients page through all events from after=0.
func TestEventList_AfterReadsOldestFirst(t *testing.T) {
	t.Parallel()
	r := setup(t)
	for n := range 3 {
		r.post(event(n))
	}
	for query, want := range map[string][]schema.EventID{
		"?limit=2":                  {2, 3},
		"?limit=2&after=":           {2, 3},
		"?limit=2&after=0":          {1, 2},
		"?limit=2&after=1":          {2, 3},
		"?limit=1&after=1":          {2},
		"?limit=1&after=0&before=3": {1},
		"?limit=2&after=3":          nil,
	} {
		resp, b := r.do("GET", schema.PathEvents+query, "")
		require.Equal(t, 200, resp.StatusCode, query)
		var list []schema.Event
		require.NoError(t, json.Unmarshal(b, &list), query)
		var ids []schema.EventID
		for _, e := range list {
			ids = append(ids, e.ID)
		}
		require.Equal(t, want, ids, query)
	}
}

// Lists are shared for a second while the log does not grow, which must not delay anything.
func TestEventList_HasEveryChangeImmediately(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ids := func(path string) (ids []schema.EventID) {
		resp, b := r.do("GET", path, "")
		require.Equal(t, 200, resp.StatusCode, string(b))
		var events []schema.Event
		require.NoError(t, json.Unmarshal(b, &events))
		for _, e := range events {
			ids = append(ids, e.ID)
		}
		return ids
	}
	for n := range 5 {
		id := r.post(event(n, permission)).ID
		require.Contains(t, ids(schema.PathRecent), id)
		require.Equal(t, []schema.EventID{id}, ids(schema.PathEvents+"?status=pending"))
		r.respond(id)
		require.Empty(t, ids(schema.PathEvents+"?status=pending"))
	}
}

// The dashboard reads lists with summaries, and the whole event with its card.
func TestEventList_SummaryShortensLargeQuestions(t *testing.T) {
	t.Parallel()
	r := setup(t)
	huge := strings.Repeat("é", 450_000) // 0.9 MB
	appeal := strings.Repeat("No. ", 400)
	ask := func(call, payload string) {
		r.post(fmt.Sprintf(`{"source_app":"a","session_id":"s","hook_event_type":"PermissionRequest","payload":{"p":%q},"questionTruncated":true,
			"humanInTheLoop":{"question":"Run it?","type":"permission","toolCall":{"name":"Bash","arguments":{"command":%q,"n":1}},"appeal":{"by":"auto mode","reason":%q},"context":{"why":%q}}}`,
			payload, call, appeal, call))
	}
	ask(huge, "small")
	ask("ls", strings.Repeat("p", 20<<10))
	ask("ls", "small")
	list := func(path string) (events []schema.Event, size int) {
		resp, b := r.do("GET", path, "")
		require.Equal(t, 200, resp.StatusCode, path)
		require.NoError(t, json.Unmarshal(b, &events))
		require.Len(t, events, 3)
		return events, len(b)
	}
	for _, path := range []string{schema.PathRecent + "?limit=10", schema.PathEvents + "?status=pending"} {
		short, size := list(path + "&summary=1")
		require.Less(t, size, 16<<10)
		q := short[0].HumanInTheLoop
		require.True(t, short[0].QuestionTruncated)
		require.Equal(t, "Run it?", q.Question)
		require.Equal(t, "Bash", q.ToolCall.Name)
		require.NotNil(t, q.Appeal, "the list marks it")
		require.Equal(t, "auto mode", q.Appeal.By)
		start, end, _ := strings.Cut(q.Appeal.Reason, "…")
		require.True(t, len(start) > 500 && strings.HasPrefix(appeal, start), start)
		require.True(t, len(end) > 250 && strings.HasSuffix(appeal, end), end)
		require.LessOrEqual(t, len(q.Appeal.Reason), 1024)
		require.Contains(t, string(q.ToolCall.Arguments), "ééé…")
		require.JSONEq(t, `{"p":"small"}`, string(short[0].Payload))
		require.False(t, short[1].QuestionTruncated)
		require.True(t, short[1].PayloadTruncated)
		require.JSONEq(t, `{}`, string(short[1].Payload))

		for _, suffix := range []string{"", "&summary=0", "&summary="} {
			whole, _ := list(path + suffix)
			require.Equal(t, huge, whole[0].HumanInTheLoop.Context.Why)
			require.Equal(t, short[2], whole[2], "a small event is the same in both")
			for _, e := range whole {
				require.False(t, e.QuestionTruncated)
				require.False(t, e.PayloadTruncated)
			}
		}
	}
	resp, _ := r.do("GET", schema.PathRecent+"?summary=2", "")
	require.Equal(t, 400, resp.StatusCode)
}

// The dashboard reads the pending requests as summaries, so that its first card does not depend on what agents ask.
func TestEventList_RequestSummariesAreSmall(t *testing.T) {
	t.Parallel()
	r := setup(t)
	const requests = 20
	for i := range requests {
		huge := strings.Repeat("é", 1<<(i%19)) // up to 0.5 MB
		r.post(fmt.Sprintf(`{"source_app":"a","session_id":"s%d","hook_event_type":"PermissionRequest","tool_name":"Bash","payload":{"tool_input":{"command":%q}},
			"humanInTheLoop":{"question":%q,"type":"permission","toolCall":{"name":"Bash","argumentsRef":"/tool_input"},"context":{"why":%q,"diff":%q}}}`,
			i, huge, huge[:min(len(huge), 4096)], huge[:min(len(huge), 8192)], huge[:min(len(huge), 8192)]))
	}
	list := func(path string) (events []json.RawMessage) {
		r.expectOK(&events, "GET "+path, "")
		return events
	}
	short := list(schema.PathEvents + "?status=pending&limit=200&summary=2")
	require.Len(t, short, requests)
	whole := list(schema.PathEvents + "?status=pending&limit=200")
	for i, text := range short {
		require.LessOrEqual(t, len(text), query.MaxRequestSummary)
		var e, full schema.Event
		require.NoError(t, json.Unmarshal(text, &e))
		require.NoError(t, json.Unmarshal(whole[i], &full))
		require.Equal(t, full.ID, e.ID)
		require.Equal(t, full.HumanInTheLoopStatus.Revision, e.HumanInTheLoopStatus.Revision)
		require.Equal(t, full.HumanInTheLoopStatus.Risk, e.HumanInTheLoopStatus.Risk)
		require.Equal(t, len(whole[i]) > query.MaxRequestSummary, e.QuestionTruncated, "only large ones are shortened")
	}
	older := list(schema.PathEvents + "?status=pending&limit=5&summary=2&before=11")
	require.Len(t, older, 5)
	require.JSONEq(t, string(short[9]), string(older[4]))
	require.Equal(t, "summary", r.expectProblem("invalid", "GET "+schema.PathEvents+"?summary=3", "").Field)
	require.Equal(t, "summary", r.expectProblem("invalid", "GET "+schema.PathRecent+"?summary=2", "").Field)
	require.Equal(t, "sum", r.expectProblem("invalid", "GET "+schema.PathEvents+"?sum=2", "").Field)
}
