package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/fakehub"
	"github.com/hookback/hookback/schema"
)

// hubHarness runs the program in this process against a fake hub.
type hubHarness struct {
	ctx context.Context
	hub *fakehub.Hub
}

func newHubHarness(t *testing.T, hub *fakehub.Hub) *hubHarness {
	t.Helper()
	require.NoError(t, hub.Start())
	t.Cleanup(hub.Stop)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return &hubHarness{ctx: ctx, hub: hub}
}

// cliResult is the result of one run of the program.
type cliResult struct {
	status   int
	out, err string
}

func (b *hubHarness) run(ctx context.Context, stdin string, args ...string) cliResult {
	var out, stderr bytes.Buffer
	env := func(name string) string {
		return map[string]string{"HOOKBACK_URL": b.hub.URL(), "HOOKBACK_SESSION": "s1"}[name]
	}
	status := run(ctx, args, env, cli.Streams{In: strings.NewReader(stdin), Out: &out, Err: &stderr})
	return cliResult{status, out.String(), stderr.String()}
}

// runAnswered runs ask while a person sends the answer.
func (b *hubHarness) runAnswered(t *testing.T, a schema.Answer, args ...string) cliResult {
	t.Helper()
	var person sync.WaitGroup
	person.Go(func() {
		q, err := b.hub.Question(b.ctx, 1)
		if err == nil {
			_, err = q.Push(b.ctx, a)
		}
		if err != nil {
			t.Error(err)
		}
	})
	defer person.Wait()
	return b.run(b.ctx, "", args...)
}

func ptr[T any](v T) *T { return &v }

func TestAsk_PrintsAnswer(t *testing.T) {
	t.Parallel()
	ana := &schema.Responder{Name: "Ana"}
	for name, test := range map[string]struct {
		args   []string
		answer schema.Answer
		want   cliResult
	}{
		"approved": {[]string{"ask", "Go?"}, schema.Answer{Permission: ptr(true)}, cliResult{0, "approved\n", ""}},
		"denied":   {[]string{"ask", "Go?"}, schema.Answer{Permission: ptr(false)}, cliResult{1, "denied\n", ""}},
		"denied with a reason": {
			[]string{"ask", "Go?"},
			schema.Answer{Permission: ptr(false), Reason: "not today", RespondedBy: ana},
			cliResult{1, "denied\n", "hookback: Ana denied it: not today\n"},
		},
		"text": {[]string{"ask", "Name?", "--text"}, schema.Answer{Response: ptr("Bo\nB")}, cliResult{0, "Bo\nB\n", ""}},
		"choice, flags first": {
			[]string{"ask", "--choice", "a", "-choice=b", "Which?"},
			schema.Answer{Choice: ptr("b")},
			cliResult{0, "b\n", ""},
		},
		"question that looks like a flag": {[]string{"ask", "--", "--really?"}, schema.Answer{Permission: ptr(true)}, cliResult{0, "approved\n", ""}},
		"cancelled": {
			[]string{"ask", "Go?"},
			schema.Answer{Permission: ptr(false), Outcome: schema.Cancelled, Reason: "superseded"},
			cliResult{2, "", "hookback: the question ended without an answer (canceled); nothing was approved: superseded\n"},
		},
		"timeout": {
			[]string{"ask", "--timeout", "1m", "Go?"},
			schema.Answer{Permission: ptr(false), Outcome: schema.Timeout},
			cliResult{2, "", "hookback: no one answered within 1m0s; nothing was approved; ask again, or allow more time with --timeout\n"},
		},
		"timeout with fail_run": {
			[]string{"ask", "--timeout", "1m", "--on-timeout", "fail_run", "Go?"},
			schema.Answer{Permission: ptr(false), Outcome: schema.Timeout},
			cliResult{3, "", "hookback: no one answered within 1m0s; nothing was approved; ask again, or allow more time with --timeout; the run should stop here\n"},
		},
		"two of two": {
			[]string{"ask", "Go?", "--approvals", "2"},
			schema.Answer{Permission: ptr(true), Votes: []schema.Vote{{User: "ada", Choice: "approve"}, {User: "grace", Choice: "approve"}}},
			cliResult{0, "approved\n", ""},
		},
		"one of two, from a hub without votes": {
			[]string{"ask", "Go?", "--approvals", "2"},
			schema.Answer{Permission: ptr(true)},
			cliResult{2, "", "hookback: the hub sent an answer that does not match the question; nothing was approved; ask again\n"},
		},
		"no agreement": {
			[]string{"ask", "Go?", "--approvals", "2"},
			schema.Answer{Permission: ptr(false), Outcome: schema.NoQuorum, Votes: []schema.Vote{{User: "ada", Choice: "approve"}, {User: "grace", Choice: "deny"}}},
			cliResult{2, "", "hookback: the voters did not agree (ada: approve, grace: deny); nothing was approved\n"},
		},
		"mismatched answer": {
			[]string{"ask", "Go?"},
			schema.Answer{Response: ptr("yes")},
			cliResult{2, "", "hookback: the hub sent an answer that does not match the question; nothing was approved; ask again\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, newHubHarness(t, &fakehub.Hub{}).runAnswered(t, test.answer, test.args...))
		})
	}
}

