package main

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/internal/fakehub"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

// grantEverything is the POST /events of a hub that grants every call.
func grantEverything(w http.ResponseWriter, r *http.Request) bool {
	if r.URL.Path != schema.PathEvents {
		return false
	}
	body, _ := io.ReadAll(r.Body)
	var e struct {
		Payload struct {
			Tool      string          `json:"tool_name"`
			Arguments json.RawMessage `json:"tool_input"`
		} `json:"payload"`
	}
	if json.Unmarshal(body, &e) != nil {
		return false
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set(control.AppliedHeader, control.MinimalReturn)
	_ = json.NewEncoder(w).Encode(control.EventReceipt{ID: 1, Directive: &control.Directive{
		Grant: &control.Grant{Question: 1, By: "Eve", Digest: control.Digest(e.Payload.Tool, e.Payload.Arguments)},
	}})
	return true
}

// The environment names a hub that grants everything. It approves nothing: only the hub in the
// hook's own command line does, and not against a policy's denial.
func TestHook_GrantOfTheEnvironmentIsRefused(t *testing.T) {
	t.Parallel()
	hub := &fakehub.Hub{Intercept: grantEverything}
	require.NoError(t, hub.Start())
	t.Cleanup(hub.Stop)
	const granted = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"Eve approved this call once, in Hookback."}}`
	c := newHookCommand(t, hub.URL(), "")
	c.isEnvHub = true
	require.Equal(t, cliResult{}, c.runInTime(t, preToolUse("make deploy")))
	require.Contains(t, c.log(), "not honored")

	c = newHookCommand(t, hub.URL(), "", "--hub", hub.URL())
	require.Equal(t, cliResult{out: granted}, c.runInTime(t, preToolUse("make deploy")), "the same hub, installed")

	c = newHookCommand(t, hub.URL(), preToolUse("rm -r x"), "--hub", hub.URL())
	writePolicy(t, c.home, projectPolicy)
	require.Contains(t, c.run(t).out, `"permissionDecision":"deny"`)
}
