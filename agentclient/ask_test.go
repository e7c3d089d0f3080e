package agentclient_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/internal/fakehub"
	"github.com/hookback/hookback/schema"
)

func TestAsk_ReturnsAnswerOfEveryKind(t *testing.T) {
	t.Parallel()
	migrate := &schema.ToolCall{Name: "migrate", Arguments: raw(`{"steps":3}`), Editable: true}
	ana := &schema.Responder{Name: "Ana", Verified: true}
	tests := map[string]struct {
		ask    agentclient.Request
		answer schema.Answer
		want   agentclient.Decision
	}{
		"approved": {
			agentclient.Request{Question: "Go?", ToolCall: migrate},
			schema.Answer{Permission: ptr(true), Outcome: schema.Approve, Source: schema.ByHuman, RespondedBy: ana, Comment: "fine", Guidance: "Ana approved."},
			agentclient.Decision{
				Kind: schema.Permission, Outcome: schema.Approve, Source: schema.ByHuman, RespondedBy: ana,
				Comment: "fine", Guidance: "Ana approved.", Arguments: raw(`{"steps":3}`),
			},
		},
		"approved with other arguments": {
			agentclient.Request{Question: "Go?", ToolCall: migrate},
			schema.Answer{Permission: ptr(true), ModifiedArguments: raw(`{"steps":1}`), Guidance: "g"},
			agentclient.Decision{
				Kind: schema.Permission, Outcome: schema.Approve, Source: schema.ByHuman, Guidance: "g",
				Arguments: raw(`{"steps":1}`), Edited: true,
			},
		},
		"denied without arguments to run": {
			agentclient.Request{Question: "Go?", ToolCall: migrate},
			schema.Answer{Permission: ptr(false), Outcome: schema.Deny, Source: schema.ByRule, Reason: "too late", Guidance: "g"},
			agentclient.Decision{Kind: schema.Permission, Outcome: schema.Deny, Source: schema.ByRule, Reason: "too late", Guidance: "g"},
		},
		"text": {
			agentclient.Request{Question: "Name?", Kind: schema.FreeText},
			schema.Answer{Response: ptr("line 1\nline 2"), Outcome: schema.Answered, Guidance: "g"},
			agentclient.Decision{Kind: schema.FreeText, Outcome: schema.Answered, Source: schema.ByHuman, Text: "line 1\nline 2", Guidance: "g"},
		},
		"choice": {
			agentclient.Request{Question: "Which?", Choices: []string{"Jest", "Vitest"}},
			schema.Answer{Choice: ptr("Vitest"), Outcome: "Vitest", Guidance: "g"},
			agentclient.Decision{Kind: schema.Choice, Outcome: "Vitest", Source: schema.ByHuman, Choice: "Vitest", Guidance: "g"},
		},
		"several questions": {
			agentclient.Request{Question: "Setup", Questions: []schema.FormQuestion{
				{ID: "db", Question: "Which db?", Options: []schema.Option{{Label: "pg"}, {Label: "sqlite"}}, Multiple: true},
				{ID: "name", Question: "Name?"},
			}},
			schema.Answer{Answers: map[string]json.RawMessage{"db": raw(`["pg","sqlite"]`), "name": raw(`"x"`)}, Guidance: "g"},
			agentclient.Decision{
				Kind: schema.FreeText, Outcome: schema.Answered, Source: schema.ByHuman, Guidance: "g",
				Answers: map[string][]string{"db": {"pg", "sqlite"}, "name": {"x"}},
			},
		},
		"always allow": {
			agentclient.Request{Question: "Go?", Event: schema.Event{HumanInTheLoop: &schema.HumanInTheLoop{
				Suggestions: []json.RawMessage{raw(`{"rule": "Bash(ls)"}`)},
			}}},
			schema.Answer{Permission: ptr(true), Remember: raw(`{"rule":"Bash(ls)"}`), Guidance: "g"},
			agentclient.Decision{
				Kind: schema.Permission, Outcome: schema.Approve, Source: schema.ByHuman, Guidance: "g",
				Remember: raw(`{"rule": "Bash(ls)"}`),
			},
		},
		"timeout": {
			agentclient.Request{Question: "Go?"},
			schema.Answer{Permission: ptr(false), Outcome: schema.Timeout, Source: schema.ByTimeout, Guidance: "g"},
			agentclient.Decision{Kind: schema.Permission, Outcome: schema.Timeout, Source: schema.ByTimeout, Guidance: "g"},
		},
		"canceled text": {
			agentclient.Request{Question: "Name?", Kind: schema.FreeText},
			schema.Answer{Outcome: schema.Cancelled, Source: schema.ByCancel, Guidance: "g"},
			agentclient.Decision{Kind: schema.FreeText, Outcome: schema.Cancelled, Source: schema.ByCancel, Guidance: "g"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, &fixtureConfig{})
			got := b.ask(b.ctx, test.ask)
			q := b.waitForQuestion(t, 1)
			ack, err := q.Dial(b.ctx, q.Frame(test.answer)) // Push would race with a pull
			require.NoError(t, err)
			require.Equal(t, schema.Ack{Type: schema.AckType, AnswerID: "answer-1", Result: schema.AckAccepted}, ack)
			end := b.waitForResult(t, got)
			require.NoError(t, end.err)
			test.want.EventID, test.want.RespondedAt = 1, time.UnixMilli(1734189245000)
			require.Equal(t, test.want, end.Decision)
		})
	}
}