func TestAsk_SendsFlags(t *testing.T) {
	t.Parallel()
	b := newHubHarness(t, &fakehub.Hub{})
	got := b.runAnswered(t, schema.Answer{Permission: ptr(true)},
		"ask", "Go?", "--risk", "high", "--why", "because", "--timeout=0", "--app", "tool", "--session", "s2")
	require.Equal(t, 0, got.status, got.err)
	q := b.hub.Events()[0]
	require.Equal(t, "tool", q.SourceApp)
	require.Equal(t, "s2", q.SessionID)
	require.Equal(t, schema.HighRisk, q.HumanInTheLoop.Risk)
	require.Equal(t, "because", q.HumanInTheLoop.Context.Why)
	require.Zero(t, *q.HumanInTheLoop.Timeout)
}

func TestAsk_SendsRecipients(t *testing.T) {
	t.Parallel()
	yes := schema.Answer{Permission: ptr(true), Votes: []schema.Vote{{User: "ada", Choice: "approve"}, {User: "grace", Choice: "approve"}}}
	for to, want := range map[string]*schema.Recipients{
		"":            nil,
		"owner":       {Mode: "owner"},
		"ada, grace ": {Mode: "selected_members", Members: []string{"ada", "grace"}},
	} {
		b := newHubHarness(t, &fakehub.Hub{})
		got := b.runAnswered(t, yes, "ask", "Go?", "--approvals", "1", "--to", to)
		require.Equal(t, cli.ExitOK, got.status, got.err)
		q := b.hub.Events()[0].HumanInTheLoop
		require.Equal(t, 1, q.RequiredApprovals)
		require.Equal(t, want, q.Recipients)
	}
}

func TestAsk_PrintsJSON(t *testing.T) {
	t.Parallel()
	b := newHubHarness(t, &fakehub.Hub{})
	got := b.runAnswered(t, schema.Answer{Permission: ptr(false), Reason: "no", Guidance: "g"}, "ask", "Go?", "--json")
	require.Equal(t, 1, got.status)
	require.JSONEq(t, `{"approved":false,"answered":true,"kind":"permission","outcome":"deny","source":"human",
		"reason":"no","guidance":"g","signed": false, "respondedAt":"`+time.UnixMilli(1734189245000).Format(time.RFC3339)+`","eventId":1}`, got.out)
}

func TestAsk_UnreachableHubUsesFallback(t *testing.T) {
	t.Parallel()
	var gone fakehub.Hub
	require.NoError(t, gone.Start())
	gone.Stop()
	b := &hubHarness{ctx: context.Background(), hub: &gone}
	for fallback, want := range map[string]struct {
		status int
		out    string
		err    string
	}{
		"deny":  {2, "", "no one was asked and nothing was approved; start a hub"},
		"allow": {0, "approved\n", "approved by --on-unreachable allow"},
		"fail":  {2, "", "no hub can be reached: nothing listens at " + gone.URL()},
	} {
		t.Run(fallback, func(t *testing.T) {
			t.Parallel()
			got := b.run(b.ctx, "", "ask", "Go?", "--on-unreachable", fallback)
			require.Equal(t, want.status, got.status)
			require.Equal(t, want.out, got.out)
			require.Contains(t, got.err, want.err)
		})
	}
	t.Run("json", func(t *testing.T) {
		t.Parallel()
		got := b.run(b.ctx, "", "ask", "Go?", "--json")
		require.Equal(t, 2, got.status)
		require.Contains(t, got.out, `"outcome":"__unreachable__"`)
	})
}

