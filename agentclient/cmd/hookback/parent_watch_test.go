package main

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/internal/cli/clitest"
	"github.com/hookback/hookback/schema"
)

// A killed Claude Code does not signal its hooks, which run in separate sessions.
func TestHook_KilledAgentWithdrawsQuestion(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a process keeps its parent's number there")
	}
	hub := clitest.StartHub(t, nil)
	c := newHookCommand(t, hub.URL(), readSample(t, "claude-code-PermissionRequest-Bash"))
	c.program, c.env = "/bin/sh", []string{"PROGRAM=" + program}
	agent := c.command(t.Context())
	agent.Args = []string{"sh", "-c", `exec 3<&0; "$PROGRAM" hook claude-code <&3 & wait`}
	r := &startedHook{Cmd: agent}
	agent.Stdout, agent.Stderr = &r.out, &r.err
	require.NoError(t, agent.Start())
	q, err := hub.Question(t.Context(), 1)
	require.NoError(t, err)
	require.NoError(t, agent.Process.Kill())
	r.wait() // the hook keeps the pipe open until it exits
	require.Equal(t, schema.Cancel{Reason: "the agent is gone", RequestSecret: "secret-1"}, q.Withdrawal)
	require.Empty(t, r.out.String()+r.err.String())
}
