package hubtest_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/socket"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/hubtest"
)

// runAgent is a child process: a coding agent that runs its hook in a shell and then, for
// each line on stdin, a command that answers the hook's question.
func runAgent(ctx context.Context) error {
	shell := func(role, argument string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "sh", "-c", "'"+os.Args[0]+"' "+argument+"; true")
		cmd.Env = append(os.Environ(), roleVariable+"="+role)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		return cmd
	}
	hook := shell("hook", "")
	stdin, err := hook.StdinPipe()
	if err != nil {
		return err
	}
	if err := hook.Start(); err != nil {
		return err
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if err := shell("answerer", lines.Text()).Run(); err != nil {
			return err
		}
	}
	_ = stdin.Close()
	return hook.Wait()
}

// runAnswerer is a child process that approves a question.
func runAnswerer(ctx context.Context) error {
	httpClient.Transport = socket.NewTransport(&http.Transport{})
	_, err := postJSON(ctx, socket.HTTPAddress(os.Getenv(hubVariable))+"/events/"+os.Args[1]+"/respond", map[string]bool{"permission": true})
	return err
}

// TestSelfApproval_IsMarked: an answer from the agent's process tree is marked, one from the
// process that started the agent is not.
func TestSelfApproval_IsMarked(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/exe"); err != nil {
		t.Skip("processes are known on Linux only")
	}
	path := socketPath(t)
	hub := hubtest.Start(t, hubtest.Socket(path))
	for _, address := range []string{hub.URL(), "unix://" + path} {
		requireSelfApprovalMark(t, hub, address)
	}

	persons, _, _ := startChild(t, hub, "agent")
	postAnswer(t, hub, persons, `{"permission":true}`)
	st := statusOf(t, hub, persons)
	require.False(t, st.RespondedBy.SelfApproval)
	var ledger []sign.LedgerEntry
	fetch(t, "GET "+hub.URL()+schema.PathLedger+"?limit=1", "", &ledger)
	require.Contains(t, string(ledger[0].Data), fmt.Sprintf(`"process":{"pid":%d,`, os.Getpid()))
}

// socketPath returns a path for a hub's Unix socket.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hookback") //nolint:usetesting // the name of t.TempDir can be too long
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "hub.sock")
}

// requireSelfApprovalMark runs an agent that answers itself at this address of the hub.
func requireSelfApprovalMark(t *testing.T, hub *hubtest.Hub, address string) {
	t.Helper()
	own, agent, _ := startChildAt(t, address, "agent")
	_, err := fmt.Fprintln(agent, own)
	require.NoError(t, err)
	var st schema.Status
	require.Eventually(t, func() bool { st = statusOf(t, hub, own); return st.IsSettled() }, waitLimit, 10*time.Millisecond)
	require.True(t, st.RespondedBy.SelfApproval, "%s: %+v", address, st.RespondedBy)
}
