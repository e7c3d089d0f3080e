package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/e2e/loadcase"
	"github.com/hookback/hookback/schema"
)

// loaderAgents are the agents whose settings files the tests change, with the settings that they need to run and the
// start of a run that calls no tool.
var loaderAgents = map[string]struct {
	file, base string
	start      func(p *testEnv, t testing.TB) (wait func() string)
}{
	"claude-code": {".claude/settings.json", "{}", func(p *testEnv, t testing.TB) func() string {
		return p.startClaude(t, newModel(t), "-p", "Go")
	}},
	"codex": {".codex/hooks.json", "{}", func(p *testEnv, t testing.TB) func() string {
		return p.startCodex(t, newDialectModel(t, responsesAPI))
	}},
	"copilot": {".copilot/hooks/hookback.json", "{}", func(p *testEnv, t testing.TB) func() string {
		return p.startCopilot(t, newModel(t))
	}},
	"gemini": {".gemini/settings.json", geminiSettings, func(p *testEnv, t testing.TB) func() string {
		return p.startGemini(t, newDialectModel(t, geminiAPI))
	}},
	"qwen": {".qwen/settings.json", `{` + qwenQuiet + `}`, func(p *testEnv, t testing.TB) func() string {
		return p.startQwen(t, newModel(t))
	}},
	"droid": {".factory/hooks.json", "{}", func(p *testEnv, t testing.TB) func() string {
		return p.startDroid(t, newModel(t))
	}},
}

// The agent itself decides whether a settings file is loaded: its hooks run, or none does. The doctor says the same, and
// never that the gate of such a file works.
func TestDoctor_AgreesWithAgentsAboutSettings(t *testing.T) {
	t.Parallel()
	hub := newUnwatchedEnv(t)
	for _, c := range loadcase.All() {
		t.Run(c.Agent+" "+c.Name, func(t *testing.T) {
			t.Parallel()
			agent, p := loaderAgents[c.Agent], hub.newSibling(t)
			ctx, cancel := context.WithTimeout(context.Background(), 2*waitLimit) // the cases take longer than one of them may
			t.Cleanup(cancel)
			p.ctx = ctx
			writeFile(t, p.home, agent.file, agent.base)
			p.installHooks(t, c.Agent)
			p.hooksInstalled = true
			file := filepath.Join(p.home, filepath.FromSlash(agent.file))
			installed, err := os.ReadFile(file)
			require.NoError(t, err)
			content, err := c.Content(installed)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, content, 0o600))

			out := agent.start(p, t)()
			ran := false
			for _, e := range p.events(t) {
				ran = ran || e.Agent == c.Agent && strings.Contains(string(e.Payload), p.project)
			}
			require.Equal(t, c.Loaded, ran, "%s", out)

			ok, problems := p.doctorFindings(t, c.Agent)
			if c.Loaded {
				require.NotContains(t, problems, "not loaded: ")
				return
			}
			require.Contains(t, problems, "not loaded: ")
			require.NotContains(t, ok, "the gate works")
		})
	}
}

// doctorFindings returns what the doctor finds in order and what it finds wrong with an agent, one per line.
func (p *testEnv) doctorFindings(t testing.TB, agent string) (ok, problems string) {
	t.Helper()
	doctor := exec.CommandContext(p.ctx, p.hook, "doctor", "--json", "--runs", "1", "--agent", agent)
	doctor.Dir, doctor.Env = p.project, p.env("CODEX_HOME="+p.home+"/.codex", "COPILOT_HOME="+p.home+"/.copilot")
	out, _ := doctor.Output() // the exit status is 1 if something is wrong
	var report struct {
		Findings []struct{ Agent, State, Text string }
	}
	require.NoError(t, json.Unmarshal(out, &report), "%s", out)
	for _, f := range report.Findings {
		switch {
		case f.Agent != agent:
		case f.State == "problem":
			problems += f.Text + "\n"
		case f.State == "ok":
			ok += f.Text + "\n"
		}
	}
	return ok, problems
}

// Codex runs no hook if its feature is off, and the doctor says so.
func TestDoctor_ReportsCodexFeatureThatIsOff(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{true, false} {
		p := newUnwatchedEnv(t)
		writeFile(t, p.project, ".codex/config.toml", fmt.Sprintf("[features]\nhooks = %t\n", on))
		out := p.startCodex(t, newDialectModel(t, responsesAPI))()
		require.Equal(t, on, slices.ContainsFunc(p.events(t), func(e schema.Event) bool { return e.Agent == "codex" }), "%s", out)
		ok, problems := p.doctorFindings(t, "codex")
		require.Equal(t, !on, strings.Contains(problems, "the feature hooks is false"), problems)
		require.Equal(t, on, strings.Contains(ok, "the gate works"))
	}
}
