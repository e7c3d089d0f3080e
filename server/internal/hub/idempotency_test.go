package hub

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

const keyedQuestion = `"idempotency_key":"k","humanInTheLoop":`

// ownSecret is a request secret that the client makes.
const ownSecret = "c2VjcmV0LW9mLXRoZS1jbGllbnQtMzItYnl0ZXM"

// withSecret adds the client's own request secret to a question.
func withSecret(question, secret string) string {
	return `{"requestSecret":"` + secret + `",` + question[1:]
}

// A repeat with other content must neither read the answer of the first question nor have its own
// content approved by it.
func TestIdempotencyKey_OtherBodyConflicts(t *testing.T) {
	t.Parallel()
	const call = `,"toolCall":{"name":"Bash","arguments":{"command":"ls"}}}`
	asked := strings.TrimSuffix(callbackQuestion, "}") + call
	for name, repeat := range map[string]string{
		"another command":  `"humanInTheLoop":` + strings.NewReplacer(`"ls"`, `"rm -rf /"`, "50123", "50124").Replace(asked),
		"another address":  `"humanInTheLoop":` + strings.Replace(asked, "50123", "50124", 1),
		"another time":     `"timestamp":5,"humanInTheLoop":` + asked,
		"a made-up secret": `"humanInTheLoop":` + withSecret(asked, ownSecret),
		"a plain event":    `"timestamp":5`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newTestHub(t)
			first := h.post(eventWith(keyedQuestion + asked))
			_, err := h.Respond(t.Context(), first.ID, approval(), Caller{})
			require.NoError(t, err)
			dispatched := len(h.dispatched())
			body := eventWith(`"idempotency_key":"k",` + repeat)
			_, err = h.Ingest(t.Context(), []byte(body), Caller{})
			require.ErrorIs(t, err, schema.ErrKeyConflict)
			text := schema.ErrKeyConflict.Error()
			require.Equal(t, schema.Problem{
				Type: "about:blank", Title: "Conflict", Status: 409, Code: "key_conflict", Detail: text, Error: text,
				Hint: "Nothing was stored. Use a new idempotency_key for a new request.",
			}, schema.ProblemOf(err), "the problem carries neither a status nor a secret")
			results, ids, err := h.IngestBatch(t.Context(), []byte(`[`+body+`]`), Caller{})
			require.NoError(t, err)
			require.Empty(t, ids)
			require.NotContains(t, string(results), "requestSecret")
			q, err := h.Store.Question(t.Context(), first.ID)
			require.NoError(t, err)
			require.Equal(t, "ws://127.0.0.1:50123/secret", q.URL)
			require.Len(t, h.dispatched(), dispatched)
		})
	}
}

// A plain event's key is no key of a question.
func TestIdempotencyKey_QuestionConflictsWithPlainEvent(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	first := h.post(eventWith(`"idempotency_key":"k"`))
	_, err := h.Ingest(t.Context(), []byte(eventWith(keyedQuestion+pullQuestion)), Caller{})
	require.ErrorIs(t, err, schema.ErrKeyConflict)
	require.Equal(t, first.ID, h.post(eventWith(`"idempotency_key":"k","timestamp":9`)).ID, "plain events are merged")
}

// The same bytes again are a retry: the sender knows the address and the listener key.
func TestIdempotencyKey_SameBodyReturnsFirstResult(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	body := eventWith(keyedQuestion + callbackQuestion)
	first := decodeEvent(t, h.post(body).JSON)
	require.NotEmpty(t, first.RequestSecret)
	_, err := h.Respond(t.Context(), first.ID, approval(), Caller{})
	require.NoError(t, err)
	again := decodeEvent(t, h.post(body).JSON)
	require.Equal(t, first.ID, again.ID)
	require.Equal(t, first.RequestSecret, again.RequestSecret)
	require.Equal(t, first.HumanInTheLoop, again.HumanInTheLoop)
	require.True(t, *again.HumanInTheLoopStatus.Response.Permission)
}

// A restarted agent that kept its secret asks the same question with a new listener.
func TestIdempotencyKey_SecretMovesDelivery(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	nonce := schema.NonceOf(ownSecret)
	asked := withSecret(`{"nonce":"`+nonce+`",`+callbackQuestion[1:], ownSecret)
	first := h.post(eventWith(keyedQuestion + asked))
	require.NotContains(t, string(first.JSON), "requestSecret", "the hub never returns a client's secret")
	require.NotContains(t, string(first.JSON), nonce)
	moved := h.post(eventWith(`"timestamp":7,` + keyedQuestion + strings.Replace(asked, "50123", "50124", 1)))
	require.Equal(t, first.ID, moved.ID)
	require.NotContains(t, string(moved.JSON), "requestSecret")
	q, err := h.Store.Question(t.Context(), first.ID)
	require.NoError(t, err)
	require.Equal(t, "ws://127.0.0.1:50124/secret", q.URL)

	for name, other := range map[string]string{
		"wrong secret":   strings.Replace(asked, ownSecret, ownSecret[1:]+"x", 1),
		"other question": strings.Replace(asked, "May I?", "May I delete everything?", 1),
		"other nonce":    strings.Replace(asked, nonce, schema.NonceOf("x"), 1),
	} {
		_, err := h.Ingest(t.Context(), []byte(eventWith(keyedQuestion+strings.Replace(other, "50123", "50125", 1))), Caller{})
		require.ErrorIs(t, err, schema.ErrKeyConflict, name)
	}
	_, err = h.Cancel(t.Context(), first.ID, schema.Cancel{RequestSecret: ownSecret[1:] + "x"}, Caller{})
	require.ErrorIs(t, err, schema.ErrForbidden)
	_, err = h.Cancel(t.Context(), first.ID, schema.Cancel{RequestSecret: ownSecret}, Caller{})
	require.NoError(t, err)
}

func TestIdempotencyKey_UpdatesCallbackAddress(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(c *Config) {
		c.DialPolicy = dialPolicyFunc(func(url string) error {
			if strings.Contains(url, "10.9.9.9") {
				return errors.New("10.9.9.9 is not allowed")
			}
			return nil
		})
	})
	good, pull := withSecret(callbackQuestion, ownSecret), withSecret(pullQuestion, ownSecret)
	bad := strings.Replace(good, "127.0.0.1", "10.9.9.9", 1)
	first := h.post(eventWith(keyedQuestion + bad))
	require.Equal(t, schema.Blocked, h.status(first.ID).Delivery.State)

	st := *decodeEvent(t, h.post(eventWith(keyedQuestion+good)).JSON).HumanInTheLoopStatus
	require.Nil(t, st.Delivery)
	require.Equal(t, schema.Unknown, st.Waiter, "no connection has shown that it listens")
	require.Equal(t, st, h.status(first.ID), "the change is stored")
	_, err := h.Respond(t.Context(), first.ID, approval(), Caller{})
	require.NoError(t, err)
	require.Equal(t, schema.Queued, h.status(first.ID).Delivery.State)
	require.Equal(t, []schema.EventID{first.ID}, h.dispatched())

	second := h.post(eventWith(strings.Replace(keyedQuestion, `"k"`, `"l"`, 1) + good))
	h.post(eventWith(strings.Replace(keyedQuestion, `"k"`, `"l"`, 1) + bad))
	require.Equal(t, schema.Blocked, h.status(second.ID).Delivery.State)
	h.post(eventWith(strings.Replace(keyedQuestion, `"k"`, `"l"`, 1) + pull))
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
	leased, _, err := h.Store.(store.Store).LeaseDeliveries(t.Context(), time.Now().Add(time.Minute), time.Now().Add(time.Hour), 9)
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
