package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
	"github.com/hookback/hookback/server/internal/hub"
)

// hookSample returns what Claude Code sends to a hook.
func hookSample(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "agentclient", "hook", "testdata", "claude-code-"+name+".json"))
	require.NoError(t, err)
	return string(b)
}

// callKey returns the idempotency key of a call that a hook with that input reports.
func callKey(t testing.TB, input string) string {
	t.Helper()
	claude, _ := hook.Find("claude-code")
	c, err := claude.Agent.Parse(hook.Input{Stdin: []byte(input), Env: func(string) string { return "" }})
	require.NoError(t, err)
	return hook.CallKey(&c.Event)
}

// Some models use the same id for a call of each turn. A call that two hooks report is stored once.
func TestClaudeCodeHook_StoresCallsWithTheSameID(t *testing.T) {
	t.Parallel()
	r := setup(t)
	for i := range 5 {
		for _, name := range []string{"PreToolUse-Bash", "PostToolUse-Bash"} {
			input := regexp.MustCompile(`"tool_use_id": *"[^"]*"`).ReplaceAllString(hookSample(t, name), `"tool_use_id":"Bash:0"`)
			input = strings.Replace(input, `"command": "`, `"command": "TURN=`+strconv.Itoa(i)+` `, 1)
			for range 2 {
				require.JSONEq(t, "{}", (<-r.runHook("", input)).body)
			}
		}
	}
	require.EqualValues(t, 10, r.store.Head())
}

// fastHooks shortens the heartbeat of hooks, and the write timeout, which held hooks must
// outlive.
func fastHooks(c *Config) {
	c.HookHeartbeat, c.WriteTimeout = 10*time.Millisecond, 500*time.Millisecond
}

// hookResult is the response to a hook.
type hookResult struct {
	status int
	body   string
	reused bool // the connection was used before
}

// runHook calls the HTTP hook as Claude Code on a terminal does. The channel receives its response.
func (r *harness) runHook(query, body string) <-chan hookResult {
	return r.runHookFrom("cli", query, body)
}

// runHookFrom calls the HTTP hook with that entry point of Claude Code; "" sends none.
func (r *harness) runHookFrom(entrypoint, query, body string) <-chan hookResult {
	done := make(chan hookResult, 1)
	go func() {
		var h hookResult
		defer func() { done <- h }()
		ctx := httptrace.WithClientTrace(r.t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { h.reused = i.Reused }})
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+r.addr+schema.PathClaudeCode+query, strings.NewReader(body))
		if err != nil {
			r.t.Error(err)
			return
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("User-Agent", "axios/1.8.4")
		if entrypoint != "" {
			req.Header.Set("X-Claude-Entrypoint", entrypoint)
		}
		resp, err := r.client.Do(req)
		if err != nil {
			r.t.Error(err)
			return
		}
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(io.TeeReader(resp.Body, &r.hookBytes))
		if err != nil {
			r.t.Error(err)
		}
		h.status, h.body = resp.StatusCode, string(b)
	}()
	return done
}

// waitForQuestion waits until the event with that id is stored.
func (r *harness) waitForQuestion(id schema.EventID) schema.Event {
	r.t.Helper()
	require.Eventually(r.t, func() bool { return r.store.Head() >= int64(id) }, waitLimit, time.Millisecond)
	return r.event(id)
}

func (r *harness) event(id schema.EventID) (e schema.Event) {
	r.t.Helper()
	resp, b := r.do("GET", schema.At(schema.PathEvent, id), "")
	require.Equal(r.t, 200, resp.StatusCode, string(b))
	require.NoError(r.t, json.Unmarshal(b, &e))
	return e
}

// waitUntilSettled waits until the question is settled.
func (r *harness) waitUntilSettled(id schema.EventID) (st schema.Status) {
	r.t.Helper()
	require.Eventually(r.t, func() bool { st = *r.event(id).HumanInTheLoopStatus; return st.IsSettled() }, waitLimit, time.Millisecond)
	return st
}

