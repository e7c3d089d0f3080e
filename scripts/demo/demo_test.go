package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/hubtest"
)

// childVariable makes the test program start itself as the demo, or run it. The hub takes no answer to an appeal from the
// program that started the one that asked.
const childVariable = "DEMO_CHILD"

func TestMain(m *testing.M) {
	_ = os.Unsetenv("HOOKBACK_TOKEN")
	if os.Getenv(childVariable) == "start" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		demo := exec.CommandContext(ctx, os.Args[0], os.Args[1:]...) //nolint:gosec // itself
		demo.Env, demo.Stdout = append(os.Environ(), childVariable+"=run"), os.Stdout
		_ = demo.Run()
		stop()
		os.Exit(0)
	}
	// The demo starts its own binary as the agent that crashes.
	if slices.Contains(os.Args, doomed) || os.Getenv(childVariable) != "" {
		os.Exit(run(context.Background(), os.Args[1:], "", os.Stdout))
	}
	var kept []goleak.Option
	for _, function := range hubtest.Goroutines() {
		kept = append(kept, goleak.IgnoreAnyFunction(function))
	}
	goleak.VerifyTestMain(m, kept...)
}

// responder answers all pending questions except the questions of ignored agents.
type responder struct {
	t          *testing.T
	hub        string
	client     http.Client
	headers    http.Header // of a signed-in person; nil: none
	ignore     map[string]bool
	deny       bool // deny every call instead, and answer nothing else
	duplicates bool // duplicate questions were seen
}

func (p *responder) get(path string, into any) {
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.hub+path, nil)
	require.NoError(p.t, err)
	req.Header = p.headers.Clone()
	res, err := p.client.Do(req)
	require.NoError(p.t, err)
	defer res.Body.Close()
	require.Equal(p.t, http.StatusOK, res.StatusCode)
	require.NoError(p.t, json.NewDecoder(res.Body).Decode(into))
}

func (p *responder) answerAll() {
	var pending []schema.Event
	p.get(schema.PathEvents+"?status=pending", &pending)
	for _, e := range pending {
		p.duplicates = p.duplicates || e.HumanInTheLoopStatus.SameAs != 0
		if p.ignore[e.SourceApp] {
			continue
		}
		answer := answerFor(e.HumanInTheLoop)
		if p.deny {
			if e.HumanInTheLoop.ToolCall == nil {
				continue
			}
			no := false
			answer = schema.Response{Permission: &no, Reason: "Not today."}
		}
		body, err := json.Marshal(answer)
		require.NoError(p.t, err)
		require.Contains(p.t, []int{http.StatusOK, http.StatusConflict, http.StatusGone}, p.post(schema.At(schema.PathRespond, e.ID), body))
	}
}

func (p *responder) post(path string, body []byte) (status int) {
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.hub+path, bytes.NewReader(body))
	require.NoError(p.t, err)
	if p.headers != nil {
		req.Header = p.headers.Clone()
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := p.client.Do(req)
	require.NoError(p.t, err)
	res.Body.Close()
	return res.StatusCode
}

// freezes returns the active freezes.
func (p *responder) freezes() []control.Freeze {
	var list control.FreezeList
	p.get(control.PathFreezes, &list)
	return list.Freezes
}

// resumeAll lifts every freeze.
func (p *responder) resumeAll() {
	for _, f := range p.freezes() {
		req, err := http.NewRequestWithContext(p.t.Context(), http.MethodDelete,
			p.hub+strings.Replace(control.PathFreeze, ":id", strconv.FormatInt(f.ID, 10), 1), nil)
		require.NoError(p.t, err)
		res, err := p.client.Do(req)
		require.NoError(p.t, err)
		res.Body.Close()
		require.Contains(p.t, []int{http.StatusOK, http.StatusNotFound}, res.StatusCode)
	}
}

func answerFor(q *schema.HumanInTheLoop) schema.Response {
	yes, text := true, "Use snake_case"
	switch {
	case len(q.Questions) > 0:
		return schema.Response{Answers: map[string]json.RawMessage{
			"database": json.RawMessage(`"SQLite"`), "extras": json.RawMessage(`["Migrations"]`), "notes": json.RawMessage(`"none"`),
		}}
	case q.Type == schema.Choice:
		return schema.Response{Choice: &q.Choices[0]}
	case q.Type == schema.FreeText:
		return schema.Response{Response: &text}
	case q.ToolCall != nil && q.ToolCall.Editable:
		return schema.Response{Permission: &yes, ModifiedArguments: json.RawMessage(`{"command":"echo edited"}`)}
	default:
		return schema.Response{Permission: &yes}
	}
}

