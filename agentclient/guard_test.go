package agentclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/schema"
)

// tool notes what it was run with.
type tool struct {
	mu   sync.Mutex
	runs []agentclient.ToolCall
	err  error
}

func (t *tool) run(_ context.Context, c agentclient.ToolCall) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.runs = append(t.runs, c)
	return "did " + c.Name, t.err
}

func (t *tool) ran() []agentclient.ToolCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.runs
}

// guarded is the end of a guarded call.
type guarded struct {
	agentclient.Result[string]
	err error
}

// through calls a guarded tool in the background.
func through(ctx context.Context, f agentclient.Tool[agentclient.Result[string]], c agentclient.ToolCall) <-chan guarded {
	got := make(chan guarded, 1)
	go func() {
		r, err := f(ctx, c)
		got <- guarded{r, err}
	}()
	return got
}

var refundCall = agentclient.ToolCall{ID: "call-7", Name: "refund", Arguments: json.RawMessage(`{"order": 12,  "amount": 20000}`)}

func TestTheSameCallRunsOnceAPersonSaidYes(t *testing.T) {
	t.Parallel()
	b := setup(t, &config{})
	var do tool
	got := through(b.ctx, agentclient.Guard(b.client, agentclient.Always(), do.run), refundCall)
	q := b.question(t, 1)
	asked := q.Event.HumanInTheLoop
	require.Equal(t, "Run refund?", asked.Question)
	require.Equal(t, schema.Permission, asked.Type)
	require.Equal(t, "call-7", asked.ToolCall.ID)
	require.JSONEq(t, string(refundCall.Arguments), string(asked.ToolCall.Arguments))
	require.True(t, asked.ToolCall.Editable)
	require.Equal(t, "refund", q.Event.ToolName)
	require.Equal(t, "call-7", q.Event.ToolUseID)
	require.Empty(t, do.ran(), "it ran before anybody said yes")
	_, err := q.Push(b.ctx, yes())
	require.NoError(t, err)
	r := <-got
	require.NoError(t, r.err)
	require.Equal(t, agentclient.Ran, r.Status)
	require.Equal(t, "did refund", r.Output)
	require.Nil(t, r.Arguments)
	require.Equal(t, []agentclient.ToolCall{refundCall}, do.ran())
}

func TestANoIsAResultForTheModel(t *testing.T) {
	t.Parallel()
	b := setup(t, &config{})
	var do tool
	got := through(b.ctx, agentclient.Guard(b.client, agentclient.Always(), do.run), refundCall)
	a := no()
	a.Reason, a.Comment = "already refunded", "see order 12"
	_, err := b.question(t, 1).Push(b.ctx, a)
	require.NoError(t, err)
	r := <-got
	require.NoError(t, r.err)
	require.Empty(t, do.ran())
	text, err := json.Marshal(r.Result)
	require.NoError(t, err)
	require.JSONEq(t, `{"status": "denied", "reason": "already refunded", "comment": "see order 12",
		"guidance": "A person refused this; nothing was run. Don't try it again in another way."}`, string(text))
	require.Equal(t, schema.Deny, r.Decision.Outcome)
}

func TestWhereNobodySaysYesNothingRuns(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer schema.Answer
		status agentclient.RunStatus
		want   schema.Outcome
	}{
		"timeout":   {schema.Answer{Outcome: schema.Timeout, Source: schema.ByTimeout}, agentclient.Unanswered, schema.Timeout},
		"cancelled": {schema.Answer{Outcome: schema.Cancelled, Source: schema.ByHuman}, agentclient.Unanswered, schema.Cancelled},
		"nonsense":  {schema.Answer{Response: ptr("sure")}, agentclient.Unanswered, agentclient.Malformed},
		"both":      {schema.Answer{Permission: ptr(true), Outcome: schema.Deny}, agentclient.Unanswered, agentclient.Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, &config{})
			var do tool
			got := through(b.ctx, agentclient.Guard(b.client, agentclient.Always(), do.run), refundCall)
			q := b.question(t, 1)
			q.Decide(q.Frame(test.answer))
			_, _ = q.Push(b.ctx, test.answer)
			r := <-got
			require.NoError(t, r.err)
			require.Equal(t, test.status, r.Status)
			require.Equal(t, test.want, r.Decision.Outcome)
			require.NotEmpty(t, r.Guidance)
			require.Empty(t, do.ran())
		})
	}
}

