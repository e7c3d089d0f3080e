package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// overheadCalls is the number of tool calls in each run of BenchmarkHookOverhead.
const overheadCalls = 60

// overheadVariant is Claude Code with certain hooks.
type overheadVariant struct {
	name      string
	configure func(b *testing.B, p *testEnv)
	wall, cpu []time.Duration // of whole runs
}

// BenchmarkHookOverhead compares the time that the hooks add to Claude Code's tool calls with what the same
// entries add if they run /bin/true. Each run is a session of 60 calls that a policy covers and
// lets pass. The variants run in turns, so that other load affects all of them; the values are
// differences of medians, per call. Use -benchtime 5x for five rounds.
//
// The time includes the hooks that Claude Code starts in the background, and the CPU time all
// processes that it starts. The hub is not included: it is part of the benchmark's process.
func BenchmarkHookOverhead(b *testing.B) {
	requireAgents(b)
	variants := []*overheadVariant{
		{name: "no-hooks", configure: func(*testing.B, *testEnv) {}},
		{name: "true", configure: installTrue},
		{name: "true-3", configure: installTrueFor("PreToolUse", "PostToolUse", "PostToolBatch")},
		{name: "hookback", configure: func(b *testing.B, p *testEnv) { p.installHooks(b, "claude-code") }},
	}
	shared := newUnwatchedEnv(b)
	for b.Loop() {
		for _, v := range variants {
			p := shared.newSibling(b)
			v.configure(b, p)
			v.run(b, p)
		}
	}
	none := variants[0]
	for _, v := range variants[1:] {
		b.ReportMetric(perCall(v.wall, none.wall), v.name+"-wall-ms/call")
		b.ReportMetric(perCall(v.cpu, none.cpu), v.name+"-cpu-ms/call")
	}
	for _, v := range variants[1:3] {
		b.ReportMetric(perCall(variants[3].wall, none.wall)/perCall(v.wall, none.wall), "wall/"+v.name)
		b.ReportMetric(perCall(variants[3].cpu, none.cpu)/perCall(v.cpu, none.cpu), "cpu/"+v.name)
	}
	b.ReportMetric(0, "ns/op") // meaningless for all variants together
}

// run measures one session in a new project.
func (v *overheadVariant) run(b *testing.B, p *testEnv) {
	b.Helper()
	writeFile(b, p.project, "hookback.json", `{"rules":[
{"tool":"Bash","when":{"command":{"contains":"git push"}},"then":"ask"},
{"tool":"Read","when":{"file_path":{"contains":".env"}},"then":"deny","reason":"Secrets stay unread."}]}`)
	turns := make([]turn, overheadCalls)
	for i := range turns {
		name := fmt.Sprintf("table%d.sql", i)
		writeFile(b, p.project, name, "CREATE TABLE t (id INTEGER);\n")
		turns[i] = turn{tool: "Read", input: fmt.Sprintf(`{"file_path":%q}`, filepath.Join(p.project, name))}
	}
	m := newModel(b, turns...)
	start := time.Now()
	r := p.startClaudeProcess(b, m, "-p", "Go")
	out := r.wait()
	wall := time.Since(start)
	require.Equal(b, overheadCalls+1, m.requestCount(), "%s", out)
	require.Contains(b, m.toolResults(), "CREATE TABLE", "%s", out)
	v.wall = append(v.wall, wall)
	v.cpu = append(v.cpu, r.cmd.ProcessState.UserTime()+r.cmd.ProcessState.SystemTime())
}

// perCall returns the difference of two medians in milliseconds per call.
func perCall(with, without []time.Duration) float64 {
	median := func(all []time.Duration) time.Duration {
		slices.Sort(all)
		return all[len(all)/2]
	}
	return float64((median(with) - median(without)).Microseconds()) / 1000 / overheadCalls
}

// installTrue installs Hookback's entries with /bin/true in place of hookback.
func installTrue(b *testing.B, p *testEnv) {
	b.Helper()
	p.installHooks(b, "claude-code")
	path := filepath.Join(p.home, ".claude", "settings.json")
	text, err := os.ReadFile(path)
	require.NoError(b, err)
	var settings struct {
		Hooks map[string][]struct {
			Matcher string           `json:"matcher,omitempty"`
			Hooks   []map[string]any `json:"hooks"`
		} `json:"hooks"`
	}
	require.NoError(b, json.Unmarshal(text, &settings))
	require.Contains(b, settings.Hooks, "PreToolUse")
	for _, entries := range settings.Hooks {
		for _, entry := range entries {
			for _, handler := range entry.Hooks {
				handler["command"] = "/bin/true"
			}
		}
	}
	text, err = json.Marshal(settings)
	require.NoError(b, err)
	writeFile(b, p.home, ".claude/settings.json", string(text))
}

// installTrueFor installs entries that run /bin/true for these events only; those after a call
// run in the background.
func installTrueFor(events ...string) func(b *testing.B, p *testEnv) {
	return func(b *testing.B, p *testEnv) {
		b.Helper()
		hooks := map[string]any{}
		for _, event := range events {
			hooks[event] = []any{map[string]any{"hooks": []any{map[string]any{
				"type": "command", "command": "/bin/true", "args": []string{}, "timeout": 10, "async": event != "PreToolUse",
			}}}}
		}
		text, err := json.Marshal(map[string]any{"hooks": hooks})
		require.NoError(b, err)
		writeFile(b, p.home, ".claude/settings.json", string(text))
	}
}
