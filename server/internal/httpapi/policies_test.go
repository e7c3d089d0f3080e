package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/history"
)

// reportPolicies posts the report of a session's hook.
func (r *harness) reportPolicies(session string, report control.PolicyReport) schema.EventID {
	r.t.Helper()
	payload, err := json.Marshal(report)
	require.NoError(r.t, err)
	return r.post(fmt.Sprintf(`{"source_app":"shop","session_id":%q,"hook_event_type":"HookbackPolicy","os_user":"ada","payload":%s}`, session, payload)).ID
}

// runCommand posts a call of a session that runs without a question.
func (r *harness) runCommand(session, command string) schema.EventID {
	r.t.Helper()
	return r.post(fmt.Sprintf(`{"source_app":"shop","session_id":%q,"hook_event_type":"PreToolUse","payload":{"cwd":"/home/dev/shop/src","tool_name":"Bash","tool_input":{"command":%q}}}`, session, command)).ID
}

func (r *harness) policies() (list history.PolicyList) {
	r.t.Helper()
	r.requestJSON("GET "+history.PathPolicies, "", &list)
	return list
}

func policyFile(origin, path, text string) control.PolicyFile {
	return control.PolicyFile{Origin: origin, Path: path, SHA256: "abc", Text: text}
}

const (
	userPolicyPath    = "/home/dev/.config/hookback/hookback.json"
	projectPolicyPath = "/home/dev/shop/hookback.json"
)

func TestPolicies_ListsNewestReports(t *testing.T) {
	t.Parallel()
	r := setup(t)
	require.Equal(t, history.PolicyList{Policies: []history.ReportedPolicy{}, Complete: true}, r.policies())
	user := policyFile("user", userPolicyPath, "{\"rules\": [\n {\"tool\":\"Bash\",\"when\":{\"command\":{\"runs\":\"git push\"}},\"then\":\"ask\"}, {\"tool\":\"Bash\",\"when\":{\"command\":{\"glob\":\"npm *\"}},\"then\":\"allow\"}]}")
	project := policyFile("project", projectPolicyPath, `{"rules":[{"tool":"Bash","when":{"command":{"runs":"terraform"}},"then":"deny","reason":"no"},{"tool":"Bash","when":{"command":{"runs":"ls"}},"then":"allow"}]}`)
	older := user
	older.Text = `{"rules":[]}`
	r.reportPolicies("s0", control.PolicyReport{Host: "laptop", Files: []control.PolicyFile{older}})
	id := r.reportPolicies("s1", control.PolicyReport{Host: "laptop", Cwd: "/home/dev/shop", Files: []control.PolicyFile{user, project}})
	r.runCommand("s1", "git push")
	r.runCommand("s1", "ls")
	r.runCommand("s1", "pwd")
	r.runCommand("s0", "terraform apply") // the project's file does not apply to that session
	denied := r.post(commandQuestion("npm run release"))
	approved := r.post(commandQuestion("terraform plan"))
	r.answer(denied.ID, `{"permission":false}`)
	r.answer(approved.ID, `{"permission":true}`)

	list := r.policies()
	require.True(t, list.Complete)
	require.Len(t, list.Policies, 2)
	p := list.Policies[0]
	require.Equal(t, []any{history.OriginUser, userPolicyPath, "/home/dev/shop", "laptop", "ada", "abc", id, int64(2)}, []any{p.Origin, p.Path, p.Cwd, p.Host, p.Person, p.Hash, p.Event, p.Sessions})
	require.Equal(t, user.Text, p.Text)
	require.NotZero(t, p.ReportedAt)
	require.Equal(t, []history.PolicyRule{
		{Index: 0, Then: "ask", Sentence: `Bash when command runs "git push": ask`, JSON: `{"tool":"Bash","when":{"command":{"runs":"git push"}},"then":"ask"}`, Hits: 1},
		{Index: 1, Then: "allow", Sentence: `Bash when command matches "npm *": allow`, JSON: `{"tool":"Bash","when":{"command":{"glob":"npm *"}},"then":"allow"}`, Hits: 0},
	}, p.Rules, "npm run runs code, so no pattern allows it")
	p = list.Policies[1]
	require.Equal(t, []any{history.OriginProject, projectPolicyPath, int64(1)}, []any{p.Origin, p.Path, p.Sessions})
	require.Equal(t, []int64{1, 1}, []int64{p.Rules[0].Hits, p.Rules[0].Opposed})
	require.Equal(t, []any{"allow", int64(1)}, []any{p.Rules[1].Then, p.Rules[1].Hits})
	require.Contains(t, p.Rules[1].Sentence, "left to the agent", "a project can't allow")
}