func TestAsk_ShortForms(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	answers := make(chan error, 3)
	go func() {
		for n, a := range []schema.Answer{approval(), {Response: ptr("blue")}, {Choice: ptr("b")}} {
			q, err := b.hub.Question(b.ctx, n+1)
			if err == nil {
				_, err = q.Push(b.ctx, a)
			}
			answers <- err
		}
	}()
	d, err := b.client.AskPermission(b.ctx, "Go?")
	require.NoError(t, err)
	require.True(t, d.Approved())
	require.True(t, d.Answered())
	require.NoError(t, <-answers)
	d, err = b.client.AskText(b.ctx, "Color?")
	require.NoError(t, err)
	require.False(t, d.Approved(), "a text approves nothing")
	require.Equal(t, "blue", d.Text)
	require.NoError(t, <-answers)
	d, err = b.client.AskChoice(b.ctx, "Which?", "a", "b")
	require.NoError(t, err)
	require.Equal(t, "b", d.Choice)
	require.NoError(t, <-answers)
}

func TestAsk_TakesDefaultsFromEvent(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	template := &schema.HumanInTheLoop{
		Question: "template", Choices: []string{"a", "b"}, Risk: schema.LowRisk, Timeout: ptr(60.0),
		AgentPath: []string{"root", "leaf"}, ProtocolVersion: 1, ResponseWebSocketURL: "ws://127.0.0.1:1/x",
	}
	got := b.ask(b.ctx, agentclient.Request{Risk: schema.HighRisk, Event: schema.Event{HumanInTheLoop: template}})
	q := b.waitForQuestion(t, 1)
	h := q.HumanInTheLoop
	require.Equal(t, "template", h.Question)
	require.Equal(t, "template", q.Summary)
	require.Equal(t, schema.Choice, h.Type)
	require.Equal(t, schema.HighRisk, h.Risk, "the Request's field takes precedence")
	require.InDelta(t, 60, *h.Timeout, 0)
	require.Equal(t, []string{"root", "leaf"}, h.AgentPath)
	require.Equal(t, 2, h.ProtocolVersion)
	require.Equal(t, 1, template.ProtocolVersion, "the caller's value is unchanged")
	_, err := q.Push(b.ctx, schema.Answer{Choice: ptr("b")})
	require.NoError(t, err)
	require.Equal(t, "b", b.waitForResult(t, got).Choice)
}

// The parts of a question that teams use have fields. The protocol's question has the rest.
func TestAsk_SendsFieldsForPeople(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	admins := &schema.Recipients{Mode: "selected_members", Members: []string{"ada", "bo", "cy"}}
	ctx, cancel := context.WithCancel(b.ctx)
	got := b.ask(ctx, agentclient.Request{
		Question: "Go?", RequiredApprovals: 2, Recipients: admins, RemindEvery: time.Minute, MaxReminders: 3, AgentPath: []string{"root", "leaf"},
		Event: schema.Event{HumanInTheLoop: &schema.HumanInTheLoop{RequiredApprovals: 5, EscalateAfterSeconds: 90, EscalateTo: admins}},
	})
	h := b.waitForQuestion(t, 1).HumanInTheLoop
	cancel()
	b.waitForResult(t, got)
	require.Equal(t, 2, h.RequiredApprovals, "the Request's field takes precedence")
	require.Equal(t, admins.Members, h.Recipients.Members)
	require.InDelta(t, 60, h.ReminderIntervalSeconds, 0)
	require.Equal(t, 3, h.ReminderMaxCount)
	require.Equal(t, []string{"root", "leaf"}, h.AgentPath)
	require.InDelta(t, 90, h.EscalateAfterSeconds, 0)
}

