package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/internal/cli/clitest"
	"github.com/hookback/hookback/agentclient/internal/cli/report"
	"github.com/hookback/hookback/agentclient/internal/fakehub"
	"github.com/hookback/hookback/schema"
)

// The tests in this file run the real binary like an agent does, and check its output streams
// and its exit status. Most of the faulty hubs hold the connection until the test ends, so the
// exit of the hook proves that it did not wait for them.
const (
	stopEvent = `{"session_id":"s1","hook_event_name":"Stop","cwd":"/w"}`
	allowed   = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`
	denied    = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"not today"}}}`
)

func TestHook_ReportsEventToHub(t *testing.T) {
	t.Parallel()
	hub := clitest.StartHub(t, nil)
	c := newHookCommand(t, hub.URL(), "")
	require.Equal(t, noOutput, c.runInTime(t, "\ufeff"+readSample(t, "claude-code-PostToolUse-Bash")+"\n"))
	require.Len(t, hub.Events(), 1)
	e := hub.Events()[0]
	require.Equal(t, "PostToolUse", e.HookEventType)
	require.Equal(t, "claude-code", e.Agent)
	require.Equal(t, filepath.Base(c.home), e.SourceApp, "CLAUDE_PROJECT_DIR names the project")
	require.Equal(t, hook.CallKey(&e.Event), e.IdempotencyKey)
	require.Equal(t, strings.TrimSpace(readSample(t, "claude-code-PostToolUse-Bash")), string(e.Payload), "the payload is stdin, untouched")
	require.InDelta(t, time.Now().UnixMilli(), int64(e.Timestamp), 600_000)
	require.Empty(t, c.log())
	require.NoDirExists(t, c.stateDir(), "a successful hook writes no files")
}

// A faulty hub does not delay the agent when no decision is needed, and the event is kept.
func TestHook_FaultyHubKeepsEvent(t *testing.T) {
	t.Parallel()
	discard := func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }
	for name, test := range map[string]struct {
		hub  string
		kept int
	}{
		"down":          {clitest.ClosedHubURL(t), 1},
		"never answers": {clitest.StartRawListener(t, nil), 1},
		"only listens":  {clitest.StartRawListener(t, discard), 1},
		"closes":        {clitest.StartRawListener(t, func(c net.Conn) { _ = c.Close() }), 1},
		"trickles": {clitest.StartRawListener(t, func(c net.Conn) {
			ticker := time.NewTicker(20 * time.Millisecond)
			defer ticker.Stop()
			for range ticker.C {
				if _, err := io.WriteString(c, "H"); err != nil {
					return
				}
			}
		}), 1},
		"other protocol": {clitest.StartRawListener(t, func(c net.Conn) { _, _ = io.WriteString(c, "220 mail ESMTP\r\n"); discard(c) }), 1},
		"endless headers": {clitest.StartRawListener(t, func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			for {
				if _, err := io.WriteString(c, "X-Y: "+strings.Repeat("z", 4000)+"\r\n"); err != nil {
					return
				}
			}
		}), 1},
		"500":               {clitest.StartHub(t, clitest.RespondWith(500, "application/problem+json", `{}`)).URL(), 1},
		"503":               {clitest.StartHub(t, clitest.RespondWith(503, "text/plain", `busy`)).URL(), 1},
		"HTML page":         {clitest.StartHub(t, clitest.RespondWith(200, "text/html", `<h1>Welcome</h1>`)).URL(), 1},
		"HTML not found":    {clitest.StartHub(t, clitest.RespondWith(404, "text/html", `<h1>404</h1>`)).URL(), 1},
		"invalid JSON":      {clitest.StartHub(t, clitest.RespondWith(200, "application/json", `hello`)).URL(), 1},
		"empty body":        {clitest.StartHub(t, clitest.RespondWith(200, "application/json", ``)).URL(), 1},
		"redirect":          {clitest.StartHub(t, clitest.RespondWith(302, "text/html", ``)).URL(), 1},
		"rejects the event": {clitest.StartHub(t, clitest.RespondWith(400, "application/problem+json", `{"code":"invalid"}`)).URL(), 0},
		"invalid address":   {"ftp://x", 1},
		"second of two":     {clitest.ClosedHubURL(t) + "," + clitest.StartHub(t, nil).URL(), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newHookCommand(t, test.hub, stopEvent)
			if test.kept == 0 {
				require.Equal(t, noOutput, c.runInTime(t, stopEvent))
				return
			}
			require.Equal(t, noOutput, c.run(t))
			require.Equal(t, test.kept, c.spooledEvents())
		})
	}
}

