// Package e2e_test runs real coding agents against a fake model, a server on loopback with
// scripted replies. So each test exercises the agent's own program, our hook, and the
// agent's reaction to the hook's answer.
//
//	make e2e-agents
//
// The agents come from the npm registry in pinned versions, and are cached in the system's
// temporary directory. Each one runs with a separate home directory and without network.
package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/hubtest"
)

// waitLimit is the timeout for every condition, generous for a loaded machine.
const waitLimit = 90 * time.Second

// pollInterval is the interval between checks of a condition.
const pollInterval = 50 * time.Millisecond

// testEnv is the environment of one agent: its home, its project, the hub, and an open page.
type testEnv struct {
	ctx     context.Context
	home    string
	project string
	hub     *hubtest.Hub
	hook    string // path of the hookback program
}

func newTestEnv(t *testing.T) *testEnv {
	t.Helper()
	if os.Getenv("HOOKBACK_E2E_AGENTS") == "" {
		t.Skip("real agents run under make e2e-agents")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*waitLimit)
	t.Cleanup(cancel)
	p := &testEnv{ctx: ctx, home: tempDir(t), project: filepath.Join(tempDir(t), "shop-api"), hub: hubtest.Start(t), hook: hookbackProgram(t)}
	require.NoError(t, os.Mkdir(p.project, 0o700))
	p.openPage(t)
	return p
}

// tempDir returns a temporary directory. An agent that was just stopped may still write to
// it, which would fail t.TempDir.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hookback-e2e-") //nolint:usetesting // see above
	require.NoError(t, err)
	t.Cleanup(func() { _ = eventually(func() bool { return os.RemoveAll(dir) == nil }) })
	return dir
}

var buildDir string // directory of the programs that all tests share

func TestMain(m *testing.M) {
	if os.Getenv("HOOKBACK_E2E_MCP") != "" {
		serveMCP(os.Stdin, os.Stdout)
		return
	}
	status := m.Run()
	if buildDir != "" {
		_ = os.RemoveAll(buildDir)
	}
	os.Exit(status)
}

var buildHookback = sync.OnceValues(func() (string, error) {
	var err error
	if buildDir, err = os.MkdirTemp("", "hookback-e2e-"); err != nil {
		return "", err
	}
	program := filepath.Join(buildDir, "hookback")
	out, err := exec.Command("go", "build", "-ldflags=-X github.com/hookback/hookback/agentclient/internal/cli.TestHome=HOME", "-o", program, "github.com/hookback/hookback/agentclient/cmd/hookback").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return program, nil
})

// hookbackProgram returns the path of hookback, which is built once.
func hookbackProgram(t *testing.T) string {
	t.Helper()
	program, err := buildHookback()
	require.NoError(t, err)
	return program
}

// npmProgram installs an agent from the registry once for all runs, without running the
// package's scripts. It returns the first path below node_modules that matches the pattern,
// and skips the test if the package is not available.
func npmProgram(t *testing.T, name, version, pattern string) string {
	t.Helper()
	dir := filepath.Join(os.TempDir(), "hookback-e2e-agents", filepath.Base(name)+"-"+version)
	pattern = filepath.Join(dir, "node_modules", filepath.FromSlash(pattern))
	if found, _ := filepath.Glob(pattern); len(found) > 0 {
		return found[0]
	}
	npmMutex.Lock()
	defer npmMutex.Unlock()
	require.NoError(t, os.MkdirAll(dir, 0o700))
	ctx, cancel := context.WithTimeout(context.Background(), 2*waitLimit)
	defer cancel()
	install := exec.CommandContext(ctx, "npm", "install", "--prefix", dir, "--no-audit", "--no-fund", "--ignore-scripts", name+"@"+version)
	install.Dir = dir
	out, err := install.CombinedOutput()
	if err != nil {
		t.Skipf("%s@%s is not available from the registry: %v\n%s", name, version, err, out)
	}
	found, _ := filepath.Glob(pattern)
	require.NotEmpty(t, found, "%s is not in %s@%s", pattern, name, version)
	return found[0]
}

