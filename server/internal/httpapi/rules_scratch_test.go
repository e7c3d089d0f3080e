package httpapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// scratchDraft returns a draft from scratch about commands that start in one way.
func scratchDraft(then, is, command string) string {
	return fmt.Sprintf(`{"tool":"Bash","then":%q,"scope":"when","when":[{"argument":"command","is":%q,"value":%q}],"reach":"everywhere"}`, then, is, command)
}

func TestRulesFromScratch_AnswerLaterRequests(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	create := func(draft string) (rule schema.Rule) {
		r.requestJSON("POST "+schema.PathRules, draft, &rule, ada.headers()...)
		return rule
	}
	require.Equal(t, `Allow Bash when command starts with "git fetch", for all agents, for 8 hours`, create(scratchDraft("allow", "starts_with", "git fetch")).Text)
	require.Equal(t, `Deny Bash when command is "npm install", in the session s1 of shop, for 8 hours or until the session ends`,
		create(`{"tool":"Bash","source_app":"shop","session_id":"s1","then":"deny","scope":"when","when":[{"argument":"command","is":"equals","value":"npm install"}],"reach":"session"}`).Text)
	require.Equal(t, `Deny every call of mcp__shop__note, asked by shop in /home/dev/shop and below, for 8 hours`,
		create(`{"tool":"mcp__shop__note","source_app":"shop","cwd":"/home/dev/shop","then":"deny","scope":"tool","reach":"project"}`).Text)
	outcome := func(command string) schema.Outcome {
		return r.post(commandQuestion(command)).HumanInTheLoopStatus.Outcome
	}
	require.Equal(t, schema.Approve, outcome("git fetch origin"))
	require.Equal(t, schema.Deny, outcome("npm install"))
	for _, command := range []string{
		"git fetch --upload-pack=evil", // an option that no one has seen
		"git fetch; rm x", "git fetchx", "git fetch $(id)", "npm install --dry-run",
	} {
		require.Empty(t, outcome(command), command)
	}
}

func TestRulesFromScratch_AreRefused(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	for _, c := range []struct{ draft, code, field string }{
		{scratchDraft("allow", "starts_with", "rm -rf /"), "no_rule", ""},
		{scratchDraft("deny", "starts_with", "rm -rf /"), "no_rule", ""},
		{scratchDraft("allow", "glob", "rm -rf *"), "no_rule", ""},
		{scratchDraft("allow", "equals", "git push --force origin main"), "no_rule", ""},
		{scratchDraft("allow", "starts_with", "sh"), "no_rule", ""},
		{scratchDraft("allow", "contains", "--dry-run"), "no_rule", ""},
		{scratchDraft("allow", "glob", "*"), "no_rule", ""},
		{scratchDraft("allow", "glob", "g* status"), "no_rule", ""},
		{scratchDraft("allow", "starts_with", "git -c core.pager=evil log"), "no_rule", ""},
		{scratchDraft("allow", "equals", "ls; rm x"), "invalid", "when.0.value"},
		{`{"tool":"Bash","then":"allow","scope":"tool","reach":"everywhere"}`, "no_rule", ""},
		{`{"tool":"mcp__shop__note","then":"allow","scope":"tool","reach":"everywhere"}`, "no_rule", ""},
		{`{"tool":"Write","then":"allow","scope":"when","when":[{"argument":"file_path","is":"under","value":"/home/dev/.ssh"}],"reach":"everywhere"}`, "no_rule", ""},
		{`{"tool":"x\u0000y","then":"deny","scope":"tool","reach":"everywhere"}`, "no_rule", ""},
		{`{"tool":"Bash","then":"deny","scope":"call","reach":"everywhere"}`, "invalid", "scope"},
		{`{"tool":"Bash","then":"deny","scope":"arguments","reach":"everywhere"}`, "invalid", "scope"},
		{`{"tool":"` + strings.Repeat("x", 2000) + `","then":"deny","scope":"tool","reach":"everywhere"}`, "invalid", "tool"},
		{`{"then":"deny","scope":"tool","reach":"everywhere"}`, "invalid", "from"},
		{`{"from":-1,"tool":"Bash","then":"deny","scope":"tool","reach":"everywhere"}`, "invalid", "from"},
		{`{"tool":"Bash","then":"deny","scope":"tool","reach":"agent"}`, "invalid", "source_app"},
		{`{"tool":"Bash","then":"deny","scope":"tool","reach":"session","source_app":"shop"}`, "invalid", "session_id"},
		{`{"tool":"Bash","then":"deny","scope":"tool","reach":"project","source_app":"shop"}`, "invalid", "cwd"},
		{`{"tool":"Bash","then":"deny","scope":"tool","reach":"project","source_app":"shop","cwd":"shop"}`, "invalid", "cwd"},
		{`{"tool":"Bash","then":"deny","scope":"tool","reach":"project","source_app":"shop","cwd":"/home/dev/../ada"}`, "invalid", "cwd"},
	} {
		p := r.expectProblem(c.code, "POST "+schema.PathRules, c.draft, ada.headers()...)
		require.Equal(t, c.field, p.Field, c.draft)
		if c.code == "no_rule" {
			var preview schema.RulePreview
			r.requestJSON("POST "+schema.PathRulePreview, c.draft, &preview, ada.headers()...)
			require.Equal(t, p.Hint, preview.Refused, c.draft)
			require.NotEmpty(t, p.Hint, c.draft)
		}
	}
	var list []schema.Rule
	r.requestJSON("GET "+schema.PathRules, "", &list)
	require.Empty(t, list)
}