// The agent gets no output for invalid input.
func TestHook_InvalidInputIsSilent(t *testing.T) {
	t.Parallel()
	hub := clitest.StartHub(t, nil)
	for name, stdin := range map[string]string{
		"empty":       "",
		"truncated":   stopEvent[:20],
		"two values":  stopEvent + stopEvent,
		"null":        "null",
		"list":        "[]",
		"string":      `"x"`,
		"text":        "hello",
		"binary":      string([]byte{0, 1, 2, 0xff, 0xfe}),
		"deep":        strings.Repeat("[", 1<<20),
		"no event":    `{"session_id":"s1"}`,
		"other types": `{"session_id":7,"hook_event_name":["PermissionRequest"],"tool_name":{}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newHookCommand(t, hub.URL(), stdin)
			require.Equal(t, noOutput, c.run(t))
			require.Contains(t, c.log(), "hook claude-code: parse input: ")
			require.Empty(t, hub.Events())
		})
	}
}

func TestHook_InvalidFlagsAreLogged(t *testing.T) {
	t.Parallel()
	for note, args := range map[string][]string{
		"hook takes one agent name":          {},
		`unknown agent "nonsense"`:           {"nonsense"},
		"flag provided but not defined: -no": {"claude-code", "--no"},
		"--on-unreachable \"maybe\"":         {"claude-code", "--on-unreachable", "maybe"},
		`invalid value "x" for flag -limit`:  {"claude-code", "--limit", "x"},
		"not [\"claude-code\" \"x\"]":        {"claude-code", "x"},
	} {
		c := newHookCommand(t, clitest.ClosedHubURL(t), stopEvent)
		c.args = args
		require.Equal(t, noOutput, c.run(t), args)
		require.Contains(t, c.log(), note, args)
	}
}

// A call of any size is reported and left to the agent's own prompt.
func TestHook_TruncatesHugeInput(t *testing.T) {
	t.Parallel()
	hub := clitest.StartHub(t, nil)
	input := `{"session_id":"s1","hook_event_name":"PermissionRequest","tool_name":"Write","tool_input":{"file_path":"/w/a","content":"` +
		strings.Repeat(`\u00e4\n`, 2<<20) + `"}}`
	c := newHookCommand(t, hub.URL(), input)
	require.Equal(t, noOutput, c.run(t))
	c.deliverSpooled()
	require.Len(t, hub.Events(), 1)
	e := hub.Events()[0]
	require.Nil(t, e.HumanInTheLoop, "no one can decide a truncated call")
	require.Equal(t, "Write", e.ToolName)
	require.Less(t, len(e.Payload), 64<<10)
	require.Contains(t, string(e.Payload), "hookback left out")
}

// Some agents leave their end of the pipe open. The hook exits although the pipe is open.
func TestHook_StdinThatStaysOpen(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		stdin  string
		events int
	}{"complete": {stopEvent, 1}, "incomplete": {stopEvent[:20], 0}, "empty": {"", 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := clitest.StartHub(t, nil)
			c := newHookCommand(t, hub.URL(), "")
			r, w, err := os.Pipe()
			require.NoError(t, err)
			defer w.Close()
			defer r.Close()
			c.stdin = r
			_, err = io.WriteString(w, test.stdin)
			require.NoError(t, err)
			require.Equal(t, noOutput, c.run(t))
			c.deliverSpooled()
			require.Len(t, hub.Events(), test.events)
		})
	}
}

func TestHook_ClosedStdoutExitsCleanly(t *testing.T) {
	t.Parallel()
	hub := clitest.StartHub(t, nil)
	c := newHookCommand(t, hub.URL(), readSample(t, "claude-code-PermissionRequest-Bash"))
	cmd := c.command(t.Context())
	r, w, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stdout = w
	require.NoError(t, cmd.Start())
	require.NoError(t, w.Close())
	require.NoError(t, r.Close())
	q, err := hub.Question(t.Context(), 1)
	require.NoError(t, err)
	ack, err := q.Push(t.Context(), schema.Answer{Permission: ptr(true)})
	require.NoError(t, err)
	require.Equal(t, schema.AckAccepted, ack.Result)
	require.NoError(t, cmd.Wait(), "exit status 0, not a signal")
}

func TestHook_UnwritableHomeIsSilent(t *testing.T) {
	t.Parallel()
	for name, breakHome := range map[string]func(c *hookCommand){
		"file in its place": func(c *hookCommand) { require.NoError(t, os.WriteFile(filepath.Join(c.home, ".local"), nil, 0o600)) },
		"read-only":         func(c *hookCommand) { require.NoError(t, os.Chmod(c.home, 0o500)) }, // no effect for root
		"none":              func(c *hookCommand) { c.env = []string{"HOME="} },
		"relative":          func(c *hookCommand) { c.env = []string{"HOME=", "XDG_STATE_HOME=state"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newHookCommand(t, clitest.ClosedHubURL(t), stopEvent)
			breakHome(c)
			require.Equal(t, noOutput, c.run(t))
			c.stdin = strings.NewReader("not JSON")
			require.Equal(t, noOutput, c.run(t))
			require.NoFileExists(t, filepath.Join(c.home, "state"))
		})
	}
}

func TestHook_PanicIsLoggedAndSilent(t *testing.T) {
	t.Parallel()
	hub := clitest.StartHub(t, nil)
	self, err := os.Executable()
	require.NoError(t, err)
	for _, stdin := range []string{"read", readSample(t, "claude-code-PermissionRequest-Bash")} {
		c := newHookCommand(t, hub.URL(), stdin)
		c.program, c.args, c.env = self, []string{"panics", "--observe"}, []string{"TEST_PANICKING_HOOK=1", "GORACE=atexit_sleep_ms=0"}
		require.Equal(t, noOutput, c.run(t))
		require.Contains(t, c.log(), "hook panics: panic: in ")
		require.Contains(t, c.log(), "goroutine")
	}
}

func TestHook_PrintsAnswer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer schema.Answer
		want   string
	}{
		"approved": {schema.Answer{Permission: ptr(true)}, allowed},
		"denied":   {schema.Answer{Permission: ptr(false), Reason: "not today", Guidance: ""}, strings.Replace(denied, `today"`, `today\nA person denied this. Nothing was run. Do not try to achieve the same result another way."`, 1)},
		"edited": {
			schema.Answer{Permission: ptr(true), ModifiedArguments: json.RawMessage(`{"command":"ls"}`)},
			strings.Replace(allowed, `"allow"`, `"allow","updatedInput":{"command":"ls"}`, 1),
		},
		"timeout of hub": {schema.Answer{Permission: ptr(false), Outcome: schema.Timeout}, ""},
		"mismatch":       {schema.Answer{Response: ptr("yes")}, ""},
		"cancelled":      {schema.Answer{Permission: ptr(false), Outcome: schema.Cancelled, Source: schema.ByCancel}, ""},
		"at agent":       {schema.Answer{Permission: ptr(false), Outcome: schema.Cancelled, Source: schema.ByAgent}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := clitest.StartHub(t, nil)
			c := newHookCommand(t, hub.URL(), readSample(t, "claude-code-PermissionRequest-Bash"), "--limit", "65s")
			r := c.start(t, t.Context())
			q, err := hub.Question(t.Context(), 1)
			require.NoError(t, err)
			require.Equal(t, "PermissionRequest", q.HookEventType)
			require.True(t, q.HumanInTheLoop.Lifeline)
			require.True(t, q.HumanInTheLoop.AlsoAsked, "Claude Code's own dialog is also open")
			require.InDelta(t, 60, *q.HumanInTheLoop.Timeout, 30, "five seconds before the agent kills the hook, less the start of the process")
			_, err = q.Push(t.Context(), test.answer)
			require.NoError(t, err)
			got := r.wait()
			require.Equal(t, cliResult{0, test.want, ""}, got)
			require.Len(t, hub.Events(), 1, "the event is sent once, with the question")
		})
	}
}