func (r *harness) answer(id schema.EventID, body string) {
	r.t.Helper()
	resp, b := r.do("POST", schema.At(schema.PathRespond, id), body, "Content-Type", "application/json")
	require.Equal(r.t, 200, resp.StatusCode, string(b))
}

func TestClaudeCodeHook_StoresEvents(t *testing.T) {
	t.Parallel()
	r := setup(t)
	for i, name := range []string{
		"PreToolUse-Bash", "PreToolUse-AskUserQuestion", "PreToolUse-subagent", "PostToolUse-Bash", "PostToolUseFailure-Bash",
		"UserPromptSubmit", "Notification", "SubagentStop", "TaskCompleted", "SessionStart", "Stop", "SessionEnd",
	} {
		h := <-r.runHook("", hookSample(t, name))
		require.Equal(t, 200, h.status, name)
		require.Equal(t, "{}", h.body, name)
		e := r.event(schema.EventID(i + 1))
		require.Equal(t, strings.Split(name, "-")[0], e.HookEventType)
		require.Equal(t, "claude-code", e.Agent)
		require.Equal(t, "shop-api", e.SourceApp)
		require.JSONEq(t, hookSample(t, name), string(e.Payload))
		require.Nil(t, e.HumanInTheLoop, "%s is stored without a question", name)
		require.NotZero(t, e.Timestamp)
	}
	require.Equal(t, "Bash: go test ./...", r.event(4).Summary)

	h := <-r.runHook("?app=shop", `{"session_id":"s","hook_event_name":"SomethingNew","cwd":"/x"}`)
	require.Equal(t, "{}", h.body)
	e := r.event(13)
	require.Equal(t, "SomethingNew", e.HookEventType)
	require.Equal(t, "shop", e.SourceApp)
	h = <-r.runHook("", hookSample(t, "PostToolUse-Bash"))
	require.Equal(t, "{}", h.body)
	require.EqualValues(t, 13, r.store.Head(), "two hooks for one call store one event")
}

// The model changed the directory: the session stays that of its project, and the call closes its question.
func TestClaudeCodeHook_SessionKeepsProjectAfterCd(t *testing.T) {
	t.Parallel()
	r := setup(t, fastHooks)
	waiting := r.runHook("", hookSample(t, "PermissionRequest-Bash"))
	asked := r.waitForQuestion(1)
	ran := strings.NewReplacer("PermissionRequest", "PostToolUse", `"cwd": "/home/dev/shop-api"`, `"cwd":"/home/dev/shop-api/services/api","tool_use_id":"t1"`)
	require.JSONEq(t, "{}", (<-r.runHook("", ran.Replace(hookSample(t, "PermissionRequest-Bash")))).body)
	require.JSONEq(t, "{}", (<-waiting).body)
	require.Equal(t, "answered in the terminal: it ran", r.waitUntilSettled(1).Reason)
	require.Equal(t, asked.SourceApp, r.event(2).SourceApp)

	f := r.freeze(control.FreezeDraft{Scope: control.FreezeApp, SourceApp: asked.SourceApp})
	moved := strings.Replace(hookSample(t, "PreToolUse-Bash"), `"cwd": "/home/dev/shop-api"`, `"cwd":"/tmp"`, 1)
	require.Contains(t, (<-r.runHook("", moved)).body, `"permissionDecision":"deny"`, "a frozen project stays frozen")
	r.unfreeze(f)
}

func TestClaudeCodeHook_RejectsInvalidRequests(t *testing.T) {
	t.Parallel()
	r := setup(t)
	for _, body := range []string{`{bad`, `[]`, `null`, ``, `{"session_id":"s"}`, "\xff"} {
		resp, b := r.do("POST", schema.PathClaudeCode, body)
		require.Equal(t, 400, resp.StatusCode, body)
		require.Equal(t, "invalid", r.problem(resp, b).Code)
	}
	for _, query := range []string{"?limit=0", "?limit=x"} {
		resp, b := r.do("POST", schema.PathClaudeCode+query, hookSample(t, "Stop"))
		require.Equal(t, 400, resp.StatusCode, query)
		require.Equal(t, "limit", r.problem(resp, b).Field)
	}
	for _, headers := range [][]string{
		{"Origin", "https://evil.example", "Content-Type", "application/json"},
		{"Sec-Fetch-Site", "cross-site", "Content-Type", "application/json"},
		{"Host", "evil.example"},
		{"Sec-Fetch-Site", "same-origin", "Content-Type", "text/plain"}, // a form can send this
	} {
		resp, _ := r.do("POST", schema.PathClaudeCode, hookSample(t, "PermissionRequest-Bash"), headers...)
		require.Contains(t, []int{403, 415, 421}, resp.StatusCode, headers)
	}
	require.Zero(t, r.store.Head())
}

