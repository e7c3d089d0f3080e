package agentclient_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema"
)

// toolRecorder is a tool that records its calls.
type toolRecorder struct {
	mu   sync.Mutex
	runs []agentclient.ToolCall
	err  error
}

func (t *toolRecorder) run(_ context.Context, c agentclient.ToolCall) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.runs = append(t.runs, c)
	return "did " + c.Name, t.err
}

func (t *toolRecorder) calls() []agentclient.ToolCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.runs
}

// guardResult is the outcome of a guarded call.
type guardResult struct {
	agentclient.Result[string]
	err error
}

// callGuarded starts a guarded call in the background.
func callGuarded(ctx context.Context, f agentclient.Tool[agentclient.Result[string]], c agentclient.ToolCall) <-chan guardResult {
	got := make(chan guardResult, 1)
	go func() {
		r, err := f(ctx, c)
		got <- guardResult{r, err}
	}()
	return got
}

var refundCall = agentclient.ToolCall{ID: "call-7", Name: "refund", Arguments: json.RawMessage(`{"order": 12,  "amount": 20000}`)}

func TestGuard_RunsCallAfterApproval(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	var do toolRecorder
	got := callGuarded(b.ctx, agentclient.Guard(b.client, policy.Always(), do.run), refundCall)
	q := b.waitForQuestion(t, 1)
	asked := q.Event.HumanInTheLoop
	require.Equal(t, "Run refund?", asked.Question)
	require.Equal(t, schema.Permission, asked.Type)
	require.Equal(t, "call-7", asked.ToolCall.ID)
	require.JSONEq(t, string(refundCall.Arguments), string(asked.ToolCall.Arguments))
	require.False(t, asked.ToolCall.Editable)
	require.Equal(t, "refund", q.Event.ToolName)
	require.Equal(t, "call-7", q.Event.ToolUseID)
	require.JSONEq(t, `{"verdict":"ask","by":"policy"}`, string(q.Event.Extra["hook"]), "so that no allowance answers it")
	require.Empty(t, do.calls(), "it ran before the approval")
	_, err := q.Push(b.ctx, approval())
	require.NoError(t, err)
	r := <-got
	require.NoError(t, r.err)
	require.Equal(t, agentclient.Ran, r.Status)
	require.Equal(t, "did refund", r.Output)
	require.Nil(t, r.Arguments)
	require.Equal(t, []agentclient.ToolCall{refundCall}, do.calls())
}

func TestGuard_ReturnsDenialAsResult(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	var do toolRecorder
	got := callGuarded(b.ctx, agentclient.Guard(b.client, policy.Always(), do.run), refundCall)
	a := denial()
	a.Reason, a.Comment = "already refunded", "see order 12"
	_, err := b.waitForQuestion(t, 1).Push(b.ctx, a)
	require.NoError(t, err)
	r := <-got
	require.NoError(t, r.err)
	require.Empty(t, do.calls())
	text, err := json.Marshal(r.Result)
	require.NoError(t, err)
	require.JSONEq(t, `{"status": "denied", "reason": "already refunded", "comment": "see order 12",
		"guidance": "A person denied this. Nothing was run. Do not try to achieve the same result another way."}`, string(text))
	require.Equal(t, schema.Deny, r.Decision.Outcome)
}

func TestGuard_DoesNotRunWithoutApproval(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer schema.Answer
		status agentclient.RunStatus
		want   schema.Outcome
	}{
		"timeout":       {schema.Answer{Outcome: schema.Timeout, Source: schema.ByTimeout}, agentclient.Unanswered, schema.Timeout},
		"canceled":      {schema.Answer{Outcome: schema.Cancelled, Source: schema.ByHuman}, agentclient.Unanswered, schema.Cancelled},
		"malformed":     {schema.Answer{Response: ptr("sure")}, agentclient.Unanswered, agentclient.Malformed},
		"contradiction": {schema.Answer{Permission: ptr(true), Outcome: schema.Deny}, agentclient.Unanswered, agentclient.Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, &fixtureConfig{})
			var do toolRecorder
			got := callGuarded(b.ctx, agentclient.Guard(b.client, policy.Always(), do.run), refundCall)
			q := b.waitForQuestion(t, 1)
			q.Decide(q.Frame(test.answer))
			_, _ = q.Push(b.ctx, test.answer)
			r := <-got
			require.NoError(t, r.err)
			require.Equal(t, test.status, r.Status)
			require.Equal(t, test.want, r.Decision.Outcome)
			require.NotEmpty(t, r.Guidance)
			require.Empty(t, do.calls())
		})
	}
}

