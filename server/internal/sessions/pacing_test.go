package sessions

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPacing: batches start immediately when the log is quiet, at intervals under load, and
// without a delay when the projector is far behind.
func TestPacing(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	after := func(p *pacer, rows int64, took time.Duration) time.Duration {
		next := p.nextStart(batchTiming{began: now, ended: now.Add(took), rows: rows})
		return max(0, next.Sub(now.Add(took)))
	}
	const took = 2 * time.Millisecond
	for name, c := range map[string]struct {
		rows int64
		took time.Duration
		want time.Duration
	}{
		"nothing":              {0, took, 0},
		"one event":            {1, took, 0},
		"many":                 {busyRows + 1, took, busyInterval - took},
		"many, slowly":         {busyRows + 1, time.Second, 0},
		"a part of what there": {projectorBatch, took, 0},
	} {
		require.Equal(t, c.want, after(&pacer{}, c.rows, c.took), name)
	}

	var p pacer
	for range pacingBurst - 1 {
		require.Zero(t, after(&p, 1, 0))
	}
	for range 3 {
		after(&p, 0, 0) // an empty batch commits nothing
	}
	require.Zero(t, after(&p, 1, 0))
	require.Equal(t, pacingInterval, after(&p, 1, 0), "then commits are rate limited")
	now = now.Add(pacingInterval)
	require.Equal(t, pacingInterval, after(&p, 1, 0))
	now = now.Add(time.Hour)
	for range pacingBurst {
		require.Zero(t, after(&p, 1, 0), "a quiet period allows one burst")
	}
	require.Equal(t, pacingInterval, after(&p, 1, 0))
}
