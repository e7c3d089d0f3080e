package e2e_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/hubtest"
)

// callFreezes sends a request to the freezes of the hub and decodes the response into reply.
func (p *testEnv) callFreezes(t testing.TB, method, path string, body, reply any) {
	t.Helper()
	text, err := json.Marshal(body)
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(p.ctx, method, p.hub.URL()+path, bytes.NewReader(text))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Less(t, res.StatusCode, 300)
	require.NoError(t, json.NewDecoder(res.Body).Decode(reply))
}

// frozenAgent is one of the agents of TestAgents_FreezeAll.
type frozenAgent struct {
	*testEnv
	name  string
	model *model
	wait  func() string
}

// startFrozenAgents starts two agents of each of three kinds, which run every call without asking. Each
// one makes a call, another one after freeze is closed, and a third one after lift is closed.
func startFrozenAgents(t *testing.T, shared *testEnv, freeze, lift <-chan struct{}) (all []*frozenAgent) {
	t.Helper()
	for _, kind := range []struct {
		name  string
		model func(t testing.TB, turns ...turn) *model
		start func(p *testEnv, t testing.TB, m *model, env ...string) (wait func() string)
		call  func(file string) turn
	}{
		{"claude-code", newModel, startAllowedClaude, bashCall},
		{"codex", func(t testing.TB, turns ...turn) *model { return newDialectModel(t, responsesAPI, turns...) }, (*testEnv).startCodex, codexShell},
		{"qwen", newModel, (*testEnv).startQwen, qwenShell},
	} {
		for range 2 {
			p := shared.newSibling(t)
			if kind.name == "qwen" {
				writeFile(t, p.home, ".qwen/settings.json", `{`+qwenQuiet+`}`)
			}
			p.installHooks(t, kind.name)
			p.hooksInstalled = true
			frozen, lifted := kind.call("frozen.txt"), kind.call("lifted.txt")
			frozen.after, lifted.after = freeze, lift
			m := kind.model(t, kind.call("before.txt"), frozen, lifted)
			all = append(all, &frozenAgent{testEnv: p, name: kind.name, model: m, wait: kind.start(p, t, m)})
		}
	}
	return all
}

func startAllowedClaude(p *testEnv, t testing.TB, m *model, _ ...string) (wait func() string) {
	t.Helper()
	return p.startClaude(t, m, "-p", "Go", "--allowedTools", "Bash")
}

// After a freeze, none of six agents of three kinds runs a call. After it is lifted, they continue.
func TestAgents_FreezeAll(t *testing.T) {
	t.Parallel()
	path := filepath.Join(tempDir(t), "hub.sock") // with it, the freeze holds also if the hub is slow beside six agents
	shared := newUnwatchedEnv(t, hubtest.Socket(path))
	shared.address = "unix://" + path
	freeze, lift := make(chan struct{}), make(chan struct{})
	agents := startFrozenAgents(t, shared, freeze, lift)
	for _, a := range agents {
		require.True(t, eventually(func() bool { return a.hasFile("before.txt") && a.model.requestCount() == 2 }), "%s runs", a.name)
	}
	var f control.Freeze
	shared.callFreezes(t, http.MethodPost, control.PathFreezes, control.FreezeDraft{Scope: control.FreezeAll, Reason: "Incident."}, &f)
	close(freeze)

	for _, a := range agents {
		require.True(t, eventually(func() bool { return a.model.requestCount() == 3 }), "%s goes on without its call", a.name)
		require.Contains(t, a.model.lastRequest(), "froze all agents. Nothing ran.", "%s: the model gets the cause", a.name)
		require.NotContains(t, a.model.lastRequest(), "Incident.")
	}
	for _, a := range agents {
		require.False(t, a.hasFile("frozen.txt"), "%s ran a call while it was frozen", a.name)
	}
	var state control.FreezeList
	shared.getJSON(t, control.PathFreezes, &state)
	require.Equal(t, len(agents), state.Stopped)
	require.Zero(t, state.Uncontrolled)

	shared.callFreezes(t, http.MethodDelete, strings.Replace(control.PathFreeze, ":id", strconv.FormatInt(f.ID, 10), 1), nil, &f)
	close(lift)
	for _, a := range agents {
		t.Log(a.wait())
		require.True(t, a.hasFile("lifted.txt"), "%s works again", a.name)
		require.False(t, a.hasFile("frozen.txt"))
	}
	started := 0
	for _, e := range shared.events(t) {
		require.False(t, strings.HasPrefix(e.HookEventType, "PostToolUse") && strings.Contains(string(e.Payload), "frozen.txt"), "%s reports a result", e.Agent)
		if e.HookEventType == "PreToolUse" && strings.Contains(string(e.Payload), "frozen.txt") {
			started++
		}
	}
	require.Equal(t, len(agents), started, "each of them tried")
}