// A session from before the upgrade has no report: the user's only file applies, and the file of the
// project that the agent was in.
func TestPolicies_CountsSessionsWithoutReport(t *testing.T) {
	t.Parallel()
	r := setup(t)
	rule := `{"rules":[{"tool":"Bash","when":{"command":{"runs":"%s"}},"then":"ask"}]}`
	report := control.PolicyReport{Host: "laptop", Files: []control.PolicyFile{
		policyFile("user", userPolicyPath, fmt.Sprintf(rule, "git")), policyFile("project", projectPolicyPath, fmt.Sprintf(rule, "make")), policyFile("project", "/home/dev/sh/hookback.json", fmt.Sprintf(rule, "make")),
	}}
	r.runCommand("old", "git status")
	r.runCommand("old", "make all")
	r.reportPolicies("new", report)
	hits := func() (hits []int64) {
		for _, p := range r.policies().Policies {
			hits = append(hits, p.Rules[0].Hits)
		}
		return hits
	}
	require.Equal(t, []int64{1, 0, 1}, hits(), "/home/dev/sh is another folder")
	report.Host, report.Files = "desktop", report.Files[:1]
	r.reportPolicies("other", report)
	require.Equal(t, []int64{0, 0, 0, 1}, hits(), "which user's file applied is unknown")
}

func TestPolicies_HostileReports(t *testing.T) {
	t.Parallel()
	r := setup(t)
	const invisible = "\u202e\u200b\u007f"
	r.reportPolicies("s1", control.PolicyReport{Host: "h" + invisible, Files: []control.PolicyFile{
		policyFile("user", "/u"+invisible, `{"rules":[{"tool":"Ba`+invisible+`sh","then":"deny","reason":"r`+invisible+`"}]}`),
		policyFile("project", "/broken", `{"rules":[{"tool":"Bash","then":"maybe"}]}`),
		{Origin: "project", Path: "/unreadable", Problem: "no permission" + invisible},
		policyFile("project", "/large", strings.Repeat(" ", history.MaxPolicyText+1)),
		policyFile("owner", "/origin", `{"rules":[]}`),
		policyFile("user", "", `{"rules":[]}`),
	}})
	r.post(`{"source_app":"shop","session_id":"s2","hook_event_type":"HookbackPolicy","payload":{"files":"x"}}`)
	list := r.policies()
	var paths []string
	for _, p := range list.Policies {
		paths = append(paths, p.Path)
		require.NotContains(t, p.Path+p.Host, "\u202e")
	}
	require.Equal(t, []string{`/u\u202e\u200b\u007f`, "/broken", "/large", "/unreadable"}, paths)
	sentence := list.Policies[0].Rules[0]
	require.Equal(t, `Ba\u202e\u200b\u007fsh: deny, because: r\u202e\u200b\u007f`, sentence.Sentence)
	require.True(t, json.Valid([]byte(sentence.JSON)))
	require.NotContains(t, sentence.JSON, "\u202e")
	require.Equal(t, history.PolicyProblem{Line: 1, Column: 33, Text: `then can't be "maybe"; use one of allow, ask, later, deny`}, list.Policies[1].Problems[0])
	require.Equal(t, "the file is larger than a report", list.Policies[2].Problems[0].Text)
	require.Equal(t, `no permission\u202e\u200b\u007f`, list.Policies[3].Problems[0].Text)
	for _, p := range list.Policies[1:] {
		require.Empty(t, p.Rules)
	}
	for i := range 120 {
		r.reportPolicies("s1", control.PolicyReport{Host: fmt.Sprint(i), Files: []control.PolicyFile{policyFile("user", "/u", `{"rules":[]}`)}})
	}
	list = r.policies()
	require.Len(t, list.Policies, 100)
	require.False(t, list.Complete)
}

func (r *harness) replay(policy, origin string) (got history.Replay) {
	r.t.Helper()
	body, err := json.Marshal(history.ReplayDraft{Policy: policy, Origin: history.PolicyOrigin(origin)})
	require.NoError(r.t, err)
	r.requestJSON("POST "+history.PathReplay, string(body), &got)
	return got
}