// A hub that starts while the agent's prompt is open gets the question, and the events of the
// meantime: they show whether the call has been decided in the terminal.
func TestHook_HubStartsWhilePromptIsOpen(t *testing.T) {
	t.Parallel()
	hub := clitest.StartHub(t, nil)
	hub.Stop()
	c := newHookCommand(t, hub.URL(), readSample(t, "claude-code-PermissionRequest-Bash"))
	r := c.start(t, t.Context())
	meantime := newHookCommand(t, hub.URL(), readSample(t, "claude-code-PostToolUse-Bash"))
	meantime.home = c.home
	require.Equal(t, noOutput, meantime.run(t))
	require.Equal(t, 1, c.spooledEvents())
	require.NoError(t, hub.Start())
	q, err := hub.Question(t.Context(), 1)
	require.NoError(t, err)
	require.True(t, q.HumanInTheLoop.AlsoAsked)
	require.Eventually(t, func() bool { return len(hub.Events()) == 2 && c.spooledEvents() == 0 }, time.Minute, 10*time.Millisecond, "the spool is sent at once")
	require.Equal(t, "PostToolUse", hub.Events()[1].HookEventType)
	_, err = q.Push(t.Context(), schema.Answer{Permission: ptr(true)})
	require.NoError(t, err)
	require.Equal(t, cliResult{0, allowed, ""}, r.wait())
}