func TestRun_RejectsWrongUsage(t *testing.T) {
	t.Parallel()
	b := newHubHarness(t, &fakehub.Hub{})
	for _, test := range []struct {
		args []string
		err  string
	}{
		{[]string{}, "hookback ask"},
		{[]string{"aks"}, `unknown command "aks"`},
		{[]string{"ask"}, "ask requires a question"},
		{[]string{"ask", "May", "I?"}, "put the question in quotes"},
		{[]string{"ask", "Go?", "--nonsense"}, "see hookback ask --help"},
		{[]string{"ask", "Go?", "--timeout"}, "flag needs an argument"},
		{[]string{"ask", "Go?", "--timeout", "-1s"}, "must not be negative"},
		{[]string{"ask", "Go?", "--timeout", "5"}, "a number with a unit, such as 90s or 10m; see hookback ask --help"},
		{[]string{"ask", "Go?", "--text", "--choice", "a"}, "not both"},
		{[]string{"ask", "Go?", "--risk", "huge"}, "humanInTheLoop.risk must be one of"},
		{[]string{"ask", "Go?", "--on-unreachable", "maybe"}, "--on-unreachable maybe: must be deny, allow or fail"},
		{[]string{"ask", "Go?", "--on-timeout", "use_default"}, "--on-timeout use_default: must be emit_timeout or fail_run"},
		{[]string{"ask", "Go?", "--hub", "ftp://x"}, "is not a hub address"},
		{[]string{"send", "x"}, "send takes flags only"},
		{[]string{"send"}, "the event on stdin is not valid"},
		{[]string{"send", "--type", "x", "--payload", "[]"}, "--payload must be a JSON object"},
		{[]string{"send", "--type", "x", "--payload", "{]"}, "--payload must be a JSON object"},
	} {
		got := b.run(b.ctx, "", test.args...)
		require.Equal(t, 2, got.status, test.args)
		require.Empty(t, got.out, test.args)
		require.Contains(t, got.err, test.err, test.args)
	}
	require.Empty(t, b.hub.Events())
}

func TestRun_PrintsHelpAndVersion(t *testing.T) {
	t.Parallel()
	b := &hubHarness{ctx: context.Background(), hub: &fakehub.Hub{}}
	for _, args := range [][]string{{"help"}, {"--help"}, {"ask", "-h"}, {"send", "--help"}, {"version"}} {
		got := b.run(b.ctx, "", args...)
		require.Equal(t, 0, got.status, args)
		require.Contains(t, got.out, "hookback", args)
		require.Empty(t, got.err, args)
	}
	require.Contains(t, b.run(b.ctx, "", "ask", "--help").out, "--on-unreachable")
	usage := b.run(b.ctx, "", "help").out
	for _, v := range commands {
		require.Regexp(t, `(?m)^  `+v.name+` +`+regexp.QuoteMeta(v.summary)+`$`, usage)
	}
}

func TestSend(t *testing.T) {
	t.Parallel()
	b := newHubHarness(t, &fakehub.Hub{})
	got := b.run(b.ctx, "", "send", "--type", "PostToolUse", "--tool", "Bash", "--summary", "ls", "--payload", `{"a":1}`)
	require.Equal(t, cliResult{0, "1\n", ""}, got)
	got = b.run(b.ctx, `{"hook_event_type":"Stop","payload":{"b":2},"custom":[1],"summary":"own"}`, "send", "--summary", "flag")
	require.Equal(t, cliResult{0, "2\n", ""}, got)
	first, second := b.hub.Events()[0], b.hub.Events()[1]
	require.Equal(t, "Bash", first.ToolName)
	require.Equal(t, "s1", first.SessionID)
	require.JSONEq(t, `{"a":1}`, string(first.Payload))
	require.Equal(t, "own", second.Summary)
	require.JSONEq(t, `[1]`, string(second.Extra["custom"]))
	got = b.run(b.ctx, "\ufeff{\"hook_event_type\":\"Stop\",\"payload\":{}}\r\n", "send")
	require.Zero(t, got.status, "a file that PowerShell 5.1 wrote: %s", got.err)
	got = b.run(b.ctx, "\xff\xfe{\x00\"\x00h\x00", "send")
	require.Contains(t, got.err, "unexpected end of JSON input", "UTF-16 is read")
	got = b.run(b.ctx, `{"x":"`+strings.Repeat("y", schema.MaxBody)+`"}`, "send")
	require.Equal(t, 2, got.status)
	require.Contains(t, got.err, "larger than 8 MiB")
}