func TestReplay_ComparesWithRecordedCalls(t *testing.T) {
	t.Parallel()
	r := setup(t)
	approved, denied := r.post(commandQuestion("git push --force")), r.post(commandQuestion("git status"))
	r.answer(approved.ID, `{"permission":true}`)
	r.answer(denied.ID, `{"permission":false}`)
	listed := r.runCommand("s2", "ls -la")
	r.runCommand("s2", "make")
	r.runCommand("s2", "git fetch")

	// Two rules are on one line.
	const policy = `{"rules": [{"tool":"Bash","when":{"command":{"runs":"git push"}},"then":"deny"}, {"tool":"Bash","when":{"command":{"glob":"git status*"}},"then":"allow"},
		{"tool":"Bash","when":{"command":{"runs":"ls"}},"then":"ask"}, {"tool":"Bsh","then":"ask"}]}`
	got := r.replay(policy, "")
	require.Equal(t, history.Replay{
		Days: 30, Looked: 5, Allowed: 1, Denied: 1, Asked: 1, Unmatched: 2, Opposed: 2, Complete: true,
		Problems: []history.PolicyProblem{{Line: 2, Column: 1, Text: `no agent we know has a tool "Bsh"; did you mean "Bash"?`}},
		Examples: got.Examples,
	}, got)
	require.Len(t, got.Examples, 3)
	for i := range got.Examples {
		require.NotZero(t, got.Examples[i].At)
		got.Examples[i].At = 0
	}
	require.Equal(t, []history.ReplayExample{
		{Event: denied.ID, SourceApp: "shop", Tool: "Bash", Title: "Run git status", Effect: "allow", Rule: 1, Sentence: `Bash when command matches "git status*": allow`, Decided: "person", Outcome: "refused", Opposed: true},
		{Event: approved.ID, SourceApp: "shop", Tool: "Bash", Title: "Run git push --force", Effect: "deny", Rule: 0, Sentence: `Bash when command runs "git push": deny`, Decided: "person", Outcome: "open", Opposed: true},
		{Event: listed, SourceApp: "shop", Tool: "Bash", Title: "Run ls -la", Effect: "ask", Rule: 2, Sentence: `Bash when command runs "ls": ask`, Decided: "agent", Outcome: "open"},
	}, got.Examples)
	got = r.replay(policy, "project")
	require.Equal(t, []int64{0, 3, 1}, []int64{got.Allowed, got.Unmatched, got.Opposed}, "a project's rule can't allow")
	for range 60 {
		r.runCommand("s3", "ls")
	}
	require.Len(t, r.replay(policy, "user").Examples, history.MaxReplayExamples)
}

func TestReplay_RejectsInvalidDrafts(t *testing.T) {
	t.Parallel()
	r := setup(t)
	risky := r.post(commandQuestion("rm -rf /"))
	for _, c := range []struct{ body, code, detail string }{
		{`{}`, "invalid", "policy or rule must be set, and not both"},
		{`{"policy":"{}","rule":{}}`, "invalid", "policy or rule must be set, and not both"},
		{`{"policy":"{}","origin":"owner"}`, "invalid", "origin must be user or project"},
		{`{"policy":"` + strings.Repeat(" ", history.MaxPolicyText+1) + `"}`, "invalid", "policy is larger than 32768 bytes"},
		{`{"policy":"{\n \"rules\": [}"}`, "no_policy", "policy line 2, column 13: the policy is not valid JSON: "},
		{`{"policy":"{\"rules\":[{\"tool\":\"B\u202e\",\"then\":\"mayb\u202e\"},{}]}"}`, "no_policy", `policy line 1, column 31: then can't be "mayb\u202e"; use one of allow, ask, later, deny (and 2 more)`},
		{`{"policy":"{\"rules\":[{\"tool\":\"Bash\",\"then\":\"ask\",\"when\":{\"command\":{\"regex\":\"(.{1000}){1000}\"}}}]}"}`, "no_policy", "policy line 1, column 66: the regular expression can't be used: "},
		{`{"rule":{"from":99,"then":"deny","scope":"call","reach":"session"}}`, "not_found", ""},
		{fmt.Sprintf(`{"rule":{"from":%d,"then":"deny","scope":"call","reach":"session"}}`, risky.ID), "no_rule", ""},
		{`{"rule":{"tool":"Bash","then":"deny","scope":"when","when":[{"argument":"command","is":"starts_with","value":"rm -rf /"}],"reach":"everywhere"}}`, "no_rule", ""},
	} {
		resp, b := r.do("POST", history.PathReplay, c.body)
		p := r.problem(resp, b)
		require.Equal(t, c.code, p.Code, "%.200s: %s", c.body, b)
		require.True(t, strings.HasPrefix(p.Detail, c.detail), p.Detail)
	}
	resp, _ := r.do("POST", history.PathReplay, `{"policy":"`+strings.Repeat(" ", 64<<20)+`"}`)
	require.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode)
}