// A hub that restarts while the question is pending gets the events of the meantime as well.
func TestHook_FlushesSpoolAfterHubRestart(t *testing.T) {
	t.Parallel()
	polls := make(chan struct{}, 100)
	hub := clitest.StartHub(t, func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/response") {
			polls <- struct{}{}
		}
		return false
	})
	c := newHookCommand(t, hub.URL(), readSample(t, "claude-code-PermissionRequest-Bash"))
	r := c.start(t, t.Context())
	q, err := hub.Question(t.Context(), 1)
	require.NoError(t, err)
	<-polls
	hub.Stop()
	meantime := newHookCommand(t, hub.URL(), readSample(t, "claude-code-PostToolUse-Bash"))
	meantime.home = c.home
	require.Equal(t, noOutput, meantime.run(t))
	require.NoError(t, hub.Start())
	require.Eventually(t, func() bool { return len(hub.Events()) == 2 && c.spooledEvents() == 0 }, time.Minute, 10*time.Millisecond)
	q.Decide(q.Frame(schema.Answer{Permission: ptr(true)}))
	require.Equal(t, cliResult{0, allowed, ""}, r.wait())
}

// The hub stops while the question is pending and has the answer when it is back.
func TestHook_PullsAnswerAfterHubRestart(t *testing.T) {
	t.Parallel()
	hub := clitest.StartHub(t, nil)
	c := newHookCommand(t, hub.URL(), readSample(t, "claude-code-PermissionRequest-Bash"))
	r := c.start(t, t.Context())
	q, err := hub.Question(t.Context(), 1)
	require.NoError(t, err)
	hub.Stop()
	q.Decide(q.Frame(schema.Answer{Permission: ptr(true)}))
	require.NoError(t, hub.Start())
	got := r.wait()
	require.Equal(t, cliResult{0, allowed, ""}, got)
}

func TestHook_UnreachableHubUsesFallback(t *testing.T) {
	t.Parallel()
	request := readSample(t, "claude-code-PermissionRequest-Bash")
	for name, test := range map[string]struct {
		flags []string
		want  string // part of it
	}{
		"agent prompt": {[]string{"--limit", "1s"}, ""}, // until then it waits for a hub
		"deny":         {[]string{"--on-unreachable", "deny"}, `"behavior":"deny","message":"No Hookback hub answers at `},
		"allow":        {[]string{"--on-unreachable", "allow"}, `"behavior":"allow"`},
		"ask":          {[]string{"--on-unreachable=ask", "--limit", "1s"}, ""},
		"fail the run": {[]string{"--on-timeout=fail_run", "--limit", "1s"}, ""}, // no one was asked
		"observe":      {[]string{"--observe", "--on-unreachable=deny"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newHookCommand(t, clitest.ClosedHubURL(t), request, test.flags...)
			got := c.run(t)
			require.Contains(t, got.out, test.want)
			require.Equal(t, cliResult{0, got.out, ""}, got)
			require.Equal(t, test.want == "", got.out == "")
			require.Equal(t, 1, c.spooledEvents(), "a later hook reports the event")
		})
	}
}

