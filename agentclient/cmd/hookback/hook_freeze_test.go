//go:build linux || darwin

package main

import (
	"crypto/rand"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/hubtest"
)

// gateHook returns a hook of claude-code before a call.
func gateHook(t *testing.T, hub string) *hookCommand {
	t.Helper()
	return newHookCommand(t, hub, readSample(t, "claude-code-PreToolUse-Bash"), "--app", "shop")
}

// denies runs the hook before another call, and reports whether a freeze denied it.
func (c *hookCommand) denies(t *testing.T) bool {
	t.Helper()
	call := strings.Replace(readSample(t, "claude-code-PreToolUse-Bash"), "toolu_", "toolu_"+rand.Text(), 1)
	c.stdin = strings.NewReader(call)
	r := c.run(t)
	require.Zero(t, r.status)
	return strings.Contains(r.out, `"permissionDecision":"deny"`) && strings.Contains(r.out, "froze")
}

func post(t *testing.T, address, body string) {
	t.Helper()
	res, err := http.Post(address, "application/json", strings.NewReader(body))
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Less(t, res.StatusCode, 300)
}

func lift(t *testing.T, hub string) {
	t.Helper()
	var list control.FreezeList
	require.NoError(t, getJSON(t, hub+control.PathFreezes, &list))
	for _, f := range list.Freezes {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, hub+schema.At(control.PathFreeze, schema.EventID(f.ID)), nil)
		require.NoError(t, err)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusOK, res.StatusCode)
	}
}

// A stopped hub has frozen agents: their hooks deny until it runs again and a person lifts the freeze. A
// freeze of another application stops nothing.
func TestHook_FreezeHoldsWhileTheHubIsDown(t *testing.T) {
	t.Parallel()
	hub, address := startSocketHub(t)
	c := gateHook(t, address)
	post(t, hub.URL()+control.PathFreezes, `{"scope":"app","source_app":"other"}`)
	hub.Stop()
	require.False(t, c.denies(t))
	hub.Restart()
	post(t, hub.URL()+control.PathFreezes, `{"scope":"app","source_app":"shop"}`)
	hub.Stop()
	require.True(t, c.denies(t))

	hub.Restart()
	c.deliverSpooled()
	var list control.FreezeList
	require.NoError(t, getJSON(t, hub.URL()+control.PathFreezes, &list))
	require.Equal(t, 1, list.Stopped, "the hub learns that the call was denied")
	require.Zero(t, list.Unchecked)
	lift(t, hub.URL())
	hub.Stop()
	require.False(t, c.denies(t))

	hub.Restart()
	session := `{"scope":"session","source_app":"shop","session_id":"4b7293f1-045d-4243-b67b-44100f6e03a7"}`
	post(t, hub.URL()+control.PathFreezes, session)
	hub.Stop()
	c.args = []string{"claude-code", "--app", "api"}
	require.True(t, c.denies(t), "the model changed the directory after which the hook names the application")
}

// TestMain_StalledHub is the hub of TestHook_FreezeHoldsWhileTheHubStalls, in a process of its own that can be
// stopped with a signal. It ends with its stdin.
func TestMain_StalledHub(t *testing.T) {
	path := os.Getenv("TEST_STALLED_HUB")
	if path == "" {
		t.SkipNow()
	}
	hub := hubtest.Start(t, hubtest.Socket(path))
	post(t, hub.URL()+control.PathFreezes, `{"scope":"all"}`)
	require.NoError(t, os.WriteFile(path+".ready", []byte(hub.URL()), 0o600))
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// A hub that is busy or paused accepts connections and answers nothing.
func TestHook_FreezeHoldsWhileTheHubStalls(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "hookback") //nolint:usetesting // the name of t.TempDir can be too long
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := dir + "/hub.sock"
	hub := exec.Command(os.Args[0], "-test.run=^TestMain_StalledHub$")
	hub.Env = append(os.Environ(), "TEST_STALLED_HUB="+path)
	stdin, err := hub.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, hub.Start())
	defer func() {
		_ = hub.Process.Signal(syscall.SIGCONT)
		_ = stdin.Close()
		require.NoError(t, hub.Wait())
	}()
	require.Eventually(t, func() bool { _, err := os.Stat(path + ".ready"); return err == nil }, time.Minute, 10*time.Millisecond)
	require.NoError(t, hub.Process.Signal(syscall.SIGSTOP))
	c := gateHook(t, "unix://"+path)
	require.True(t, c.denies(t))

	other := newHookCommand(t, "unix://"+path, readSample(t, "claude-code-PostToolUse-Bash"))
	require.Equal(t, cliResult{}, other.run(t), "a call that has run is only reported")
}

// A hub on another machine: the hook remembers the last answer.
func TestHook_RemembersTheFreezeOfARemoteHub(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	answer := `{"id":1}`
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if answer == "" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set(control.AppliedHeader, control.MinimalReturn)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(hub.Close)
	answerWith := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		answer = text
	}
	c := gateHook(t, hub.URL)
	require.False(t, c.denies(t))
	answerWith("")
	require.False(t, c.denies(t), "no freeze is known")
	answerWith(`{"id":2,"directive":{"freeze":{"id":1,"scope":"session","by":"Ada"}}}`)
	require.True(t, c.denies(t))
	answerWith("")
	require.True(t, c.denies(t))
	session := strings.Replace(readSample(t, "claude-code-PreToolUse-Bash"), "4b7293f1", "00000000", 1)
	c.stdin = strings.NewReader(session)
	require.NotContains(t, c.run(t).out, "froze", "another session")
	answerWith(`{"id":3}`)
	require.False(t, c.denies(t))
	answerWith("")
	require.False(t, c.denies(t), "the hub has lifted it")
}
