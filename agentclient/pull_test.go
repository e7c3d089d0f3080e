package agentclient_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/internal/fakehub"
	"github.com/hookback/hookback/schema"
)

// blockedHub returns a hub that reports that it won't dial.
func blockedHub() fakehub.Hub {
	return fakehub.Hub{Status: schema.Status{Delivery: &schema.Delivery{State: schema.Blocked}}}
}

func TestPull_StartsImmediatelyIfDeliveryIsBlocked(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{hub: blockedHub(), timings: agentclient.Timings{PullDelay: time.Hour}})
	q, got := b.startQuestion(t)
	q.Decide(q.Frame(approval()))
	end := b.waitForResult(t, got)
	require.NoError(t, end.err)
	require.True(t, end.Approved())
	require.Equal(t, schema.EventID(1), end.EventID)
}

func TestPull_FetchesUnpushedAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{timings: agentclient.Timings{PullDelay: time.Millisecond, PollTimeout: 10 * time.Millisecond}})
	q, got := b.startQuestion(t)
	q.Decide(q.Frame(schema.Answer{Permission: ptr(false), Reason: "no time"}))
	end := b.waitForResult(t, got)
	require.NoError(t, end.err)
	require.Equal(t, schema.Deny, end.Outcome)
	require.Equal(t, "no time", end.Reason)
}

func TestPull_RepeatsUntilAnswered(t *testing.T) {
	t.Parallel()
	var pulls atomic.Int64
	third := make(chan struct{})
	c := fixtureConfig{hub: blockedHub(), timings: agentclient.Timings{PollTimeout: time.Millisecond}}
	c.hub.Intercept = func(_ http.ResponseWriter, r *http.Request) bool {
		if fakehub.IsPull(r) && pulls.Add(1) == 3 {
			close(third)
		}
		return false
	}
	b := setup(t, &c)
	q, got := b.startQuestion(t)
	<-third
	q.Decide(q.Frame(approval()))
	require.True(t, b.waitForResult(t, got).Approved())
}

func TestPull_RaceWithPushGivesOneAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{hub: blockedHub()})
	for n := range 50 {
		got := b.ask(b.ctx, agentclient.Request{Question: "Go?"})
		q := b.waitForQuestion(t, n+1)
		ack, err := q.Push(b.ctx, approval()) // answers, which ends the pull, and dials
		require.NoError(t, err)
		require.Contains(t, []string{schema.AckAccepted, schema.AckDuplicate}, ack.Result)
		require.True(t, b.waitForResult(t, got).Approved())
	}
}

// These are the replies of servers without the route. Only a push can deliver the answer
// then, and the client must not keep pulling.
func TestPull_StopsIfServerLacksRoute(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"404": http.NotFound,
		"404 problem": func(w http.ResponseWriter, _ *http.Request) {
			fakehub.Refuse(w, schema.ErrNoRoute)
		},
		"405": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no", http.StatusMethodNotAllowed)
		},
		"403": func(w http.ResponseWriter, _ *http.Request) {
			fakehub.Refuse(w, schema.ErrForbidden)
		},
		"200 and plain text": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write([]byte("Multi-Agent Observability Server"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var pulls atomic.Int64
			pulled := make(chan struct{}, 100)
			c := fixtureConfig{hub: blockedHub(), timings: agentclient.Timings{PollTimeout: time.Millisecond}}
			c.hub.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
				if !fakehub.IsPull(r) {
					return false
				}
				pulls.Add(1)
				answer(w, r)
				pulled <- struct{}{}
				return true
			}
			b := setup(t, &c)
			q, got := b.startQuestion(t)
			<-pulled
			b.requirePending(t, q, got)
			require.Equal(t, int64(1), pulls.Load(), "pulled again")

			// The pull ends by itself, although the question is still pending.
			sent, err := b.client.Send(b.ctx, schema.Event{
				HookEventType: "DecisionPoint", HumanInTheLoop: &schema.HumanInTheLoop{Question: "Go?", Type: schema.Permission},
			})
			require.NoError(t, err)
			b.client.RunPull(b.ctx, sent)
			require.NoError(t, b.ctx.Err())
			require.Equal(t, int64(2), pulls.Load(), "pulled again")
		})
	}
}

func TestPull_RetriesAfterServerError(t *testing.T) {
	t.Parallel()
	var pulls atomic.Int64
	c := fixtureConfig{hub: blockedHub()}
	c.hub.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if !fakehub.IsPull(r) || pulls.Add(1) > 3 {
			return false
		}
		fakehub.Refuse(w, schema.ErrStopping)
		return true
	}
	b := setup(t, &c)
	q, got := b.startQuestion(t)
	q.Decide(q.Frame(approval()))
	require.True(t, b.waitForResult(t, got).Approved())
	require.Contains(t, []int64{4, 5}, pulls.Load(), "a short poll finds the hub again, and a long one may follow")
}

