package tables

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// A batch whose caller gives up before the writer takes it makes no commit, which others would join.
func TestQueue_AbandonedOpCommitsNothing(t *testing.T) {
	t.Parallel()
	q := NewQueue(1, func(*Op) error { return nil })
	ctx, giveUp := context.WithCancel(t.Context())
	giveUp()
	require.ErrorIs(t, q.Commit(ctx, &Op{}, make(chan struct{})), context.Canceled)
	require.Zero(t, q.Len())

	abandonedOp, joins := &Op{}, &Op{}
	abandonedOp.state.Store(abandoned)
	q.ops <- abandonedOp
	q.joining <- joins
	close(q.ops)
	q.Run(func([]*Op) { require.Fail(t, "there is nothing to commit") }, func() {})
	require.Equal(t, queued, joins.state.Load())
}
