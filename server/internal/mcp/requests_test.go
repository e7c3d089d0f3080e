package mcp_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/server/internal/mcp"
)

func TestTools_DeclareExpectedSet(t *testing.T) {
	t.Parallel()
	r := setup(t, "")
	listed, err := r.ListTools(t.Context(), nil)
	require.NoError(t, err)
	var names, readOnly, destructive []string
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
		require.Greater(t, len(tool.Description), 60, tool.Name)
		require.NotEmpty(t, tool.Title)
		require.NotNil(t, tool.Annotations)
		if tool.Annotations.ReadOnlyHint {
			readOnly = append(readOnly, tool.Name)
		} else if *tool.Annotations.DestructiveHint {
			destructive = append(destructive, tool.Name)
		}
		input, ok := tool.InputSchema.(map[string]any)
		require.True(t, ok)
		require.Equal(t, "object", input["type"])
		if tool.Name != "request_approval" {
			require.NotNil(t, tool.OutputSchema, tool.Name)
			require.Equal(t, false, input["additionalProperties"], tool.Name)
		}
	}
	slices.Sort(names)
	require.Equal(t, []string{
		"ask_human", "await_hitl_request", "cancel_hitl_request", "get_hitl_request", "list_pending_hitl_requests",
		"request_approval", "search_events", "vote_on_hitl_request",
	}, names)
	require.ElementsMatch(t, []string{"await_hitl_request", "get_hitl_request", "list_pending_hitl_requests", "search_events"}, readOnly)
	require.ElementsMatch(t, []string{"cancel_hitl_request", "vote_on_hitl_request"}, destructive)
	require.Contains(t, r.InitializeResult().Instructions, "data")
}

func TestListRequests_FiltersByStatusAndAgent(t *testing.T) {
	t.Parallel()
	r := setup(t, "?app=planner")
	first := call[mcp.Ticket](r, "ask_human", map[string]any{"question": "First?", "choices": []string{"approve", "deny"}})
	r.do("POST", schema.PathEvents, `{"source_app":"other","session_id":"s","hook_event_type":"Ask","payload":{},"humanInTheLoop":{"question":"Second?","type":"question"}}`)

	page := call[inbox.HitlPage](r, "list_pending_hitl_requests", map[string]any{})
	require.Len(t, page.Requests, 2)
	require.Equal(t, "Second?", page.Requests[0].Prompt)
	page = call[inbox.HitlPage](r, "list_pending_hitl_requests", map[string]any{"agent": "planner"})
	require.Len(t, page.Requests, 1)
	require.Equal(t, first.RequestID, page.Requests[0].RequestID)
	require.Equal(t, []string{"approve", "deny"}, page.Requests[0].Choices)

	third := `{"source_app":"third","session_id":"s","agent_id":"a1","agent_type":"reviewer","model_name":"m-1","hook_event_type":"Ask","payload":{},"humanInTheLoop":{"question":"Third?","type":"question","agentPath":["third","reviewer"]}}`
	var thirdEvent schema.Event
	require.NoError(t, json.Unmarshal(r.do("POST", schema.PathEvents, third), &thirdEvent))
	page = call[inbox.HitlPage](r, "list_pending_hitl_requests", map[string]any{"agents": []string{"planner", "third"}})
	require.Len(t, page.Requests, 2)
	require.Equal(t, []string{"third", "reviewer", "a1", "reviewer", "m-1"},
		append(page.Requests[0].AgentPath, page.Requests[0].AgentID, page.Requests[0].AgentType, page.Requests[0].ModelName))
	page = call[inbox.HitlPage](r, "list_pending_hitl_requests", map[string]any{"agents": []string{"planner", "third"}, "limit": 1})
	require.Len(t, page.Requests, 1)
	page = call[inbox.HitlPage](r, "list_pending_hitl_requests", map[string]any{"agents": []string{"planner", "third"}, "limit": 1, "cursor": page.NextCursor})
	require.Equal(t, "First?", page.Requests[0].Prompt)
	require.Contains(t, r.callError("list_pending_hitl_requests", map[string]any{"limit": 101}), "limit")
	r.do("POST", schema.At(schema.PathCancel, thirdEvent.ID), `{}`)

	r.respond(first.RequestID, `{"permission":false,"reason":"not now"}`)
	page = call[inbox.HitlPage](r, "list_pending_hitl_requests", map[string]any{"status": "decided"})
	require.Len(t, page.Requests, 1)
	require.Equal(t, schema.Deny, page.Requests[0].Outcome)
	require.Len(t, call[inbox.HitlPage](r, "list_pending_hitl_requests", map[string]any{"status": "all"}).Requests, 3)
	require.Contains(t, r.callError("list_pending_hitl_requests", map[string]any{"status": "open"}), "status")

	for _, id := range []any{first.RequestID, first.RequestID.String()} { // models write both
		got := call[inbox.HitlRequest](r, "get_hitl_request", map[string]any{"request_id": id})
		require.Equal(t, "not now", got.Reason)
	}
	require.Contains(t, r.callError("get_hitl_request", map[string]any{"request_id": 4711}), "not_found")
}

// TestVote_RequiresPersonToken: over HTTP anyone local may answer on this hub, which has no
// accounts. If a model could do so here, it would approve its own questions.
func TestVote_RequiresPersonToken(t *testing.T) {
	t.Parallel()
	r := setup(t, "")
	question := call[mcp.Ticket](r, "ask_human", map[string]any{"question": "May I?", "choices": []string{"approve", "deny"}})
	require.Contains(t, r.callError("vote_on_hitl_request", map[string]any{"request_id": question.RequestID, "choice": "approve"}), "sign_in")
	require.Contains(t, r.callError("cancel_hitl_request", map[string]any{"request_id": question.RequestID}), "sign_in")
	require.Equal(t, schema.Pending, r.event(question.RequestID).HumanInTheLoopStatus.Status)
}

func TestCancel_AgentWithdrawsOwnQuestion(t *testing.T) {
	t.Parallel()
	r := setup(t, "")
	question := call[mcp.Ticket](r, "ask_human", map[string]any{"question": "Which?"})
	other := call[mcp.Ticket](r, "ask_human", map[string]any{"question": "Which other?"})
	require.Contains(t, r.callError("cancel_hitl_request", map[string]any{"request_id": question.RequestID, "secret": other.Secret}), "forbidden")
	got := call[inbox.HitlRequest](r, "cancel_hitl_request", map[string]any{"request_id": question.RequestID, "secret": question.Secret, "reason": "found it"})
	require.Equal(t, schema.Withdrawn, got.Outcome)
	require.Equal(t, "found it", got.Reason)
	again := call[mcp.Ticket](r, "await_hitl_request", map[string]any{"request_id": question.RequestID, "secret": question.Secret})
	require.Equal(t, inbox.HitlCancelled, again.Status)
}

// TestRequests_OmitSecrets checks that only the requester receives the secret.
func TestRequests_OmitSecrets(t *testing.T) {
	t.Parallel()
	r := setup(t, "")
	question := call[mcp.Ticket](r, "ask_human", map[string]any{"question": "Which?"})
	for tool, arguments := range map[string]map[string]any{
		"list_pending_hitl_requests": {}, "get_hitl_request": {"request_id": question.RequestID}, "search_events": {},
		"await_hitl_request": {"request_id": question.RequestID, "max_wait_seconds": 0.01},
	} {
		all, err := json.Marshal(r.callTool(tool, arguments))
		require.NoError(t, err)
		require.NotContains(t, string(all), question.Secret, tool)
	}
}
