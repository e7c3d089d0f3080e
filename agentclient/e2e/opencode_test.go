package e2e_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// opencode is an OpenCode server without its terminal.
type opencode struct {
	*testEnv
	url     string
	session string
}

// startOpenCode starts OpenCode with our plugin, configured to ask before every command and
// edit.
func startOpenCode(t *testing.T, m *model) *opencode {
	t.Helper()
	p := newTestEnv(t)
	writeFile(t, p.home, ".config/opencode/opencode.json", `{
	"$schema": "https://opencode.ai/config.json", "autoupdate": false, "share": "disabled",
	"permission": {"bash": "ask", "edit": "ask", "question": "allow"},
	"provider": {"mock": {"npm": "@ai-sdk/anthropic", "name": "Mock", "options": {"baseURL": "`+m.url+`/v1", "apiKey": "none"},
		"models": {"m": {"name": "m", "tool_call": true, "limit": {"context": 100000, "output": 4000}}}}},
	"model": "mock/m", "small_model": "mock/m"}`)
	p.installHooks(t, "opencode")
	cmd := exec.CommandContext(p.ctx, agentProgram(t, "opencode"), "serve", "--hostname", "127.0.0.1", "--port", "0")
	cmd.Dir, cmd.Env = p.project, p.env("OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1",
		"npm_config_registry="+m.url) // an empty registry, because OpenCode would wait for an unreachable one
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = &testLog{t: t}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	o := &opencode{testEnv: p}
	lines := bufio.NewScanner(stdout)
	for o.url == "" && lines.Scan() {
		t.Log(lines.Text())
		if _, url, ok := strings.Cut(lines.Text(), "listening on "); ok {
			o.url = strings.TrimSpace(url)
		}
	}
	require.NotEmpty(t, o.url, "OpenCode did not start its server")
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	return o
}

type testLog struct{ t *testing.T }

func (l *testLog) Write(b []byte) (int, error) {
	l.t.Logf("%s", bytes.TrimSpace(b))
	return len(b), nil
}

func (o *opencode) post(t *testing.T, path, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(o.ctx, http.MethodPost, o.url+path, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Less(t, res.StatusCode, 300, "%s: %s", path, text)
	return string(text)
}

// prompt starts the model's turns. done is closed after the last one.
func (o *opencode) prompt(t *testing.T) (done chan struct{}) {
	t.Helper()
	var session struct {
		ID string `json:"id"`
	}
	require.NoError(t, json.Unmarshal([]byte(o.post(t, "/session", `{"title":"Traces"}`)), &session))
	o.session = session.ID
	done = make(chan struct{})
	go func() {
		defer close(done)
		o.post(t, "/session/"+session.ID+"/message", `{"model":{"providerID":"mock","modelID":"m"},"parts":[{"type":"text","text":"Go"}]}`)
	}()
	return done
}

func opencodeBash(file string) turn {
	return turn{tool: "bash", input: `{"command":"echo ran > ` + file + `","description":"Leave a trace"}`}
}

func TestOpenCode_AnswersFromPage(t *testing.T) {
	t.Parallel()
	m := newModel(t, opencodeBash("yes.txt"), opencodeBash("no.txt"), turn{tool: "question", input: `{"questions":[
		{"question":"Which database?","header":"Database","options":[{"label":"PostgreSQL","description":"As today"},{"label":"SQLite","description":"One file"}]}]}`})
	o := startOpenCode(t, m)
	done := o.prompt(t)

	yes := o.waitForQuestion(t, "PermissionRequest")
	require.JSONEq(t, `{"command":"echo ran > yes.txt","description":"Leave a trace"}`, string(yes.HumanInTheLoop.ToolCall.Arguments))
	o.answer(t, yes, permission(true, ""))
	o.answer(t, o.waitForQuestion(t, "PermissionRequest"), permission(false, "Leave no.txt alone."))
	which := o.waitForQuestion(t, "PermissionRequest")
	require.True(t, o.hasFile("yes.txt"), "the approved call ran")
	require.False(t, o.hasFile("no.txt"), "the denied call did not run")
	require.Contains(t, m.toolResults(), "Leave no.txt alone.", "the model gets the reason")
	o.answer(t, which, schema.Response{Answers: map[string]json.RawMessage{"1": json.RawMessage(`"SQLite"`)}})
	<-done
	require.Contains(t, m.toolResults(), "SQLite")
	o.waitForEvent(t, "that the session stopped", func(e *schema.Event) bool { return e.HookEventType == "Stop" && e.Agent == "opencode" })
	o.waitForEvent(t, "of what ran", func(e *schema.Event) bool { return e.HookEventType == "PostToolUse" && e.ToolName == "bash" })
}

// If OpenCode's own prompt is answered first, the question is withdrawn.
func TestOpenCode_LocalPromptWithdrawsQuestion(t *testing.T) {
	t.Parallel()
	m := newModel(t, opencodeBash("yes.txt"))
	o := startOpenCode(t, m)
	done := o.prompt(t)
	asked := o.waitForQuestion(t, "PermissionRequest")
	var payload struct {
		Properties struct {
			ID string `json:"id"`
		} `json:"properties"`
	}
	require.NoError(t, json.Unmarshal(asked.Payload, &payload))
	o.post(t, "/permission/"+payload.Properties.ID+"/reply", `{"reply":"once"}`)
	<-done
	require.True(t, o.hasFile("yes.txt"))
	require.Equal(t, schema.Withdrawn, o.waitForSettled(t, asked.ID).Outcome)
}
