package agentclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema"
)

// The hub reports an extension to the client, which moves its own deadline. A third
// question with the same timeout shows when the original deadline has passed.
func TestAsk_WaitsLongerAfterExtension(t *testing.T) {
	t.Parallel()
	r := setupRealHub(t)
	r.client = agentclient.NewWithTimings(agentclient.Options{Hubs: []string{r.server.URL()}}, agentclient.Timings{
		Grace: 10 * time.Millisecond, PullDelay: time.Hour,
	})
	t.Cleanup(func() { _ = r.client.Close() })
	const timeout = 10 * time.Second
	type extended struct {
		question string
		id       schema.EventID
		got      <-chan askResult
	}
	var pending []extended
	for question, seconds := range map[string]float64{"An hour more?": 3600, "No deadline?": 0} {
		id, got := r.postQuestion(r.ctx, agentclient.Request{Question: question, Timeout: timeout})
		_, err := r.request(http.MethodPost, schema.At(schema.PathExtend, id), schema.Extend{Seconds: seconds})
		require.NoError(t, err, question)
		r.waitForStatus(t, id, func(s *schema.Status) bool { return s.Extended.Agent == schema.Delivered })
		pending = append(pending, extended{question, id, got})
	}
	last := r.waitForResult(t, r.ask(r.ctx, agentclient.Request{Question: "Not extended?", Timeout: timeout}))
	require.Equal(t, schema.Timeout, last.Outcome)
	for _, q := range pending {
		require.Empty(t, q.got, "%s ended at its original deadline", q.question)
		require.NoError(t, r.respond(q.id, schema.Response{Permission: ptr(true)}), q.question)
		end := r.waitForResult(t, q.got)
		require.NoError(t, end.err, q.question)
		require.True(t, end.Approved(), q.question)
	}
}

// A control frame never ends a question, even if it contains the members of an answer.
func TestAsk_ControlFrameIsNoAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	got := b.ask(b.ctx, agentclient.Request{Question: "Go?"})
	q := b.waitForQuestion(t, 1)
	for _, frame := range []string{
		`{"type":"control","kind":"deadline","expiresAt":1,"inSeconds":1}`, `{"type":"control","kind":"news of the future"}`,
		`{"type":"control","kind":"deadline","permission":true,"outcome":"approve"}`, `{"type":"control"}`,
	} {
		_, _ = q.Dial(b.ctx, []byte(frame)) // control frames get no acknowledgment
	}
	require.Empty(t, got)
	yes := true
	_, err := q.Push(b.ctx, schema.Answer{Permission: &yes, Outcome: schema.Approve})
	require.NoError(t, err)
	require.True(t, (<-got).Approved())
}

// The error is the same for a timeout of the hub and for the client's own deadline.
func TestFailRun_ReturnsErrTimedOut(t *testing.T) {
	t.Parallel()
	failed := func(t *testing.T, end askResult) {
		t.Helper()
		require.ErrorIs(t, end.err, agentclient.ErrTimedOut)
		require.Equal(t, schema.Timeout, end.Outcome)
		require.False(t, end.Approved())
	}
	ask := agentclient.Request{Question: "Go?", Timeout: 5 * time.Second, FailRun: true} // long enough to be posted on a slow machine
	t.Run("timeout of the hub", func(t *testing.T) {
		t.Parallel()
		r := setupRealHub(t)
		id, got := r.postQuestion(r.ctx, ask)
		end := <-got
		failed(t, end)
		require.Equal(t, id, end.EventID)
	})
	t.Run("own deadline", func(t *testing.T) {
		t.Parallel()
		b := setup(t, &fixtureConfig{timings: agentclient.Timings{Grace: 10 * time.Millisecond}})
		failed(t, <-b.ask(b.ctx, ask))
	})
	t.Run("guarded call", func(t *testing.T) {
		t.Parallel()
		b := setup(t, &fixtureConfig{timings: agentclient.Timings{Grace: 10 * time.Millisecond}})
		ran := false
		guarded := agentclient.Guard(b.client, policy.Always(), func(context.Context, agentclient.ToolCall) (string, error) {
			ran = true
			return "", nil
		}, func(_ agentclient.ToolCall, r *agentclient.Request) { r.Timeout, r.FailRun = ask.Timeout, true })
		result, err := guarded(b.ctx, agentclient.ToolCall{Name: "rm"})
		require.ErrorIs(t, err, agentclient.ErrTimedOut)
		require.Equal(t, agentclient.Unanswered, result.Status)
		require.False(t, ran)
	})
}

// Agents without hooks have no other way to report whether an approved call ran.
func TestGuard_ReportsExecutionToHub(t *testing.T) {
	t.Parallel()
	for state, failure := range map[string]error{schema.Succeeded: nil, schema.ToolFailed: errors.New("exit status 1")} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			r := setupRealHub(t)
			known, finish := make(chan schema.EventID, 1), make(chan struct{})
			guarded := agentclient.Guard(r.client, policy.Always(), func(context.Context, agentclient.ToolCall) (string, error) {
				<-finish
				return "", failure
			},
				func(_ agentclient.ToolCall, q *agentclient.Request) {
					q.OnWaiting = func(w agentclient.WaitStatus) { known <- w.EventID }
				})
			done := make(chan error, 1)
			go func() {
				_, err := guarded(r.ctx, agentclient.ToolCall{Name: "rm", Arguments: json.RawMessage(`{"path":"build"}`)})
				done <- err
			}()
			id, yes := <-known, true
			require.NoError(t, r.respond(id, schema.Response{Permission: &yes}))
			r.waitForStatus(t, id, func(s *schema.Status) bool { return s.Execution != nil && s.Execution.State == schema.Executing })
			close(finish)
			require.Equal(t, failure, <-done)
			r.waitForStatus(t, id, func(s *schema.Status) bool {
				return s.Execution != nil && s.Execution.State == state && (failure == nil) == (s.Execution.Error == "")
			})
		})
	}
}
