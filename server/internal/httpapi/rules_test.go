package httpapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
)

// commandQuestion returns an event that asks for permission to run a command.
func commandQuestion(command string) string {
	call, _ := json.Marshal(map[string]any{"command": command})
	return fmt.Sprintf(`{"source_app":"shop","session_id":"s1","hook_event_type":"PreToolUse","payload":{"cwd":"/home/dev/shop"},
		"humanInTheLoop":{"question":"May I?","type":"permission","toolCall":{"name":"Bash","arguments":%s}}}`, call)
}

// requestJSON sends a request, such as "GET /x", and decodes the response.
func (r *harness) requestJSON(request, body string, into any, headers ...string) {
	r.t.Helper()
	method, path, _ := strings.Cut(request, " ")
	resp, b := r.do(method, path, body, headers...)
	require.Equal(r.t, 200, resp.StatusCode, "%s: %s", request, b)
	require.NoError(r.t, json.Unmarshal(b, into), string(b))
}

// TestRules_Lifecycle takes a rule through every route.
func TestRules_Lifecycle(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	answer := func(id schema.EventID, permission string) {
		var e schema.Event
		r.requestJSON("POST "+schema.At(schema.PathRespond, id), `{"permission":`+permission+`}`, &e, ada.headers()...)
	}
	answer(r.post(commandQuestion("npm test")).ID, "true")
	answer(r.post(commandQuestion("npm test -- --bail")).ID, "true")
	no := r.post(commandQuestion("npm test -- --watch"))
	answer(no.ID, "false")
	answer(r.post(commandQuestion("npm testevil")).ID, "false")
	from := r.post(commandQuestion("npm test -- --bail --watch")) // its options are those that the rule covers

	draft := func(more string) string {
		return fmt.Sprintf(`{"from":%d,"then":"allow","scope":"when","when":[{"argument":"command","is":"starts_with","value":"npm test"}],"reach":"project"%s}`, from.ID, more)
	}
	var p schema.RulePreview
	r.requestJSON("POST "+schema.PathRulePreview, draft(""), &p, ada.headers()...)
	require.Equal(t, `Allow Bash when command starts with "npm test" and has no other options than "--" "--bail" "--watch", asked by shop in /home/dev/shop and below, for 8 hours`, p.Rule.Text)
	require.Empty(t, p.Exact)
	require.Equal(t, []int64{5, 4, 2, 1, 1}, []int64{p.Looked, p.Matched, p.Agreed, p.Opposed, p.Undecided})
	require.Equal(t, no.ID, p.Examples[0].ID, "contradicting examples come first")
	require.Len(t, p.Examples, 4)
	var list []schema.Rule
	r.requestJSON("GET "+schema.PathRules, "", &list)
	require.Empty(t, list, "a preview creates no rule")

	var rule schema.Rule
	r.requestJSON("POST "+schema.PathRules, draft(`,"reason":"Tests may always run."`), &rule, ada.headers()...)
	require.Equal(t, int64(1), rule.ID)
	require.Equal(t, "ada", rule.CreatedBy)
	var e schema.Event
	r.requestJSON("GET "+schema.At(schema.PathEvent, from.ID), "", &e)
	require.Equal(t, schema.Pending, e.HumanInTheLoopStatus.Status, "the question that the rule was created from stays pending")

	st := r.post(commandQuestion("npm test -- --bail")).HumanInTheLoopStatus
	require.Equal(t, schema.Approve, st.Outcome)
	require.Equal(t, schema.ByRule, st.Source)
	require.Equal(t, &schema.RuleRef{ID: 1, Text: rule.Text}, st.Rule)
	require.Equal(t, &schema.Responder{Name: "rule 1", Verified: true, Via: "rule"}, st.RespondedBy, "a rule is as verified as its creator")
	require.Equal(t, "A rule of ada approved exactly this ("+rule.Text+"). The reason given: Tests may always run.", st.Response.Guidance)
	require.Equal(t, schema.Pending, r.post(commandQuestion("npm testevil")).HumanInTheLoopStatus.Status)

	r.requestJSON("GET "+schema.PathRules, "", &list)
	require.Len(t, list, 1)
	require.Equal(t, int64(1), list[0].Uses)
	require.NotZero(t, list[0].LastUseAt)
	r.requestJSON("DELETE /api/rules/1", "", &rule, ada.headers()...)
	require.NotZero(t, rule.RevokedAt)
	require.Equal(t, "ada", rule.RevokedBy)
	require.Equal(t, schema.Pending, r.post(commandQuestion("npm test")).HumanInTheLoopStatus.Status)
	first := rule.RevokedAt
	r.requestJSON("DELETE /api/rules/1", "", &rule, ada.headers()...)
	require.Equal(t, first, rule.RevokedAt, "once")
	r.requestJSON("GET "+schema.PathRules, "", &list)
	require.Len(t, list, 1, "revoked rules stay in the list")

	var entries []sign.LedgerEntry
	r.requestJSON("GET /api/ledger", "", &entries)
	var actions []string
	for _, a := range entries {
		actions = append(actions, a.Action+" by "+a.Actor)
	}
	require.Subset(t, actions, []string{"rule.made by ada", "question.ended by rule 1", "rule.revoked by ada"})
}

