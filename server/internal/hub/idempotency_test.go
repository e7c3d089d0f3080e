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

const keyedQuestion = `"idempotency_key":"k","humanInTheLoop":`

func TestIdempotencyKey_ReturnsOriginalQuestion(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id := h.post(eventWith(keyedQuestion + callbackQuestion)).ID
	_, err := h.Respond(t.Context(), id, approval(), Caller{})
	require.NoError(t, err)
	other := strings.NewReplacer("May I?", "May I delete everything?", "50123", "50124").Replace(callbackQuestion)
	e := decodeEvent(t, h.post(eventWith(keyedQuestion+other)).JSON)
	require.True(t, *e.HumanInTheLoopStatus.Response.Permission)
	require.Equal(t, "May I?", e.HumanInTheLoop.Question, "the approval must not appear with another question")
	require.Equal(t, "ws://127.0.0.1:50124/secret", e.HumanInTheLoop.ResponseWebSocketURL)
}

func TestIdempotencyKey_UpdatesCallbackAddress(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(c *Config) {
		c.CheckURL = func(url string) error {
			if strings.Contains(url, "10.9.9.9") {
				return errors.New("10.9.9.9 is not allowed")
			}
			return nil
		}
	})
	bad := strings.Replace(callbackQuestion, "127.0.0.1", "10.9.9.9", 1)
	first := h.post(eventWith(keyedQuestion + bad))
	require.Equal(t, schema.Blocked, h.status(first.ID).Delivery.State)

	st := *decodeEvent(t, h.post(eventWith(keyedQuestion+callbackQuestion)).JSON).HumanInTheLoopStatus
	require.Nil(t, st.Delivery)
	require.Equal(t, schema.Listening, st.Waiter)
	require.Equal(t, st, h.status(first.ID), "the change is stored")
	_, err := h.Respond(t.Context(), first.ID, approval(), Caller{})
	require.NoError(t, err)
	require.Equal(t, schema.Queued, h.status(first.ID).Delivery.State)
	require.Equal(t, []schema.EventID{first.ID}, h.dispatched)

	second := h.post(eventWith(strings.Replace(keyedQuestion, `"k"`, `"l"`, 1) + callbackQuestion))
	h.post(eventWith(strings.Replace(keyedQuestion, `"k"`, `"l"`, 1) + bad))
	require.Equal(t, schema.Blocked, h.status(second.ID).Delivery.State)
	h.post(eventWith(strings.Replace(keyedQuestion, `"k"`, `"l"`, 1) + pullQuestion))
	require.Equal(t, schema.Unknown, h.status(second.ID).Waiter, "the agent pulls now")
	require.Nil(t, h.status(second.ID).Delivery)
}

func TestIdempotencyKey_WithdrawnQuestionSendsNothing(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	first := h.post(eventWith(keyedQuestion + callbackQuestion))
	_, err := h.Cancel(t.Context(), first.ID, schema.Cancel{RequestSecret: decodeEvent(t, first.JSON).RequestSecret}, Caller{})
	require.NoError(t, err)
	h.post(eventWith(keyedQuestion + callbackQuestion))
	leased, _, err := h.Store.LeaseDeliveries(t.Context(), time.Now().Add(time.Minute), time.Now().Add(time.Hour), 9)
	require.NoError(t, err)
	require.Empty(t, leased)
}

func TestIdempotencyKey_RespondsBeforeDialing(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id := h.post(eventWith(keyedQuestion + callbackQuestion)).ID
	h.ResponseSent(id)
	h.post(eventWith(keyedQuestion + callbackQuestion)) // its response has not been sent
	_, err := h.Respond(t.Context(), id, approval(), Caller{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, h.AwaitResponseSent(ctx, id), context.Canceled)
	h.ResponseSent(id)
	require.NoError(t, h.AwaitResponseSent(ctx, id))
}

func TestSessionEnd_KeepsLaterQuestions(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	end := strings.Replace(plainEvent, `"hook_event_type":"Stop"`, `"hook_event_type":"SessionEnd"`, 1)
	require.NotEqual(t, plainEvent, end)
	_, ids, err := h.IngestBatch(t.Context(), []byte(`[`+eventWith(`"humanInTheLoop":`+callbackQuestion)+`,`+end+`,`+eventWith(`"humanInTheLoop":`+callbackQuestion)+`]`), Caller{})
	require.NoError(t, err)
	require.Len(t, ids, 2)
	require.Equal(t, schema.Cancelled, h.status(ids[0]).Outcome)
	require.Equal(t, schema.Pending, h.status(ids[1]).Status)
}