func TestAsk_ChoiceNamedApproveIsNoApproval(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	got := b.ask(b.ctx, agentclient.Request{Question: "Which?", Choices: []string{"approve", "other"}})
	_, err := b.waitForQuestion(t, 1).Push(b.ctx, schema.Answer{Choice: ptr("approve"), Outcome: "approve"})
	require.NoError(t, err)
	end := b.waitForResult(t, got)
	require.Equal(t, "approve", end.Choice)
	require.False(t, end.Approved())
}

func TestAsk_ReturnsTextOfPerson(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	got := b.ask(b.ctx, agentclient.Request{Question: "Which?", Choices: []string{"Jest", "Vitest"}, AllowOther: true})
	q := b.waitForQuestion(t, 1)
	require.True(t, q.HumanInTheLoop.AllowOther)
	_, err := q.Push(b.ctx, schema.Answer{Response: ptr("Mocha")})
	require.NoError(t, err)
	end := b.waitForResult(t, got)
	require.Equal(t, "Mocha", end.Text)
	require.Empty(t, end.Choice)
	require.Equal(t, schema.Answered, end.Outcome)
	require.True(t, end.Answered())
}

func TestAsk_TextWithoutAllowOtherIsMalformed(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	got := b.ask(b.ctx, agentclient.Request{Question: "Which?", Choices: []string{"Jest", "Vitest"}})
	_, err := b.waitForQuestion(t, 1).Push(b.ctx, schema.Answer{Response: ptr("Mocha")})
	require.NoError(t, err)
	require.Equal(t, agentclient.Malformed, b.waitForResult(t, got).Outcome)
}

func TestAsk_FillsPostedEvent(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{opts: agentclient.Options{SourceApp: "app", SessionID: "s1"}})
	question := "Line one\n" + strings.Repeat("long ", 40)
	got := b.ask(b.ctx, agentclient.Request{Question: question, Risk: schema.HighRisk, Context: &schema.Context{Why: "because"}})
	q := b.waitForQuestion(t, 1)
	require.Equal(t, "app", q.SourceApp)
	require.Equal(t, "s1", q.SessionID)
	require.Equal(t, "DecisionPoint", q.HookEventType)
	require.Len(t, []rune(q.Summary), 120)
	require.True(t, strings.HasPrefix(q.Summary, "Line one long"))
	require.NotContains(t, q.Summary, "\n")
	require.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, q.IdempotencyKey)
	require.JSONEq(t, fmt.Sprintf(`{"question":%q}`, question), string(q.Payload))
	h := q.HumanInTheLoop
	require.Equal(t, question, h.Question)
	require.Equal(t, 2, h.ProtocolVersion)
	require.Equal(t, schema.HighRisk, h.Risk)
	require.Equal(t, "because", h.Context.Why)
	require.InDelta(t, 300, *h.Timeout, 0)
	require.True(t, *h.RequiresResponse)
	require.Regexp(t, `^ws://127\.0\.0\.1:\d+/[A-Za-z0-9_-]{22}$`, h.ResponseWebSocketURL)
	require.Len(t, h.ListenerKey, 43)
	_, err := q.Push(b.ctx, denial())
	require.NoError(t, err)
	b.waitForResult(t, got)
}

func TestOptions_DefaultToEnvironmentAndDirectory(t *testing.T) {
	b := setup(t, &fixtureConfig{})
	t.Setenv("HOOKBACK_URL", "http://127.0.0.1:1, "+b.hub.URL()+"/")
	t.Setenv("HOOKBACK_SESSION", "from-env")
	var client agentclient.Client // the zero value is ready to use
	defer client.Close()
	sent, err := client.Send(b.ctx, schema.Event{HookEventType: "Stop"})
	require.NoError(t, err)
	dir, err := os.Getwd()
	require.NoError(t, err)
	require.Equal(t, filepath.Base(dir), sent.SourceApp)
	require.Equal(t, "from-env", sent.SessionID)
	require.Equal(t, schema.EventID(1), sent.ID)
}

