// Package e2e_test runs real coding agents against a fake model, a server on loopback with
// scripted replies. So each test exercises the agent's own program, our hook, and the
// agent's reaction to the hook's answer.
//
//	make e2e-agents [LATEST=1]
//
// The agents come from the npm registry (see agentPackages), and are cached in the system's temporary
// directory. A complete run writes the versions whose tests all passed to install/proven.json. Each
// agent runs with a separate home directory and without network. Tests in a terminal need tmux.
//
// A test sets up an environment (newTestEnv with an open page, newUnwatchedEnv without), installs
// the hooks (installHooks), scripts a model (newModel, newDialectModel) and starts an agent:
// startClaude, startClaudeTerminal, startCodex and so on. Then it acts as the person
// (waitForQuestion, answer; terminal.press) and checks the effects (hasFile) and the text that the model read
// (toolResults).
package e2e_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
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

// testEnv is the environment of one agent: its home, its project and the hub.
type testEnv struct {
	ctx     context.Context
	home    string
	project string
	hub     *hubtest.Hub
	address string // of the hub that agents use; "": the URL of hub
	hook    string // path of the hookback program
	// hooksInstalled means that installHooks has nothing left to do.
	hooksInstalled bool
}

// newTestEnv returns an environment with an open page.
func newTestEnv(t testing.TB) *testEnv {
	t.Helper()
	p := newUnwatchedEnv(t)
	p.openPage(t)
	return p
}

// newUnwatchedEnv returns an environment in which no one sees a question; see openPage.
func newUnwatchedEnv(t testing.TB, options ...hubtest.Option) *testEnv {
	t.Helper()
	requireAgents(t)
	ctx, cancel := context.WithTimeout(context.Background(), 2*waitLimit)
	t.Cleanup(cancel)
	p := &testEnv{ctx: ctx, hub: hubtest.Start(t, options...), hook: hookbackProgram(t)}
	return p.newSibling(t)
}

// newSibling returns the environment of another agent at the same hub.
func (p *testEnv) newSibling(t testing.TB) *testEnv {
	t.Helper()
	sibling := *p
	sibling.home, sibling.project = tempDir(t), filepath.Join(tempDir(t), "shop-api")
	require.NoError(t, os.Mkdir(sibling.project, 0o700))
	return &sibling
}

// requireAgents skips the test unless real agents are to run.
func requireAgents(t testing.TB) {
	t.Helper()
	if os.Getenv("HOOKBACK_E2E_AGENTS") == "" {
		t.Skip("real agents run under make e2e-agents")
	}
}

// tempDir returns a temporary directory. An agent that was just stopped may still write to
// it, which would fail t.TempDir.
func tempDir(t testing.TB) string {
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
	flag.Parse()
	wanted := os.Getenv("HOOKBACK_E2E_AGENTS") != ""
	if wanted {
		programs = installAgents(sharedPackages, os.Getenv("HOOKBACK_E2E_LATEST") != "", os.Stdout)
	}
	status := m.Run()
	if wanted {
		reportAgents(os.Stdout)
		if err := results.write(provenFile); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	}
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
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w -X github.com/hookback/hookback/agentclient/internal/cli.TestHome=HOME", "-o", program, "github.com/hookback/hookback/agentclient/cmd/hookback") // as make build does
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return program, nil
})

// hookbackProgram returns the path of hookback, which is built once.
func hookbackProgram(t testing.TB) string {
	t.Helper()
	program, err := buildHookback()
	require.NoError(t, err)
	return program
}

// env returns the environment of an agent: a separate home and no external network.
func (p *testEnv) env(more ...string) []string {
	return append([]string{
		"HOME=" + p.home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + p.home, "TERM=xterm-256color", "LANG=C.UTF-8",
		"XDG_CONFIG_HOME=" + p.home + "/.config", "XDG_STATE_HOME=" + p.home + "/.state", "XDG_CACHE_HOME=" + p.home + "/.cache", "XDG_DATA_HOME=" + p.home + "/.data",
		"HTTPS_PROXY=http://127.0.0.1:9", "HTTP_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1",
		"HOOKBACK_URL=" + cmp.Or(p.address, p.hub.URL()),
	}, more...)
}

// writeFile writes a file below dir.
func writeFile(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// openPage subscribes to the hub like an open page, because hooks wait only if someone can
// see the question. closePage disconnects it before the end of the test.
func (p *testEnv) openPage(t testing.TB) (closePage func()) {
	t.Helper()
	ws, _, err := websocket.Dial(p.ctx, p.hub.StreamURL()+"?v=2", nil)
	require.NoError(t, err)
	ws.SetReadLimit(-1)
	_, _, err = ws.Read(p.ctx) // from the first frame on, the hub counts the page
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, _, err := ws.Read(p.ctx); err != nil {
				return
			}
		}
	}()
	closePage = func() {
		_ = ws.CloseNow()
		<-done
	}
	t.Cleanup(closePage)
	return closePage
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
func (p *testEnv) getJSON(t testing.TB, path string, into any) {
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
func (p *testEnv) events(t testing.TB) []schema.Event {
	t.Helper()
	var all []schema.Event
	p.getJSON(t, schema.PathRecent+"?limit=1000", &all)
	return all
}

// waitForEvent waits for an event that matches and returns the first one.
func (p *testEnv) waitForEvent(t testing.TB, description string, match func(*schema.Event) bool) *schema.Event {
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
func (p *testEnv) waitForQuestion(t testing.TB, event string) *schema.Event {
	t.Helper()
	return p.waitForEvent(t, event+" that asks", func(e *schema.Event) bool {
		return e.HookEventType == event && e.HumanInTheLoop != nil && e.HumanInTheLoopStatus.Status == schema.Pending
	})
}

// answer submits a person's response, as the page does.
func (p *testEnv) answer(t testing.TB, e *schema.Event, r schema.Response) {
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
func (p *testEnv) waitForSettled(t testing.TB, id schema.EventID) *schema.Status {
	t.Helper()
	return p.waitForEvent(t, "with an end", func(e *schema.Event) bool { return e.ID == id && e.HumanInTheLoopStatus.IsSettled() }).HumanInTheLoopStatus
}

func permission(yes bool, reason string) schema.Response {
	return schema.Response{Permission: &yes, Reason: reason}
}
