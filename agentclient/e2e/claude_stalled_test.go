package e2e_test

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/hubtest"
)

// TestMain_StalledHub is the hub of TestClaude_FreezeHoldsUnderAStalledHub, in a process of its own that a
// signal can stop. It ends with its stdin.
func TestMain_StalledHub(t *testing.T) {
	path := os.Getenv("HOOKBACK_E2E_STALLED_HUB")
	if path == "" {
		t.Skip("a process of another test")
	}
	hub := hubtest.Start(t, hubtest.Socket(path))
	require.NoError(t, os.WriteFile(path+".url", []byte(hub.URL()), 0o600))
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// stalledHub is a hub in another process.
type stalledHub struct {
	process *os.Process
	url     string
}

// startStalledHub starts a hub for the agents of p.
func (p *testEnv) startStalledHub(t *testing.T) *stalledHub {
	t.Helper()
	path := filepath.Join(tempDir(t), "hub.sock")
	hub := exec.Command(os.Args[0], "-test.run=^TestMain_StalledHub$")
	hub.Env = append(os.Environ(), "HOOKBACK_E2E_STALLED_HUB="+path)
	stdin, err := hub.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, hub.Start())
	t.Cleanup(func() {
		_ = hub.Process.Signal(syscall.SIGCONT)
		_ = stdin.Close()
		require.NoError(t, hub.Wait())
	})
	h := &stalledHub{process: hub.Process}
	require.True(t, eventually(func() bool {
		text, err := os.ReadFile(path + ".url")
		h.url = string(text)
		return err == nil && h.url != ""
	}))
	p.address = "unix://" + path
	return h
}

// stallUntil stops the hub for that time again and again, with pauses as long, until done is closed.
func (h *stalledHub) stallUntil(t *testing.T, done <-chan struct{}, period time.Duration) {
	t.Helper()
	for signal, other := syscall.SIGSTOP, syscall.SIGCONT; ; signal, other = other, signal {
		require.NoError(t, h.process.Signal(signal))
		select {
		case <-done:
			return
		case <-time.After(period):
		}
	}
}

// While a hub that has frozen all agents is stopped for 0.2, 0.5 and 2 seconds again and again, no call
// of a session runs.
func TestClaude_FreezeHoldsUnderAStalledHub(t *testing.T) {
	t.Parallel()
	for _, period := range []time.Duration{200 * time.Millisecond, 500 * time.Millisecond, 2 * time.Second} {
		t.Run(period.String(), func(t *testing.T) {
			t.Parallel()
			p := newUnwatchedEnv(t)
			hub := p.startStalledHub(t)
			p.installHooks(t, "claude-code")
			frozen := make(chan struct{})
			turns := []turn{bashCall("before.txt")}
			for i := range 20 {
				next := bashCall("frozen" + strconv.Itoa(i) + ".txt")
				next.after = frozen
				turns = append(turns, next)
			}
			m := newModel(t, turns...)
			claude := p.startClaudeProcess(t, m, "-p", "Go", "--allowedTools", "Bash")
			require.True(t, eventually(func() bool { return p.hasFile("before.txt") && m.requestCount() == 2 }))
			res, err := http.Post(hub.url+control.PathFreezes, "application/json", strings.NewReader(`{"scope":"all"}`))
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.Equal(t, http.StatusCreated, res.StatusCode)
			close(frozen)
			hub.stallUntil(t, claude.done, period)
			require.Contains(t, claude.wait(), "Done.")
			require.Equal(t, 22, m.requestCount(), "it tried every call")
			files, err := filepath.Glob(filepath.Join(p.project, "frozen*"))
			require.NoError(t, err)
			require.Empty(t, files)
		})
	}
}
