package stream

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPresence_DebouncesBroadcasts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p Presence
		tab := &stream{wake: feed.NewWakeup()}
		start := time.Now()
		var broadcasts []time.Duration
		for n := range 1000 { // one change per millisecond
			p.setViewing(tab, schema.EventID(n+1))
			synctest.Wait()
			select {
			case <-tab.wake:
				broadcasts = append(broadcasts, time.Since(start))
			default:
			}
			<-time.After(time.Millisecond) // fake clock
		}
		want := []time.Duration{0}
		for at := broadcastDelay; at < time.Second; at += busyBroadcastDelay {
			want = append(want, at)
		}
		require.Equal(t, want, broadcasts)
		<-time.After(busyBroadcastDelay) // fake clock
		require.Contains(t, string(*p.message.Load()), `"id":1000`, "the final state")
	})
}

func TestStream_RateLimitsClientMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := &stream{ctx: t.Context()}
		start := time.Now()
		for n := range 2*messageBurst + 1 {
			require.True(t, st.handleMessage([]byte("ignored")))
			require.Equal(t, time.Duration(max(0, n+1-messageBurst))*messageInterval, time.Since(start), "message %d", n)
		}
		<-time.After(time.Minute) // fake clock
		start = time.Now()
		for range messageBurst {
			require.True(t, st.handleMessage([]byte("ignored")))
		}
		require.Zero(t, time.Since(start), "the burst is available again")
	})
}

func TestPresence_ListsMostViewedFirst(t *testing.T) {
	t.Parallel()
	looking := map[*stream]schema.EventID{}
	for n := range 3 * maxViewedRequests {
		looking[&stream{}] = schema.EventID(n + 1)
	}
	looking[&stream{}] = 7
	looking[&stream{}] = 0
	p := (&Presence{viewing: looking}).messageLocked(false)
	require.Equal(t, 3*maxViewedRequests+2, p.Screens)
	require.Len(t, p.Looking, maxViewedRequests)
	require.Equal(t, schema.ViewedRequest{ID: 7, Screens: 2}, p.Looking[0])
	require.Equal(t, schema.ViewedRequest{ID: 3 * maxViewedRequests, Screens: 1}, p.Looking[1], "then the newest")
}

// BenchmarkPresence measures one change among a thousand clients, up to their wake-up.
func BenchmarkPresence(b *testing.B) {
	var p Presence
	pages := make([]*stream, 1000)
	p.scheduled = true // no timer: the benchmark broadcasts
	for n := range pages {
		pages[n] = &stream{wake: feed.NewWakeup()}
		p.setViewing(pages[n], schema.EventID(n+1))
	}
	for n := 0; b.Loop(); n++ {
		p.setViewing(pages[n%1000], schema.EventID(n))
		p.broadcast()
		p.scheduled = true
	}
}

func TestPresence_NamesSignedInViewersToSignedInPeople(t *testing.T) {
	t.Parallel()
	tabs := []*stream{{person: "grace"}, {person: "ada"}, {person: "grace"}, {}}
	viewing := map[*stream]schema.EventID{{person: "noor"}: 0}
	for _, tab := range tabs {
		viewing[tab] = 7
	}
	require.Equal(t, []schema.ViewedRequest{{ID: 7, Screens: 4, People: []string{"ada", "grace"}}}, (&Presence{viewing: viewing}).messageLocked(true).Looking)
	require.Equal(t, []schema.ViewedRequest{{ID: 7, Screens: 4}}, (&Presence{viewing: viewing}).messageLocked(false).Looking)

	p := Presence{viewing: map[*stream]schema.EventID{{person: "grace", wake: feed.NewWakeup()}: 7}}
	p.broadcast()
	require.Contains(t, string(*p.messageFor(&stream{person: "ada"})), "grace")
	require.NotContains(t, string(*p.messageFor(&stream{})), "grace", "a client without a person")

	for n := range 2 * schema.MaxNamedViewers {
		viewing[&stream{person: string(rune('a' + n))}] = 7
	}
	require.Len(t, (&Presence{viewing: viewing}).messageLocked(true).Looking[0].People, schema.MaxNamedViewers)
}

func TestPresence_TracksFocusedPeople(t *testing.T) {
	t.Parallel()
	var s Presence
	ada, grace := &stream{person: "ada"}, &stream{person: "grace"}
	require.False(t, s.IsViewing("ada"), "no client yet")
	s.setFocus(ada, true)
	s.setFocus(grace, false)
	s.setFocus(&stream{}, true) // no signed-in person
	require.True(t, s.IsViewing("ada"))
	require.False(t, s.IsViewing("grace"))
	require.False(t, s.IsViewing(""), "clients without a signed-in person do not count")
	s.setFocus(ada, false)
	require.False(t, s.IsViewing("ada"))
	s.setFocus(ada, true)
	s.remove(ada)
	require.False(t, s.IsViewing("ada"), "the page is closed")
	s.focused = map[*stream]time.Time{ada: time.Now().Add(-schema.ViewingTimeout)}
	require.False(t, s.IsViewing("ada"), "the last report is too old")
}

func TestPresence_CountsPagesOfOtherHubs(t *testing.T) {
	t.Parallel()
	a := &Presence{viewing: map[*stream]schema.EventID{{person: "grace", wake: feed.NewWakeup()}: 7, {}: 8}}
	changed := 0
	b := &Presence{viewing: map[*stream]schema.EventID{{person: "ada", wake: feed.NewWakeup()}: 7}}
	b.Observe(func() { changed++ })
	a.setFocus(&stream{person: "grace"}, true)
	require.Nil(t, new(Presence).Share())

	b.SetOthers([]json.RawMessage{a.Share(), nil, json.RawMessage("{")})
	require.True(t, b.IsViewing("grace"))
	require.False(t, b.IsViewing("ada"))
	require.Equal(t, schema.Presence{Screens: 3, Looking: []schema.ViewedRequest{
		{ID: 7, Screens: 2, People: []string{"ada", "grace"}}, {ID: 8, Screens: 1},
	}}, b.messageLocked(true))
	require.Equal(t, []schema.ViewedRequest{{ID: 7, Screens: 2}, {ID: 8, Screens: 1}}, b.messageLocked(false).Looking)
	require.NotContains(t, string(b.Share()), "grace", "each hub tells of its own pages")

	b.setFocus(&stream{person: "ada"}, true)
	require.Positive(t, changed)
	b.SetOthers(nil)
	require.False(t, b.IsViewing("grace"))
	require.Equal(t, 1, b.messageLocked(true).Screens)
}
