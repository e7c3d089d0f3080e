package hub

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

func TestAClockThatIsSetEndsNoQuestion(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		var set, passed atomic.Int64
		began := time.Now().Round(0)
		b := setup(t, func(c *Config) {
			c.Clock = func() time.Time { return began.Add(time.Duration(set.Load() + passed.Load())) }
		})
		var last int64
		b.elapsed = func(time.Time, time.Time) time.Duration {
			d := passed.Load() - last
			last = passed.Load()
			return time.Duration(d)
		}
		id, _ := b.ask(mayI) // 300 s
		never, _ := b.ask(`{"question":"q","type":"permission","timeout":0}`)
		set.Store(int64(step))
		late, _ := b.ask(mayI)
		b.ends()
		require.Equal(t, schema.Millis(began.Add(300*time.Second+step).UnixMilli()), b.status(id).ExpiresAt)
		require.Equal(t, b.status(id).ExpiresAt, b.status(late).ExpiresAt, "asked by the clock as it is now")
		require.Equal(t, int64(2), b.status(id).Revision)
		require.Equal(t, int64(1), b.status(never).Revision)

		passed.Store(int64(301 * time.Second))
		wake(b.deadlineChanged)
		require.Equal(t, schema.TimedOut, b.settled(id).Status)
		require.Equal(t, schema.TimedOut, b.settled(late).Status)
		require.Equal(t, schema.Pending, b.status(never).Status)
	}
}
