package delivery

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// extended is a question whose deadline somebody moved: its agent is to be told.
func (b *bench) extended(ask store.NewQuestion) schema.EventID {
	b.t.Helper()
	q := b.ask(ask, "")
	status, err := json.Marshal(schema.Status{Status: schema.Pending, Revision: 2, Extended: &schema.DeadlineExtension{By: "ada", Agent: schema.Queued}})
	require.NoError(b.t, err)
	require.NoError(b.t, b.store.Apply(b.t.Context(), store.Change{
		Event: &q.Event, Version: q.Version, State: schema.Pending, Status: status, Deadline: b.clock().Add(900 * time.Second),
	}))
	return q.ID
}

// proving is a listener that has the key.
func proving(key string, script func(*peerConn)) func(*peerConn) {
	return func(p *peerConn) {
		p.upgrade(schema.ProofHeader + ": " + schema.ListenerProof(key, p.req.Header.Get(schema.ChallengeHeader)))
		script(p)
	}
}

// told waits until the question says whether its agent knows.
func (b *bench) told(id schema.EventID) *schema.DeadlineExtension {
	b.t.Helper()
	timeout := time.After(patience)
	for {
		changed := b.notified()
		q, err := b.store.Question(b.t.Context(), id)
		require.NoError(b.t, err)
		require.NotContains(b.t, string(q.Status), secretPath)
		var st schema.Status
		require.NoError(b.t, json.Unmarshal(q.Status, &st))
		if st.Extended.Agent != schema.Queued {
			return st.Extended
		}
		select {
		case <-changed:
		case <-timeout:
			require.FailNow(b.t, "nobody knows whether the agent was told", "%s", q.Status)
		}
	}
}

func TestAListenerIsToldOfItsNewDeadline(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		polite bool
	}{"it closes": {true}, "it keeps the line": {false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			frames := make(chan []byte, 3)
			l := listen(t, proving("key", func(p *peerConn) {
				_, frame, err := p.read()
				if err != nil {
					return
				}
				frames <- frame
				if c.polite {
					p.bye(1000)
				} else {
					p.hang()
				}
			}))
			d := b.dispatcher()
			b.start(d)
			id := b.extended(store.NewQuestion{URL: l.url(), ListenerKey: "key", Protocol: 2})
			d.Control(id)
			require.Equal(t, &schema.DeadlineExtension{By: "ada", Agent: schema.Delivered}, b.told(id))
			var got schema.Control
			require.NoError(t, json.Unmarshal(<-frames, &got))
			require.Equal(t, schema.Control{
				Type: schema.ControlType, Kind: schema.ControlDeadline, InSeconds: 900,
				ExpiresAt: schema.Millis(b.clock().Add(900 * time.Second).UnixMilli()),
			}, got)
		})
	}
}

// TestWhoIsToldNothing: another program on the agent's port, a version 1 listener, and
// one that is gone. That one is tried a few times, and no more.
func TestWhoIsToldNothing(t *testing.T) {
	t.Parallel()
	t.Run("another program", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		l := listen(t, func(p *peerConn) { p.upgrade(); _, _, _ = p.read() })
		d := b.dispatcher()
		b.start(d)
		id := b.extended(store.NewQuestion{URL: l.url(), ListenerKey: "key", Protocol: 2})
		d.Control(id)
		told := b.told(id)
		require.Equal(t, schema.Refused, told.Agent)
		require.Contains(t, told.Error, "it was told nothing")
		_, frames := l.counts()
		require.Zero(t, frames)
	})
	t.Run("version 1", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		l := listen(t, func(p *peerConn) { p.upgrade(); _, _, _ = p.read() })
		d := b.dispatcher()
		require.NoError(t, d.tellDeadline(t.Context(), b.extended(store.NewQuestion{URL: l.url(), Protocol: 1})))
		dials, _ := l.counts()
		require.Zero(t, dials)
	})
	t.Run("one that is gone", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		l := listen(t, func(p *peerConn) { p.refuse(503) })
		d := b.dispatcher()
		pauses := 0
		d.after = func(time.Duration) <-chan time.Time {
			pauses++
			return time.After(0)
		}
		id := b.extended(store.NewQuestion{URL: l.url(), ListenerKey: "key", Protocol: 2})
		require.NoError(t, d.tellDeadline(t.Context(), id))
		told := b.told(id)
		require.Equal(t, schema.Unreachable, told.Agent)
		require.Contains(t, told.Error, "HTTP 503")
		dials, _ := l.counts()
		require.Equal(t, controlTries, dials)
		require.Equal(t, controlTries-1, pauses)
	})
}

// TestAControlThatWasNotSent before the hub stopped goes out when it starts again.
func TestAControlThatWasNotSent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := listen(t, proving("key", func(p *peerConn) {
		if _, _, err := p.read(); err == nil {
			p.bye(1000)
		}
	}))
	id := b.extended(store.NewQuestion{URL: l.url(), ListenerKey: "key", Protocol: 2})
	b.reopen()
	b.start(b.dispatcher())
	require.Equal(t, schema.Delivered, b.told(id).Agent)
}
