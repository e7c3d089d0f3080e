package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/hubtest"
)

func TestMain(m *testing.M) {
	// The demo starts itself as the agent that dies; in a test that is this binary.
	if os.Args[len(os.Args)-1] == doomed {
		os.Exit(run(context.Background(), os.Args[1:], "", os.Stdout))
	}
	var kept []goleak.Option
	for _, function := range hubtest.Goroutines() {
		kept = append(kept, goleak.IgnoreAnyFunction(function))
	}
	goleak.VerifyTestMain(m, kept...)
}

// person answers what stands in the dashboard, but for the agents that it ignores.
type person struct {
	t      *testing.T
	hub    string
	client http.Client
	ignore map[string]bool
	same   bool // whether it saw some that ask the same
}

func (p *person) get(path string, into any) {
	res, err := p.client.Get(p.hub + path)
	require.NoError(p.t, err)
	defer res.Body.Close()
	require.Equal(p.t, http.StatusOK, res.StatusCode)
	require.NoError(p.t, json.NewDecoder(res.Body).Decode(into))
}

func (p *person) answerAll() {
	var pending []schema.Event
	p.get(schema.PathEvents+"?status=pending", &pending)
	for _, e := range pending {
		p.same = p.same || e.HumanInTheLoopStatus.SameAs != 0
		if p.ignore[e.SourceApp] {
			continue
		}
		body, err := json.Marshal(answerTo(e.HumanInTheLoop))
		require.NoError(p.t, err)
		res, err := p.client.Post(p.hub+schema.At(schema.PathRespond, e.ID), "application/json", bytes.NewReader(body))
		require.NoError(p.t, err)
		res.Body.Close()
		require.Contains(p.t, []int{http.StatusOK, http.StatusConflict, http.StatusGone}, res.StatusCode)
	}
}

func answerTo(q *schema.HumanInTheLoop) schema.Response {
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

func TestDemoShowsEverything(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, code := &hubtest.Output{}, make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"-speed", "20", "-duration", "1m", "-hub", hub.URL() + "/"}, "", out)
	}()

	p := &person{t: t, hub: hub.URL(), ignore: map[string]bool{"dependency-bot": true, "night-build": true}}
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
		var settled []schema.Event
		p.get(schema.PathEvents+"?status=responded", &settled)
		var late []schema.Event
		p.get(schema.PathEvents+"?status=timeout", &late)
		for _, e := range append(settled, late...) {
			outcomes[e.HumanInTheLoopStatus.Outcome] = true
		}
		return len(missing()) == 0 && outcomes[schema.Approve] && outcomes[schema.Answered] && outcomes["Everybody"] && outcomes[schema.Timeout] &&
			p.same && strings.Contains(out.String(), "would ask two people; the hub knows 0")
	}, 40*time.Second, 50*time.Millisecond, "missing %v, outcomes %v, asked the same %v:\n%s", missing, outcomes, &p.same, out)

	// The agent that died still has its question there, and nobody behind it.
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "was killed while it waited") }, 20*time.Second, 50*time.Millisecond)
	stop()
	require.Zero(t, <-code)
	require.Contains(t, out.String(), "echo edited", "an edited command is what runs")
	require.Contains(t, out.String(), "The demo is over")
}

// The page says it before anyone answers: the hub looks for its agents every few
// seconds, at the hub's own pace whatever the demo's.
func TestAgentThatDiesIsShownAsGone(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	p := &person{t: t, hub: hub.URL()}
	defer p.client.CloseIdleConnections()
	a := newAgent(&stage{hub: hub.URL(), speed: 1, out: &hubtest.Output{}}, nightBuild)
	defer a.client.Close()
	require.NoError(t, dies(2*time.Second)(t.Context(), a))
	require.Eventually(t, func() bool {
		var pending []schema.Event // its question stays
		p.get(schema.PathEvents+"?status=pending&source_app=night-build", &pending)
		return len(pending) == 1 && pending[0].HumanInTheLoopStatus.Waiter == schema.Lost
	}, 30*time.Second, 100*time.Millisecond)
}

func TestDemoWithoutAHub(t *testing.T) {
	t.Parallel()
	out := &hubtest.Output{}
	require.Equal(t, 1, run(t.Context(), []string{"-hub", "http://127.0.0.1:1"}, "", out))
	require.Contains(t, out.String(), "go run ./server")
}

func TestDemoFlags(t *testing.T) {
	t.Parallel()
	out := &hubtest.Output{}
	require.Equal(t, 2, run(t.Context(), []string{"-speed", "0"}, "", out))
	require.Equal(t, 2, run(t.Context(), []string{"-nonsense"}, "", out))
	require.Equal(t, 2, run(t.Context(), []string{"blah"}, "", out))
	require.Contains(t, out.String(), `"blah" means nothing here`)
	require.Equal(t, 0, run(t.Context(), []string{"-help"}, "", out))
	require.Contains(t, out.String(), "-duration")
}