// Without an open dashboard, waiting would only delay the agent.
func TestHook_NoDashboardUsesFallback(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		env   []string
		flags []string
		want  string
		waits bool
	}{
		"headless":        {[]string{"CLAUDE_CODE_ENTRYPOINT=sdk-cli"}, nil, "", false},
		"subagent":        {nil, nil, "", false},
		"subagent, allow": {nil, []string{"--on-unreachable", "allow"}, "", false},
		"subagent, deny":  {nil, []string{"--on-unreachable", "deny"}, "", false},
		"headless, deny":  {[]string{"CLAUDE_CODE_ENTRYPOINT=sdk-cli"}, []string{"--on-unreachable", "deny"}, "No one has the dashboard of the Hookback hub open", false},
		"agent prompt":    {nil, nil, allowed, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := clitest.StartHub(t, nil)
			hub.Watching = ptr(0)
			input := readSample(t, "claude-code-PermissionRequest-Bash")
			if strings.HasPrefix(name, "subagent") {
				input = asSubagent(input)
			}
			c := newHookCommand(t, hub.URL(), input, test.flags...)
			c.env = test.env
			r := c.start(t, t.Context())
			q, err := hub.Question(t.Context(), 1)
			require.NoError(t, err)
			require.Equal(t, test.waits, q.HumanInTheLoop.AlsoAsked, "a headless agent has no prompt")
			if test.waits {
				_, err = q.Push(t.Context(), schema.Answer{Permission: ptr(true)})
				require.NoError(t, err)
			}
			got := r.wait()
			require.Contains(t, got.out, test.want)
			require.Equal(t, cliResult{0, got.out, ""}, got)
			if !test.waits {
				require.Contains(t, q.Withdrawal.Reason, "no one had the dashboard open")
			}
		})
	}
}

func TestHook_FullSpoolDropsOldest(t *testing.T) {
	t.Parallel()
	c := newHookCommand(t, clitest.ClosedHubURL(t), stopEvent)
	dir := filepath.Join(c.stateDir(), "spool")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	for i := range report.MaxFiles {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%013d-0-2.json", i)), []byte("{}"), 0o600))
	}
	require.Equal(t, noOutput, c.run(t))
	require.Equal(t, report.MaxFiles, c.spooledEvents())
	require.NoFileExists(t, filepath.Join(dir, "0000000000000-0-2.json"), "the oldest is dropped")
}

func TestHook_OwnDeadlineWithdrawsQuestion(t *testing.T) {
	t.Parallel()
	hub := clitest.StartHub(t, nil) // the fake hub has no clock and never reports a timeout
	c := newHookCommand(t, hub.URL(), readSample(t, "claude-code-PermissionRequest-Bash"), "--limit", "4s", "--on-unreachable", "deny")
	got := c.run(t)
	require.Contains(t, got.out, `"message":"No one answered in time. Nothing was approved."`)
	require.Equal(t, cliResult{0, got.out, ""}, got)
	q := hub.Events()[0]
	require.Positive(t, *q.HumanInTheLoop.Timeout)
	require.LessOrEqual(t, *q.HumanInTheLoop.Timeout, 2.0, "half of the agent's limit, less the start of the process")
	require.Equal(t, "the agent stopped waiting at its own deadline", q.Withdrawal.Reason)
}

func TestHook_SignalWithdrawsQuestion(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		hub := clitest.StartHub(t, nil)
		c := newHookCommand(t, hub.URL(), readSample(t, "claude-code-PermissionRequest-Bash"), "--on-unreachable", "deny")
		r := c.start(t, t.Context())
		q, err := hub.Question(t.Context(), 1)
		require.NoError(t, err)
		require.NoError(t, r.Process.Signal(signal))
		got := r.wait()
		require.Equal(t, noOutput, got, "the agent discards any output")
		require.Equal(t, schema.Cancel{Reason: "dismissed in the agent", RequestSecret: "secret-1"}, q.Withdrawal)
	}
}

// OpenCode's plugin ends the hook when its own prompt was answered. No one dismissed it.
func TestHook_OpenCodeAnswersAtItsOwnPrompt(t *testing.T) {
	t.Parallel()
	hub := clitest.StartHub(t, nil)
	c := newHookCommand(t, hub.URL(), readSample(t, "opencode-permission.asked"))
	c.args[0] = "opencode"
	r := c.start(t, t.Context())
	q, err := hub.Question(t.Context(), 1)
	require.NoError(t, err)
	require.NoError(t, r.Process.Signal(syscall.SIGTERM))
	require.Equal(t, noOutput, r.wait())
	require.Equal(t, schema.Cancel{Reason: "answered in the agent's own prompt", RequestSecret: "secret-1"}, q.Withdrawal)
}

