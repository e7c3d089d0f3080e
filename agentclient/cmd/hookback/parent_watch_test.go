package main

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/internal/cli/clitest"
	"github.com/hookback/hookback/schema"
)

// A killed Claude Code does not signal its hooks, which run in separate sessions. Another agent
// runs hooks in a shell, and kills the shell when its user dismisses the prompt.
func TestHook_KilledAgentWithdrawsQuestion(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a process keeps its parent's number there")
	}
	reasons := map[string]string{"claude": "the agent is gone", "sh": "the agent is gone"}
	if runtime.GOOS == "linux" {
		reasons["sh"] = "dismissed in the agent" // this test, which is behind the shell, still runs
	}
	for name, reason := range reasons {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireWithdrawal(t, name, reason)
		})
	}
}

// requireWithdrawal kills the process that runs a hook, a shell with that name.
func requireWithdrawal(t *testing.T, name, reason string) {
	t.Helper()
	hub := clitest.StartHub(t, nil)
	c := newHookCommand(t, hub.URL(), readSample(t, "claude-code-PermissionRequest-Bash"))
	c.program, c.env = "/bin/sh", []string{"PROGRAM=" + program}
	agent := c.command(t.Context())
	agent.Args = []string{name, "-c", `exec 3<&0; "$PROGRAM" hook claude-code --hub "$HOOKBACK_URL" <&3 & wait`}
	r := &startedHook{Cmd: agent}
	agent.Stdout, agent.Stderr = &r.out, &r.err
	require.NoError(t, agent.Start())
	q, err := hub.Question(t.Context(), 1)
	require.NoError(t, err)
	require.NoError(t, agent.Process.Kill())
	r.wait() // the hook keeps the pipe open until it exits
	require.Equal(t, schema.Cancel{Reason: reason, RequestSecret: "secret-1"}, q.Withdrawal)
	require.Empty(t, r.out.String()+r.err.String())
}
