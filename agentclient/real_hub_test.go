package agentclient_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/hubtest"
)

// realHub is a real hub with a client. Its methods act as the person.
type realHub struct {
	fixture
	server *hubtest.Hub
}

func setupRealHub(t testing.TB) *realHub {
	t.Helper()
	r := &realHub{server: hubtest.Start(t)}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	r.ctx = ctx
	// A slow disk may delay the hub, and its restart, for longer than the client's usual timeouts; a
	// processor that others use, each connection.
	o := agentclient.Options{Hubs: []string{r.server.URL()}, UnreachableAfter: time.Minute}
	r.client = agentclient.NewWithTimings(o, agentclient.Timings{
		PostTimeout: 30 * time.Second, WithdrawTimeout: 30 * time.Second, Grace: 30 * time.Second, Linger: time.Minute,
	})
	t.Cleanup(func() { _ = r.client.Close() })
	return r
}

// postQuestion asks in the background and returns once the hub has stored the question.
func (r *realHub) postQuestion(ctx context.Context, q agentclient.Request) (schema.EventID, <-chan askResult) {
	known := make(chan schema.EventID, 1)
	q.OnWaiting = func(w agentclient.WaitStatus) { known <- w.EventID }
	got := r.ask(ctx, q)
	return <-known, got
}

// request makes one request and decodes the event in the response.
func (r *realHub) request(method, path string, body any) (schema.Event, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return schema.Event{}, err
	}
	req, err := http.NewRequestWithContext(r.ctx, method, r.server.URL()+path, bytes.NewReader(text))
	if err != nil {
		return schema.Event{}, err
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return schema.Event{}, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return schema.Event{}, fmt.Errorf("%s %s: %s", method, path, res.Status)
	}
	var e schema.Event
	return e, json.NewDecoder(res.Body).Decode(&e)
}

func (r *realHub) respond(id schema.EventID, a schema.Response) error {
	_, err := r.request(http.MethodPost, schema.At(schema.PathRespond, id), a)
	return err
}

// waitForStatus waits until the question's status meets the condition.
func (r *realHub) waitForStatus(t *testing.T, id schema.EventID, wanted func(*schema.Status) bool) {
	t.Helper()
	require.Eventually(t, func() bool {
		e, err := r.request(http.MethodGet, schema.At(schema.PathEvent, id), nil)
		return err == nil && wanted(e.HumanInTheLoopStatus)
	}, time.Minute, 5*time.Millisecond)
}

// hasArrived reports whether the agent has the answer: it confirmed the hub's delivery, or asked for the
// answer itself, as it does when it sees a restart before the hub's call arrives.
func hasArrived(s *schema.Status) bool {
	return s.Delivery != nil && (s.Delivery.State == schema.Acked || s.Delivery.State == schema.Pulled)
}

func TestRealHub_DeliversEveryKind(t *testing.T) {
	t.Parallel()
	r := setupRealHub(t)
	call := &schema.ToolCall{Name: "rm", Arguments: raw(`{"path":"./build"}`), Editable: true}
	for _, test := range []struct {
		ask    agentclient.Request
		answer schema.Response
		check  func(agentclient.Decision)
	}{
		{
			agentclient.Request{Question: "Delete?", ToolCall: call},
			schema.Response{Permission: ptr(true), ModifiedArguments: raw(`{"path":"./build/tmp"}`), Comment: "only tmp"},
			func(d agentclient.Decision) {
				require.True(t, d.Approved())
				require.JSONEq(t, `{"path":"./build/tmp"}`, string(d.Arguments))
				require.Equal(t, "only tmp", d.Comment)
			},
		},
		{
			agentclient.Request{Question: "Delete?", ToolCall: call},
			schema.Response{Permission: ptr(false), Reason: "no"},
			func(d agentclient.Decision) {
				require.False(t, d.Approved())
				require.Equal(t, "no", d.Reason)
				require.Nil(t, d.Arguments)
			},
		},
		{
			agentclient.Request{Question: "Name?", Kind: schema.FreeText},
			schema.Response{Response: ptr("Bo")},
			func(d agentclient.Decision) { require.Equal(t, "Bo", d.Text) },
		},
		{
			agentclient.Request{Question: "Which?", Choices: []string{"a", "b"}},
			schema.Response{Choice: ptr("b")},
			func(d agentclient.Decision) { require.Equal(t, "b", d.Choice) },
		},
		{
			agentclient.Request{Question: "Both", Questions: []schema.FormQuestion{{ID: "x", Question: "?"}, {ID: "y", Question: "?"}}},
			schema.Response{Answers: map[string]json.RawMessage{"x": raw(`"1"`), "y": raw(`"2"`)}},
			func(d agentclient.Decision) {
				require.Equal(t, map[string][]string{"x": {"1"}, "y": {"2"}}, d.Answers)
			},
		},
	} {
		id, got := r.postQuestion(r.ctx, test.ask)
		require.NoError(t, r.respond(id, test.answer))
		end := r.waitForResult(t, got)
		require.NoError(t, end.err)
		require.Equal(t, id, end.EventID)
		require.Equal(t, schema.ByHuman, end.Source)
		require.NotEmpty(t, end.Guidance)
		test.check(end.Decision)
		r.waitForStatus(t, id, hasArrived)
	}
}