func TestPull_SurvivesHubRestart(t *testing.T) {
	t.Parallel()
	pulled := make(chan struct{}, 100)
	c := fixtureConfig{hub: blockedHub()}
	c.hub.Intercept = func(_ http.ResponseWriter, r *http.Request) bool {
		if fakehub.IsPull(r) {
			pulled <- struct{}{}
		}
		return false
	}
	b := setup(t, &c)
	q, got := b.startQuestion(t)
	<-pulled
	b.hub.Stop()
	q.Decide(q.Frame(approval())) // as if the hub stored the answer and was killed
	require.NoError(t, b.hub.Start())
	require.True(t, b.waitForResult(t, got).Approved())
}

// A hub can be down for less time than its client needs to try again, for example if the client gets
// no processor. The client notices the restart although no connection was refused.
func TestPull_NoticesRestartWithoutRefusal(t *testing.T) {
	t.Parallel()
	var pulls atomic.Int64
	c := fixtureConfig{hub: blockedHub()}
	c.hub.Intercept = func(_ http.ResponseWriter, r *http.Request) bool {
		if fakehub.IsPull(r) && pulls.Add(1) == 1 {
			panic(http.ErrAbortHandler) // closes the connection
		}
		return false
	}
	b := setup(t, &c)
	reattached := make(chan struct{}, 100)
	got := b.ask(b.ctx, agentclient.Request{Question: "Go?", OnReattached: func() { reattached <- struct{}{} }})
	q := b.waitForQuestion(t, 1)
	select {
	case <-reattached:
	case <-b.ctx.Done():
		require.FailNow(t, "the client did not notice the restart")
	}
	q.Decide(q.Frame(approval()))
	require.True(t, b.waitForResult(t, got).Approved())
}

func TestPush_SurvivesHubRestart(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	q, got := b.startQuestion(t)
	b.hub.Stop()
	require.NoError(t, b.hub.Start())
	_, err := q.Push(b.ctx, approval())
	require.NoError(t, err)
	require.True(t, b.waitForResult(t, got).Approved())
}

func TestPull_EndsWhenQuestionIsWithdrawn(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{hub: blockedHub()})
	q, got := b.startQuestion(t)
	require.NoError(t, b.client.Withdraw(b.ctx, &q.Event, "withdrawn by another goroutine"))
	end := b.waitForResult(t, got)
	require.NoError(t, end.err)
	require.Equal(t, schema.Withdrawn, end.Outcome)
	require.False(t, end.Approved())
}

func TestPull_IgnoresAnswerForOtherEvent(t *testing.T) {
	t.Parallel()
	pulled := make(chan struct{}, 100)
	c := fixtureConfig{hub: blockedHub()}
	c.hub.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if !fakehub.IsPull(r) {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"permission":true,"answerId":"x","hookEvent":{"id":9,"idempotency_key":"not ours"}}`))
		pulled <- struct{}{}
		return true
	}
	b := setup(t, &c)
	q, got := b.startQuestion(t)
	<-pulled
	b.requirePending(t, q, got)
}

func TestAsk_IdempotencyKeyResumesQuestion(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{timings: agentclient.Timings{PullDelay: time.Hour}})
	first := newClient(t, agentclient.Options{Hubs: []string{b.hub.URL()}}, agentclient.Timings{})
	r := agentclient.Request{Question: "Go?", Event: schema.Event{IdempotencyKey: "deploy-7"}}
	old := (&fixture{ctx: b.ctx, client: first}).ask(b.ctx, r)
	q := b.waitForQuestion(t, 1)
	_, err := q.Push(b.ctx, approval())
	require.NoError(t, err)
	require.True(t, b.waitForResult(t, old).Approved())

	d, err := b.client.Ask(b.ctx, r) // the restarted agent asks again
	require.NoError(t, err)
	require.True(t, d.Approved())
	require.Len(t, b.hub.Events(), 1)
}

func TestClient_UsesAnyWorkingHub(t *testing.T) {
	t.Parallel()
	var dead, foreign, live fakehub.Hub
	foreign.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
		http.NotFound(w, r)
		return true
	}
	for _, h := range []*fakehub.Hub{&dead, &foreign, &live} {
		require.NoError(t, h.Start())
	}
	dead.Stop()
	defer foreign.Stop()
	defer live.Stop()
	client := newClient(t, agentclient.Options{Hubs: []string{dead.URL(), foreign.URL(), live.URL()}}, agentclient.Timings{})
	b := &fixture{ctx: testContext(t), hub: &live, client: client}
	sent, err := client.Send(b.ctx, schema.Event{HookEventType: "Stop"})
	require.NoError(t, err)
	require.Equal(t, schema.EventID(1), sent.ID)
	got := b.ask(b.ctx, agentclient.Request{Question: "Go?"})
	_, err = b.waitForQuestion(t, 2).Push(b.ctx, approval())
	require.NoError(t, err)
	require.True(t, b.waitForResult(t, got).Approved())
}
