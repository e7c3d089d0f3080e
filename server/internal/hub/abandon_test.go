package hub

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	listenerURL      = "ws://127.0.0.1:50123/secret"
	lifelineQuestion = `{"question":"May I?","type":"permission","responseWebSocketUrl":"` + listenerURL + `","protocolVersion":2,"lifeline":true}`
)

func TestAbandon_ResolvesQuestion(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id, secret := h.ask(lifelineQuestion)
	require.NoError(t, h.Abandon(t.Context(), id, "ws://127.0.0.1:50123/before", ReasonAgentGone), "a listener that the question no longer names")
	require.Equal(t, schema.Pending, h.status(id).Status)
	h.respond(id, withHold(approval(), 20*time.Second)) // the agent is gone before the undo window ends

	require.NoError(t, h.Abandon(t.Context(), id, listenerURL, ReasonAgentGone))
	st := h.status(id)
	require.Equal(t, schema.Failed, st.Status)
	require.Equal(t, schema.Cancelled, st.Outcome)
	require.Equal(t, schema.ByOrphaned, st.Source)
	require.Equal(t, "the agent is gone", st.Reason)
	require.Equal(t, schema.Lost, st.Waiter)
	require.Nil(t, st.Held)
	require.False(t, *st.Response.Permission)
	require.Contains(t, st.Response.Guidance, "Nothing was approved")
	require.Equal(t, schema.NoDelivery, st.Delivery.State)
	require.Empty(t, h.dispatched(), "there is no listener to dial")
	undelivered, err := h.query.FindEvents(t.Context(), store.Filter{Status: "undelivered", Limit: 10}, query.Complete)
	require.NoError(t, err)
	require.Equal(t, "[]", string(undelivered))
	require.NoError(t, h.Abandon(t.Context(), id, listenerURL, ReasonAgentGone))
	require.Equal(t, st, h.status(id), "a repeat changes nothing")
	_, err = h.Respond(t.Context(), id, approval(), Caller{})
	require.ErrorIs(t, err, schema.ErrExpired)
	_, err = h.Cancel(t.Context(), id, schema.Cancel{RequestSecret: secret}, Caller{})
	require.ErrorIs(t, err, schema.ErrExpired, "a withdrawal after the end is too late")
}

func TestLifeline_OnlyVersion2Listeners(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	for _, question := range []string{
		callbackQuestion,
		`{"question":"May I?","type":"permission","responseWebSocketUrl":"` + listenerURL + `","lifeline":true}`, // version 1
		`{"question":"May I?","type":"permission","protocolVersion":2,"lifeline":true}`,                          // pulls its answer
		`{"question":"May I?","type":"permission","responseWebSocketUrl":"` + listenerURL + `","protocolVersion":2}`,
	} {
		h.ask(question)
	}
	require.Empty(t, h.factIDs(feed.Liveness))
	id, _ := h.ask(lifelineQuestion)
	require.Equal(t, []schema.EventID{id}, h.factIDs(feed.Liveness))
	ids, err := h.Store.Lifelines(t.Context(), store.ByListener, 0)
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{id}, ids)
	require.NoError(t, h.Abandon(t.Context(), id, listenerURL, ReasonAgentGone))
	ids, err = h.Store.Lifelines(t.Context(), store.ByListener, 0)
	require.NoError(t, err)
	require.Empty(t, ids)
}

// TestRestart_AbandonsHeldHooks: an HTTP request held by the previous process cannot
// return. Questions that pull, and those held by requests of this process, stay pending.
func TestRestart_AbandonsHeldHooks(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	waiting := []byte(eventWith(`"humanInTheLoop":` + pullQuestion))
	ghost, err := h.Ingest(t.Context(), waiting, Caller{WaitsForAnswer: true})
	require.NoError(t, err)
	require.Equal(t, schema.Listening, h.status(ghost.ID).Waiter)
	pulls, _ := h.ask(pullQuestion)
	require.NoError(t, h.Store.(store.Store).Close())
	h = openTestHub(t, h.path)
	fresh, err := h.Ingest(t.Context(), waiting, Caller{WaitsForAnswer: true})
	require.NoError(t, err)
	h.startDeadlines()
	st := h.awaitSettled(ghost.ID)
	require.Equal(t, schema.ByOrphaned, st.Source)
	require.Equal(t, ReasonHubStopped, st.Reason)
	require.NoError(t, h.resumeRequests(t.Context())) // waits for the pass that Run started
	require.Equal(t, schema.Pending, h.status(pulls).Status)
	require.Equal(t, schema.Pending, h.status(fresh.ID).Status)
	require.NoError(t, h.Abandon(t.Context(), fresh.ID, "", ReasonAgentGone))
	require.Equal(t, schema.ByOrphaned, h.status(fresh.ID).Source)
}

// TestAbandon_RacesWithAnswer: the first commit resolves the question.
func TestAbandon_RacesWithAnswer(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	for range 30 {
		id, _ := h.ask(lifelineQuestion)
		var answered error
		var both sync.WaitGroup
		both.Go(func() { _, answered = h.Respond(t.Context(), id, approval(), Caller{}) })
		both.Go(func() {
			if err := h.Abandon(t.Context(), id, listenerURL, ReasonAgentGone); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		st := h.status(id)
		require.EqualValues(t, 2, st.Revision, "exactly one change")
		if answered == nil {
			require.Equal(t, schema.Approve, st.Outcome)
		} else {
			require.ErrorIs(t, answered, schema.ErrExpired)
			require.Equal(t, schema.ByOrphaned, st.Source)
		}
	}
}

// TestWaiter_IsUnknownBeforeConnection: nothing shows that a version 1 listener, or one that may not be dialed, exists.
func TestWaiter_IsUnknownBeforeConnection(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(c *Config) {
		c.DialPolicy = dialPolicyFunc(func(url string) error {
			if strings.Contains(url, "10.9.9.9") {
				return errors.New("10.9.9.9 is not allowed")
			}
			return nil
		})
	})
	older, version2 := sharedQuestion("a", "s", `"x"`, ""), sharedQuestion("a", "s", `"x"`, `,"protocolVersion":2`)
	for body, want := range map[string]schema.Waiter{
		older: schema.Unknown, version2: schema.Listening,
		strings.Replace(version2, "localhost", "10.9.9.9", 1): schema.Unknown,
	} {
		require.Equal(t, want, h.status(h.post(body).ID).Waiter, body)
	}
}
