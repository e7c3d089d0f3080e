package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// codexAppend is a call outside of Codex's sandbox, about which its reviewer decides. It adds a
// line, so each run is visible.
func codexAppend(file string) turn { return codexAppendIn(".", file) }

func codexAppendIn(dir, file string) turn {
	return turn{tool: "exec_command", input: `{"cmd":"echo ran >> ` + file +
		`","workdir":"` + dir + `","sandbox_permissions":"require_escalated","justification":"Leave a trace"}`}
}

// codexVerdict is the reply of the reviewer.
func codexVerdict(outcome string) turn {
	return turn{text: `{"outcome":"` + outcome + `","risk_level":"high","user_authorization":"low","rationale":"Writes \"outside\" the task.\nSecond line."}`}
}

// configureReviewer makes that reviewer decide about calls outside of Codex's sandbox.
func (p *testEnv) configureReviewer(t testing.TB, m *model, reviewer string) {
	t.Helper()
	p.configureCodex(t, m)
	config, err := os.ReadFile(filepath.Join(p.home, ".codex", "config.toml"))
	require.NoError(t, err)
	writeFile(t, p.home, ".codex/config.toml", `approvals_reviewer = "`+reviewer+`"
approval_policy = "on-request"
sandbox_mode = "workspace-write"
`+string(config))
}

// startCodexReviewed starts Codex with its own reviewer.
func (p *testEnv) startCodexReviewed(t testing.TB, m *model) (wait func() string) {
	t.Helper()
	p.configureReviewer(t, m, "auto_review")
	return p.startProgram(t, p.codexEnv(), agentProgram(t, "codex"), "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "Go")
}

// Codex's reviewer refuses a call, and no one is asked before that although a page is open. At the end
// of the turn the refusal is an appeal. An approval runs the call once: the next time, it is refused.
func TestCodexReview_YesRunsOnce(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	p.installHooks(t, "codex", "--hub", p.hub.URL())
	m := newDialectModel(t, responsesAPI, codexAppend("lines.txt"), codexVerdict("deny"), turn{text: "It was refused."},
		codexAppend("lines.txt"), codexAppend("lines.txt"), codexVerdict("deny"), turn{text: "Refused again."})
	out := p.startCodexReviewed(t, m)
	asked := p.waitForQuestion(t, "PermissionDenied")
	require.Equal(t, "Writes \"outside\" the task.\nSecond line.", asked.HumanInTheLoop.Appeal.Reason)
	require.Zero(t, p.runs("lines.txt"))
	p.answer(t, asked, permission(true, ""))
	second := p.waitForNextQuestion(t, asked)
	require.Equal(t, "PermissionDenied", second.HookEventType)
	require.Equal(t, 1, p.runs("lines.txt"), "the granted call ran")
	p.answer(t, second, permission(false, "Once is enough."))
	t.Log(out())
	require.Equal(t, 1, p.runs("lines.txt"), "a grant works once")
	require.Contains(t, strings.Join(m.requests, ""), "A person approved, in Hookback, the call that the reviewer refused.")
	for _, e := range p.events(t) {
		require.True(t, e.HumanInTheLoop == nil || e.HookEventType == "PermissionDenied", "%s asked", e.HookEventType)
	}
}

// What the reviewer allows runs without a question.
func TestCodexReview_ApprovedCallRuns(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	p.installHooks(t, "codex", "--hub", p.hub.URL())
	m := newDialectModel(t, responsesAPI, codexAppend("lines.txt"), codexVerdict("allow"))
	t.Log(p.startCodexReviewed(t, m)())
	require.Equal(t, 1, p.runs("lines.txt"))
	for _, e := range p.events(t) {
		require.Nil(t, e.HumanInTheLoop, e.HookEventType)
	}
}

// Codex's hook does not get the directory of a call. A grant is for the refused call only, not for the
// same command in another directory.
func TestCodexReview_GrantIsForTheDirectory(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	p.installHooks(t, "codex", "--hub", p.hub.URL())
	m := newDialectModel(t, responsesAPI, codexAppend("lines.txt"), codexVerdict("deny"), turn{text: "It was refused."},
		codexAppendIn(p.home, "lines.txt"), codexVerdict("deny"), turn{text: "Refused again."})
	out := p.startCodexReviewed(t, m)
	asked := p.waitForQuestion(t, "PermissionDenied")
	p.answer(t, asked, permission(true, ""))
	second := p.waitForNextQuestion(t, asked)
	require.Equal(t, p.home, second.HumanInTheLoop.Context.Cwd)
	p.answer(t, second, permission(false, "Not there."))
	t.Log(out())
	require.NoFileExists(t, filepath.Join(p.home, "lines.txt"))
	require.Equal(t, 6, m.requestCount(), "the reviewer was asked about the second call")
}

// Without a reviewer, a person is asked at the prompt.
func TestCodexTerminal_WithoutReviewerAsks(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	p.installHooks(t, "codex", "--hub", p.hub.URL())
	m := newDialectModel(t, responsesAPI, codexAppend("lines.txt"), codexAppend("no.txt"))
	p.configureReviewer(t, m, "user")
	term := p.startTerminal(t, p.codexEnv(), agentProgram(t, "codex"), "--dangerously-bypass-hook-trust", "Go")
	asked := p.waitForQuestion(t, "PermissionRequest")
	require.Zero(t, p.runs("lines.txt"), "the call waits")
	p.answer(t, asked, permission(true, ""))
	p.answer(t, p.waitForNextQuestion(t, asked), permission(false, "Leave no.txt alone."))
	term.waitForText(t, "Done.", true)
	require.Equal(t, 1, p.runs("lines.txt"))
	require.Zero(t, p.runs("no.txt"))
	require.Contains(t, m.lastRequest(), "Leave no.txt alone.", "the model gets the reason")
}