func TestRules_RejectInvalidDrafts(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	from := r.post(commandQuestion("npm test"))
	risky := r.post(commandQuestion("rm -rf /"))
	text := r.post(event(1, `"humanInTheLoop":{"question":"Which?","type":"question"}`))
	plain := r.post(event(2))
	for _, c := range []struct {
		draft  string
		status int
		code   string
		field  string
	}{
		{`{}`, 400, "invalid", "from"},
		{fmt.Sprintf(`{"from":%d,"then":"maybe","scope":"call","reach":"session"}`, from.ID), 400, "invalid", "then"},
		{fmt.Sprintf(`{"from":%d,"then":"deny","scope":"when","reach":"session"}`, from.ID), 400, "invalid", "when"},
		{fmt.Sprintf(`{"from":%d,"then":"deny","scope":"call","reach":"session","ttlSeconds":-1}`, from.ID), 400, "invalid", "ttlSeconds"},
		{`{"from":99,"then":"deny","scope":"call","reach":"session"}`, 404, "not_found", ""},
		{fmt.Sprintf(`{"from":%d,"then":"deny","scope":"call","reach":"session"}`, plain.ID), 422, "no_question", ""},
		{fmt.Sprintf(`{"from":%d,"then":"allow","scope":"call","reach":"session"}`, risky.ID), 422, "no_rule", ""},
		{fmt.Sprintf(`{"from":%d,"then":"allow","scope":"call","reach":"session"}`, text.ID), 422, "no_rule", ""},
		{fmt.Sprintf(`{"from":%d,"then":"allow","scope":"tool","reach":"session"}`, from.ID), 422, "no_rule", ""},
	} {
		resp, b := r.do("POST", schema.PathRules, c.draft, ada.headers()...)
		require.Equal(t, c.status, resp.StatusCode, "%s: %s", c.draft, b)
		p := r.problem(resp, b)
		require.Equal(t, c.code, p.Code, c.draft)
		require.Equal(t, c.field, p.Field, c.draft)
		if c.code == "no_rule" {
			require.NotEmpty(t, p.Hint)
			var preview schema.RulePreview
			r.requestJSON("POST "+schema.PathRulePreview, c.draft, &preview, ada.headers()...)
			require.Equal(t, p.Hint, preview.Refused)
		}
	}
	for _, id := range []string{"7", "x", "-1", "99999999999999999999"} {
		resp, b := r.do("DELETE", "/api/rules/"+id, "", ada.headers()...)
		require.Equal(t, "not_found", r.problem(resp, b).Code, id)
	}
}