// A call that a policy could take seconds for is left out.
func TestReplay_LeavesOutExpensiveCalls(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.runCommand("s1", "echo "+strings.Repeat("a", 30<<10))
	r.runCommand("s1", "echo a")
	var rules []string
	for range 30 {
		glob, regex := strings.Repeat("*a", 400)+"b", strings.Repeat(`(a|b|ab)*.{90}`, 8)
		rules = append(rules, fmt.Sprintf(`{"tool":"Bash","when":{"command":{"glob":%q,"regex":%q}},"then":"deny"}`, glob, regex))
	}
	got := r.replay(`{"rules":[`+strings.Join(rules, ",")+`]}`, "")
	require.False(t, got.Complete)
	require.EqualValues(t, 1, got.Looked)

	long := fmt.Sprintf(`"payload":{"tool_input":{"command":%q}}}`, strings.Repeat("a", schema.MaxListed)) // lists leave it out
	r.post(`{"source_app":"shop","session_id":"s1","hook_event_type":"PreToolUse","tool_name":"Bash",` + long)
	got = r.replay(`{"rules":[{"tool":"Bash","then":"ask"}]}`, "")
	require.False(t, got.Complete)
	require.EqualValues(t, 2, got.Asked)
}

func TestReplay_ComparesRuleWithPermissions(t *testing.T) {
	t.Parallel()
	r := setup(t)
	approved, denied, open := r.post(commandQuestion("git fetch")), r.post(commandQuestion("git fetch origin")), r.post(commandQuestion("git fetch upstream"))
	r.answer(approved.ID, `{"permission":true}`)
	r.answer(denied.ID, `{"permission":false}`)
	r.runCommand("s1", "git fetch") // no one was asked
	r.post(commandQuestion("npm test"))
	var got history.Replay
	r.requestJSON("POST "+history.PathReplay, `{"rule":{"tool":"Bash","then":"allow","scope":"when","when":[{"argument":"command","is":"starts_with","value":"git fetch"}],"reach":"everywhere"}}`, &got)
	require.Equal(t, []int64{4, 3, 0, 0, 1, 1}, []int64{got.Looked, got.Allowed, got.Denied, got.Asked, got.Unmatched, got.Opposed})
	require.True(t, got.Complete)
	require.Len(t, got.Examples, 3)
	require.Equal(t, []any{denied.ID, true, "Run git fetch origin", history.CallRefused}, []any{got.Examples[0].Event, got.Examples[0].Opposed, got.Examples[0].Title, got.Examples[0].Outcome})
	require.Equal(t, []schema.EventID{open.ID, approved.ID}, []schema.EventID{got.Examples[1].Event, got.Examples[2].Event})
	require.Contains(t, got.Examples[0].Sentence, `Allow Bash when command starts with "git fetch"`)
	var list []schema.Rule
	r.requestJSON("GET "+schema.PathRules, "", &list)
	require.Empty(t, list, "a replay creates no rule")
}

func TestAutomatic_ListsAnswersOfRules(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	var rule schema.Rule
	r.requestJSON("POST "+schema.PathRules, `{"tool":"Bash","then":"allow","scope":"when","when":[{"argument":"command","is":"starts_with","value":"git fetch"}],"reach":"everywhere"}`, &rule, ada.headers()...)
	first := r.post(commandQuestion("git fetch"))
	r.post(commandQuestion("npm test"))
	second := r.post(commandQuestion("git fetch origin"))
	var page history.AutomaticPage
	r.requestJSON("GET "+history.PathAutomatic+"?limit=1", "", &page)
	require.Len(t, page.Answers, 1)
	a := page.Answers[0]
	require.NotZero(t, a.At)
	a.At, a.Risk = 0, ""
	require.Equal(t, history.AutomaticAnswer{
		Event: second.ID, SourceApp: "shop", SessionID: "s1", Tool: "Bash", Title: "Run git fetch origin", Rule: schema.RuleRef{ID: rule.ID, Text: rule.Text}, Author: "ada", Active: true, Then: "allow",
	}, a)
	r.requestJSON(fmt.Sprintf("DELETE /api/rules/%d", rule.ID), "", &rule, ada.headers()...)
	next := page.Next
	page = history.AutomaticPage{}
	r.requestJSON(fmt.Sprintf("GET %s?before=%d", history.PathAutomatic, next), "", &page)
	require.Equal(t, first.ID, page.Answers[0].Event)
	require.False(t, page.Answers[0].Active, "the rule is revoked")
	require.Len(t, page.Answers, 1)
	for _, query := range []string{"?limit=0", "?limit=201", "?before=x", "?after=1"} {
		resp, b := r.do("GET", history.PathAutomatic+query, "")
		require.Equal(t, http.StatusBadRequest, resp.StatusCode, "%s: %s", query, b)
	}
}