func TestDemo_CoversAllFeatures(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, code := &hubtest.Output{}, make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"-speed", "20", "-duration", "5m", "-hub", hub.URL() + "/"}, "", out)
	}()

	p := &responder{t: t, hub: hub.URL(), ignore: map[string]bool{
		"dependency-bot": true, "night-build": true, "search-index": true, "photo-service": true,
	}}
	defer p.client.CloseIdleConnections()
	wanted := []string{
		"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Notification", "SubagentStart",
		"SubagentStop", "Stop", "SessionEnd", "PermissionRequest", "DecisionPoint",
	}
	missing := func() (names []string) {
		var options schema.FilterOptions
		p.get(schema.PathFilterOptions, &options)
		for _, name := range wanted {
			if !slices.Contains(options.HookEventTypes, name) {
				names = append(names, name)
			}
		}
		return names
	}
	outcomes := map[schema.Outcome]bool{}
	require.Eventually(t, func() bool {
		p.answerAll()
		if strings.Contains(out.String(), "hookback freeze --lift") { // from then on, the next call is not stopped before it is made
			p.resumeAll()
		}
		var settled []schema.Event
		p.get(schema.PathEvents+"?status=responded", &settled)
		var late []schema.Event
		p.get(schema.PathEvents+"?status=timeout", &late)
		for _, e := range append(settled, late...) {
			outcomes[e.HumanInTheLoopStatus.Outcome] = true
		}
		return len(missing()) == 0 && outcomes[schema.Approve] && outcomes[schema.Answered] && outcomes["Everyone"] && outcomes[schema.Timeout] &&
			p.duplicates && strings.Contains(out.String(), "echo edited") && strings.Contains(out.String(), "You resumed this session") && strings.Contains(out.String(), "needs two people who can approve; the hub has 0")
	}, 2*time.Minute, 50*time.Millisecond, "missing %v, outcomes %v, duplicates %v:\n%s", missing, outcomes, &p.duplicates, out)

	// The question of the crashed agent is still pending.
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "was killed while it waited") }, time.Minute, 50*time.Millisecond)
	stop()
	require.Zero(t, <-code)
	require.Contains(t, out.String(), "echo edited", "the edited command runs")
	require.Contains(t, out.String(), "Demo finished")
	require.Empty(t, p.freezes(), "the demo lifts its own freeze")

	var report history.Report
	var kinds []history.ReportKind
	p.get(history.PathReport, &report)
	for _, line := range report.Lines {
		kinds = append(kinds, line.Kind)
	}
	require.Subset(t, kinds, []history.ReportKind{history.ReportExpired, history.ReportFinished, history.ReportFailed}, "hookback report has lines")
}

// One session shows what a yes does, goes on without the answer, leaves a call to the owners of its files, and shows what
// the approved call did.
func TestDemo_ShowsCapabilities(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	p := &responder{t: t, hub: hub.URL(), headers: hub.Owner("ada")}
	defer p.client.CloseIdleConnections()
	require.Equal(t, http.StatusOK, p.post(schema.PathLock, []byte(`{"locked":false}`)))
	out := &hubtest.Output{}
	demo := exec.CommandContext(t.Context(), os.Args[0], "-only", "photo-service", "-speed", "10", "-duration", "5m", "-hub", hub.URL()) //nolint:gosec // itself
	demo.Env, demo.Stdout, demo.Stderr = append(os.Environ(), childVariable+"=start"), out, out
	require.NoError(t, demo.Start())
	defer func() { _ = demo.Wait() }()
	defer func() { _ = demo.Process.Signal(os.Interrupt) }()

	var pending []schema.Event
	var later, owned *schema.Event
	require.Eventually(t, func() bool {
		p.get(schema.PathEvents+"?status=pending", &pending)
		for i := range pending {
			if e := &pending[i]; e.HumanInTheLoop.Appeal != nil {
				later = e
			} else {
				owned = e
			}
		}
		return len(pending) == 2
	}, time.Minute, 10*time.Millisecond, "it asks about the next call before the answer:\n%s", out)
	require.Contains(t, later.HumanInTheLoop.ToolCall.Consequence.Summary(), "can't be restored")
	require.Equal(t, []string{"ada"}, owned.HumanInTheLoopStatus.Recipients, "the owner of the file")
	p.answerAll()
	var read history.QuestionContext
	require.Eventually(t, func() bool {
		read = history.QuestionContext{}
		p.get(schema.At(schema.PathContext, later.ID), &read)
		return read.Result != nil
	}, time.Minute, 10*time.Millisecond, "%s", out)
	require.Equal(t, new(int64(0)), read.Result.ExitStatus)
	require.Equal(t, []string{"It reported 3 deleted files; 2 were announced."}, read.Result.Differs)
}

// textsAfterYes returns the texts of the steps that follow an approval or an answer.
func textsAfterYes(steps []step, isAfterYes bool) (texts []string) {
	for _, s := range steps {
		if isAfterYes {
			texts = append(texts, s.Finding, s.EndTurn, s.EndSession, s.Prompt, s.Message)
			if s.Call != nil {
				texts = append(texts, s.Call.summary())
			}
		}
		texts = append(texts, textsAfterYes(s.Then, true)...)
		for _, more := range [][]step{s.Steps, s.Parallel, s.Otherwise} {
			texts = append(texts, textsAfterYes(more, isAfterYes)...)
		}
	}
	return slices.DeleteFunc(texts, func(text string) bool { return text == "" })
}

