package hub

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	listenerURL = "ws://127.0.0.1:50123/secret"
	lifelined   = `{"question":"May I?","type":"permission","responseWebSocketUrl":"` + listenerURL + `","protocolVersion":2,"lifeline":true}`
)

func TestAnOrphanedQuestion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, secret := b.ask(lifelined)
	require.NoError(t, b.Abandon(t.Context(), id, "ws://127.0.0.1:50123/before", AgentGone), "of a listener it had before")
	require.Equal(t, schema.Pending, b.status(id).Status)
	b.respond(id, held(yes(), 20*time.Second)) // nobody is there to be told any more

	require.NoError(t, b.Abandon(t.Context(), id, listenerURL, AgentGone))
	st := b.status(id)
	require.Equal(t, schema.Failed, st.Status)
	require.Equal(t, schema.Cancelled, st.Outcome)
	require.Equal(t, schema.ByOrphaned, st.Source)
	require.Equal(t, "the agent is gone", st.Reason)
	require.Equal(t, schema.Lost, st.Waiter)
	require.Nil(t, st.Held)
	require.False(t, *st.Response.Permission)
	require.Contains(t, st.Response.Guidance, "Nothing was approved")
	require.Equal(t, schema.NoDelivery, st.Delivery.State)
	require.Empty(t, b.dispatched, "there is nobody to dial")
	undelivered, err := b.FindEvents(t.Context(), store.Filter{Status: "undelivered", Limit: 10})
	require.NoError(t, err)
	require.Equal(t, "[]", string(undelivered))
	require.NoError(t, b.Abandon(t.Context(), id, listenerURL, AgentGone))
	require.Equal(t, st, b.status(id), "it ended once")
	_, err = b.Respond(t.Context(), id, yes(), Caller{})
	require.ErrorIs(t, err, schema.ErrExpired)
	_, err = b.Cancel(t.Context(), id, schema.Cancel{RequestSecret: secret}, Caller{})
	require.ErrorIs(t, err, schema.ErrExpired, "what the dying agent still sends comes too late")
}

func TestWhoGetsALifeline(t *testing.T) {
	t.Parallel()
	told := 0
	b := setup(t, func(c *Config) { c.Lifeline = func() { told++ } })
	for _, question := range []string{
		mayI,
		`{"question":"May I?","type":"permission","responseWebSocketUrl":"` + listenerURL + `","lifeline":true}`, // version 1
		`{"question":"May I?","type":"permission","protocolVersion":2,"lifeline":true}`,                          // it pulls
		`{"question":"May I?","type":"permission","responseWebSocketUrl":"` + listenerURL + `","protocolVersion":2}`,
	} {
		b.ask(question)
	}
	require.Zero(t, told)
	id, _ := b.ask(lifelined)
	require.Equal(t, 1, told)
	ids, err := b.Store.Lifelines(t.Context(), store.ByListener, 0, 10)
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{id}, ids)
	require.NoError(t, b.Abandon(t.Context(), id, listenerURL, AgentGone))
	ids, err = b.Store.Lifelines(t.Context(), store.ByListener, 0, 10)
	require.NoError(t, err)
	require.Empty(t, ids)
}

// TestARestartLeavesNoGhosts: a request that waits can't come back to a hub that was
// stopped; what is asked by requests of this one's stays.
func TestARestartLeavesNoGhosts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	waiting := []byte(with(`"humanInTheLoop":` + pullOne))
	ghost, err := b.Ingest(t.Context(), waiting, Caller{Waits: true})
	require.NoError(t, err)
	require.Equal(t, schema.Listening, b.status(ghost.ID).Waiter)
	pulls, _ := b.ask(pullOne)
	require.NoError(t, b.Store.Close())
	b = open(t, b.path)
	fresh, err := b.Ingest(t.Context(), waiting, Caller{Waits: true})
	require.NoError(t, err)
	b.ends()
	st := b.settled(ghost.ID)
	require.Equal(t, schema.ByOrphaned, st.Source)
	require.Equal(t, HubStopped, st.Reason)
	require.NoError(t, b.abandonHeldHooks(t.Context())) // to its end, as Run did it
	require.Equal(t, schema.Pending, b.status(pulls).Status)
	require.Equal(t, schema.Pending, b.status(fresh.ID).Status)
	require.NoError(t, b.Abandon(t.Context(), fresh.ID, "", AgentGone))
	require.Equal(t, schema.ByOrphaned, b.status(fresh.ID).Source)
}

// TestAnAnswerAndTheAgentsEnd: whichever is committed first is the end.
func TestAnAnswerAndTheAgentsEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 30 {
		id, _ := b.ask(lifelined)
		var answered error
		var both sync.WaitGroup
		both.Go(func() { _, answered = b.Respond(t.Context(), id, yes(), Caller{}) })
		both.Go(func() {
			if err := b.Abandon(t.Context(), id, listenerURL, AgentGone); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		st := b.status(id)
		require.EqualValues(t, 2, st.Revision, "one change")
		if answered == nil {
			require.Equal(t, schema.Approve, st.Outcome)
		} else {
			require.ErrorIs(t, answered, schema.ErrExpired)
			require.Equal(t, schema.ByOrphaned, st.Source)
		}
	}
}