func TestRealHub_RecordsWithdrawal(t *testing.T) {
	t.Parallel()
	r := setupRealHub(t)
	ctx, cancel := context.WithCancel(r.ctx)
	id, got := r.postQuestion(ctx, agentclient.Request{Question: "Go?"})
	cancel()
	end := r.waitForResult(t, got)
	require.ErrorIs(t, end.err, context.Canceled)
	require.Equal(t, schema.Withdrawn, end.Outcome)
	r.waitForStatus(t, id, func(s *schema.Status) bool { return s.Outcome == schema.Withdrawn })
}

func TestRealHub_ReportsWatchers(t *testing.T) {
	t.Parallel()
	r := setupRealHub(t)
	ctx, cancel := context.WithCancel(r.ctx)
	watching := make(chan *int, 1)
	got := r.ask(ctx, agentclient.Request{Question: "Go?", OnWaiting: func(w agentclient.WaitStatus) { watching <- w.Watching }})
	require.Equal(t, ptr(0), <-watching)
	cancel()
	r.waitForResult(t, got)
}

func TestRealHub_EnforcesDeadline(t *testing.T) {
	t.Parallel()
	r := setupRealHub(t)
	id, got := r.postQuestion(r.ctx, agentclient.Request{Question: "Go?", Timeout: 100 * time.Millisecond})
	end := r.waitForResult(t, got)
	require.NoError(t, end.err)
	require.Equal(t, schema.Timeout, end.Outcome)
	require.False(t, end.RespondedAt.IsZero(), "the timeout is the hub's, which comes before the client's own")
	r.waitForStatus(t, id, hasArrived)
}

func TestRealHub_MayRestartWhilePending(t *testing.T) {
	t.Parallel()
	r := setupRealHub(t)
	id, got := r.postQuestion(r.ctx, agentclient.Request{Question: "Go?"})
	r.server.Restart()
	require.NoError(t, r.respond(id, schema.Response{Permission: ptr(true)}))
	require.True(t, r.waitForResult(t, got).Approved())
	r.waitForStatus(t, id, hasArrived)
}

// An answer that is undone never reaches the agent. An answer whose undo window ends does,
// even after a restart of the hub.
func TestRealHub_HoldsAnswerDuringUndoWindow(t *testing.T) {
	t.Parallel()
	r := setupRealHub(t)
	id, got := r.postQuestion(r.ctx, agentclient.Request{Question: "Go?"})
	require.NoError(t, r.respond(id, schema.Response{Permission: ptr(true), HoldMS: 20_000}))
	_, err := r.request(http.MethodPost, schema.At(schema.PathUndo, id), nil)
	require.NoError(t, err)
	require.NoError(t, r.respond(id, schema.Response{Permission: ptr(false), HoldMS: 200}))
	r.server.Restart()
	end := r.waitForResult(t, got)
	require.NoError(t, end.err)
	require.Equal(t, schema.Deny, end.Outcome)
	r.waitForStatus(t, id, hasArrived)
}

// A question with the key of another one gets neither its answer nor an own one.
func TestRealHub_RefusesKeyOfOtherQuestion(t *testing.T) {
	t.Parallel()
	r := setupRealHub(t)
	crashed := agentclient.New(agentclient.Options{Hubs: []string{r.server.URL()}})
	sent, err := crashed.Send(r.ctx, schema.Event{
		HookEventType: "DecisionPoint", IdempotencyKey: "deploy-7",
		HumanInTheLoop: &schema.HumanInTheLoop{Question: "Go?", Type: schema.Permission},
	})
	require.NoError(t, err)
	require.NoError(t, crashed.Close())
	require.NoError(t, r.respond(sent.ID, schema.Response{Permission: ptr(true)}))
	d, err := r.client.Ask(r.ctx, agentclient.Request{Question: "Go on?", Event: schema.Event{IdempotencyKey: "deploy-7"}})
	require.ErrorIs(t, err, schema.ErrKeyConflict)
	require.False(t, d.Approved())
}

func TestRealHub_AnswersParallelQuestions(t *testing.T) {
	t.Parallel()
	r := setupRealHub(t)
	event := schema.Event{Payload: raw(`{"permission_type":"env_file_access"}`)}
	var asks sync.WaitGroup
	for i := range 100 {
		asks.Go(func() {
			want := fmt.Sprintf("answer %d", i)
			d, err := r.client.Ask(r.ctx, agentclient.Request{
				Question: "?", Kind: schema.FreeText, Event: event,
				OnWaiting: func(w agentclient.WaitStatus) {
					if err := r.respond(w.EventID, schema.Response{Response: &want}); err != nil {
						t.Error(err)
					}
				},
			})
			if err != nil || d.Text != want {
				t.Errorf("%s: got %q, %v", want, d.Text, err)
			}
		})
	}
	asks.Wait()
}