func TestClaudeCodeHook_WaitsForAnswer(t *testing.T) {
	t.Parallel()
	const hso = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":%s}}`
	for name, c := range map[string]struct{ sample, answer, want string }{
		"yes":    {"PermissionRequest-Bash", `{"permission":true}`, fmt.Sprintf(hso, `{"behavior":"allow"}`)},
		"edited": {"PermissionRequest-Bash", `{"permission":true,"modifiedArguments":{"command":"ls"}}`, fmt.Sprintf(hso, `{"behavior":"allow","updatedInput":{"command":"ls"}}`)},
		"always": {
			"PermissionRequest-Bash", `{"permission":true,"remember":{"type":"setMode","mode":"acceptEdits","destination":"session"}}`,
			fmt.Sprintf(hso, `{"behavior":"allow","updatedPermissions":[{"type":"setMode","mode":"acceptEdits","destination":"session"}]}`),
		},
		"no": {
			"PermissionRequest-Bash", `{"permission":false,"reason":"not on a Friday"}`,
			fmt.Sprintf(hso, `{"behavior":"deny","message":"A person denied this. Nothing was run. Do not try to achieve the same result another way. The reason given: not on a Friday"}`),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t, fastHooks)
			first := <-r.runHook("", hookSample(t, "Stop"))
			require.Equal(t, "{}", first.body)
			done := r.runHook("?limit=3600", hookSample(t, c.sample))
			question := r.waitForQuestion(2)
			require.Equal(t, schema.Listening, question.HumanInTheLoopStatus.Waiter)
			require.InDelta(t, 3595, *question.HumanInTheLoop.Timeout, 0)
			require.True(t, question.HumanInTheLoop.AlsoAsked, "Claude Code's own dialog is open as well")
			// More heartbeats than fit in WriteTimeout.
			require.Eventually(t, func() bool { return r.hookBytes.n.Load() > 60 }, waitLimit, time.Millisecond)
			require.Empty(t, done)
			r.answer(2, c.answer)
			h := <-done
			require.Equal(t, 200, h.status)
			require.Greater(t, strings.Count(h.body, " "), 5, "heartbeats were sent")
			require.JSONEq(t, c.want, h.body)
			require.Equal(t, schema.Pulled, r.waitUntilSettled(2).Delivery.State)
			last := <-r.runHook("", hookSample(t, "PreToolUse-Bash"))
			require.Equal(t, "{}", last.body)
			require.True(t, last.reused, "the connection stays usable")
		})
	}
}

func TestClaudeCodeHook_AnswersFormQuestions(t *testing.T) {
	t.Parallel()
	r := setup(t, fastHooks)
	done := r.runHook("", hookSample(t, "PermissionRequest-AskUserQuestion"))
	question := r.waitForQuestion(1)
	require.InDelta(t, 595, *question.HumanInTheLoop.Timeout, 0, "Claude Code's default timeout less the margin")
	require.Len(t, question.HumanInTheLoop.Questions, 2)
	first, second := question.HumanInTheLoop.Questions[0], question.HumanInTheLoop.Questions[1]
	pick, err := json.Marshal([]string{second.Options[0].Label})
	require.NoError(t, err)
	r.answer(1, fmt.Sprintf(`{"answers":{%q:"Postgres",%q:%s}}`, first.ID, second.ID, pick))
	var out struct {
		HookSpecificOutput struct {
			Decision struct {
				Behavior     string
				UpdatedInput struct{ Answers map[string]any }
			}
		}
	}
	h := <-done
	require.NoError(t, json.Unmarshal([]byte(h.body), &out), h.body)
	require.Equal(t, "allow", out.HookSpecificOutput.Decision.Behavior)
	require.Equal(t, "Postgres", out.HookSpecificOutput.Decision.UpdatedInput.Answers[first.Question])
}