func TestAsk_PrintsHintOfRejection(t *testing.T) {
	t.Parallel()
	b := newHubHarness(t, &fakehub.Hub{Intercept: func(w http.ResponseWriter, _ *http.Request) bool {
		fakehub.Refuse(w, &schema.HintError{Err: schema.ErrForbidden, Hint: "sign in first"})
		return true
	}})
	got := b.run(b.ctx, "", "ask", "Go?")
	require.Equal(t, cliResult{2, "", "hookback: the question was not asked: " + schema.ErrForbidden.Error() + "; sign in first\n"}, got)
	got = b.run(b.ctx, `{"hook_event_type":"x"}`, "send")
	require.Contains(t, got.err, "sign in first")
}

func TestAsk_InterruptWithdrawsQuestion(t *testing.T) {
	t.Parallel()
	b := newHubHarness(t, &fakehub.Hub{})
	ctx, interrupt := context.WithCancel(b.ctx)
	done := make(chan cliResult, 1)
	go func() { done <- b.run(ctx, "", "ask", "Go?") }()
	q, err := b.hub.Question(b.ctx, 1)
	require.NoError(t, err)
	interrupt()
	require.Equal(t, cliResult{2, "", "hookback: interrupted; the question was withdrawn\n"}, <-done)
	require.Equal(t, "secret-1", q.Withdrawal.RequestSecret)
}

func TestAsk_InterruptReportsFailedWithdrawal(t *testing.T) {
	t.Parallel()
	b := newHubHarness(t, &fakehub.Hub{Intercept: func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/cancel") {
			return false
		}
		fakehub.Refuse(w, schema.ErrInternal)
		return true
	}})
	ctx, interrupt := context.WithCancel(b.ctx)
	done := make(chan cliResult, 1)
	go func() { done <- b.run(ctx, "", "ask", "Go?") }()
	_, err := b.hub.Question(b.ctx, 1)
	require.NoError(t, err)
	interrupt()
	require.Contains(t, (<-done).err, "did not confirm the withdrawal")
}

// The process must acknowledge the answer before it exits, and withdraw the question on
// a signal.
func TestProgram_AnswersAndSignals(t *testing.T) {
	t.Parallel()
	b := newHubHarness(t, &fakehub.Hub{})
	start := func(args ...string) (*exec.Cmd, *bytes.Buffer, *bytes.Buffer) {
		c := exec.CommandContext(b.ctx, program, args...)
		c.Env = []string{"HOME=" + t.TempDir(), "HOOKBACK_URL=" + b.hub.URL()}
		var out, stderr bytes.Buffer
		c.Stdout, c.Stderr = &out, &stderr
		require.NoError(t, c.Start())
		return c, &out, &stderr
	}

	c, out, _ := start("ask", "Go?", "--json")
	q, err := b.hub.Question(b.ctx, 1)
	require.NoError(t, err)
	ack, err := q.Push(b.ctx, schema.Answer{Permission: ptr(true)})
	require.NoError(t, err)
	require.Equal(t, schema.AckAccepted, ack.Result)
	require.NoError(t, c.Wait())
	var decision struct{ Approved bool }
	require.NoError(t, json.Unmarshal(out.Bytes(), &decision))
	require.True(t, decision.Approved)

	c, out, stderr := start("ask", "Go?")
	q, err = b.hub.Question(b.ctx, 2)
	require.NoError(t, err)
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	require.Error(t, c.Wait())
	require.Equal(t, 2, c.ProcessState.ExitCode())
	require.Empty(t, out.String())
	require.Equal(t, "hookback: interrupted; the question was withdrawn\n", stderr.String())
	require.Equal(t, "secret-2", q.Withdrawal.RequestSecret)
}