// If every call is denied, nothing else is answered and no session is resumed, no agent reports a result of such a call
// or continues as if it had run. At the end, no question and no session is open.
func TestDemo_DeniedCallsHaveNoEffect(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, code := &hubtest.Output{}, make(chan int, 1)
	go func() { code <- run(ctx, []string{"-speed", "40", "-duration", "5m", "-hub", hub.URL()}, "", out) }()
	p := &responder{t: t, hub: hub.URL(), deny: true, ignore: map[string]bool{"search-index": true, "photo-service": true}} // only another process may answer an appeal
	defer p.client.CloseIdleConnections()
	roles, err := loadScenario()
	require.NoError(t, err)

	var events []schema.Event
	ended := func(app string) bool {
		return slices.ContainsFunc(events, func(e schema.Event) bool { return e.SourceApp == app && e.HookEventType == "SessionEnd" })
	}
	require.Eventually(t, func() bool {
		p.answerAll()
		p.get(schema.PathRecent+"?limit=1000", &events)
		return !slices.ContainsFunc(roles, func(r role) bool { return !ended(r.App) })
	}, 2*time.Minute, 50*time.Millisecond, "%s", out)
	stop()
	require.Zero(t, <-code)

	var pending []schema.Event
	p.get(schema.PathEvents+"?status=pending", &pending)
	require.Empty(t, pending, "no question is left")
	require.Empty(t, p.freezes(), "no freeze is left")
	p.get(schema.PathRecent+"?limit=1000", &events)
	denied, open := map[string]bool{}, map[string]bool{}
	var frozen string
	for _, s := range roles[slices.IndexFunc(roles, func(r role) bool { return r.App == "disk-cleanup" })].Steps {
		if s.Freeze != "" {
			frozen = s.Call.summary()
		}
	}
	require.NotEmpty(t, frozen)
	for _, e := range events {
		if e.HumanInTheLoop != nil && e.HumanInTheLoop.ToolCall != nil {
			denied[e.HumanInTheLoop.ToolCall.ID] = true
		}
		if e.Summary == frozen {
			denied[e.ToolUseID] = true
		}
		open[e.SessionID] = true
	}
	for _, e := range events {
		if e.HookEventType == "SessionEnd" {
			delete(open, e.SessionID)
		}
		require.False(t, strings.HasPrefix(e.HookEventType, "PostToolUse") && denied[e.ToolUseID], "%s: %s", e.HookEventType, e.Summary)
		for _, r := range roles {
			if r.App == e.SourceApp {
				require.NotContains(t, textsAfterYes(r.Steps, false), e.Summary)
			}
		}
	}
	require.Greater(t, len(denied), 1)
	require.Contains(t, out.String(), "lifted its own freeze")
	require.Empty(t, open, "every session has ended")
}

// The dashboard shows a crashed agent before anyone answers: the hub probes listeners
// every few seconds, independent of the demo's speed.
func TestDemo_CrashedAgentIsGone(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	p := &responder{t: t, hub: hub.URL()}
	defer p.client.CloseIdleConnections()
	a := newAgent(&simulation{hub: hub.URL(), speed: 1, out: &hubtest.Output{}}, role{App: "night-build"}, uuid())
	defer a.client.Close()
	require.NoError(t, a.crash(t.Context(), 2*time.Second))
	require.Eventually(t, func() bool {
		var pending []schema.Event
		p.get(schema.PathEvents+"?status=pending&source_app=night-build", &pending)
		return len(pending) == 1 && pending[0].HumanInTheLoopStatus.Waiter == schema.Lost
	}, time.Minute, 100*time.Millisecond)
}

func TestDemo_RequiresHub(t *testing.T) {
	t.Parallel()
	out := &hubtest.Output{}
	require.Equal(t, 1, run(t.Context(), []string{"-hub", "http://127.0.0.1:1"}, "", out))
	require.Contains(t, out.String(), "go run ./server")
}

func TestDemo_Flags(t *testing.T) {
	t.Parallel()
	out := &hubtest.Output{}
	require.Equal(t, 2, run(t.Context(), []string{"-speed", "0"}, "", out))
	require.Equal(t, 2, run(t.Context(), []string{"-nonsense"}, "", out))
	require.Equal(t, 2, run(t.Context(), []string{"blah"}, "", out))
	require.Contains(t, out.String(), `unexpected argument "blah"`)
	require.Equal(t, 0, run(t.Context(), []string{"-help"}, "", out))
	require.Contains(t, out.String(), "-duration")
}

func TestRun_OnlyNamedApplications(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.Equal(t, 2, run(t.Context(), []string{"-only", "shop-api,nothing"}, "", &out))
	require.Contains(t, out.String(), `no application "nothing"`)

	hub := hubtest.Start(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan int)
	go func() { done <- run(ctx, []string{"-only", "handbook", "-speed", "50", "-hub", hub.URL()}, "", &out) }()
	p := &responder{t: t, hub: hub.URL()}
	var events []schema.Event
	require.Eventually(t, func() bool {
		p.get(schema.PathRecent, &events)
		return len(events) > 0
	}, time.Minute, 10*time.Millisecond)
	stop()
	require.Equal(t, 0, <-done)
	p.get(schema.PathRecent, &events)
	for _, e := range events {
		require.Equal(t, "handbook", e.SourceApp)
	}
}