// TestClaudeCodeHook_EndsWithoutDecision: if a question ends in any way other than an
// answer, Claude Code's own dialog decides.
func TestClaudeCodeHook_EndsWithoutDecision(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*harness){
		"a person cancels it":      func(r *harness) { r.do("POST", schema.At(schema.PathCancel, 1), `{}`) },
		"answered in the terminal": func(r *harness) { <-r.runHook("", hookSample(r.t, "Stop")) },
		"the session ends":         func(r *harness) { <-r.runHook("", hookSample(r.t, "SessionEnd")) },
		"no answer": func(r *harness) {
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan struct{})
			go func() { defer close(ended); _ = r.Hub.Run(ctx) }()
			defer func() { cancel(); <-ended }()
			r.waitUntilSettled(1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t, fastHooks)
			query := ""
			if name == "no answer" {
				query = "?limit=1"
			}
			done := r.runHook(query, hookSample(t, "PermissionRequest-Bash"))
			r.waitForQuestion(1)
			end(r)
			h := <-done
			require.Equal(t, 200, h.status)
			require.JSONEq(t, "{}", h.body)
			require.NotEqual(t, schema.ByOrphaned, r.waitUntilSettled(1).Source)
		})
	}
}

func TestClaudeCodeHook_DisconnectAbandonsQuestion(t *testing.T) {
	t.Parallel()
	r := setup(t, func(c *Config) { c.HookHeartbeat = time.Minute }) // the disconnect is noticed without a heartbeat
	c, err := net.Dial("tcp", r.addr)
	require.NoError(t, err)
	body := hookSample(t, "PermissionRequest-Bash")
	_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\nX-Claude-Entrypoint: cli\r\nContent-Length: %d\r\n\r\n%s", schema.PathClaudeCode, r.addr, len(body), body)
	require.NoError(t, err)
	begun, err := bufio.NewReader(c).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "HTTP/1.1 200 OK\r\n", begun, "the response starts when the question is stored")
	require.Equal(t, schema.Pending, r.waitForQuestion(1).HumanInTheLoopStatus.Status)
	require.NoError(t, c.Close())
	st := r.waitUntilSettled(1)
	require.Equal(t, schema.ByOrphaned, st.Source)
	require.Equal(t, hub.ReasonAgentGone, st.Reason)
	require.Eventually(t, func() bool { return r.places.InUse(middleware.WaitingPlace) == 0 }, waitLimit, time.Millisecond, "its slot is released")
}

func TestClaudeCodeHook_ShutdownReleasesHooks(t *testing.T) {
	t.Parallel()
	r := setup(t)
	done := r.runHook("", hookSample(t, "PermissionRequest-Bash"))
	r.waitForQuestion(1)
	r.shutdown()
	require.NotContains(t, r.log.String(), forcedClose)
	h := <-done
	require.Equal(t, 200, h.status)
	require.JSONEq(t, "{}", h.body)
	q, err := r.store.Question(t.Context(), 1)
	require.NoError(t, err)
	require.Contains(t, string(q.Status), hub.ReasonHubStopped)
}

func TestClaudeCodeHook_LimitsHeldHooks(t *testing.T) {
	t.Parallel()
	r := setup(t, fastHooks, func(c *Config) { c.Places.Waiting = middleware.PlaceLimit{Total: 1, PerOwner: 1} })
	first := r.runHook("", hookSample(t, "PermissionRequest-Bash"))
	r.waitForQuestion(1)
	second := <-r.runHook("", hookSample(t, "PermissionRequest-Bash"))
	require.Equal(t, "{}", second.body)
	require.Nil(t, r.event(2).HumanInTheLoop, "stored without a question")
	require.Contains(t, r.log.String(), "too many waiting requests")
	r.answer(1, `{"permission":true}`)
	<-first
	require.Eventually(t, func() bool { return r.places.InUse(middleware.WaitingPlace) == 0 }, waitLimit, time.Millisecond)
	third := r.runHook("", hookSample(t, "PermissionRequest-Bash"))
	require.NotNil(t, r.waitForQuestion(5).HumanInTheLoop) // follows the answer and its delivery
	r.answer(5, `{"permission":true}`)
	<-third
}