func TestRealHub_ReturnsProtocolErrors(t *testing.T) {
	t.Parallel()
	r := setupRealHub(t)
	sent, err := r.client.Send(r.ctx, schema.Event{HookEventType: "Stop"})
	require.NoError(t, err)
	sent.RequestSecret = "made up"
	err = r.client.Withdraw(r.ctx, sent, "")
	require.ErrorIs(t, err, schema.ErrNoQuestion)
	err = r.client.Withdraw(r.ctx, &schema.Event{ID: 9999, RequestSecret: "made up"}, "")
	require.ErrorIs(t, err, schema.ErrNotFound)
}

// BenchmarkRealHub measures a question with fsync: POST, answer over HTTP, dial and
// acknowledgment.
func BenchmarkRealHub(b *testing.B) {
	r := setupRealHub(b)
	b.ReportAllocs()
	for b.Loop() {
		answered := make(chan error, 1)
		d, err := r.client.Ask(r.ctx, agentclient.Request{Question: "Go?", OnWaiting: func(w agentclient.WaitStatus) {
			go func() { answered <- r.respond(w.EventID, schema.Response{Permission: ptr(true)}) }()
		}})
		if err != nil || !d.Approved() {
			b.Fatal(d, err)
		}
		if err := <-answered; err != nil {
			b.Fatal(err)
		}
	}
}

// A real hub signs what it sends by push and by pull, and every kind of end. First contact
// pins its key, and the pin holds for a second client.
func TestRealHub_SignsForPinnedClient(t *testing.T) {
	t.Parallel()
	r := setupRealHub(t)
	file := knownHubs(t)
	long := agentclient.Timings{WithdrawTimeout: 30 * time.Second, Grace: 30 * time.Second}
	for name, timings := range map[string]agentclient.Timings{"push": long, "pull": {WithdrawTimeout: long.WithdrawTimeout, Grace: long.Grace, PullDelay: time.Nanosecond}} {
		r.client = newClient(t, agentclient.Options{Hubs: []string{r.server.URL()}, KnownHubs: file, RememberHubs: true}, timings)
		id, got := r.postQuestion(r.ctx, agentclient.Request{Question: "Go?", ToolCall: &schema.ToolCall{Name: "Bash", Arguments: raw(`{"command":"ls"}`), Editable: true}})
		require.NoError(t, r.respond(id, schema.Response{Permission: ptr(true), Reason: "fine", ModifiedArguments: raw(`{"command":"ls -l"}`)}))
		d := r.waitForResult(t, got)
		require.NoError(t, d.err)
		require.True(t, d.Approved(), "%s: %+v", name, d)
		require.True(t, d.Signed, name)
		require.Equal(t, "fine", d.Reason)
		require.JSONEq(t, `{"command":"ls -l"}`, string(d.Arguments))
		require.Equal(t, id, d.EventID)
	}
	trust, err := agentclient.LoadTrust(agentclient.Options{KnownHubs: file})
	require.NoError(t, err)
	require.Len(t, trust.Pins(), 1)

	id, got := r.postQuestion(r.ctx, agentclient.Request{Question: "Go?"})
	_, err = r.request(http.MethodPost, schema.At(schema.PathCancel, id), schema.Cancel{Reason: "no longer needed"})
	require.NoError(t, err)
	d := r.waitForResult(t, got)
	require.Equal(t, schema.Cancelled, d.Outcome)
	require.True(t, d.Signed, "a cancellation is signed too")

	d.Decision, d.err = r.client.Ask(r.ctx, agentclient.Request{Question: "Go?", Timeout: time.Second})
	require.NoError(t, d.err)
	require.Equal(t, schema.Timeout, d.Outcome)
	require.False(t, d.Approved())
}

// An agent that restarts with its key and secret gets the signed answer of its question.
// Another program with the same key gets a conflict.
func TestRealHub_ResumesWithSecret(t *testing.T) {
	t.Parallel()
	r := setupRealHub(t)
	file := knownHubs(t)
	start := func() *agentclient.Client {
		return newClient(t, agentclient.Options{Hubs: []string{r.server.URL()}, KnownHubs: file, SourceApp: "a", SessionID: "s"}, agentclient.Timings{PullDelay: time.Nanosecond})
	}
	request := agentclient.Request{Question: "Go?", Secret: strings.Repeat("s", 43), Event: schema.Event{IdempotencyKey: "restarted"}}
	r.client = start()
	id, first := r.postQuestion(r.ctx, request)
	again := make(chan askResult, 1)
	go func() {
		d, err := start().Ask(r.ctx, request)
		again <- askResult{d, err}
	}()
	other := request
	other.Secret = strings.Repeat("x", 43)
	d, err := start().Ask(r.ctx, other)
	require.ErrorIs(t, err, schema.ErrKeyConflict)
	require.Equal(t, agentclient.Rejected, d.Outcome)
	require.NoError(t, r.respond(id, schema.Response{Permission: ptr(true)}))
	for _, got := range []<-chan askResult{first, again} {
		d := r.waitForResult(t, got)
		require.NoError(t, d.err)
		require.True(t, d.Approved())
		require.True(t, d.Signed)
	}
}