func TestHook_SignalDuringReadIsSilent(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		hub := clitest.StartHub(t, nil)
		c := newHookCommand(t, hub.URL(), "")
		stdin, agent, err := os.Pipe()
		require.NoError(t, err)
		c.stdin = stdin
		r := c.start(t, t.Context())
		// The text exceeds the pipe buffer, so the hook has read a part of it when the write returns.
		_, err = agent.WriteString(`{"session_id":"s1","hook_event_name":"Stop","x":"` + strings.Repeat("x", 1<<20))
		require.NoError(t, err)
		require.NoError(t, r.Process.Signal(signal))
		got := r.wait()
		require.Equal(t, noOutput, got)
		require.Empty(t, hub.Events())
		require.NoError(t, errors.Join(agent.Close(), stdin.Close()))
	}
}

func TestHook_KilledProcessStopsListening(t *testing.T) {
	t.Parallel()
	hub := clitest.StartHub(t, nil)
	c := newHookCommand(t, hub.URL(), readSample(t, "claude-code-PermissionRequest-Bash"))
	r := c.start(t, t.Context())
	q, err := hub.Question(t.Context(), 1)
	require.NoError(t, err)
	require.NoError(t, r.Process.Kill())
	r.wait()
	_, err = q.Push(t.Context(), schema.Answer{Permission: ptr(true)})
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
}

// A hook that is installed in two settings files runs twice and asks twice: a key that both
// could derive would let any program ask in their place. A hub groups equal questions.
func TestHook_TwoInstallationsAskSeparately(t *testing.T) {
	t.Parallel()
	hub := clitest.StartHub(t, nil)
	c := newHookCommand(t, hub.URL(), readSample(t, "claude-code-PreToolUse-Bash"))
	c.env = []string{"CLAUDE_CODE_ENTRYPOINT=sdk-cli"}
	require.NoError(t, os.WriteFile(filepath.Join(c.home, "hookback.json"), []byte("{"), 0o600)) // an unreadable policy asks a person
	first := c.start(t, t.Context())
	one, err := hub.Question(t.Context(), 1)
	require.NoError(t, err)
	c.stdin = strings.NewReader(readSample(t, "claude-code-PreToolUse-Bash"))
	second := c.start(t, t.Context())
	two, err := hub.Question(t.Context(), 2)
	require.NoError(t, err)
	require.NotEqual(t, one.IdempotencyKey, two.IdempotencyKey)
	require.NotEqual(t, one.HumanInTheLoop.Nonce, two.HumanInTheLoop.Nonce)
	for _, q := range []*fakehub.Question{one, two} {
		_, err = q.Push(t.Context(), schema.Answer{Permission: ptr(true)})
		require.NoError(t, err)
	}
	for _, r := range []*startedHook{first, second} {
		got := r.wait()
		require.Equal(t, cliResult{0, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}`, ""}, got)
	}
}

// Later hooks send the events of a burst that the hub could not accept in time.
func TestHook_BurstLosesNoEvent(t *testing.T) {
	t.Parallel()
	const n = 200
	hub := clitest.StartHub(t, nil)
	c := newHookCommand(t, hub.URL(), "")
	var hooks sync.WaitGroup
	slots := make(chan struct{}, 50)
	for i := range n {
		slots <- struct{}{}
		hooks.Go(func() {
			defer func() { <-slots }()
			single := *c
			single.stdin = strings.NewReader(fmt.Sprintf(`{"session_id":"burst-%d","hook_event_name":"Stop"}`, i))
			if got := single.run(t); got != noOutput {
				t.Error(got)
			}
		})
	}
	hooks.Wait()
	for range 100 {
		if c.spooledEvents() == 0 {
			break
		}
		c.stdin = strings.NewReader(stopEvent)
		require.Equal(t, noOutput, c.run(t))
	}
	require.Zero(t, c.spooledEvents())
	seen := map[string]int{}
	for _, e := range hub.Events() {
		seen[e.SessionID]++
	}
	for i := range n {
		require.Equal(t, 1, seen[fmt.Sprintf("burst-%d", i)], "session %d", i)
	}
}

func TestHook_CanceledContextWithdrawsQuestion(t *testing.T) {
	t.Parallel()
	// If the process is not the hook's own, the context ends the wait.
	hub := clitest.StartHub(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	b := &hubHarness{ctx: ctx, hub: hub}
	done := make(chan cliResult, 1)
	go func() {
		done <- b.run(ctx, readSample(t, "claude-code-PermissionRequest-Bash"), "hook", "claude-code", "--hub", hub.URL())
	}()
	q, err := hub.Question(t.Context(), 1)
	require.NoError(t, err)
	cancel()
	require.Equal(t, noOutput, <-done)
	require.Equal(t, "secret-1", q.Withdrawal.RequestSecret)
}