func TestWithoutAHubNothingRunsUnlessItWasSaid(t *testing.T) {
	t.Parallel()
	for fallback, want := range map[agentclient.Fallback]agentclient.RunStatus{
		"": agentclient.Unanswered, agentclient.Deny: agentclient.Unanswered, agentclient.Fail: agentclient.Unanswered, agentclient.Allow: agentclient.Ran,
	} {
		c := newClient(t, agentclient.Options{Hubs: []string{"http://127.0.0.1:1"}, OnUnreachable: fallback, UnreachableAfter: time.Millisecond}, agentclient.Pace{})
		var do tool
		r, err := agentclient.Guard(c, agentclient.Always(), do.run)(testContext(t), refundCall)
		require.Equal(t, fallback == agentclient.Fail, errors.Is(err, agentclient.ErrUnreachable), "%q: %v", fallback, err)
		require.Equal(t, want, r.Status, "%q", fallback)
		require.NotEmpty(t, r.Guidance)
		if want == agentclient.Ran {
			require.Equal(t, []agentclient.ToolCall{refundCall}, do.ran())
		} else {
			require.Empty(t, do.ran(), "%q", fallback)
		}
	}
}

func TestARefusedQuestionIsAnErrorAndNothingRuns(t *testing.T) {
	t.Parallel()
	c := config{}
	c.hub.Intercept = func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"status": 400, "code": "invalid", "detail": "no"}`))
		return true
	}
	b := setup(t, &c)
	var do tool
	r, err := agentclient.Guard(b.client, agentclient.Always(), do.run)(b.ctx, refundCall)
	require.Error(t, err)
	require.NotEqual(t, agentclient.Ran, r.Status)
	_, err = agentclient.Guard(b.client, agentclient.Always(), do.run)(b.ctx, agentclient.ToolCall{Name: "x", Arguments: raw(`{"x":`)})
	require.Error(t, err)
	require.Empty(t, do.ran())
}

func TestThePolicySaysWhoIsAsked(t *testing.T) {
	t.Parallel()
	b := setup(t, &config{})
	p := parse(t, `{"rules": [
{"tool": "drop", "then": "deny", "reason": "Never here."}, {"tool": "read", "then": "allow"},
{"tool": "pay", "then": "ask", "risk": "critical", "reason": "It is money."}]}`)
	var do tool
	guard := agentclient.Guard(b.client, p, do.run)
	for _, name := range []string{"read", "unknown"} {
		r, err := guard(b.ctx, call(name, `{}`))
		require.NoError(t, err)
		require.Equal(t, agentclient.Ran, r.Status)
		require.Nil(t, r.Decision, "a person was asked")
	}
	require.Len(t, do.ran(), 2)
	r, err := guard(b.ctx, call("drop", `{}`))
	require.NoError(t, err)
	require.Equal(t, agentclient.Denied, r.Status)
	require.Equal(t, "Never here.", r.Reason)
	require.Contains(t, r.Guidance, "A policy forbids")

	got := through(b.ctx, guard, agentclient.ToolCall{Name: "pay"})
	asked := b.question(t, 1).Event.HumanInTheLoop
	require.Equal(t, schema.CriticalRisk, asked.Risk)
	require.Equal(t, "It is money.", asked.Context.Why)
	require.JSONEq(t, `{}`, string(asked.ToolCall.Arguments))
	_, err = b.question(t, 1).Push(b.ctx, yes())
	require.NoError(t, err)
	require.Equal(t, agentclient.Ran, (<-got).Status)
	require.Equal(t, agentclient.ToolCall{Name: "pay"}, do.ran()[2], "its arguments were made up")
}

func TestDetailsAreForTheCardNotForTheCall(t *testing.T) {
	t.Parallel()
	b := setup(t, &config{})
	var do tool
	got := through(b.ctx, agentclient.Guard(b.client, agentclient.Always(), do.run, func(c agentclient.ToolCall, r *agentclient.Request) {
		r.Question, r.Risk, r.Kind = "Refund order 12 of "+c.Name+"?", schema.HighRisk, schema.FreeText
		r.ToolCall = &schema.ToolCall{Name: "other"}
		c.Arguments[2] = 'X'
	}), refundCall)
	asked := b.question(t, 1).Event.HumanInTheLoop
	require.Equal(t, "Refund order 12 of refund?", asked.Question)
	require.Equal(t, schema.HighRisk, asked.Risk)
	require.Equal(t, "refund", asked.ToolCall.Name)
	require.Equal(t, schema.Permission, asked.Type)
	require.JSONEq(t, `{"order": 12, "amount": 20000}`, string(asked.ToolCall.Arguments))
	_, err := b.question(t, 1).Push(b.ctx, yes())
	require.NoError(t, err)
	<-got
	require.Equal(t, []agentclient.ToolCall{refundCall}, do.ran())
}

func TestWhatIsShownIsWhatRunsThoughTheCallerChangesItsCopy(t *testing.T) {
	t.Parallel()
	b := setup(t, &config{})
	var do tool
	c := refundCall
	c.Arguments = append(json.RawMessage(nil), refundCall.Arguments...)
	got := through(b.ctx, agentclient.Guard(b.client, agentclient.Always(), do.run), c)
	q := b.question(t, 1)
	copy(c.Arguments, `{"order": 99`)
	_, err := q.Push(b.ctx, yes())
	require.NoError(t, err)
	<-got
	require.Equal(t, refundCall.Arguments, do.ran()[0].Arguments)
}

func TestTheToolsOwnErrorsAndPanicsComeThrough(t *testing.T) {
	t.Parallel()
	c := newClient(t, agentclient.Options{}, agentclient.Pace{})
	do := tool{err: errors.New("the bank is closed")}
	r, err := agentclient.Guard(c, agentclient.Never(), do.run)(testContext(t), refundCall)
	require.ErrorIs(t, err, do.err)
	require.Equal(t, agentclient.Ran, r.Status)
	require.Equal(t, "did refund", r.Output)
	require.PanicsWithValue(t, "boom", func() {
		_, _ = agentclient.Guard(c, agentclient.Never(), func(context.Context, agentclient.ToolCall) (int, error) { panic("boom") })(testContext(t), refundCall)
	})
}

func TestNothingRunsWhenNobodyWaitsForItAnyMore(t *testing.T) {
	t.Parallel()
	b := setup(t, &config{})
	var do tool
	ctx, cancel := context.WithCancel(b.ctx)
	got := through(ctx, agentclient.Guard(b.client, agentclient.Always(), do.run), refundCall)
	b.question(t, 1)
	cancel()
	r := <-got
	require.ErrorIs(t, r.err, context.Canceled)
	require.Equal(t, agentclient.Unanswered, r.Status)
	_, err := agentclient.Guard(b.client, agentclient.Never(), do.run)(ctx, refundCall)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, do.ran())
}

func TestParallelCallsHaveTheirOwnAnswers(t *testing.T) {
	t.Parallel()
	const calls = 20
	b := setup(t, &config{})
	var do tool
	guard := agentclient.Guard(b.client, agentclient.Always(), do.run)
	var ends []<-chan guarded
	for i := range calls {
		ends = append(ends, through(b.ctx, guard, agentclient.ToolCall{ID: fmt.Sprint(i), Name: "t", Arguments: raw(fmt.Sprintf(`{"n": %d}`, i))}))
	}
	var people sync.WaitGroup
	for n := range calls {
		people.Go(func() {
			q, err := b.hub.Question(b.ctx, n+1)
			if err == nil {
				var i int
				_, _ = fmt.Sscan(q.Event.ToolUseID, &i)
				_, err = q.Push(b.ctx, permission(i%2 == 0))
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
	for _, c := range do.ran() {
		seen[c.ID]++
		require.JSONEq(t, fmt.Sprintf(`{"n": %s}`, c.ID), string(c.Arguments))
	}
	require.Len(t, seen, calls/2)
	require.Len(t, do.ran(), calls/2, "a call ran twice")
}

func TestAPersonAtARealHubEditsDeniesAndLetsTimePass(t *testing.T) {
	t.Parallel()
	r := setupReal(t)
	var do tool
	known := make(chan schema.EventID, 1)
	guard := agentclient.Guard(r.client, agentclient.Above("amount", 10000), do.run, func(_ agentclient.ToolCall, q *agentclient.Request) {
		q.OnWaiting = func(w agentclient.WaitStatus) { known <- w.EventID }
	})
	for _, test := range []struct {
		answer schema.Response
		check  func(guarded)
	}{
		{schema.Response{Permission: ptr(true), ModifiedArguments: raw(`{"order":12,"amount":5}`)}, func(g guarded) {
			require.Equal(t, agentclient.Ran, g.Status)
			require.JSONEq(t, `{"order":12,"amount":5}`, string(g.Arguments))
			require.Contains(t, g.Guidance, "other arguments than yours")
			require.Len(t, do.ran(), 1)
			require.JSONEq(t, `{"order":12,"amount":5}`, string(do.ran()[0].Arguments))
			require.Equal(t, "call-7", do.ran()[0].ID)
		}},
		{schema.Response{Permission: ptr(true)}, func(g guarded) {
			require.Equal(t, agentclient.Ran, g.Status)
			require.Len(t, do.ran(), 2)
			require.Equal(t, refundCall, do.ran()[1])
		}},
		{schema.Response{Permission: ptr(false), Reason: "too much"}, func(g guarded) {
			require.Equal(t, agentclient.Denied, g.Status)
			require.Equal(t, "too much", g.Reason)
			require.NotEmpty(t, g.Guidance)
		}},
	} {
		got := through(r.ctx, guard, refundCall)
		require.NoError(t, r.respond(<-known, test.answer))
		g := <-got
		require.NoError(t, g.err)
		test.check(g)
	}
	late := agentclient.Guard(r.client, agentclient.Always(), do.run, func(_ agentclient.ToolCall, q *agentclient.Request) { q.Timeout = time.Second })
	g := <-through(r.ctx, late, refundCall)
	require.NoError(t, g.err)
	require.Equal(t, agentclient.Unanswered, g.Status)
	require.Equal(t, schema.Timeout, g.Decision.Outcome)
	require.Len(t, do.ran(), 2)
}

func TestPoliciesInGo(t *testing.T) {
	t.Parallel()
	deny := parse(t, only("*", "deny"))
	allow := parse(t, only("*", "allow"))
	big := agentclient.PolicyFunc(func(c agentclient.ToolCall) bool { return len(c.Arguments) > 20 })
	for name, test := range map[string]struct {
		policy agentclient.Policy
		call   agentclient.ToolCall
		want   agentclient.Effect
	}{
		"always":              {agentclient.Always(), call("x", ``), "ask"},
		"never":               {agentclient.Never(), call("x", ``), ""},
		"a func":              {big, call("x", `{"a": 1}`), ""},
		"a func that asks":    {big, call("x", `{"a": "0123456789abcdef"}`), "ask"},
		"its name":            {agentclient.Tools("pay", "mcp__db__*"), call("pay", ``), "ask"},
		"its glob":            {agentclient.Tools("pay", "mcp__db__*"), call("mcp__db__drop", ``), "ask"},
		"its name in capital": {agentclient.Tools("pay"), call("Pay", ``), "ask"},
		"its alias":           {agentclient.Tools("Bash"), agentclient.ToolCall{Name: "shell", Alias: "Bash"}, "ask"},
		"another name":        {agentclient.Tools("pay"), call("payload", ``), ""},
		"no alias":            {agentclient.Tools(""), agentclient.ToolCall{Name: "x"}, ""},
		"above":               {agentclient.Above("amount", 10000), call("x", `{"amount": 10000.01}`), "ask"},
		"at":                  {agentclient.Above("amount", 10000), call("x", `{"amount": 10000}`), ""},
		"above in a list":     {agentclient.Above("items.price", 5), call("x", `{"items": [{"price": 1}, {"price": 6}]}`), "ask"},
		"absent":              {agentclient.Above("amount", 10000), call("x", `{}`), ""},
		"null":                {agentclient.Above("amount", 10000), call("x", `{"amount": null}`), ""},
		"a text":              {agentclient.Above("amount", 10000), call("x", `{"amount": "1"}`), "ask"},
		"huge":                {agentclient.Above("amount", 10000), call("x", `{"amount": 1e999}`), "ask"},
		"in another case":     {agentclient.Above("amount", 10000), call("x", `{"Amount": 1}`), "ask"},
		"twice":               {agentclient.Above("amount", 10000), call("x", `{"amount": 1, "amount": 2}`), "ask"},
		"unreadable":          {agentclient.Above("amount", 10000), call("x", `{"amount": `), "ask"},
		"no limit":            {agentclient.Above("amount", math.NaN()), call("x", `{"amount": 1}`), "ask"},
		"any of none":         {agentclient.Any(), call("x", ``), ""},
		"any":                 {agentclient.Any(agentclient.Never(), agentclient.Tools("x")), call("x", ``), "ask"},
		"any is strict":       {agentclient.Any(allow, agentclient.Always(), deny), call("x", ``), "deny"},
		"any asks":            {agentclient.Any(allow, agentclient.Always()), call("x", ``), "ask"},
		"any allows":          {agentclient.Any(allow, agentclient.Never()), call("x", ``), "allow"},
		"all of none":         {agentclient.All(), call("x", ``), "ask"},
		"all":                 {agentclient.All(agentclient.Tools("x"), agentclient.Above("a", 1)), call("x", `{"a": 2}`), "ask"},
		"not all":             {agentclient.All(agentclient.Tools("x"), agentclient.Above("a", 1)), call("x", `{"a": 1}`), ""},
		"all are strict":      {agentclient.All(agentclient.Always(), allow), call("x", ``), "ask"},
		"all deny":            {agentclient.All(agentclient.Always(), deny), call("x", ``), "deny"},
		"an unknown word":     {agentclient.Any(fixed("perhaps"), allow), call("x", ``), "perhaps"},
	} {
		require.Equal(t, test.want, test.policy.Rule(test.call).Effect, name)
	}
	var do tool
	c := newClient(t, agentclient.Options{Hubs: []string{"http://127.0.0.1:1"}, UnreachableAfter: time.Millisecond}, agentclient.Pace{})
	r, err := agentclient.Guard(c, fixed("perhaps"), do.run)(testContext(t), refundCall)
	require.NoError(t, err)
	require.Equal(t, agentclient.Unanswered, r.Status, "an unknown word asks")
}

// fixed is a policy that always says the same.
type fixed string

func (f fixed) Rule(agentclient.ToolCall) agentclient.PolicyResult {
	return agentclient.PolicyResult{Effect: agentclient.Effect(f)}
}
