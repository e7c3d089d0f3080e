package app

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/store"
)

func TestRetentionPolicy(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	cfg, err := Config{Addr: "127.0.0.1:0", Socket: noSocket, DB: "x", Clock: func() time.Time { return now }}.withDefaults(envOf())
	require.NoError(t, err)
	p := (&App{cfg: cfg}).retentionPolicy(time.Now())
	require.Equal(t, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), p.EventsBefore)
	require.Equal(t, now.AddDate(-1, 0, 0), p.QuestionsBefore)
	require.Equal(t, int64(2<<30), p.MaxBytes)
	figures := now.Add(-91 * day)
	require.Equal(t, figures, p.ProjectionsBefore)
	cfg.Retention, cfg.RetentionSize, cfg.RetentionQuestions = -1, -1, -1
	require.Equal(t, store.RetentionPolicy{TestsBefore: now.Add(-24 * time.Hour), ProjectionsBefore: figures}, (&App{cfg: cfg}).retentionPolicy(time.Now()), "no event is removed, except test requests")
}

// Old events are removed when the hub starts.
func TestRetention_RunsAtStart(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	now := time.Now()
	cfg.Clock = func() time.Time { return now }
	a, stop := startHub(t, cfg)
	postEvent(t, a, "Old")
	stop()
	later := now.Add(31 * day)
	cfg.Clock, cfg.TrustClock = func() time.Time { return later }, true
	a, _ = startHub(t, cfg)
	postEvent(t, a, "New")
	require.Eventually(t, func() bool {
		events, err := a.store.Find(context.Background(), store.Filter{Limit: 10})
		return err == nil && len(events) == 1 && events[0].Type == "New"
	}, time.Minute, 5*time.Millisecond)
}

// A hub that was started with a wrong clock removed everything within seconds.
func TestRetention_KeepsEventsIfClockJumped(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	out := &output{}
	a, stop := startHub(t, cfg)
	postEvent(t, a, "Old")
	stop()
	cfg.Clock, cfg.Stderr = func() time.Time { return time.Now().Add(40 * day) }, out
	a, _ = startHub(t, cfg)
	postEvent(t, a, "New") // its time is that of the wrong clock, which confirms nothing
	require.Eventually(t, func() bool {
		return strings.Contains(out.String(), "old events are kept") || strings.Contains(out.String(), "retention removed")
	}, time.Minute, time.Millisecond)
	events, err := a.store.Find(context.Background(), store.Filter{Limit: 10})
	require.NoError(t, err)
	require.Len(t, events, 2)
}

func TestRetention_TrustsClockAfterAnHour(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	start := time.Now()
	cfg := testConfig(t)
	cfg.Clock = func() time.Time { return start.Add(time.Duration(ahead.Load())) }
	a, stop := startHub(t, cfg)
	postEvent(t, a, "Old")
	stop()
	ahead.Store(int64(40 * day))
	opened, err := New(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, opened.Close()) })
	removesAfter := func(ran time.Duration) bool {
		return !opened.retentionPolicy(start.Add(ran)).EventsBefore.IsZero()
	}
	require.False(t, removesAfter(0))
	ahead.Add(int64(50 * time.Minute))
	require.False(t, removesAfter(50*time.Minute))
	ahead.Add(int64(10 * time.Minute))
	require.True(t, removesAfter(time.Hour))
	ahead.Add(int64(2 * day)) // set forward while the hub runs, or it slept
	require.False(t, removesAfter(time.Hour+time.Minute))
	ahead.Add(int64(time.Hour))
	require.True(t, removesAfter(2*time.Hour+time.Minute))
	ahead.Add(int64(-3 * day))
	require.True(t, removesAfter(3*time.Hour), "a clock that is behind removes less")
}
