package httpapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/routes"
)

// refusedExamples are routes whose examples no hub without their passkeys, links or browsers
// accepts, with the code of the refusal.
var refusedExamples = map[string]string{
	schema.PathSignIn: "sign_in", schema.PathLink: "not_allowed", schema.PathLinkVote: "not_allowed",
	schema.PathPasskeys: "no_route", schema.PathNewPasskey: "no_route", schema.PathPasskey: "no_route",
	schema.PathMCP:            "no_route", // the server of this test has none
	schema.PathPasskeyConfirm: "no_route", schema.PathPasskeyChallenge: "no_route",
	schema.PathPersonLink:  "not_allowed", // the example's person has signed in
	control.PathPairing:    "invalid",     // this hub has no public address
	control.PathTestDenial: "not_found",   // the example has no ticket
}

// TestExamples_AreAccepted sends the example requests of the OpenAPI document to a real hub, about
// an object that exists. Each is accepted, for at least one kind of question.
func TestExamples_AreAccepted(t *testing.T) {
	t.Parallel()
	r := setupNotifications(t)
	r.runProjector() // only known sessions are shared
	owner := r.openHubOwner("ada")
	for _, name := range []string{"grace", "mara", "jun", "ola", "Anna"} {
		r.addPerson(owner, fmt.Sprintf(`{"name":%q}`, name))
	}
	r.post(`{"source_app":"shop-api","session_id":"s1","hook_event_type":"SessionStart","agent":"claude-code","payload":{}}`) // for messages
	var doc struct {
		Paths map[string]map[string]struct {
			RequestBody struct {
				Content map[string]struct {
					Examples map[string]struct{ Value json.RawMessage }
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal(schema.OpenAPI, &doc))
	sent := 0
	for i := range routes.All {
		route := &routes.All[i]
		name := strings.NewReplacer(":id", "{id}", ":name", "{name}").Replace(route.Path)
		for media, body := range doc.Paths[name][strings.ToLower(route.Method)].RequestBody.Content {
			for label, example := range body.Examples {
				// A held hook waits for a person, and the proofs are of other hubs' passkeys.
				if route.Path == schema.PathClaudeCode || route.Path == schema.PathAsk || strings.Contains(string(example.Value), `"proof"`) {
					continue
				}
				sent++
				r.requireAccepted(route, label, string(example.Value), slices.Concat(owner.headers()[:4], []string{"Content-Type", media}))
			}
		}
	}
	require.Greater(t, sent, 40)
}

// requireAccepted sends an example about a fresh question of each kind until one is accepted.
func (r *harness) requireAccepted(route *routes.Route, label, body string, headers []string) {
	r.t.Helper()
	var refusals []string
	for _, question := range []string{
		`{"question":"Go?","type":"permission","toolCall":{"name":"Bash","arguments":{"command":"npm test"},"editable":true},"context":{"cwd":"/home/mara/shop"}}`, which, `{"question":"Which?","type":"choice","choices":["Option B","Vitest","ship_it","needs_revision"]}`,
		`{"question":"Database?","type":"question","questions":[{"id":"db","question":"Which?"}]}`,
		`{"question":"Database?","type":"question","questions":[{"id":"database","question":"Which?"},
			{"id":"extras","question":"Which?","multiple":true,"options":[{"label":"Migrations"},{"label":"Seed data"}]},{"id":"notes","question":"Notes?"}]}`,
	} {
		e := r.post(`{"source_app":"bot","session_id":"s1","hook_event_type":"PreToolUse","tool_name":"Bash","payload":{},"humanInTheLoop":` + question + `}`)
		switch route.Path {
		case schema.PathUndo, schema.PathExecution, schema.PathRedeliver, schema.PathHandled, schema.PathReceipt:
			r.answer(e.ID, `{"permission":true}`)
		}
		path := strings.Replace(schema.At(route.Path, e.ID), ":name", "grace", 1)
		if route.Path == control.PathAlertRule { // its id is that of a rule
			_, _ = r.do("POST", control.PathAlertRules, `{"kind":"stuck"}`, headers...)
			path = control.PathAlertRules + "/1"
		}
		if route.Path == schema.PathChannelFilter { // of the example of POST /api/channels
			path = schema.At(route.Path, schema.EventID(1))
		}
		resp, b := r.do(route.Method, path, r.aboutEvent(route, body, &e), headers...)
		if resp.StatusCode == route.Success() && route.Method == "POST" && route.Path == control.PathFreezes {
			var f control.Freeze
			require.NoError(r.t, json.Unmarshal(b, &f))
			_, _ = r.do("DELETE", fmt.Sprint(control.PathFreezes, "/", f.ID), "", headers...)
		}
		if resp.StatusCode == route.Success() || r.problem(resp, b).Code == refusedExamples[route.Path] {
			return
		}
		refusals = append(refusals, string(b))
	}
	r.t.Errorf("no question accepts the example %s of %s %s: %s", label, route.Method, route.Path, refusals)
}

// aboutEvent replaces the members of an example that name a question of another hub.
func (r *harness) aboutEvent(route *routes.Route, body string, e *schema.Event) string {
	r.t.Helper()
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(body), &members) != nil {
		return body // a list of events
	}
	id, err := json.Marshal(e.ID)
	require.NoError(r.t, err)
	for name, value := range map[string]string{
		"approvalId": string(id), "from": string(id), "id": string(id), "revision": "1", "requestSecret": `"` + e.RequestSecret + `"`, "requests": `[{"id":` + string(id) + `,"revision":1}]`,
	} {
		if members[name] != nil && (name != "id" || route.Path == schema.PathPasskeyChallenge) {
			members[name] = json.RawMessage(value)
		}
	}
	b, err := json.Marshal(members)
	require.NoError(r.t, err)
	return string(b)
}