// No one has seen a call that such a rule covers, so only a person in a browser can create it.
func TestRulesFromScratch_OnlyByPeopleInBrowsers(t *testing.T) {
	t.Parallel()
	r := setup(t)
	draft := scratchDraft("deny", "starts_with", "git fetch")
	r.expectProblem("sign_in", "POST "+schema.PathRules, draft)
	ada := r.owner("ada")
	vera := r.addPerson(ada, `{"name":"vera","role":"viewer"}`)
	oscar := r.addPerson(ada, `{"name":"oscar"}`)
	_, agent := r.createToken(ada, `{"name":"build"}`)
	_, own := r.createToken(ada, `{"name":"own","person":"ada"}`)
	for _, locked := range []string{"true", "false"} {
		r.expectOK(nil, "POST "+schema.PathLock, `{"locked":`+locked+`}`, ada.headers()...)
		r.expectProblem("sign_in", "POST "+schema.PathRules, draft)
		r.expectProblem("not_allowed", "POST "+schema.PathRules, draft, vera.headers()...)
		r.expectProblem("not_allowed", "POST "+schema.PathRules, draft, oscar.headers()...)
		r.expectProblem("not_allowed", "POST "+schema.PathRules, draft, agent...)
		r.expectProblem("not_allowed", "POST "+schema.PathRules, draft, own...)
		r.expectProblem("not_allowed", "POST "+schema.PathRulePreview, draft, agent...)
	}
	r.expectOK(nil, "POST "+schema.PathRulePreview, draft, own...)
	ofSession := `{"tool":"Bash","source_app":"shop","session_id":"s1","then":"deny","scope":"when","when":[{"argument":"command","is":"equals","value":"npm install"}],"reach":"session"}`
	r.expectOK(nil, "POST "+schema.PathRules, ofSession, oscar.headers()...)
	require.Equal(t, schema.Deny, r.post(commandQuestion("npm install")).HumanInTheLoopStatus.Outcome)
	r.expectOK(nil, "DELETE "+strings.Replace(schema.PathPerson, ":name", "oscar", 1), "", ada.headers()...)
	require.Empty(t, r.post(commandQuestion("npm install")).HumanInTheLoopStatus.Outcome, "the authority ended with its author")
}