var npmMutex sync.Mutex

// env returns the environment of an agent: a separate home and no external network.
func (p *testEnv) env(more ...string) []string {
	return append([]string{
		"HOME=" + p.home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + p.home, "TERM=xterm-256color", "LANG=C.UTF-8",
		"XDG_CONFIG_HOME=" + p.home + "/.config", "XDG_STATE_HOME=" + p.home + "/.state", "XDG_CACHE_HOME=" + p.home + "/.cache", "XDG_DATA_HOME=" + p.home + "/.data",
		"HTTPS_PROXY=http://127.0.0.1:9", "HTTP_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1",
		"HOOKBACK_URL=" + p.hub.URL(),
	}, more...)
}

// writeFile writes a file below dir.
func writeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// openPage subscribes to the hub like an open page, because hooks wait only if someone can
// see the question.
func (p *testEnv) openPage(t *testing.T) {
	t.Helper()
	ws, _, err := websocket.Dial(p.ctx, p.hub.StreamURL()+"?v=2", nil)
	require.NoError(t, err)
	ws.SetReadLimit(-1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, _, err := ws.Read(p.ctx); err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = ws.CloseNow()
		<-done
	})
}

// eventually polls until condition returns true, and returns false after waitLimit.
func eventually(condition func() bool) bool {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for deadline := time.Now().Add(waitLimit); time.Now().Before(deadline); <-ticker.C {
		if condition() {
			return true
		}
	}
	return false
}

// getJSON decodes a response of the hub.
func (p *testEnv) getJSON(t *testing.T, path string, into any) {
	t.Helper()
	req, err := http.NewRequestWithContext(p.ctx, http.MethodGet, p.hub.URL()+path, nil)
	require.NoError(t, err)
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusOK, res.StatusCode, "%s", path)
	require.NoError(t, json.NewDecoder(res.Body).Decode(into))
}

// events returns the hub's recent events.
func (p *testEnv) events(t *testing.T) []schema.Event {
	t.Helper()
	var all []schema.Event
	p.getJSON(t, schema.PathRecent+"?limit=1000", &all)
	return all
}

// waitForEvent waits for an event that matches and returns the first one.
func (p *testEnv) waitForEvent(t *testing.T, description string, match func(*schema.Event) bool) *schema.Event {
	t.Helper()
	var found *schema.Event
	require.Eventually(t, func() bool {
		all := p.events(t)
		for i := range all {
			if match(&all[i]) {
				found = &all[i]
				return true
			}
		}
		return false
	}, waitLimit, pollInterval, "no event %s", description)
	return found
}

// waitForQuestion waits for a pending question from a hook of that event type.
func (p *testEnv) waitForQuestion(t *testing.T, event string) *schema.Event {
	t.Helper()
	return p.waitForEvent(t, event+" that asks", func(e *schema.Event) bool {
		return e.HookEventType == event && e.HumanInTheLoop != nil && e.HumanInTheLoopStatus.Status == schema.Pending
	})
}

// answer submits a person's response, as the page does.
func (p *testEnv) answer(t *testing.T, e *schema.Event, r schema.Response) {
	t.Helper()
	body, err := json.Marshal(r)
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(p.ctx, http.MethodPost, p.hub.URL()+schema.At(schema.PathRespond, e.ID), bytes.NewReader(body))
	require.NoError(t, err)
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusOK, res.StatusCode)
}

// waitForSettled waits until a question is settled.
func (p *testEnv) waitForSettled(t *testing.T, id schema.EventID) *schema.Status {
	t.Helper()
	return p.waitForEvent(t, "with an end", func(e *schema.Event) bool { return e.ID == id && e.HumanInTheLoopStatus.IsSettled() }).HumanInTheLoopStatus
}

func permission(yes bool, reason string) schema.Response {
	return schema.Response{Permission: &yes, Reason: reason}
}