func TestHubAddresses(t *testing.T) {
	t.Parallel()
	hubs, err := agentclient.HubAddresses([]string{"127.0.0.1:4000", "https://hub.example/sub/"}, "")
	require.NoError(t, err)
	require.Equal(t, []string{"http://127.0.0.1:4000", "https://hub.example/sub"}, hubs)
	hubs, err = agentclient.HubAddresses(nil, " ")
	require.NoError(t, err)
	require.Equal(t, []string{agentclient.DefaultHub}, hubs)
	hubs, err = agentclient.ParseHubs("127.0.0.1:1, http://127.0.0.1:2/")
	require.NoError(t, err)
	require.Equal(t, []string{"http://127.0.0.1:1", "http://127.0.0.1:2"}, hubs)
	for _, bad := range []string{"ws://127.0.0.1:4000", "http://", "http://h?x=1", "http://h:port", ","} {
		_, err := agentclient.HubAddresses(nil, bad)
		require.ErrorIs(t, err, schema.ErrInvalid, bad)
	}
	client := newClient(t, agentclient.Options{Hubs: []string{"ftp://x"}}, agentclient.Timings{})
	d, err := client.AskPermission(testContext(t), "Go?")
	require.ErrorIs(t, err, schema.ErrInvalid)
	require.ErrorContains(t, err, "ftp://x")
	require.False(t, d.Approved())
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a b c", agentclient.OneLine(" a\n\tb  c ", 5))
	require.Equal(t, "äö…", agentclient.OneLine("äöüß", 3))
}

func TestAsk_DoesNotPostInvalidRequest(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{opts: agentclient.Options{OnUnreachable: agentclient.Allow}})
	for name, r := range map[string]agentclient.Request{
		"no question":     {},
		"choices":         {Question: "?", Kind: schema.Choice},
		"reserved choice": {Question: "?", Choices: []string{"__timeout__"}},
		"fallback":        {Question: "?", OnUnreachable: "maybe"},
		"timeout":         {Question: "?", Timeout: schema.MaxTimeout + time.Hour},
	} {
		d, err := b.client.Ask(b.ctx, r)
		require.ErrorIs(t, err, schema.ErrInvalid, name)
		require.False(t, d.Approved(), name)
		require.Equal(t, agentclient.Rejected, d.Outcome, name)
	}
	require.Empty(t, b.hub.Events())
	require.False(t, b.client.Listening(), "an invalid request opens no port")
}

func TestAsk_ReturnsErrorWhenHubRejectsQuestion(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{
		opts: agentclient.Options{OnUnreachable: agentclient.Allow},
		hub: fakehub.Hub{Intercept: func(w http.ResponseWriter, _ *http.Request) bool {
			fakehub.Refuse(w, &schema.HintError{
				Err:  &schema.FieldError{Field: "humanInTheLoop.risk", Detail: "is too high"},
				Hint: "ask for less",
			})
			return true
		}},
	})
	d, err := b.client.AskPermission(b.ctx, "Go?")
	require.ErrorIs(t, err, schema.ErrInvalid)
	var field *schema.FieldError
	require.ErrorAs(t, err, &field)
	require.Equal(t, "humanInTheLoop.risk", field.Field)
	var hint *schema.HintError
	require.ErrorAs(t, err, &hint)
	require.Equal(t, "ask for less", hint.Hint)
	require.False(t, d.Approved())
	require.Equal(t, agentclient.NotAsked, d.Source)
}

