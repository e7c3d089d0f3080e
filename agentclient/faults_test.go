package agentclient_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/internal/cli/clitest"
	"github.com/hookback/hookback/agentclient/internal/fakehub"
	"github.com/hookback/hookback/schema"
)

func TestFallback(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fallback agentclient.Fallback
		kind     schema.Kind
		approved bool
		outcome  schema.Outcome
		err      error
		risk     schema.Risk
	}{
		"deny by default":        {"", schema.Permission, false, agentclient.Unreachable, nil, ""},
		"deny":                   {agentclient.Deny, schema.Permission, false, agentclient.Unreachable, nil, ""},
		"allow a permission":     {agentclient.Allow, schema.Permission, true, schema.Approve, nil, ""},
		"allow gives no text":    {agentclient.Allow, schema.FreeText, false, agentclient.Unreachable, agentclient.ErrUnreachable, ""},
		"text fails by default":  {"", schema.FreeText, false, agentclient.Unreachable, agentclient.ErrUnreachable, ""},
		"choice fails, too":      {"", schema.Choice, false, agentclient.Unreachable, agentclient.ErrUnreachable, ""},
		"text denied on request": {agentclient.Deny, schema.FreeText, false, agentclient.Unreachable, nil, ""},
		"fail":                   {agentclient.Fail, schema.Permission, false, agentclient.Unreachable, agentclient.ErrUnreachable, ""},
		"allow as client option": {"client", schema.Permission, true, schema.Approve, nil, ""},
		"deny high risk":         {agentclient.Allow, schema.Permission, false, agentclient.Unreachable, nil, schema.HighRisk},
		"deny critical risk":     {agentclient.Allow, schema.Permission, false, agentclient.Unreachable, nil, schema.CriticalRisk},
		"allow medium risk":      {agentclient.Allow, schema.Permission, true, schema.Approve, nil, schema.MediumRisk},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := agentclient.Options{Hubs: []string{clitest.ClosedHubURL(t), clitest.ClosedHubURL(t)}, UnreachableAfter: time.Millisecond}
			r := agentclient.Request{Question: "Go?", Kind: test.kind, OnUnreachable: test.fallback, Risk: test.risk}
			if test.kind == schema.Choice {
				r.Choices = []string{"a", "b"}
			}
			if r.OnUnreachable == "client" {
				o.OnUnreachable, r.OnUnreachable = agentclient.Allow, ""
			}
			d, err := newClient(t, o, agentclient.Timings{}).Ask(testContext(t), r)
			require.ErrorIs(t, err, test.err)
			require.Equal(t, test.approved, d.Approved())
			require.Equal(t, test.outcome, d.Outcome)
			require.Equal(t, agentclient.NoHub, d.Source)
			require.False(t, d.Answered())
			require.NotEmpty(t, d.Guidance)
			require.Contains(t, d.Reason, "nothing listens at http://127.0.0.1:")
			require.NotContains(t, d.Reason, "no server is listening")
			if err != nil {
				require.ErrorContains(t, err, d.Reason)
			}
		})
	}
}

// A question with a quorum requires people, so no option can approve it.
func TestFallback_NeverAllowsQuorumQuestion(t *testing.T) {
	t.Parallel()
	o := agentclient.Options{Hubs: []string{clitest.ClosedHubURL(t)}, UnreachableAfter: time.Millisecond, OnUnreachable: agentclient.Allow}
	r := agentclient.Request{Question: "Go?", Kind: schema.Permission, RequiredApprovals: 2}
	d, err := newClient(t, o, agentclient.Timings{}).Ask(testContext(t), r)
	require.NoError(t, err)
	require.False(t, d.Approved())
	require.Contains(t, d.Guidance, "requires people")
}

func TestSend_WithoutHubIsUnreachable(t *testing.T) {
	t.Parallel()
	client := newClient(t, agentclient.Options{Hubs: []string{clitest.ClosedHubURL(t)}, UnreachableAfter: time.Millisecond}, agentclient.Timings{})
	_, err := client.Send(testContext(t), schema.Event{HookEventType: "Stop"})
	require.ErrorIs(t, err, agentclient.ErrUnreachable)
	err = client.Withdraw(testContext(t), &schema.Event{ID: 1, RequestSecret: "s"}, "")
	require.ErrorIs(t, err, agentclient.ErrUnreachable)
}