// The draft of a policy line is a rule from scratch that a person can complete.
func TestPolicyLine_HasDraft(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	id := r.runCommand("s1", "git fetch origin --prune")
	var line history.PolicyLine
	r.requestJSON(fmt.Sprintf("GET %s?event=%d", schema.PathPolicyLine, id), "", &line)
	require.Equal(t, history.PolicyDraft{
		Tool: "Bash", When: []schema.Condition{{Argument: "command", Is: "starts_with", Value: json.RawMessage(`"git fetch"`)}},
		SourceApp: "shop", SessionID: "s1", Cwd: "/home/dev/shop/src",
	}, line.Draft)
	d := schema.RuleDraft{Tool: line.Draft.Tool, When: line.Draft.When, SourceApp: line.Draft.SourceApp, Cwd: line.Draft.Cwd, Then: "deny", Scope: "when", Reach: "project"}
	body, err := json.Marshal(d)
	require.NoError(t, err)
	var preview schema.RulePreview
	r.requestJSON("POST "+schema.PathRulePreview, string(body), &preview, ada.headers()...)
	require.Equal(t, `Deny Bash when command starts with "git fetch", asked by shop in /home/dev/shop/src and below, for 8 hours`, preview.Rule.Text)
	require.Empty(t, preview.Refused)

	line = history.PolicyLine{}
	id = r.runCommand("s1", "cd x && git push | cat")
	r.requestJSON(fmt.Sprintf("GET %s?event=%d", schema.PathPolicyLine, id), "", &line)
	require.Empty(t, line.Draft.When, "no condition matches it reliably")
}

// A reader can send any rule: patterns that take long, too many conditions, names that mislead.
func TestReplay_HostileRules(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.post(commandQuestion("echo " + strings.Repeat("a", 4<<10)))
	condition := func(argument, is string, value any) string {
		text, err := json.Marshal(map[string]any{"argument": argument, "is": is, "value": value})
		require.NoError(t, err)
		return string(text)
	}
	draft := func(tool string, conditions ...string) string {
		return fmt.Sprintf(`{"rule":{"tool":%q,"then":"deny","scope":"when","when":[%s],"reach":"everywhere"}}`, tool, strings.Join(conditions, ","))
	}
	glob := condition("command", "glob", strings.Repeat("*a", 1500)+"b")
	var got history.Replay
	r.requestJSON("POST "+history.PathReplay, draft("Bash", slices.Repeat([]string{glob}, schema.MaxConditions)...), &got)
	require.EqualValues(t, 1, got.Looked)
	require.Zero(t, got.Denied)
	for _, body := range []string{
		draft("Bash", slices.Repeat([]string{glob}, schema.MaxConditions+1)...),
		draft("Bash", slices.Repeat([]string{condition("command", "equals", "x")}, 50_000)...),
		draft("Bash", condition("command", "glob", strings.Repeat("*", 5000))),
		draft("Bash", condition("command", "regex", "(a+)+$")),
		draft("Bash", condition("command", "equals", map[string]any{"a": 1})),
		draft("Bash", condition("..", "equals", "x")),
		draft("", condition("command", "equals", "x")),
	} {
		resp, b := r.do("POST", history.PathReplay, body)
		require.Equal(t, http.StatusBadRequest, resp.StatusCode, "%.200s: %s", body, b)
	}
	p := r.expectProblem("no_rule", "POST "+history.PathReplay, `{"rule":{"tool":"Ba\u202esh","then":"deny","scope":"tool","reach":"everywhere"}}`)
	require.Contains(t, p.Hint, "high risk", "hidden characters in a name are of high risk")
}
