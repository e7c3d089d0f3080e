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

// blocked is a hub that says that it won't dial.
func blocked() fakehub.Hub {
	return fakehub.Hub{Status: schema.Status{Delivery: &schema.Delivery{State: schema.Blocked}}}
}

func TestABlockedDeliveryIsPulledAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, &config{hub: blocked(), pace: agentclient.Pace{PullAfter: time.Hour}})
	q, got := b.waiting(t)
	q.Decide(q.Frame(yes()))
	end := b.end(t, got)
	require.NoError(t, end.err)
	require.True(t, end.Approved())
	require.Equal(t, schema.EventID(1), end.EventID)
}

func TestAnAnswerThatIsNotPushedIsPulled(t *testing.T) {
	t.Parallel()
	b := setup(t, &config{pace: agentclient.Pace{PullAfter: time.Millisecond, Poll: 10 * time.Millisecond}})
	q, got := b.waiting(t)
	q.Decide(q.Frame(schema.Answer{Permission: ptr(false), Reason: "no time"}))
	end := b.end(t, got)
	require.NoError(t, end.err)
	require.Equal(t, schema.Deny, end.Outcome)
	require.Equal(t, "no time", end.Reason)
}

func TestThePullIsAskedAgainWhileThereIsNoAnswer(t *testing.T) {
	t.Parallel()
	var pulls atomic.Int64
	third := make(chan struct{})
	c := config{hub: blocked(), pace: agentclient.Pace{Poll: time.Millisecond}}
	c.hub.Intercept = func(_ http.ResponseWriter, r *http.Request) bool {
		if fakehub.IsPullURL(r) && pulls.Add(1) == 3 {
			close(third)
		}
		return false
	}
	b := setup(t, &c)
	q, got := b.waiting(t)
	<-third
	q.Decide(q.Frame(yes()))
	require.True(t, b.end(t, got).Approved())
}

func TestPushAndPullTogetherGiveOneAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t, &config{hub: blocked()})
	for n := range 50 {
		got := b.ask(b.ctx, agentclient.Request{Question: "Go?"})
		q := b.question(t, n+1)
		ack, err := q.Push(b.ctx, yes()) // decides, which ends the pull, and dials
		require.NoError(t, err)
		require.Contains(t, []string{schema.AckAccepted, schema.AckDuplicate}, ack.Result)
		require.True(t, b.end(t, got).Approved())
	}
}

// A server without the route answers in one of these ways; then only a push can
// help, and the client must not keep asking.
func TestServersWithoutThePullRouteAreNotAskedAgain(t *testing.T) {
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
			pulled := make(chan struct{}, 100)
			c := config{hub: blocked(), pace: agentclient.Pace{Poll: time.Millisecond}}
			c.hub.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
				if !fakehub.IsPullURL(r) {
					return false
				}
				answer(w, r)
				pulled <- struct{}{}
				return true
			}
			b := setup(t, &c)
			q, got := b.waiting(t)
			<-pulled
			select {
			case <-pulled:
				require.FailNow(t, "asked again")
			case <-time.After(100 * time.Millisecond): // the first pause would be half of that
			}
			b.stillWaiting(t, q, got)
		})
	}
}

func TestPullGoesOnAfterTrouble(t *testing.T) {
	t.Parallel()
	var pulls atomic.Int64
	c := config{hub: blocked()}
	c.hub.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if !fakehub.IsPullURL(r) || pulls.Add(1) > 3 {
			return false
		}
		fakehub.Refuse(w, schema.ErrStopping)
		return true
	}
	b := setup(t, &c)
	q, got := b.waiting(t)
	q.Decide(q.Frame(yes()))
	require.True(t, b.end(t, got).Approved())
	require.Equal(t, int64(4), pulls.Load())
}

func TestPullSurvivesARestartOfTheHub(t *testing.T) {
	t.Parallel()
	pulled := make(chan struct{}, 100)
	c := config{hub: blocked()}
	c.hub.Intercept = func(_ http.ResponseWriter, r *http.Request) bool {
		if fakehub.IsPullURL(r) {
			pulled <- struct{}{}
		}
		return false
	}
	b := setup(t, &c)
	q, got := b.waiting(t)
	<-pulled
	b.hub.Stop()
	q.Decide(q.Frame(yes())) // as if stored, then killed before anything left
	require.NoError(t, b.hub.Start())
	require.True(t, b.end(t, got).Approved())
}

func TestPushSurvivesARestartOfTheHub(t *testing.T) {
	t.Parallel()
	b := setup(t, &config{})
	q, got := b.waiting(t)
	b.hub.Stop()
	require.NoError(t, b.hub.Start())
	_, err := q.Push(b.ctx, yes())
	require.NoError(t, err)
	require.True(t, b.end(t, got).Approved())
}

func TestAQuestionWithdrawnElsewhereEnds(t *testing.T) {
	t.Parallel()
	b := setup(t, &config{hub: blocked()})
	q, got := b.waiting(t)
	require.NoError(t, b.client.Withdraw(b.ctx, &q.Event, "another goroutine said so"))
	end := b.end(t, got)
	require.NoError(t, end.err)
	require.Equal(t, schema.Withdrawn, end.Outcome)
	require.False(t, end.Approved())
}

func TestAPulledAnswerOfAnotherEventIsNotTaken(t *testing.T) {
	t.Parallel()
	pulled := make(chan struct{}, 100)
	c := config{hub: blocked()}
	c.hub.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if !fakehub.IsPullURL(r) {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"permission":true,"answerId":"x","hookEvent":{"id":9,"idempotency_key":"not ours"}}`))
		pulled <- struct{}{}
		return true
	}
	b := setup(t, &c)
	q, got := b.waiting(t)
	<-pulled
	b.stillWaiting(t, q, got)
}

func TestAnIdempotencyKeyOfOnesOwnTakesUpTheOldQuestion(t *testing.T) {
	t.Parallel()
	b := setup(t, &config{pace: agentclient.Pace{PullAfter: time.Hour}})
	first := newClient(t, agentclient.Options{Hubs: []string{b.hub.URL()}}, agentclient.Pace{})
	r := agentclient.Request{Question: "Go?", Event: schema.Event{IdempotencyKey: "deploy-7"}}
	old := (&bundle{ctx: b.ctx, client: first}).ask(b.ctx, r)
	q := b.question(t, 1)
	_, err := q.Push(b.ctx, yes())
	require.NoError(t, err)
	require.True(t, b.end(t, old).Approved())

	d, err := b.client.Ask(b.ctx, r) // the restarted agent asks again
	require.NoError(t, err)
	require.True(t, d.Approved())
	require.Len(t, b.hub.Events(), 1)
}

func TestWithSeveralAddressesAnyThatWorksWillDo(t *testing.T) {
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
	client := newClient(t, agentclient.Options{Hubs: []string{dead.URL(), foreign.URL(), live.URL()}}, agentclient.Pace{})
	b := &bundle{ctx: testContext(t), hub: &live, client: client}
	sent, err := client.Send(b.ctx, schema.Event{HookEventType: "Stop"})
	require.NoError(t, err)
	require.Equal(t, schema.EventID(1), sent.ID)
	got := b.ask(b.ctx, agentclient.Request{Question: "Go?"})
	_, err = b.question(t, 2).Push(b.ctx, yes())
	require.NoError(t, err)
	require.True(t, b.end(t, got).Approved())
}
