package hook_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/hook"
)

// TestParse_MalformedInputIsParsedOrRejected passes every sample to every agent, and to its
// own agent variants in which one member, at any depth, is missing or has another type.
// Every parsed call could be sent to a hub, and every reply is valid.
func TestParse_MalformedInputIsParsedOrRejected(t *testing.T) {
	t.Parallel()
	samples, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, samples)
	for _, path := range samples {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			var sample map[string]any
			require.NoError(t, json.Unmarshal(text, &sample))
			for _, a := range hook.Agents {
				requireNoInvalidOutput(t, a, text)
			}
			own, ok := agentOfSample(filepath.Base(path))
			require.True(t, ok)
			for _, mutated := range mutations(sample) {
				stdin, err := json.Marshal(mutated)
				require.NoError(t, err)
				requireNoInvalidOutput(t, own, stdin)
			}
		})
	}
}

func requireNoInvalidOutput(t *testing.T, a hook.AgentInfo, stdin []byte) {
	t.Helper()
	in := hook.Input{Stdin: stdin, Env: func(string) string { return "" }, Dir: "/home/dev/here"}
	c, err := a.Agent.Parse(in)
	if err != nil {
		return
	}
	requireValidCall(t, in, &c)
	for _, v := range sampleVerdicts(&c) {
		requireValidReply(t, &c, v, a.Agent.Render(&c, v))
	}
}

// mutations returns copies of o with one member, at any depth, missing or of another type.
func mutations(o map[string]any) (all []map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(o)) {
		without := maps.Clone(o)
		delete(without, name)
		all = append(all, without)
		for _, value := range []any{
			nil, 1e300, "", "text\x00\u202e\n", strings.Repeat("ö", 700), []any{1, nil}, map[string]any{"command": []any{"rm"}},
		} {
			with := maps.Clone(o)
			with[name] = value
			all = append(all, with)
		}
		if inner, ok := o[name].(map[string]any); ok {
			for _, mutated := range mutations(inner) {
				with := maps.Clone(o)
				with[name] = mutated
				all = append(all, with)
			}
		}
	}
	return all
}

// TestRender_OnlyAllowApproves checks every agent's reply to every sample: only Allow lets
// a call run, and Allow with an edit never runs the original call.
func TestRender_OnlyAllowApproves(t *testing.T) {
	t.Parallel()
	samples, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	for _, path := range samples {
		agent, ok := agentOfSample(filepath.Base(path))
		require.True(t, ok, path)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		c, err := agent.Agent.Parse(hook.Input{Stdin: text, Env: func(string) string { return "" }, Dir: "/home/dev/here"})
		require.NoError(t, err, path)
		for _, v := range sampleVerdicts(&c) {
			stdout := string(agent.Agent.Render(&c, v).Stdout)
			approves := strings.Contains(stdout, `"allow"`) || strings.Contains(stdout, `"once"`) || strings.Contains(stdout, `"always"`) ||
				strings.Contains(stdout, `"answers"`) || strings.Contains(stdout, `"overrideInput"`)
			if v.Effect != hook.Allow {
				require.False(t, approves, "%s: %q approves: %s", path, v.Effect, stdout)
			}
			if len(v.Arguments) > 0 && approves {
				require.True(t, c.Capabilities.Has(hook.CanEdit), "%s: %s", path, stdout)
				require.Contains(t, stdout, string(v.Arguments), "%s approves something else", path)
			}
		}
	}
}

func agentOfSample(sample string) (hook.AgentInfo, bool) {
	for _, a := range hook.Agents {
		if strings.HasPrefix(sample, a.Name+"-") {
			return a, true
		}
	}
	return hook.AgentInfo{}, false
}
