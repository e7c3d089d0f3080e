package hub

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
)

func TestClockStep_KeepsDeadlines(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		var set, passed atomic.Int64
		began := time.Now().Round(0)
		h := newTestHub(t, func(c *Config) {
			c.Clock = func() time.Time { return began.Add(time.Duration(set.Load() + passed.Load())) }
		})
		var last int64
		h.elapsed = func(time.Time, time.Time) time.Duration {
			d := passed.Load() - last
			last = passed.Load()
			return time.Duration(d)
		}
		id, _ := h.ask(callbackQuestion) // 300 s
		never, _ := h.ask(`{"question":"q","type":"permission","timeout":0}`)
		set.Store(int64(step))
		late, _ := h.ask(callbackQuestion)
		h.startDeadlines()
		require.Equal(t, schema.Millis(began.Add(300*time.Second+step).UnixMilli()), h.status(id).ExpiresAt)
		require.Equal(t, h.status(id).ExpiresAt, h.status(late).ExpiresAt, "a new question uses the stepped clock")
		require.Equal(t, int64(2), h.status(id).Revision)
		require.Equal(t, int64(1), h.status(never).Revision)

		passed.Store(int64(301 * time.Second))
		h.Feed.PublishFact(feed.Fact{Kinds: feed.Deadline})
		require.Equal(t, schema.TimedOut, h.awaitSettled(id).Status)
		require.Equal(t, schema.TimedOut, h.awaitSettled(late).Status)
		require.Equal(t, schema.Pending, h.status(never).Status)
	}
}

// The hubs of a PostgreSQL database share its clock, which has no monotonic reading: no step is found, and
// no hub moves deadlines because its machine's clock was set.
func TestClockStep_ClockOfDatabaseHasNone(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	now.Store(time.Now().UnixMicro())
	h := newTestHub(t, func(c *Config) { c.Clock = func() time.Time { return time.UnixMicro(now.Load()) } })
	id, _ := h.ask(callbackQuestion)
	before := h.status(id).ExpiresAt
	now.Add(int64(2 * time.Minute / time.Microsecond))
	h.detectClockStep(t.Context())
	require.Equal(t, before, h.status(id).ExpiresAt)
	require.Equal(t, int64(1), h.status(id).Revision)
}
