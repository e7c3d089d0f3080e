// Package e2e_test runs real coding agents against a model that is none: a server on
// loopback that says what the test wrote. So an agent's own program calls our hook,
// and does what the hook's answer makes it do.
//
//	make e2e-agents
//
// The agents come from the npm registry, in a pinned version each, and are kept in the
// system's temporary folder. They run with a home of their own and find no network.
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

// patience is how long anything may take on a loaded machine.
const patience = 90 * time.Second

// tick is how often a condition is looked at.
const tick = 50 * time.Millisecond

// place is where one agent runs: its home, its project, the hub, a person at the page.
type place struct {
	ctx     context.Context
	home    string
	project string
	hub     *hubtest.Hub
	hook    string // the hookback command
}

func setup(t *testing.T) *place {
	t.Helper()
	if os.Getenv("HOOKBACK_E2E_AGENTS") == "" {
		t.Skip("real agents run under make e2e-agents")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	t.Cleanup(cancel)
	p := &place{ctx: ctx, home: folder(t), project: filepath.Join(folder(t), "shop-api"), hub: hubtest.Start(t), hook: command(t)}
	require.NoError(t, os.Mkdir(p.project, 0o700))
	p.watch(t)
	return p
}

// folder is a temporary directory. An agent that was just stopped may write into it for
// a moment longer, which t.TempDir takes for a failure.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hookback-e2e-") //nolint:usetesting // see above
	require.NoError(t, err)
	t.Cleanup(func() { _ = eventually(func() bool { return os.RemoveAll(dir) == nil }) })
	return dir
}

var bin string // the directory of what was built for all tests

func TestMain(m *testing.M) {
	if os.Getenv("HOOKBACK_E2E_MCP") != "" {
		serveMCP(os.Stdin, os.Stdout)
		return
	}
	status := m.Run()
	if bin != "" {
		_ = os.RemoveAll(bin)
	}
	os.Exit(status)
}

var built = sync.OnceValues(func() (string, error) {
	var err error
	if bin, err = os.MkdirTemp("", "hookback-e2e-"); err != nil {
		return "", err
	}
	program := filepath.Join(bin, "hookback")
	out, err := exec.Command("go", "build", "-o", program, "github.com/hookback/hookback/agentclient/cmd/hookback").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return program, nil
})

// command builds hookback, once.
func command(t *testing.T) string {
	t.Helper()
	program, err := built()
	require.NoError(t, err)
	return program
}

// npm installs an agent from the registry, once for all runs, and returns the path of
// its program: the first that matches the pattern below node_modules. The test is
// skipped where it can't be had. No script of the package's runs.
func npm(t *testing.T, name, version, pattern string) string {
	t.Helper()
	dir := filepath.Join(os.TempDir(), "hookback-e2e-agents", filepath.Base(name)+"-"+version)
	pattern = filepath.Join(dir, "node_modules", filepath.FromSlash(pattern))
	if found, _ := filepath.Glob(pattern); len(found) > 0 {
		return found[0]
	}
	installing.Lock()
	defer installing.Unlock()
	require.NoError(t, os.MkdirAll(dir, 0o700))
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	install := exec.CommandContext(ctx, "npm", "install", "--prefix", dir, "--no-audit", "--no-fund", "--ignore-scripts", name+"@"+version)
	install.Dir = dir
	out, err := install.CombinedOutput()
	if err != nil {
		t.Skipf("%s@%s can't be had from the registry: %v\n%s", name, version, err, out)
	}
	found, _ := filepath.Glob(pattern)
	require.NotEmpty(t, found, "%s is not in %s@%s", pattern, name, version)
	return found[0]
}

var installing sync.Mutex

// env is the environment of an agent: its own home, no way out.
func (p *place) env(more ...string) []string {
	return append([]string{
		"HOME=" + p.home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + p.home, "TERM=xterm-256color", "LANG=C.UTF-8",
		"XDG_CONFIG_HOME=" + p.home + "/.config", "XDG_STATE_HOME=" + p.home + "/.state", "XDG_CACHE_HOME=" + p.home + "/.cache", "XDG_DATA_HOME=" + p.home + "/.data",
		"HTTPS_PROXY=http://127.0.0.1:9", "HTTP_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1",
		"HOOKBACK_URL=" + p.hub.URL(),
	}, more...)
}

// write puts a file below dir.
func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// watch follows the hub as an open page does: a hook waits only where somebody looks.
func (p *place) watch(t *testing.T) {
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

// eventually waits until it is so.
func eventually(is func() bool) bool {
	looks := time.NewTicker(tick)
	defer looks.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-looks.C {
		if is() {
			return true
		}
	}
	return false
}

// get reads from the hub.
func (p *place) get(t *testing.T, path string, into any) {
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

// events are all that the hub has.
func (p *place) events(t *testing.T) []schema.Event {
	t.Helper()
	var all []schema.Event
	p.get(t, schema.PathRecent+"?limit=1000", &all)
	return all
}

// until waits for the first event that is as wanted.
func (p *place) until(t *testing.T, what string, wanted func(*schema.Event) bool) *schema.Event {
	t.Helper()
	var found *schema.Event
	require.Eventually(t, func() bool {
		all := p.events(t)
		for i := range all {
			if wanted(&all[i]) {
				found = &all[i]
				return true
			}
		}
		return false
	}, patience, tick, "no event %s", what)
	return found
}

// question waits for the next question of a hook of that name.
func (p *place) question(t *testing.T, event string) *schema.Event {
	t.Helper()
	return p.until(t, event+" that asks", func(e *schema.Event) bool {
		return e.HookEventType == event && e.HumanInTheLoop != nil && e.HumanInTheLoopStatus.Status == schema.Pending
	})
}

// answer says what a person says on the page.
func (p *place) answer(t *testing.T, e *schema.Event, r schema.Response) {
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

// settled waits until a question has its end.
func (p *place) settled(t *testing.T, id schema.EventID) *schema.Status {
	t.Helper()
	return p.until(t, "with an end", func(e *schema.Event) bool { return e.ID == id && e.HumanInTheLoopStatus.Settled() }).HumanInTheLoopStatus
}

func permission(yes bool, reason string) schema.Response {
	return schema.Response{Permission: &yes, Reason: reason}
}
