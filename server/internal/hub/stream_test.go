package hub

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// TestStream_OpensBetweenCommitAndPublication: a row is committed shortly before it is
// published. A stream that opens in between starts after the row and must not get
// ErrLogRewound.
func TestStream_OpensBetweenCommitAndPublication(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.post(plainEvent)
	h.Hub.mu.Lock() // keeps the writer from publishing
	stored := make(chan error, 1)
	go func() {
		_, err := h.Ingest(context.Background(), []byte(plainEvent), Caller{})
		stored <- err
	}()
	require.Eventually(t, func() bool { return h.Store.Head() == 2 }, waitLimit, time.Millisecond)
	seq, raw, err := h.query.InitialMessage(t.Context())
	require.NoError(t, err)
	frames, more, err := h.query.FramesAfter(t.Context(), seq)
	hello := h.query.Hello()
	fromHello, _, errHello := h.query.FramesAfter(t.Context(), hello.Seq)
	h.Hub.mu.Unlock()
	require.NoError(t, <-stored)
	require.NoError(t, err)
	require.NoError(t, errHello)

	// The row arrives exactly once: in the initial message or as a frame.
	var events []schema.Event
	require.NoError(t, json.Unmarshal(raw, &events))
	if len(frames) == 0 && len(events) == 1 {
		<-more
		frames, _, err = h.query.FramesAfter(t.Context(), seq)
		require.NoError(t, err)
	}
	require.Equal(t, 2, len(events)+len(frames))
	require.Empty(t, fromHello)
}

func TestPull_LeavesNoSubscriptions(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	asked, _ := h.ask(pullQuestion)
	settled, _ := h.ask(pullQuestion)
	_, err := h.Respond(t.Context(), settled, approval(), Caller{})
	require.NoError(t, err)
	for _, id := range []schema.EventID{asked, settled, 1 << 40, 1<<40 + 1} {
		_, _ = h.Pull(t.Context(), id, PullOptions{})
	}
	h.Hub.mu.Lock()
	defer h.Hub.mu.Unlock()
	require.Empty(t, h.subscribers)
}

func TestRequestSecret_WrongValueNamesField(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id, _ := h.ask(pullQuestion)
	_, err := h.Pull(t.Context(), id, PullOptions{Secret: "guess"})
	p := schema.ProblemOf(err)
	require.Equal(t, 403, p.Status)
	require.Contains(t, p.Detail, schema.SecretHeader, "the detail is about the secret, not the origin")
	_, err = h.Cancel(t.Context(), id, schema.Cancel{RequestSecret: "guess"}, Caller{})
	require.Equal(t, "requestSecret", schema.ProblemOf(err).Field)
}

func TestRespond_ComparesLongNumbersExactly(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id, _ := h.ask(`{"question":"q","type":"permission","toolCall":{"name":"n","arguments":{},"editable":true}}`)
	answer := func(args string) error {
		r := approval()
		r.ModifiedArguments = json.RawMessage(args)
		_, err := h.Respond(t.Context(), id, r, Caller{})
		return err
	}
	require.NoError(t, answer(`{"id":9007199254740993}`))
	require.NoError(t, answer(`{ "id": 9007199254740993 }`))
	require.ErrorIs(t, answer(`{"id":9007199254740992}`), schema.ErrDecided)
}

func TestRespond_RejectsOversizedAnswer(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id, _ := h.ask(`{"question":"q","type":"permission","toolCall":{"name":"n","arguments":{},"editable":true}}`)
	r := approval()
	r.ModifiedArguments = json.RawMessage(`{"a":"` + strings.Repeat("x", schema.MaxFrame) + `"}`)
	_, err := h.Respond(t.Context(), id, r, Caller{})
	require.ErrorIs(t, err, schema.ErrWrongAnswer)
	require.Equal(t, schema.Pending, h.status(id).Status)
}