// asSubagent returns a hook sample as a subagent's call.
func asSubagent(sample string) string {
	return strings.Replace(sample, "{", `{"agent_id":"a4d2c8f1e0b3a297","agent_type":"Explore",`, 1)
}

// TestClaudeCodeHook_ClosedDialogRequiresViewer: without an open dialog, a hook waits only if someone
// has the dashboard open.
func TestClaudeCodeHook_ClosedDialogRequiresViewer(t *testing.T) {
	t.Parallel()
	bash := hookSample(t, "PermissionRequest-Bash")
	for name, c := range map[string]struct {
		entrypoint, body string
		promptAfter      float64
	}{
		"claude -p":             {"sdk-cli", bash, 0},
		"no header":             {"", bash, 0},
		"subagent":              {"cli", asSubagent(bash), 120},
		"subagent, no header":   {"", asSubagent(bash), 120},
		"subagent of claude -p": {"sdk-cli", asSubagent(bash), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t, fastHooks)
			h := <-r.runHookFrom(c.entrypoint, "?limit=3600", c.body)
			require.Equal(t, "{}", h.body)
			require.Equal(t, hub.ReasonNoDashboard, r.event(1).HumanInTheLoopStatus.Reason, "no one is asked")

			dialV2(r)
			require.Eventually(t, func() bool { return r.Hub.Viewers.Count() == 1 }, waitLimit, time.Millisecond)
			done := r.runHookFrom(c.entrypoint, "?limit=3600", c.body)
			q := r.waitForQuestion(3).HumanInTheLoop // follows the question and its end
			require.False(t, q.AlsoAsked)
			require.InDelta(t, c.promptAfter, q.PromptAfter, 0)
			wait := 3595.0
			if c.promptAfter > 0 {
				wait = c.promptAfter
			}
			require.InDelta(t, wait, *q.Timeout, 0)
			r.answer(3, `{"permission":true}`)
			require.Contains(t, (<-done).body, `"behavior":"allow"`)
		})
	}
}

// A shorter limit in Claude Code's settings shortens the wait of a subagent's hook as well.
func TestClaudeCodeHook_SubagentPassesInTime(t *testing.T) {
	t.Parallel()
	r := setup(t, fastHooks)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = r.Hub.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	dialV2(r)
	require.Eventually(t, func() bool { return r.Hub.Viewers.Count() == 1 }, waitLimit, time.Millisecond)
	h := <-r.runHook("?limit=2", asSubagent(hookSample(t, "PermissionRequest-Bash")))
	require.JSONEq(t, "{}", h.body, "Claude Code opens its dialog")
	require.InDelta(t, 1, r.event(1).HumanInTheLoop.PromptAfter, 0)
	require.Equal(t, schema.Timeout, r.waitUntilSettled(1).Outcome)
}

// TestClaudeCodeHook_BlockingHookRequiresViewer uses a hook for which Claude Code shows no
// dialog.
func TestClaudeCodeHook_BlockingHookRequiresViewer(t *testing.T) {
	t.Parallel()
	r := setup(t, fastHooks)
	h := <-r.runHook("", hookSample(t, "Elicitation"))
	require.Equal(t, "{}", h.body)
	require.Nil(t, r.event(1).HumanInTheLoop)
	dialV2(r)
	require.Eventually(t, func() bool { return r.Hub.Viewers.Count() == 1 }, waitLimit, time.Millisecond)
	done := r.runHook("", hookSample(t, "Elicitation"))
	require.False(t, r.waitForQuestion(2).HumanInTheLoop.AlsoAsked)
	r.do("POST", schema.At(schema.PathCancel, 2), `{}`)
	require.JSONEq(t, "{}", (<-done).body)
}
