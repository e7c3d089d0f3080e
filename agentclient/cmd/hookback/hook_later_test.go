package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/hubtest"
)

// laterClient runs the installed hook of an agent on a machine whose policy asks about rm without blocking.
type laterClient struct {
	*testMachine
	hub   *hubtest.Hub
	owner http.Header
}

func newLaterClient(t *testing.T) *laterClient {
	t.Helper()
	d := &laterClient{testMachine: newTestMachine(t), hub: hubtest.Start(t)}
	d.owner = d.hub.Owner("ada")
	d.do(http.MethodPost, schema.PathLock, `{"locked":false}`) // the hooks have no token
	d.env["HOOKBACK_URL"] = d.hub.URL()
	require.Equal(t, 0, d.run("install", "--agent", "claude", "--hub", d.hub.URL()).status)
	writePolicy(t, filepath.Join(d.home, ".config", "hookback"),
		`{"rules": [{"tool": "Bash", "when": {"command": {"runs": "rm"}}, "then": "later", "reason": "Deletes."}]}`)
	return d
}

// call returns the output of the hook before a shell command of a session.
func (d *laterClient) call(session, command string) string {
	d.t.Helper()
	return d.callIn(d.project(), session, command)
}

func (d *laterClient) callIn(cwd, session, command string) string {
	d.t.Helper()
	return d.hook("PreToolUse", fmt.Sprintf(`{"session_id":%q,"hook_event_name":"PreToolUse","cwd":%q,"tool_name":"Bash","tool_input":{"command":%q}}`,
		session, cwd, command))
}

// hook returns the output of the hook of an event.
func (d *laterClient) hook(event, stdin string) string {
	d.t.Helper()
	entry := d.installedEntry("claude-code", event)
	input := filepath.Join(d.home, "input.json")
	require.NoError(d.t, os.WriteFile(input, []byte(stdin), 0o600))
	// A process of its own plays the agent: the hub takes no answer from the process that started the hook.
	output := filepath.Join(d.home, "output.json")
	d.env["TEST_AGENT_INPUT"], d.env["TEST_AGENT_OUTPUT"] = input, output
	d.env["TEST_AGENT_COMMAND"] = "'" + strings.Join(entry.Argv, "' '") + "'"
	require.Equal(d.t, 0, d.exec("", os.Args[0]).status)
	printed, err := os.ReadFile(output)
	require.NoError(d.t, err)
	return string(printed)
}

// pending returns the newest request that waits.
func (d *laterClient) pending() schema.Event {
	d.t.Helper()
	var all []schema.Event
	require.NoError(d.t, getJSON(d.t, d.hub.URL()+schema.PathRecent, &all))
	for i := len(all) - 1; i >= 0; i-- {
		if s := all[i].HumanInTheLoopStatus; s != nil && s.Status == schema.Pending {
			return all[i]
		}
	}
	require.Fail(d.t, "no request waits")
	return schema.Event{}
}

func (d *laterClient) respond(id schema.EventID, body string) {
	d.t.Helper()
	d.do(http.MethodPost, schema.At(schema.PathRespond, id), body)
}

// do sends a request of the owner, whose process has nothing to do with the agent's.
func (d *laterClient) do(method, path, body string) {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.ctx, method, d.hub.URL()+path, strings.NewReader(body))
	require.NoError(d.t, err)
	req.Header = d.owner.Clone()
	req.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(req)
	require.NoError(d.t, err)
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	require.NoError(d.t, err)
	require.Equal(d.t, http.StatusOK, response.StatusCode, string(answer))
}

const deniedCall = `"permissionDecision":"deny"`

func TestHookLater_ApprovedCallRunsOnce(t *testing.T) {
	t.Parallel()
	d := newLaterClient(t)
	out := d.call("s", "rm -r build")
	asked := d.pending()
	require.Contains(t, out, deniedCall)
	require.Contains(t, out, fmt.Sprintf("A person was asked (request %d). Continue with other work.", asked.ID))
	require.True(t, asked.HumanInTheLoop.Appeal.Later)
	require.Equal(t, "Deletes.", asked.HumanInTheLoop.Appeal.Reason)
	require.False(t, asked.HumanInTheLoop.ToolCall.Editable)
	require.NotContains(t, d.call("s", "ls"), "permissionDecision", "the agent does other work")
	repeated := d.call("s", "rm -r build")
	require.Contains(t, repeated, deniedCall)
	require.Contains(t, repeated, fmt.Sprintf("A person was asked (request %d). No one has answered yet.", asked.ID))
	require.Equal(t, asked.ID, d.pending().ID, "there is one request")
	for _, event := range []string{"Stop", "UserPromptSubmit"} { // the end of a turn ends no request without which it went on
		d.hook(event, fmt.Sprintf(`{"session_id":"s","hook_event_name":%q,"cwd":%q}`, event, d.project()))
	}
	require.Equal(t, asked.ID, d.pending().ID)

	d.respond(asked.ID, `{"permission":true}`)
	require.Contains(t, d.call("s", "ls"), fmt.Sprintf("Request %d was approved: run exactly the same call again now.", asked.ID))
	require.Contains(t, d.call("other", "rm -r build"), deniedCall, "another session")
	require.Contains(t, d.call("s", "rm -r build/x"), deniedCall, "other arguments")
	require.Contains(t, d.callIn(t.TempDir(), "s", "rm -r build"), deniedCall, "another directory")
	require.Contains(t, d.call("s", "rm -r build"), `"permissionDecision":"allow"`)
	require.Contains(t, d.call("s", "rm -r build"), deniedCall, "a second time")
}

func TestHookLater_DeniedCallDoesNotRun(t *testing.T) {
	t.Parallel()
	d := newLaterClient(t)
	d.call("s", "rm -r build")
	asked := d.pending()
	d.respond(asked.ID, `{"permission":false,"reason":"Keep it."}`)
	require.Contains(t, d.call("s", "ls"), fmt.Sprintf("Request %d was denied: do not run that call. Keep it.", asked.ID))
	require.Contains(t, d.call("s", "rm -r build"), deniedCall)

	d.hub.Stop()
	require.NotContains(t, d.call("s", "rm -r build"), `"permissionDecision":"allow"`, "without a hub no one can be asked")
}

// An approval counts only if the hook's own command line names the hub. Otherwise the agent waits for the person, because
// the approval of a later call would be used up in vain.
func TestHookLater_WaitsWithoutAddress(t *testing.T) {
	t.Parallel()
	d := newLaterClient(t)
	settings := filepath.Join(d.home, ".claude", "settings.json")
	text, err := os.ReadFile(settings)
	require.NoError(t, err)
	without := regexp.MustCompile(`,\s*"--hub",\s*"[^"]*"`).ReplaceAll(text, nil)
	require.NoError(t, os.WriteFile(settings, without, 0o600))
	require.NotContains(t, d.installedEntry("claude-code", "PreToolUse").Argv, "--hub")
	require.Contains(t, d.call("s", "rm -r build"), `"permissionDecision":"ask"`, "its own prompt asks")
}
