package postgres

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// A batch whose caller gives up before the writer takes it makes no commit, which others would join.
func TestWriter_AbandonedOpCommitsNothing(t *testing.T) {
	t.Parallel()
	w := &writer{queue: make(chan *op, 1), joining: make(chan *op, 2), done: make(chan struct{})}
	ctx, giveUp := context.WithCancel(t.Context())
	giveUp()
	require.ErrorIs(t, w.join(ctx, &op{}, make(chan struct{})), context.Canceled)
	require.Empty(t, w.queue)

	abandonedOp, joins := &op{}, &op{}
	abandonedOp.state.Store(abandoned)
	w.queue <- abandonedOp
	w.joining <- joins
	close(w.queue)
	w.run()
	require.Equal(t, queued, joins.state.Load())
}
