package conformance

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

func (s suite) TestApply_FirstChangeWins(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	q := b.MustQuestion(t, b.MustAppend(t, NewQuestionDraft("s", time.Time{})).ID)
	var wg sync.WaitGroup
	errs := make([]error, 50)
	for i := range errs {
		wg.Go(func() { errs[i] = b.Apply(context.Background(), AnswerChange(q)) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		require.ErrorIs(t, err, store.ErrConflict)
	}
	require.Equal(t, 1, won)
	require.Len(t, b.Published(), 2, "an event and its resolution")

	now := b.MustQuestion(t, q.ID)
	require.Equal(t, schema.Responded, now.State)
	require.EqualValues(t, 2, now.Version)
	require.JSONEq(t, `{"permission":true}`, string(now.Answer))
	require.Equal(t, "a1", now.Delivery.AnswerID)
}

func (s suite) TestApply_RejectsEventWithoutQuestion(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	id := b.MustAppend(t, NewDraft("app", "s", "Stop", "")).ID
	require.ErrorIs(t, b.Apply(context.Background(), store.Change{Event: &store.Event{ID: id}, Version: 1, Status: []byte(`{}`)}), schema.ErrNoQuestion)
	require.ErrorIs(t, b.Apply(context.Background(), store.Change{Event: &store.Event{ID: 99}, Version: 1, Status: []byte(`{}`)}), schema.ErrNotFound)
	require.Len(t, b.Published(), 1)
}

func (s suite) TestApply_KeepsUnsetFields(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	id := b.MustAppend(t, NewQuestionDraft("s", time.Time{})).ID
	b.Answer(t, id)
	q := b.MustQuestion(t, id)
	c := store.Change{Event: &q.Event, Version: q.Version, State: q.State, Status: []byte(`{"status":"responded","revision":3}`)}
	require.NoError(t, b.Apply(context.Background(), c))
	now := b.MustQuestion(t, id)
	require.Equal(t, q.Answer, now.Answer)
	require.Equal(t, q.Delivery, now.Delivery)
	require.Equal(t, c.Status, now.Status)
}

// The log returns the rows as they were published, regardless of later changes.
func (s suite) TestAfter_ReturnsPublishedRows(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	for range 3 {
		b.MustAppend(t, NewDraft("app", "s", "PreToolUse", "Bash"))
		id := b.MustAppend(t, NewQuestionDraft("s", time.Time{})).ID
		b.Answer(t, id)
		q := b.MustQuestion(t, id)
		c := store.Change{Event: &q.Event, Version: q.Version, State: q.State, Status: []byte(`{"status":"responded","revision":3}`), Delivery: q.Delivery}
		require.NoError(t, b.Apply(context.Background(), c))
	}
	b.Reopen(t)
	published := b.Published()
	for i := range published {
		setUTC(published[i].Event)
		require.NotEqual(t, published[i].Change, published[i].Kinds == 0 || published[i].Kinds == feed.NewQuestion, "each change has a fact")
		published[i].Kinds = 0 // for followers only
	}
	for seq := range len(published) {
		rows, err := b.After(context.Background(), int64(seq), 4)
		require.NoError(t, err)
		require.Len(t, rows, min(4, len(published)-seq))
		for i, row := range rows {
			setUTC(row.Event)
			require.Equal(t, published[seq+i], row)
		}
	}
	rows, err := b.After(context.Background(), b.Head(), 4)
	require.NoError(t, err)
	require.Empty(t, rows)
	_, err = b.After(context.Background(), b.Head()+1, 4)
	require.ErrorIs(t, err, store.ErrLogRewound)
}

func setUTC(e *store.Event) { e.ReceivedAt = e.ReceivedAt.UTC() }

func (s suite) TestAfter_SplitsBigEvents(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	for range 3 {
		d := NewDraft("app", "s", "Stop", "")
		d.Envelope = append(d.Envelope, `,"big":"`+string(make([]byte, store.MaxPageBytes/2))+`"`...)
		b.MustAppend(t, d)
		b.Answer(t, b.MustAppend(t, NewQuestionDraft("s", time.Time{})).ID)
	}
	seq, parts := int64(0), 0
	for ; seq < b.Head(); parts++ {
		rows, err := b.After(context.Background(), seq, 1000)
		require.NoError(t, err)
		require.NotEmpty(t, rows)
		require.Equal(t, seq+1, rows[0].Seq)
		seq = rows[len(rows)-1].Seq
	}
	require.Greater(t, parts, 1)
}