func TestAsk_OtherServerCountsAsUnreachable(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"404":      http.NotFound,
		"redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) },
		"text":     func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") },
		"json without an id": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"ok":true}`)
		},
		"json array": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `[1]`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, &fixtureConfig{
				opts: agentclient.Options{UnreachableAfter: time.Millisecond},
				hub: fakehub.Hub{Intercept: func(w http.ResponseWriter, r *http.Request) bool {
					answer(w, r)
					return true
				}},
			})
			d, err := b.client.Ask(b.ctx, agentclient.Request{Question: "Go?", OnUnreachable: agentclient.Fail})
			require.ErrorIs(t, err, agentclient.ErrUnreachable)
			require.False(t, d.Approved())
		})
	}
}

func TestAsk_RetriesUntilHubStarts(t *testing.T) {
	t.Parallel()
	var hub fakehub.Hub
	require.NoError(t, hub.Start())
	hub.Stop()
	client := newClient(t, agentclient.Options{Hubs: []string{hub.URL()}, UnreachableAfter: time.Minute}, agentclient.Timings{})
	b := &fixture{ctx: testContext(t), hub: &hub, client: client}
	got := b.ask(b.ctx, agentclient.Request{Question: "Go?"})
	require.NoError(t, hub.Start())
	defer hub.Stop()
	_, err := b.waitForQuestion(t, 1).Push(b.ctx, approval())
	require.NoError(t, err)
	require.True(t, b.waitForResult(t, got).Approved())
}

// The reply to the first POST is lost; the retry must find the same event.
func TestAsk_RetriedPostStoresOneEvent(t *testing.T) {
	t.Parallel()
	var c fixtureConfig
	var posts atomic.Int64
	c.hub.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != schema.PathEvents {
			return false
		}
		switch posts.Add(1) {
		case 1:
			c.hub.Ingest(&discardWriter{header: http.Header{}}, r)
			panic(http.ErrAbortHandler) // cut the connection
		case 2:
			fakehub.Refuse(w, schema.ErrBusy)
			return true
		default:
			return false
		}
	}
	b := setup(t, &c)
	got := b.ask(b.ctx, agentclient.Request{Question: "Go?"})
	q := b.waitForQuestion(t, 1)
	require.Eventually(t, func() bool { return posts.Load() == 3 }, 30*time.Second, time.Millisecond)
	_, err := q.Push(b.ctx, approval())
	require.NoError(t, err)
	require.True(t, b.waitForResult(t, got).Approved())
	require.Len(t, b.hub.Events(), 1)
}

func TestSend_RetriesHangingPost(t *testing.T) {
	t.Parallel()
	var posts atomic.Int64
	c := fixtureConfig{
		opts:    agentclient.Options{UnreachableAfter: time.Minute},
		timings: agentclient.Timings{PostTimeout: 200 * time.Millisecond},
	}
	c.hub.Intercept = func(_ http.ResponseWriter, r *http.Request) bool {
		if posts.Add(1) > 1 {
			return false
		}
		_, _ = io.Copy(io.Discard, r.Body) // the server detects a disconnect only after the body
		<-r.Context().Done()
		return true
	}
	b := setup(t, &c)
	sent, err := b.client.Send(b.ctx, schema.Event{HookEventType: "Stop"})
	require.NoError(t, err)
	require.Equal(t, schema.EventID(1), sent.ID)
}

func TestAsk_UnacceptedQuestionIsUnreachableAtDeadline(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{
		timings: agentclient.Timings{Grace: time.Millisecond, WithdrawTimeout: time.Millisecond},
		hub: fakehub.Hub{Intercept: func(w http.ResponseWriter, _ *http.Request) bool {
			fakehub.Refuse(w, schema.ErrFull)
			return true
		}},
	})
	d, err := b.client.Ask(b.ctx, agentclient.Request{Question: "Go?", Timeout: 20 * time.Millisecond, OnUnreachable: agentclient.Fail})
	require.ErrorIs(t, err, agentclient.ErrUnreachable)
	require.Equal(t, agentclient.Unreachable, d.Outcome, "no one could answer, so it is not a timeout")
}

func TestAsk_OwnDeadlineWithdrawsQuestion(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{timings: agentclient.Timings{Grace: time.Millisecond}})
	got := b.ask(b.ctx, agentclient.Request{Question: "Go?", Timeout: 5 * time.Second})
	end := b.waitForResult(t, got)
	require.NoError(t, end.err, "a timeout is a decision")
	require.Equal(t, schema.Timeout, end.Outcome)
	require.Equal(t, schema.ByTimeout, end.Source)
	require.False(t, end.Approved())
	require.False(t, end.Answered())
	require.Equal(t, "secret-1", b.waitForQuestion(t, 1).Withdrawal.RequestSecret)
}

func TestAsk_CanceledContextWithdrawsQuestion(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{timings: agentclient.Timings{WithdrawTimeout: 30 * time.Second}})
	ctx, cancel := context.WithCancel(b.ctx)
	got := b.ask(ctx, agentclient.Request{Question: "Go?", OnWaiting: func(agentclient.WaitStatus) { cancel() }})
	end := b.waitForResult(t, got)
	require.ErrorIs(t, end.err, context.Canceled)
	require.Equal(t, schema.Withdrawn, end.Outcome)
	require.False(t, end.Approved())
	q := b.waitForQuestion(t, 1)
	require.Equal(t, "secret-1", q.Withdrawal.RequestSecret)
	ack, err := q.Dial(b.ctx, q.Frame(approval()))
	require.NoError(t, err)
	require.Equal(t, schema.AckTooLate, ack.Result)
}

func TestAsk_SendsCancelCauseToHub(t *testing.T) {
	t.Parallel()
	for want, end := range map[string]func(context.CancelCauseFunc){
		"the agent was interrupted": func(end context.CancelCauseFunc) { end(nil) },
		"no one is watching":        func(end context.CancelCauseFunc) { end(errors.New("no one is\nwatching")) },
	} {
		b := setup(t, &fixtureConfig{timings: agentclient.Timings{WithdrawTimeout: 30 * time.Second}})
		ctx, cancel := context.WithCancelCause(b.ctx)
		got := b.ask(ctx, agentclient.Request{Question: "Go?"})
		q := b.waitForQuestion(t, 1)
		end(cancel)
		require.ErrorIs(t, b.waitForResult(t, got).err, context.Canceled)
		require.Equal(t, want, q.Withdrawal.Reason)
	}
}

type panicTransport struct{ http.RoundTripper }

func (panicTransport) RoundTrip(*http.Request) (*http.Response, error) { panic("inside") }

func TestAsk_ReturnsInternalPanicAsError(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{opts: agentclient.Options{OnUnreachable: agentclient.Allow}})
	b.client.SetTransport(panicTransport{})
	d, err := b.client.AskPermission(b.ctx, "Go?")
	require.ErrorContains(t, err, "ask question: panic: inside")
	require.False(t, d.Approved())
}

// The withdrawal needs the reply to the POST that is in progress when ctx ends.
func TestAsk_CancelDuringPostWithdrawsQuestion(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	c := fixtureConfig{timings: agentclient.Timings{WithdrawTimeout: 30 * time.Second}}
	c.hub.Intercept = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == schema.PathEvents {
			cancel()
		}
		return false
	}
	b := setup(t, &c)
	end := b.waitForResult(t, b.ask(ctx, agentclient.Request{Question: "Go?"}))
	require.ErrorIs(t, end.err, context.Canceled)
	require.Equal(t, "secret-1", b.waitForQuestion(t, 1).Withdrawal.RequestSecret)
}

// The hub stores the first POST, its reply is lost, and ctx ends before the retry.
func TestAsk_CancelAfterLostReplyWithdrawsQuestion(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	var posts atomic.Int64
	c := fixtureConfig{timings: agentclient.Timings{WithdrawTimeout: 30 * time.Second}}
	c.hub.Intercept = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != schema.PathEvents || posts.Add(1) > 1 {
			return false
		}
		c.hub.Ingest(&discardWriter{header: http.Header{}}, r)
		cancel()
		panic(http.ErrAbortHandler)
	}
	b := setup(t, &c)
	end := b.waitForResult(t, b.ask(ctx, agentclient.Request{Question: "Go?"}))
	require.ErrorIs(t, end.err, context.Canceled)
	require.Equal(t, schema.Withdrawn, end.Outcome)
	require.Equal(t, "secret-1", b.waitForQuestion(t, 1).Withdrawal.RequestSecret)
	require.Len(t, b.hub.Events(), 1)
}

// An accepted answer counts even if ctx ends before Ask returns; nothing is withdrawn.
func TestAsk_AcceptedAnswerBeatsCancel(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	for n := range 20 {
		ctx, cancel := context.WithCancel(b.ctx)
		acks := make(chan string, 2)
		got := b.ask(ctx, agentclient.Request{Question: "Go?", OnWaiting: func(w agentclient.WaitStatus) {
			q, err := b.hub.Question(b.ctx, int(w.EventID))
			if err != nil {
				t.Error(err)
				return
			}
			for range cap(acks) { // while OnWaiting blocks Ask, only the repeat is acknowledged
				go func() {
					ack, err := q.Dial(b.ctx, q.Frame(approval()))
					if err != nil {
						t.Error(err)
					}
					acks <- ack.Result
				}()
			}
			if first := <-acks; first != schema.AckDuplicate {
				t.Errorf("acknowledged as %s before the handover", first)
			}
			cancel()
		}})
		end := b.waitForResult(t, got)
		require.NoError(t, end.err)
		require.True(t, end.Approved())
		require.Equal(t, schema.AckAccepted, <-acks)
		require.Empty(t, b.waitForQuestion(t, n+1).Withdrawal)
	}
}

func TestClient_DoesNotFollowRedirects(t *testing.T) {
	t.Parallel()
	var elsewhere fakehub.Hub
	require.NoError(t, elsewhere.Start())
	defer elsewhere.Stop()
	b := setup(t, &fixtureConfig{
		opts: agentclient.Options{UnreachableAfter: time.Millisecond},
		hub: fakehub.Hub{Intercept: func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, elsewhere.URL()+r.URL.Path, http.StatusTemporaryRedirect)
			return true
		}},
	})
	_, err := b.client.Send(b.ctx, schema.Event{HookEventType: "Stop"})
	require.ErrorIs(t, err, agentclient.ErrUnreachable)
	require.Empty(t, elsewhere.Events())
}

func TestAsk_CancelReturnsWhileHubHangs(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	released := make(chan struct{})
	defer close(released) // the hub is still blocked when Ask returns
	b := setup(t, &fixtureConfig{
		timings: agentclient.Timings{PostTimeout: time.Hour},
		hub: fakehub.Hub{Intercept: func(http.ResponseWriter, *http.Request) bool {
			cancel()
			<-released
			return true
		}},
	})
	end := b.waitForResult(t, b.ask(ctx, agentclient.Request{Question: "Go?"}))
	require.ErrorIs(t, end.err, context.Canceled)
	require.Equal(t, agentclient.Unreachable, end.Outcome, "the hub did not get the withdrawal")
}

// transportFunc is an HTTP transport without sockets, as synctest's fake clock requires.
type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func jsonResponse(status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)), Request: &http.Request{},
	}
}

func TestSend_IsUnreachableAfterTwoSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := agentclient.New(agentclient.Options{})
		defer client.Close()
		var attempts int
		client.SetTransport(transportFunc(func(*http.Request) (*http.Response, error) {
			attempts++
			return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
		}))
		started := time.Now() // on the fake clock
		_, err := client.Send(t.Context(), schema.Event{HookEventType: "Stop"})
		require.ErrorIs(t, err, agentclient.ErrUnreachable)
		require.InDelta(t, 1.5, time.Since(started).Seconds(), 0.5)
		require.InDelta(t, 6, attempts, 1)
	})
}

func TestSend_RetriesBusyHubForTwoSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := agentclient.New(agentclient.Options{})
		defer client.Close()
		client.SetTransport(transportFunc(func(r *http.Request) (*http.Response, error) {
			res := jsonResponse(http.StatusServiceUnavailable, `{"code":"busy"}`)
			res.Request = r
			return res, nil
		}))
		started := time.Now() // on the fake clock
		_, err := client.Send(t.Context(), schema.Event{HookEventType: "Stop"})
		require.ErrorIs(t, err, agentclient.ErrUnreachable)
		require.ErrorIs(t, err, schema.ErrBusy, "the error wraps the cause")
		require.InDelta(t, 2, time.Since(started).Seconds(), 0.01)
	})
}

func TestAsk_WithdrawalTimesOutAfter300ms(t *testing.T) {
	t.Parallel()
	const limit = 300 * time.Millisecond
	client := agentclient.New(agentclient.Options{})
	defer client.Close()
	var canceled, deadline, latest time.Time
	client.SetTransport(transportFunc(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == schema.PathEvents {
			res := jsonResponse(http.StatusOK, `{"id":1,"requestSecret":"s"}`)
			res.Request = r
			return res, nil
		}
		deadline, _ = r.Context().Deadline()
		latest = time.Now().Add(limit)
		<-r.Context().Done() // the withdrawal hangs
		return nil, r.Context().Err()
	}))
	ctx, cancel := context.WithCancel(testContext(t))
	_, err := client.Ask(ctx, agentclient.Request{Question: "Go?", OnWaiting: func(agentclient.WaitStatus) {
		canceled = time.Now()
		cancel()
	}})
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, deadline.Before(canceled.Add(limit)), "the withdrawal got less time")
	require.False(t, deadline.After(latest), "the withdrawal got more time")
}
