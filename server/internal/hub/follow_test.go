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

// A row is committed a moment before it is published. A stream that opens just
// then begins behind it, and is not told that its history is not the hub's.
func TestAStreamMayOpenBetweenCommitAndPublication(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.post(plain)
	b.Hub.mu.Lock() // keeps the writer from publishing
	stored := make(chan error, 1)
	go func() {
		_, err := b.Ingest(context.Background(), []byte(plain), Caller{})
		stored <- err
	}()
	require.Eventually(t, func() bool { return b.Store.Head() == 2 }, 10*time.Second, time.Millisecond)
	seq, raw, err := b.Initial(t.Context())
	require.NoError(t, err)
	frames, more, err := b.FramesAfter(t.Context(), seq)
	hello := b.Hello()
	fromHello, _, errHello := b.FramesAfter(t.Context(), hello.Seq)
	b.Hub.mu.Unlock()
	require.NoError(t, <-stored)
	require.NoError(t, err)
	require.NoError(t, errHello)

	// What the first message had comes no more, what it had not comes.
	var events []schema.Event
	require.NoError(t, json.Unmarshal(raw, &events))
	if len(frames) == 0 && len(events) == 1 {
		<-more
		frames, _, err = b.FramesAfter(t.Context(), seq)
		require.NoError(t, err)
	}
	require.Equal(t, 2, len(events)+len(frames))
	require.Empty(t, fromHello)
}

func TestPullsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	b := setup(t)
	asked, _ := b.ask(pullOne)
	settled, _ := b.ask(pullOne)
	_, err := b.Respond(t.Context(), settled, yes(), Caller{})
	require.NoError(t, err)
	for _, id := range []schema.EventID{asked, settled, 1 << 40, 1<<40 + 1} {
		_, _ = b.Pull(t.Context(), id, Pull{})
	}
	b.Hub.mu.Lock()
	defer b.Hub.mu.Unlock()
	require.Empty(t, b.subscribers)
}

func TestAWrongSecretIsNamed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, _ := b.ask(pullOne)
	_, err := b.Pull(t.Context(), id, Pull{Secret: "guess"})
	p := schema.ProblemOf(err)
	require.Equal(t, 403, p.Status)
	require.Contains(t, p.Detail, schema.SecretHeader, "and nothing of origins")
	_, err = b.Cancel(t.Context(), id, schema.Cancel{RequestSecret: "guess"}, Caller{})
	require.Equal(t, "requestSecret", schema.ProblemOf(err).Field)
}

func TestLongNumbersAreNotTheSameAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, _ := b.ask(`{"question":"q","type":"permission","toolCall":{"name":"n","arguments":{},"editable":true}}`)
	answer := func(args string) error {
		r := yes()
		r.ModifiedArguments = json.RawMessage(args)
		_, err := b.Respond(t.Context(), id, r, Caller{})
		return err
	}
	require.NoError(t, answer(`{"id":9007199254740993}`))
	require.NoError(t, answer(`{ "id": 9007199254740993 }`))
	require.ErrorIs(t, answer(`{"id":9007199254740992}`), schema.ErrDecided)
}

func TestAnAnswerThatIsTooLongForAFrameIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, _ := b.ask(`{"question":"q","type":"permission","toolCall":{"name":"n","arguments":{},"editable":true}}`)
	r := yes()
	r.ModifiedArguments = json.RawMessage(`{"a":"` + strings.Repeat("x", schema.MaxFrame) + `"}`)
	_, err := b.Respond(t.Context(), id, r, Caller{})
	require.ErrorIs(t, err, schema.ErrWrongAnswer)
	require.Equal(t, schema.Pending, b.status(id).Status)
}
