package mcp_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// requestApproval calls the tool as Claude Code does. It answers the question with body,
// unless body is empty.
func (r *harness) requestApproval(arguments map[string]any, body string) (verdict map[string]any, question schema.Event) {
	r.t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if body != "" {
			question = r.pending()
			if q := question.HumanInTheLoop.Questions; len(q) > 0 {
				body = strings.Replace(body, "QUESTION", q[0].ID, 1)
			}
			r.respond(question.ID, body)
		}
	}()
	result := r.callTool("request_approval", arguments)
	<-done
	require.False(r.t, result.IsError, text(result))
	require.Nil(r.t, result.StructuredContent, "Claude Code reads the text")
	require.NoError(r.t, json.Unmarshal([]byte(text(result)), &verdict), text(result))
	return verdict, question
}

func TestRequestApproval_ReturnsApproval(t *testing.T) {
	t.Parallel()
	bash := map[string]any{"tool_name": "Bash", "input": map[string]any{"command": "rm -rf /srv/data"}, "tool_use_id": "toolu_1"}
	for name, c := range map[string]struct {
		arguments map[string]any
		answer    string
		want      string
	}{
		"allow": {bash, `{"permission":true}`, `{"behavior":"allow","updatedInput":{"command":"rm -rf /srv/data"}}`},
		"edit": {bash, `{"permission":true,"modifiedArguments":{"command":"ls /srv/data"}}`,
			`{"behavior":"allow","updatedInput":{"command":"ls /srv/data"}}`},
		"question": {
			map[string]any{"tool_name": "AskUserQuestion", "input": map[string]any{"questions": []any{map[string]any{
				"question": "Which region?", "header": "Region", "options": []any{map[string]any{"label": "eu"}, map[string]any{"label": "us"}},
			}}}},
			`{"answers":{"QUESTION":"us"}}`, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t, "?session=s1&timeout=20")
			verdict, question := r.requestApproval(c.arguments, c.answer)
			require.Equal(t, "claude-code", question.SourceApp)
			require.Equal(t, "s1", question.SessionID)
			require.Equal(t, "allow", verdict["behavior"])
			if c.want != "" {
				got, err := json.Marshal(verdict)
				require.NoError(t, err)
				require.JSONEq(t, c.want, string(got))
				require.Equal(t, schema.MediumRisk, question.HumanInTheLoopStatus.Risk, "the person sees the risk")
				return
			}
			input, err := json.Marshal(verdict["updatedInput"])
			require.NoError(t, err)
			require.Contains(t, string(input), `"answers":{"Which region?":"us"}`)
		})
	}
}

func TestRequestApproval_Denies(t *testing.T) {
	t.Parallel()
	r := setup(t, "?timeout=1")
	call := map[string]any{"tool_name": "Bash", "input": map[string]any{"command": "make deploy"}}
	verdict, _ := r.requestApproval(call, `{"permission":false,"reason":"not on a Friday"}`)
	require.Equal(t, "deny", verdict["behavior"])
	require.Contains(t, verdict["message"], "not on a Friday")
	require.NotContains(t, verdict, "updatedInput")

	verdict, _ = r.requestApproval(call, "") // no answer
	require.Equal(t, "deny", verdict["behavior"])
	require.Contains(t, verdict["message"], "No one answered in time", "the denial names the timeout")
}

// TestRequestApproval_DisconnectAbandonsQuestion checks that no one can approve a call that
// will never run.
func TestRequestApproval_DisconnectAbandonsQuestion(t *testing.T) {
	t.Parallel()
	r := setup(t, "")
	ctx, hangUp := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := r.CallTool(ctx, &sdk.CallToolParams{Name: "request_approval", Arguments: map[string]any{"tool_name": "Bash", "input": map[string]any{"command": "ls"}}})
		done <- err
	}()
	question := r.pending()
	hangUp()
	require.Error(t, <-done)
	r.http.CloseIdleConnections()
	require.Eventually(t, func() bool {
		st := r.event(question.ID).HumanInTheLoopStatus
		return st.Source == schema.ByOrphaned && st.Outcome == schema.Cancelled
	}, waitLimit, 10*time.Millisecond)
}
