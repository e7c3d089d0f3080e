package e2e_test

import (
	"encoding/json"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/hubtest"
)

// statedUsage is what Claude Code states itself in a line of type cost-state.
type statedUsage struct {
	Type, SessionID string
	ModelUsage      map[string]struct {
		InputTokens, OutputTokens int64
		CostUSD                   float64
	}
}

// statedByModel returns the last totals of a session in its transcript.
func (p *testEnv) statedByModel(t testing.TB, session string) map[string]schema.ModelUsage {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(p.home, ".claude", "projects", "*", session+".jsonl"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	text, err := os.ReadFile(files[0])
	require.NoError(t, err)
	stated := map[string]schema.ModelUsage{}
	for line := range strings.Lines(string(text)) {
		var l statedUsage
		require.NoError(t, json.Unmarshal([]byte(line), &l))
		if l.Type == "cost-state" {
			clear(stated)
			for model, u := range l.ModelUsage {
				stated[model] = schema.ModelUsage{Model: model, Tokens: schema.Tokens{Input: u.InputTokens, Output: u.OutputTokens}, CostUSD: u.CostUSD}
			}
		}
	}
	require.NotEmpty(t, stated, "Claude Code states the totals of %s", session)
	return stated
}

// without returns the usage of a without that of b.
func without(a, b map[string]schema.ModelUsage) map[string]schema.ModelUsage {
	rest := maps.Clone(a)
	for model, u := range b {
		r := rest[model]
		r.Tokens.Input, r.Tokens.Output, r.CostUSD = r.Tokens.Input-u.Tokens.Input, r.Tokens.Output-u.Tokens.Output, r.CostUSD-u.CostUSD
		if rest[model] = r; r.Tokens == (schema.Tokens{}) {
			delete(rest, model)
		}
	}
	return rest
}

// requireUsage checks the usage of a session, or of all with session "", in the session and in the cost report.
func (p *testEnv) requireUsage(t testing.TB, session string, want map[string]schema.ModelUsage) {
	t.Helper()
	got := map[string]schema.ModelUsage{}
	if session == "" {
		var report history.SpendReport
		p.getJSON(t, history.PathSpend+"?days=2&by=model", &report)
		for _, row := range report.Rows {
			got[*row.Model] = schema.ModelUsage{Model: *row.Model, Tokens: row.Tokens, CostUSD: row.CostUSD}
		}
	} else {
		var detail history.SessionDetail
		p.getJSON(t, schema.PathSession+"?"+url.Values{"source_app": {"shop-api"}, "session_id": {session}}.Encode(), &detail)
		for _, m := range detail.Models {
			got[m.Model] = schema.ModelUsage{Model: m.Model, Tokens: m.Tokens, CostUSD: m.CostUSD}
		}
		var tokens schema.Tokens
		cost := 0.0
		for _, u := range want {
			tokens, cost = tokens.Add(u.Tokens), cost+u.CostUSD
		}
		require.NotNil(t, detail.Session.Tokens)
		require.Equal(t, tokens, *detail.Session.Tokens)
		require.InDelta(t, cost, detail.Session.CostUSD, 1e-9)
	}
	require.Len(t, got, len(want), "%v", got)
	for model, u := range want {
		require.Equal(t, u.Tokens, got[model].Tokens, model)
		require.InDelta(t, u.CostUSD, got[model].CostUSD, 1e-9, model)
	}
}

// waitForEnd waits until a session has ended that is not known, and returns its id.
func (p *testEnv) waitForEnd(t testing.TB, known ...string) string {
	t.Helper()
	return p.waitForEvent(t, "of the end", func(e *schema.Event) bool {
		return e.HookEventType == "SessionEnd" && !strings.Contains(strings.Join(known, " "), e.SessionID)
	}).SessionID
}

// importTo imports the agent's transcripts to another hub.
func (p *testEnv) importTo(t testing.TB, hub *hubtest.Hub) string {
	t.Helper()
	run := exec.CommandContext(p.ctx, "go", "run", "github.com/hookback/hookback/server", "import", "--hub", hub.URL(),
		"--known-hubs", filepath.Join(p.home, "known_hubs"))
	run.Env = append(os.Environ(), "CLAUDE_CONFIG_DIR="+filepath.Join(p.home, ".claude"), "HOOKBACK_URL=")
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// The hub has what Claude Code states for each model: from its hooks, with telemetry or without, and from an
// import. Subagents of subagents, a resumed session and a fork count once.
func TestClaudeUsage_EqualsItsOwnTotals(t *testing.T) {
	t.Parallel()
	for name, telemetry := range map[string]bool{"hooks": false, "hooks and telemetry": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newTestEnv(t)
			p.installHooks(t, "claude-code")
			spawn := func(prompt, model string) turn {
				return turn{tool: "Agent", input: `{"description":"Look","prompt":"` + prompt + `","subagent_type":"general-purpose","model":"` + model + `","run_in_background":false}`}
			}
			m := newModel(t, spawn("Look at it", "haiku"), bashCall("yes.txt"))
			m.subagent("Look at it", spawn("Look deeper", "sonnet"), bashCall("sub.txt"))
			m.subagent("Look deeper", bashCall("deep.txt"), bashCall("deeper.txt"))
			env := p.claudeEnv(m)
			if telemetry {
				env = append(env, "CLAUDE_CODE_ENABLE_TELEMETRY=1", "OTEL_LOGS_EXPORTER=otlp", "OTEL_METRICS_EXPORTER=otlp", "OTEL_LOGS_EXPORT_INTERVAL=100",
					"OTEL_EXPORTER_OTLP_PROTOCOL=http/json", "OTEL_EXPORTER_OTLP_ENDPOINT="+p.hub.URL())
			}
			claude := func(args ...string) {
				t.Log(p.startProcess(t, env, claudeProgram(t), append(args, "--allowedTools", "Bash,Agent")...).wait())
			}
			claude("-p", "Go")
			first := p.waitForEnd(t)
			if telemetry {
				p.waitForEvent(t, "of telemetry", func(e *schema.Event) bool { return e.HookEventType == "ApiRequest" })
			}
			original := p.statedByModel(t, first)
			require.Len(t, original, 3, "the models of the agent and both subagents")
			p.requireUsage(t, first, original)
			claude("-p", "Go on", "--resume", first)
			resumed := p.statedByModel(t, first)
			require.NotEqual(t, original, resumed)
			claude("-p", "Another way", "--resume", first, "--fork-session")
			fork := p.waitForEnd(t, first)
			all := p.statedByModel(t, fork) // it continues the totals of its original
			p.requireUsage(t, first, resumed)
			p.requireUsage(t, fork, without(all, resumed))
			p.requireUsage(t, "", all)

			imported := *p
			imported.hub = hubtest.Start(t)
			t.Log(p.importTo(t, imported.hub))
			imported.requireUsage(t, first, resumed)
			imported.requireUsage(t, fork, without(all, resumed))
			imported.requireUsage(t, "", all)
		})
	}
}

// A session that a person clears has its totals, too.
func TestClaudeUsage_OfClearedSession(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	p.installHooks(t, "claude-code")
	term := p.startClaudeTerminal(t, newModel(t))
	cleared := p.waitForEvent(t, "of the turn's end", func(e *schema.Event) bool { return e.HookEventType == "Stop" }).SessionID
	term.press(t, "/clear")
	term.waitForText(t, "/clear", true)
	term.press(t, "Enter")
	p.waitForEvent(t, "of its totals", func(e *schema.Event) bool { return e.HookEventType == "ApiUsage" && e.SessionID == cleared })
	p.requireUsage(t, cleared, p.statedByModel(t, cleared))
}
