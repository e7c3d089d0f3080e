package hub

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

const keyed = `"idempotency_key":"k","humanInTheLoop":`

func TestRepeatedPostIsToldWhatWasAskedFirst(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.post(with(keyed + mayI)).ID
	_, err := b.Respond(t.Context(), id, yes(), Caller{})
	require.NoError(t, err)
	other := strings.NewReplacer("May I?", "May I delete everything?", "50123", "50124").Replace(mayI)
	e := decode(t, b.post(with(keyed+other)).JSON)
	require.True(t, *e.HumanInTheLoopStatus.Response.Permission)
	require.Equal(t, "May I?", e.HumanInTheLoop.Question, "the yes must not stand beside another question")
	require.Equal(t, "ws://127.0.0.1:50124/secret", e.HumanInTheLoop.ResponseWebSocketURL)
}

func TestRepeatedPostMayHaveAnAddressThatCanBeDialled(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) {
		c.Blocked = func(url string) error {
			if strings.Contains(url, "10.9.9.9") {
				return errors.New("10.9.9.9 is not allowed")
			}
			return nil
		}
	})
	bad := strings.Replace(mayI, "127.0.0.1", "10.9.9.9", 1)
	first := b.post(with(keyed + bad))
	require.Equal(t, schema.Blocked, b.status(first.ID).Delivery.State)

	st := *decode(t, b.post(with(keyed+mayI)).JSON).HumanInTheLoopStatus
	require.Nil(t, st.Delivery)
	require.Equal(t, schema.Listening, st.Waiter)
	require.Equal(t, st, b.status(first.ID), "every page sees it")
	_, err := b.Respond(t.Context(), first.ID, yes(), Caller{})
	require.NoError(t, err)
	require.Equal(t, schema.Queued, b.status(first.ID).Delivery.State)
	require.Equal(t, []schema.EventID{first.ID}, b.dispatched)

	second := b.post(with(strings.Replace(keyed, `"k"`, `"l"`, 1) + mayI))
	b.post(with(strings.Replace(keyed, `"k"`, `"l"`, 1) + bad))
	require.Equal(t, schema.Blocked, b.status(second.ID).Delivery.State)
	b.post(with(strings.Replace(keyed, `"k"`, `"l"`, 1) + pullOne))
	require.Equal(t, schema.Unknown, b.status(second.ID).Waiter, "now it pulls")
	require.Nil(t, b.status(second.ID).Delivery)
}

func TestRepeatedPostOfATakenBackQuestionIsSentNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.post(with(keyed + mayI))
	_, err := b.Cancel(t.Context(), first.ID, schema.Cancel{RequestSecret: decode(t, first.JSON).RequestSecret}, Caller{})
	require.NoError(t, err)
	b.post(with(keyed + mayI))
	leased, _, err := b.Store.LeaseDeliveries(t.Context(), time.Now().Add(time.Minute), time.Now().Add(time.Hour), 9)
	require.NoError(t, err)
	require.Empty(t, leased)
}

func TestRepeatedPostIsAnsweredBeforeItsAgentIsDialled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.post(with(keyed + mayI)).ID
	b.ResponseSent(id)
	b.post(with(keyed + mayI)) // its response has not left
	_, err := b.Respond(t.Context(), id, yes(), Caller{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, b.AwaitResponseSent(ctx, id), context.Canceled)
	b.ResponseSent(id)
	require.NoError(t, b.AwaitResponseSent(ctx, id))
}

func TestSessionEndSparesWhatIsAskedAfterIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	end := strings.Replace(plain, `"hook_event_type":"Stop"`, `"hook_event_type":"SessionEnd"`, 1)
	require.NotEqual(t, plain, end)
	_, ids, err := b.IngestBatch(t.Context(), []byte(`[`+with(`"humanInTheLoop":`+mayI)+`,`+end+`,`+with(`"humanInTheLoop":`+mayI)+`]`), Caller{})
	require.NoError(t, err)
	require.Len(t, ids, 2)
	require.Equal(t, schema.Cancelled, b.status(ids[0]).Outcome)
	require.Equal(t, schema.Pending, b.status(ids[1]).Status)
}
