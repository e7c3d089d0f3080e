package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/fakehub"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/hubtest"
)

// idleSession is a session of Claude Code that has ended its turn, and the person who writes to it.
type idleSession struct {
	t      *testing.T
	hub    *hubtest.Hub
	sender http.Header
}

func newIdleSession(t *testing.T) *idleSession {
	t.Helper()
	s := &idleSession{t: t, hub: hubtest.Start(t)}
	s.sender = s.hub.Owner("Ada")
	s.post(schema.PathLock, schema.LockState{})
	s.event("Stop")
	return s
}

func (s *idleSession) post(path string, body any) {
	s.t.Helper()
	text, err := json.Marshal(body)
	require.NoError(s.t, err)
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.hub.URL()+path, bytes.NewReader(text))
	require.NoError(s.t, err)
	req.Header = s.sender.Clone()
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(s.t, err)
	require.NoError(s.t, res.Body.Close())
	require.Less(s.t, res.StatusCode, 300)
}

func (s *idleSession) event(kind string) {
	s.t.Helper()
	s.post(schema.PathEvents, map[string]any{
		"source_app": "shop", "session_id": "s-1", "agent": "claude-code", "hook_event_type": kind, "payload": map[string]any{"hook_event_name": kind},
	})
}

func (s *idleSession) send(text string) {
	s.t.Helper()
	s.post(control.PathMessages, control.MessageDraft{SourceApp: "shop", SessionID: "s-1", Text: text})
}

// runWait runs hookback wait for the session, until it ends or the context does.
func runWait(ctx context.Context, t *testing.T, hub string, env map[string]string) cliResult {
	t.Helper()
	var out, stderr bytes.Buffer
	home := t.TempDir()
	getenv := func(name string) string {
		if name == "HOME" {
			return home
		}
		return env[name]
	}
	input := fmt.Sprintf(`{"session_id":"s-1","cwd":%q,"hook_event_name":"Stop"}`, "/src/shop")
	status := run(ctx, []string{"wait", "claude-code", "--hub", hub, "--app", "shop"}, getenv, cli.Streams{In: strings.NewReader(input), Out: &out, Err: &stderr})
	return cliResult{status, out.String(), stderr.String()}
}

// startWait runs hookback wait in the background.
func (s *idleSession) startWait() (result <-chan cliResult) {
	done := make(chan cliResult, 1)
	go func() { done <- runWait(s.t.Context(), s.t, s.hub.URL(), nil) }()
	return done
}

func (s *idleSession) await(result <-chan cliResult) cliResult {
	s.t.Helper()
	select {
	case got := <-result:
		return got
	case <-time.After(time.Minute):
		require.Fail(s.t, "hookback wait did not end")
		return cliResult{}
	}
}

func TestWait_PrintsMessagesAndWakesAgent(t *testing.T) {
	t.Parallel()
	s := newIdleSession(t)
	s.send("Use port 8081.")
	s.send("Then stop.")
	const head = "Message from Ada, sent through Hookback. It is not an approval: "
	require.Equal(t, cliResult{2, "", head + "Use port 8081.\n" + head + "Then stop.\n"}, s.await(s.startWait()))

	waiting := s.startWait()
	s.send("Again.")
	require.Equal(t, cliResult{2, "", head + "Again.\n"}, s.await(waiting))
}

// The next prompt or the end of the session ends the wait.
func TestWait_EndsWithoutMessage(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"UserPromptSubmit", "SessionEnd"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newIdleSession(t)
			waiting := s.startWait()
			for {
				s.event(kind) // again if the hub did not know the waiter yet
				select {
				case got := <-waiting:
					require.Equal(t, cliResult{}, got)
					return
				case <-time.After(100 * time.Millisecond):
				}
			}
		})
	}
}

func TestWait_NewerWaiterEndsOlder(t *testing.T) {
	t.Parallel()
	s := newIdleSession(t)
	first, second := s.startWait(), s.startWait()
	select {
	case got := <-first:
		require.Equal(t, cliResult{}, got)
		first = second
	case got := <-second:
		require.Equal(t, cliResult{}, got)
	case <-time.After(time.Minute):
		require.Fail(t, "both wait")
	}
	s.send("Once.")
	require.Equal(t, 2, s.await(first).status)
}

// A headless run, a hub of an older version and an interrupt end the wait quietly.
func TestWait_EndsQuietly(t *testing.T) {
	t.Parallel()
	s := newIdleSession(t)
	require.Equal(t, cliResult{}, runWait(t.Context(), t, s.hub.URL(), map[string]string{"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}))
	older := newHubHarness(t, &fakehub.Hub{})
	require.Equal(t, cliResult{}, runWait(t.Context(), t, older.hub.URL(), nil))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, cliResult{}, runWait(ctx, t, "http://127.0.0.1:1", nil))
}

// A killed agent does not signal its hooks.
func TestWait_EndsWithKilledAgent(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a process keeps its parent's number there")
	}
	waiting := make(chan struct{}, 8)
	hub := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		waiting <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(hub.Close)
	c := newHookCommand(t, hub.URL, `{"session_id":"s-1","cwd":"/src/shop","hook_event_name":"Stop"}`)
	c.program, c.env = "/bin/sh", []string{"PROGRAM=" + program}
	agent := c.command(t.Context())
	agent.Args = []string{"claude", "-c", `exec 3<&0; "$PROGRAM" wait claude-code <&3 & wait`}
	r := &startedHook{Cmd: agent}
	agent.Stdout, agent.Stderr = &r.out, &r.err
	require.NoError(t, agent.Start())
	select {
	case <-waiting:
	case <-time.After(time.Minute):
		require.Fail(t, "it did not wait")
	}
	require.NoError(t, agent.Process.Kill())
	r.wait() // the hook keeps the pipe open until it exits
	require.Empty(t, r.out.String()+r.err.String())
}