func TestAsk_ParallelQuestionsGetTheirOwnAnswers(t *testing.T) {
	t.Parallel()
	const n = 100
	b := setup(t, &fixtureConfig{})
	event := schema.Event{Payload: raw(`{"permission_type":"env_file_access"}`)} // equal for all questions
	var asks sync.WaitGroup
	for i := range n {
		asks.Go(func() {
			q := fmt.Sprintf("question %d", i)
			d, err := b.client.Ask(b.ctx, agentclient.Request{Question: q, Kind: schema.FreeText, Event: event})
			if err != nil || d.Text != "answer to "+q {
				t.Errorf("%s got %q, %v", q, d.Text, err)
			}
		})
	}
	var answers sync.WaitGroup
	for i := n; i > 0; i-- { // in reverse order
		answers.Go(func() {
			q, err := b.hub.Question(b.ctx, i)
			if err == nil {
				text := "answer to " + q.HumanInTheLoop.Question
				_, err = q.Push(b.ctx, schema.Answer{Response: &text})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	answers.Wait()
	asks.Wait()
}

func TestWaitStatus_ReportsPageAndDeadline(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	statuses := make(chan agentclient.WaitStatus, 1)
	before := time.Now()
	got := b.ask(b.ctx, agentclient.Request{Question: "Go?", Timeout: time.Minute, OnWaiting: func(w agentclient.WaitStatus) { statuses <- w }})
	w := <-statuses
	require.Equal(t, schema.EventID(1), w.EventID)
	require.Equal(t, b.hub.URL()+"/inbox/1", w.PageURL)
	require.False(t, w.Deadline.Before(before.Add(time.Minute)), "%v", w.Deadline)
	require.False(t, w.Deadline.After(time.Now().Add(time.Minute)), "%v", w.Deadline)
	_, err := b.waitForQuestion(t, 1).Push(b.ctx, approval())
	require.NoError(t, err)
	require.True(t, b.waitForResult(t, got).Approved())
}

func TestListener_StopsWhenNothingIsPending(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{timings: agentclient.Timings{Linger: time.Millisecond}})
	for n := range 2 { // the listener starts again for the next question
		got := b.ask(b.ctx, agentclient.Request{Question: "Go?"})
		q := b.waitForQuestion(t, n+1)
		require.True(t, b.client.Listening())
		_, err := q.Push(b.ctx, approval())
		require.NoError(t, err)
		require.True(t, b.waitForResult(t, got).Approved())
		require.Eventually(t, func() bool { return !b.client.Listening() }, 30*time.Second, time.Millisecond)
	}
}

func TestClose_WithdrawsPendingQuestions(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	got := b.ask(b.ctx, agentclient.Request{Question: "Go?"})
	q := b.waitForQuestion(t, 1)
	require.NoError(t, b.client.Close())
	end := b.waitForResult(t, got)
	require.ErrorIs(t, end.err, agentclient.ErrClosed)
	require.False(t, end.Approved())
	require.Equal(t, "secret-1", q.Withdrawal.RequestSecret)
	require.NoError(t, b.client.Close(), "second Close")
	_, err := b.client.AskPermission(b.ctx, "Go?")
	require.ErrorIs(t, err, agentclient.ErrClosed)
	_, err = b.client.Send(b.ctx, schema.Event{})
	require.ErrorIs(t, err, agentclient.ErrClosed)
	require.ErrorIs(t, b.client.Withdraw(b.ctx, &q.Event, ""), agentclient.ErrClosed)
}

func TestWithdraw_CancelsSentQuestion(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	needed := false
	sent, err := b.client.Send(b.ctx, schema.Event{
		HookEventType: "Notification", Payload: raw(`{"a":1}`),
		HumanInTheLoop: &schema.HumanInTheLoop{Question: "Look?", Type: schema.Permission, RequiresResponse: &needed},
	})
	require.NoError(t, err)
	require.Equal(t, schema.EventID(1), sent.ID)
	require.Equal(t, schema.Pending, sent.HumanInTheLoopStatus.Status)
	require.NoError(t, b.client.Withdraw(b.ctx, sent, "done without"))
	require.Equal(t, schema.Cancel{Reason: "done without", RequestSecret: "secret-1"}, b.waitForQuestion(t, 1).Withdrawal)
	require.ErrorIs(t, b.client.Withdraw(b.ctx, sent, ""), schema.ErrDecided)

	_, err = b.client.Send(b.ctx, schema.Event{Payload: raw(`[]`), HookEventType: "x"})
	require.ErrorIs(t, err, schema.ErrInvalid)
	canceled, cancel := context.WithCancel(b.ctx)
	cancel()
	_, err = b.client.Send(canceled, schema.Event{HookEventType: "x"})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, b.client.Withdraw(b.ctx, &schema.Event{ID: 1}, ""), schema.ErrNoRoute, "without a secret the hub would record a person's cancel")
}
