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
	"github.com/hookback/hookback/server/internal/store/tables"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

// enqueue queues ops behind a blocked writer, so that they share a transaction.
func (b *testStore) enqueue(t testing.TB, ops ...*tables.Op) {
	t.Helper()
	for _, o := range ops {
		require.NoError(t, b.Queue.Add(o))
	}
}

// do runs an op.
func (b *testStore) do(t testing.TB, run func(w *tables.Work) error) error {
	return b.Write(t.Context(), tables.Plain, run)
}

func newAppendOp(d *store.EventDraft) *tables.Op {
	o := &tables.Op{Kind: tables.OneRow, Run: func(w *tables.Work) error {
		_, err := w.Append(d, [16]byte{1}, nil, false)
		return err
	}}
	if d.NewQuestion != nil {
		o.Kind = tables.Essential
	}
	return o
}

func doNothing(*tables.Work) error { return nil }

func TestWriteQueue_RejectsWhenFull(t *testing.T) {
	t.Parallel()
	b, release := newBlockedStore(t)
	var err error
	for err == nil {
		err = b.Queue.Add(&tables.Op{Run: doNothing})
	}
	require.ErrorIs(t, err, schema.ErrBusy)
	_, err = b.Append(context.Background(), conformance.NewDraft("app", "s", "Stop", ""))
	require.ErrorIs(t, err, schema.ErrBusy)
	release()
	require.NoError(t, b.Close())
}

func TestGroupCommit_IsolatesFailedWrite(t *testing.T) {
	t.Parallel()
	b, release := newBlockedStore(t)
	broken := errors.New("broken")
	half := &tables.Op{Run: func(w *tables.Work) error {
		if _, err := w.Append(conformance.NewQuestionDraft("half", time.Time{}), [16]byte{1}, nil, false); err != nil {
			return err
		}
		return broken
	}}
	twice := &tables.Op{Kind: tables.OneRow, Run: func(w *tables.Work) error { // a number that is taken already
		w.Head--
		_, err := w.Append(conformance.NewDraft("app", "new name", "Stop", ""), [16]byte{1}, nil, false)
		return err
	}}
	one, two := newAppendOp(conformance.NewDraft("app", "one", "Stop", "")), newAppendOp(conformance.NewQuestionDraft("half", time.Time{}))
	b.enqueue(t, one, half, twice, two)
	release()
	require.NoError(t, b.Queue.Wait(t.Context(), one))
	require.ErrorIs(t, b.Queue.Wait(t.Context(), half), broken)
	require.ErrorContains(t, b.Queue.Wait(t.Context(), twice), "constraint")
	require.NoError(t, b.Queue.Wait(t.Context(), two))
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
	b.enqueue(t, one, two, &tables.Op{Run: func(*tables.Work) error { return fatalError{broken} }})
	release()
	require.ErrorIs(t, b.Queue.Wait(t.Context(), one), broken)
	require.ErrorIs(t, b.Queue.Wait(t.Context(), two), broken)
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

type commitFunc func(store.Commit)

func (f commitFunc) Committed(c store.Commit) { f(c) }
