package sqlite

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

// enqueue queues ops behind a blocked writer, so that they share a transaction.
func (b *testStore) enqueue(t *testing.T, ops ...*op) {
	t.Helper()
	for _, o := range ops {
		o.done = make(chan struct{})
		require.NoError(t, b.writer.enqueue(o))
	}
}

func newAppendOp(d *store.EventDraft) *op {
	return &op{essential: d.NewQuestion != nil, needsSavepoint: d.NewQuestion != nil, run: func(t *tx) error {
		_, err := t.append(d, [16]byte{1}, false)
		return err
	}}
}

func TestWriteQueue_RejectsWhenFull(t *testing.T) {
	t.Parallel()
	b, release := newBlockedStore(t)
	for range queueLimit {
		b.enqueue(t, &op{run: func(*tx) error { return nil }})
	}
	_, err := b.Append(context.Background(), conformance.NewDraft("app", "s", "Stop", ""))
	require.ErrorIs(t, err, schema.ErrBusy)
	release()
	require.NoError(t, b.Close())
}

func TestGroupCommit_IsolatesFailedWrite(t *testing.T) {
	t.Parallel()
	b, release := newBlockedStore(t)
	broken := errors.New("broken")
	half := &op{needsSavepoint: true, run: func(t *tx) error {
		if _, err := t.append(conformance.NewQuestionDraft("half", time.Time{}), [16]byte{1}, false); err != nil {
			return err
		}
		return broken
	}}
	twice := &op{run: func(t *tx) error { // a number that is taken already
		t.counters.head--
		_, err := t.append(conformance.NewDraft("app", "new name", "Stop", ""), [16]byte{1}, false)
		return err
	}}
	one, two := newAppendOp(conformance.NewDraft("app", "one", "Stop", "")), newAppendOp(conformance.NewQuestionDraft("half", time.Time{}))
	b.enqueue(t, one, half, twice, two)
	release()
	for _, o := range []*op{one, half, twice, two} {
		<-o.done
	}
	require.NoError(t, one.err)
	require.ErrorIs(t, half.err, broken)
	require.ErrorContains(t, twice.err, "constraint")
	require.NoError(t, two.err)
	require.Len(t, b.Published(), 3)
	conformance.RequireDense(t, b.engine)
	found, err := b.Find(context.Background(), store.Filter{Session: "half"})
	require.NoError(t, err)
	require.Len(t, found, 1)
	b.MustAppend(t, conformance.NewDraft("app", "new name", "Stop", ""))
	found, err = b.Find(context.Background(), store.Filter{Session: "new name"})
	require.NoError(t, err)
	require.Len(t, found, 1)
}

func TestGroupCommit_StoresNothingOnFailure(t *testing.T) {
	t.Parallel()
	var commits []store.Commit
	var mu sync.Mutex
	b, release := newBlockedStore(t)
	b.writer.commits = commitFunc(func(c store.Commit) { mu.Lock(); commits = append(commits, c); mu.Unlock() })
	broken := errors.New("the disk is gone")
	one, two := newAppendOp(conformance.NewDraft("app", "lost", "Stop", "")), newAppendOp(conformance.NewQuestionDraft("lost", time.Time{}))
	b.enqueue(t, one, two, &op{run: func(*tx) error { return fatalError{broken} }})
	release()
	<-one.done
	<-two.done
	require.ErrorIs(t, one.err, broken)
	require.ErrorIs(t, two.err, broken)
	require.EqualValues(t, 2, b.MustAppend(t, conformance.NewDraft("app", "lost", "Stop", "")).ID, "the failed group used no numbers")
	require.Len(t, b.Published(), 2)
	require.EqualValues(t, 2, b.Head())
	found, err := b.Find(context.Background(), store.Filter{Session: "lost"})
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.NoError(t, b.Close())
	require.ErrorIs(t, commits[1].Err, broken)
	require.Equal(t, 3, commits[1].Ops)
}