func TestGuard_AppliesFallbackWithoutHub(t *testing.T) {
	t.Parallel()
	for fallback, want := range map[agentclient.Fallback]agentclient.RunStatus{
		"": agentclient.Unanswered, agentclient.Deny: agentclient.Unanswered, agentclient.Fail: agentclient.Unanswered, agentclient.Allow: agentclient.Ran,
	} {
		c := newClient(t, agentclient.Options{Hubs: []string{"http://127.0.0.1:1"}, OnUnreachable: fallback, UnreachableAfter: time.Millisecond}, agentclient.Timings{})
		var do toolRecorder
		r, err := agentclient.Guard(c, policy.Always(), do.run)(testContext(t), refundCall)
		require.Equal(t, fallback == agentclient.Fail, errors.Is(err, agentclient.ErrUnreachable), "%q: %v", fallback, err)
		require.Equal(t, want, r.Status, "%q", fallback)
		require.NotEmpty(t, r.Guidance)
		if want == agentclient.Ran {
			require.Equal(t, []agentclient.ToolCall{refundCall}, do.calls())
		} else {
			require.Empty(t, do.calls(), "%q", fallback)
		}
	}
}

func TestGuard_RejectedQuestionIsError(t *testing.T) {
	t.Parallel()
	c := fixtureConfig{}
	c.hub.Intercept = func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"status": 400, "code": "invalid", "detail": "no"}`))
		return true
	}
	b := setup(t, &c)
	var do toolRecorder
	r, err := agentclient.Guard(b.client, policy.Always(), do.run)(b.ctx, refundCall)
	require.Error(t, err)
	require.NotEqual(t, agentclient.Ran, r.Status)
	_, err = agentclient.Guard(b.client, policy.Always(), do.run)(b.ctx, agentclient.ToolCall{Name: "x", Arguments: raw(`{"x":`)})
	require.Error(t, err)
	require.Empty(t, do.calls())
}

func TestGuard_AppliesPolicyEffect(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	p, err := policy.Parse("p.json", []byte(`{"rules": [
{"tool": "drop", "then": "deny", "reason": "Never here."}, {"tool": "read", "then": "allow"},
{"tool": "pay", "then": "ask", "risk": "critical", "reason": "It is money."}]}`))
	require.NoError(t, err)
	var do toolRecorder
	guard := agentclient.Guard(b.client, p, do.run)
	for _, name := range []string{"read", "unknown"} {
		r, err := guard(b.ctx, agentclient.ToolCall{Name: name, Arguments: raw(`{}`)})
		require.NoError(t, err)
		require.Equal(t, agentclient.Ran, r.Status)
		require.Nil(t, r.Decision, "a person was asked")
	}
	require.Len(t, do.calls(), 2)
	r, err := guard(b.ctx, agentclient.ToolCall{Name: "drop", Arguments: raw(`{}`)})
	require.NoError(t, err)
	require.Equal(t, agentclient.Denied, r.Status)
	require.Equal(t, "Never here.", r.Reason)
	require.Contains(t, r.Guidance, "A policy denies")

	got := callGuarded(b.ctx, guard, agentclient.ToolCall{Name: "pay"})
	asked := b.waitForQuestion(t, 1).Event.HumanInTheLoop
	require.Equal(t, schema.CriticalRisk, asked.Risk)
	require.Equal(t, "It is money.", asked.Context.Why)
	require.JSONEq(t, `{}`, string(asked.ToolCall.Arguments))
	_, err = b.waitForQuestion(t, 1).Push(b.ctx, approval())
	require.NoError(t, err)
	require.Equal(t, agentclient.Ran, (<-got).Status)
	require.Equal(t, agentclient.ToolCall{Name: "pay"}, do.calls()[2], "the arguments were changed")
}

func TestGuard_DetailsDoNotChangeCall(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	var do toolRecorder
	got := callGuarded(b.ctx, agentclient.Guard(b.client, policy.Always(), do.run, func(c agentclient.ToolCall, r *agentclient.Request) {
		r.Question, r.Risk, r.Kind = "Refund order 12 of "+c.Name+"?", schema.HighRisk, schema.FreeText
		r.ToolCall = &schema.ToolCall{Name: "other"}
		c.Arguments[2] = 'X'
	}), refundCall)
	asked := b.waitForQuestion(t, 1).Event.HumanInTheLoop
	require.Equal(t, "Refund order 12 of refund?", asked.Question)
	require.Equal(t, schema.HighRisk, asked.Risk)
	require.Equal(t, "refund", asked.ToolCall.Name)
	require.Equal(t, schema.Permission, asked.Type)
	require.JSONEq(t, `{"order": 12, "amount": 20000}`, string(asked.ToolCall.Arguments))
	_, err := b.waitForQuestion(t, 1).Push(b.ctx, approval())
	require.NoError(t, err)
	<-got
	require.Equal(t, []agentclient.ToolCall{refundCall}, do.calls())
}

// The details may allow edits of the call that they are shown, and change nothing else of it.
func TestGuard_DetailsAllowEdits(t *testing.T) {
	t.Parallel()
	allowEdits := func(_ agentclient.ToolCall, r *agentclient.Request) { r.ToolCall.Editable = true }
	for name, test := range map[string]struct {
		arguments string
		details   []func(agentclient.ToolCall, *agentclient.Request)
		editable  bool
	}{
		"default":           {string(refundCall.Arguments), nil, false},
		"allowed":           {string(refundCall.Arguments), []func(agentclient.ToolCall, *agentclient.Request){allowEdits}, true},
		"without arguments": {"", []func(agentclient.ToolCall, *agentclient.Request){allowEdits}, true},
		"not an object":     {`[12]`, []func(agentclient.ToolCall, *agentclient.Request){allowEdits}, false},
		"depends on the call": {string(refundCall.Arguments), []func(agentclient.ToolCall, *agentclient.Request){func(c agentclient.ToolCall, r *agentclient.Request) {
			r.ToolCall.Editable = r.ToolCall.Name == "refund" && c.ID == "call-7"
			r.ToolCall.Arguments[2] = 'X'
			r.ToolCall.Name = "other"
		}}, true},
		"approvals in a configuration": {string(refundCall.Arguments), []func(agentclient.ToolCall, *agentclient.Request){agentclient.Approvals{}.Details}, true},
		"call removed":                 {string(refundCall.Arguments), []func(agentclient.ToolCall, *agentclient.Request){func(_ agentclient.ToolCall, r *agentclient.Request) { r.ToolCall = nil }}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, &fixtureConfig{})
			var do toolRecorder
			call := refundCall
			call.Arguments = raw(test.arguments)
			got := callGuarded(b.ctx, agentclient.Guard(b.client, policy.Always(), do.run, test.details...), call)
			asked := b.waitForQuestion(t, 1).Event.HumanInTheLoop
			require.Equal(t, test.editable, asked.ToolCall.Editable)
			require.Equal(t, "refund", asked.ToolCall.Name)
			require.JSONEq(t, cmp.Or(test.arguments, "{}"), string(asked.ToolCall.Arguments))
			_, err := b.waitForQuestion(t, 1).Push(b.ctx, approval())
			require.NoError(t, err)
			require.NoError(t, (<-got).err)
			require.Equal(t, []agentclient.ToolCall{call}, do.calls())
		})
	}
}

func TestGuard_CopiesArguments(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	var do toolRecorder
	c := refundCall
	c.Arguments = append(json.RawMessage(nil), refundCall.Arguments...)
	got := callGuarded(b.ctx, agentclient.Guard(b.client, policy.Always(), do.run), c)
	q := b.waitForQuestion(t, 1)
	copy(c.Arguments, `{"order": 99`)
	_, err := q.Push(b.ctx, approval())
	require.NoError(t, err)
	<-got
	require.Equal(t, refundCall.Arguments, do.calls()[0].Arguments)
}

func TestGuard_PassesToolErrorsAndPanics(t *testing.T) {
	t.Parallel()
	c := newClient(t, agentclient.Options{}, agentclient.Timings{})
	do := toolRecorder{err: errors.New("the bank is closed")}
	r, err := agentclient.Guard(c, policy.Never(), do.run)(testContext(t), refundCall)
	require.ErrorIs(t, err, do.err)
	require.Equal(t, agentclient.Ran, r.Status)
	require.Equal(t, "did refund", r.Output)
	require.PanicsWithValue(t, "boom", func() {
		_, _ = agentclient.Guard(c, policy.Never(), func(context.Context, agentclient.ToolCall) (int, error) {
			panic("boom")
		})(testContext(t), refundCall)
	})
}

func TestGuard_DoesNotRunAfterCancel(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	var do toolRecorder
	ctx, cancel := context.WithCancel(b.ctx)
	got := callGuarded(ctx, agentclient.Guard(b.client, policy.Always(), do.run), refundCall)
	b.waitForQuestion(t, 1)
	cancel()
	r := <-got
	require.ErrorIs(t, r.err, context.Canceled)
	require.Equal(t, agentclient.Unanswered, r.Status)
	_, err := agentclient.Guard(b.client, policy.Never(), do.run)(ctx, refundCall)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, do.calls())
}

func TestGuard_ParallelCallsGetTheirOwnAnswers(t *testing.T) {
	t.Parallel()
	const calls = 20
	b := setup(t, &fixtureConfig{})
	var do toolRecorder
	guard := agentclient.Guard(b.client, policy.Always(), do.run)
	var ends []<-chan guardResult
	for i := range calls {
		ends = append(ends, callGuarded(b.ctx, guard, agentclient.ToolCall{ID: fmt.Sprint(i), Name: "t", Arguments: raw(fmt.Sprintf(`{"n": %d}`, i))}))
	}
	var people sync.WaitGroup
	for n := range calls {
		people.Go(func() {
			q, err := b.hub.Question(b.ctx, n+1)
			if err == nil {
				var i int
				_, _ = fmt.Sscan(q.Event.ToolUseID, &i)
				_, err = q.Push(b.ctx, permissionAnswer(i%2 == 0))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	people.Wait()
	for i, end := range ends {
		r := <-end
		require.NoError(t, r.err)
		require.Equal(t, i%2 == 0, r.Status == agentclient.Ran, "call %d", i)
	}
	seen := map[string]int{}
	for _, c := range do.calls() {
		seen[c.ID]++
		require.JSONEq(t, fmt.Sprintf(`{"n": %s}`, c.ID), string(c.Arguments))
	}
	require.Len(t, seen, calls/2)
	require.Len(t, do.calls(), calls/2, "a call ran twice")
}

func TestGuard_AppliesAnswersOfRealHub(t *testing.T) {
	t.Parallel()
	r := setupRealHub(t)
	var do toolRecorder
	known := make(chan schema.EventID, 1)
	guard := agentclient.Guard(r.client, policy.Above("amount", 10000), do.run, func(_ agentclient.ToolCall, q *agentclient.Request) {
		q.OnWaiting = func(w agentclient.WaitStatus) { known <- w.EventID }
		q.ToolCall.Editable = true
	})
	for _, test := range []struct {
		answer schema.Response
		check  func(guardResult)
	}{
		{schema.Response{Permission: ptr(true), ModifiedArguments: raw(`{"order":12,"amount":5}`)}, func(g guardResult) {
			require.Equal(t, agentclient.Ran, g.Status)
			require.JSONEq(t, `{"order":12,"amount":5}`, string(g.Arguments))
			require.Contains(t, g.Guidance, "changed arguments")
			require.Len(t, do.calls(), 1)
			require.JSONEq(t, `{"order":12,"amount":5}`, string(do.calls()[0].Arguments))
			require.Equal(t, "call-7", do.calls()[0].ID)
		}},
		{schema.Response{Permission: ptr(true)}, func(g guardResult) {
			require.Equal(t, agentclient.Ran, g.Status)
			require.Len(t, do.calls(), 2)
			require.Equal(t, refundCall, do.calls()[1])
		}},
		{schema.Response{Permission: ptr(false), Reason: "too much"}, func(g guardResult) {
			require.Equal(t, agentclient.Denied, g.Status)
			require.Equal(t, "too much", g.Reason)
			require.NotEmpty(t, g.Guidance)
		}},
	} {
		got := callGuarded(r.ctx, guard, refundCall)
		require.NoError(t, r.respond(<-known, test.answer))
		g := <-got
		require.NoError(t, g.err)
		test.check(g)
	}
	late := agentclient.Guard(r.client, policy.Always(), do.run, func(_ agentclient.ToolCall, q *agentclient.Request) {
		q.Timeout = time.Second
	})
	g := <-callGuarded(r.ctx, late, refundCall)
	require.NoError(t, g.err)
	require.Equal(t, agentclient.Unanswered, g.Status)
	require.Equal(t, schema.Timeout, g.Decision.Outcome)
	require.Len(t, do.calls(), 2)
}

func TestGuard_AsksForUnknownEffect(t *testing.T) {
	t.Parallel()
	var do toolRecorder
	c := newClient(t, agentclient.Options{Hubs: []string{"http://127.0.0.1:1"}, UnreachableAfter: time.Millisecond}, agentclient.Timings{})
	r, err := agentclient.Guard(c, fixedPolicy("perhaps"), do.run)(testContext(t), refundCall)
	require.NoError(t, err)
	require.Equal(t, agentclient.Unanswered, r.Status, "an unknown effect asks")
}

// fixedPolicy is a policy that always returns the same effect.
type fixedPolicy string

func (f fixedPolicy) Evaluate(agentclient.ToolCall) policy.Result {
	return policy.Result{Effect: policy.Effect(f)}
}
