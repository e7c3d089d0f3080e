package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// addExtended adds a question whose deadline was extended and whose agent has not been notified.
func (h *harness) addExtended(ask store.NewQuestion) schema.EventID {
	h.t.Helper()
	q := h.addQuestion(ask, "")
	status, err := json.Marshal(schema.Status{Status: schema.Pending, Revision: 2, Extended: &schema.DeadlineExtension{By: "ada", Agent: schema.Queued}})
	require.NoError(h.t, err)
	require.NoError(h.t, h.store.Apply(h.t.Context(), store.Change{
		Event: &q.Event, Version: q.Version, State: schema.Pending, Status: status, Deadline: h.clock().Add(900 * time.Second),
	}))
	return q.ID
}

// withProof returns a script for a listener that has the key.
func withProof(key string, script func(*peerConn)) func(*peerConn) {
	return func(p *peerConn) {
		p.upgrade(schema.ProofHeader + ": " + schema.ListenerProof(key, p.req.Header.Get(schema.ChallengeHeader)))
		script(p)
	}
}

// waitForExtension waits until the delivery of the new deadline has a result.
func (h *harness) waitForExtension(id schema.EventID) *schema.DeadlineExtension {
	h.t.Helper()
	timeout := time.After(waitLimit)
	for {
		changed := h.notified()
		q, err := h.store.Question(h.t.Context(), id)
		require.NoError(h.t, err)
		require.NotContains(h.t, string(q.Status), secretPath)
		var st schema.Status
		require.NoError(h.t, json.Unmarshal(q.Status, &st))
		if st.Extended.Agent != schema.Queued {
			return st.Extended
		}
		select {
		case <-changed:
		case <-timeout:
			require.FailNow(h.t, "the delivery of the deadline has no result", "%s", q.Status)
		}
	}
}

func TestSendDeadline_ReachesListener(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		closes bool
	}{"listener closes": {true}, "listener keeps the connection open": {false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			frames := make(chan []byte, 3)
			l := startListener(t, withProof("key", func(p *peerConn) {
				_, frame, err := p.read()
				if err != nil {
					return
				}
				frames <- frame
				if c.closes {
					p.sendClose(1000)
				} else {
					p.hang()
				}
			}))
			d := h.dispatcher()
			if !c.closes {
				d.timeouts.idle, d.timeouts.close = 50*time.Millisecond, 100*time.Millisecond
			}
			h.startDispatcher(d)
			id := h.addExtended(store.NewQuestion{URL: l.url(), ListenerKey: "key", Protocol: 2})
			require.Equal(t, &schema.DeadlineExtension{By: "ada", Agent: schema.Delivered}, h.waitForExtension(id))
			var got schema.Control
			require.NoError(t, json.Unmarshal(<-frames, &got))
			require.Equal(t, schema.Control{
				Type: schema.ControlType, Kind: schema.ControlDeadline, InSeconds: 900,
				ExpiresAt: schema.Millis(h.clock().Add(900 * time.Second).UnixMilli()),
			}, got)
		})
	}
}

// TestSendDeadline_Failures covers another program on the agent's port, a version 1 listener,
// and an agent that is gone, which is dialed a limited number of times.
func TestSendDeadline_Failures(t *testing.T) {
	t.Parallel()
	t.Run("another program", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		l := startListener(t, func(p *peerConn) { p.upgrade(); _, _, _ = p.read() })
		d := h.dispatcher()
		h.startDispatcher(d)
		id := h.addExtended(store.NewQuestion{URL: l.url(), ListenerKey: "key", Protocol: 2})
		extension := h.waitForExtension(id)
		require.Equal(t, schema.Refused, extension.Agent)
		require.Contains(t, extension.Error, "nothing was sent to it")
		_, frames := l.counts()
		require.Zero(t, frames)
	})
	t.Run("version 1", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		l := startListener(t, func(p *peerConn) { p.upgrade(); _, _, _ = p.read() })
		d := h.dispatcher()
		require.NoError(t, d.sendDeadline(t.Context(), h.addExtended(store.NewQuestion{URL: l.url(), Protocol: 1})))
		dials, _ := l.counts()
		require.Zero(t, dials)
	})
	t.Run("deadline that only followed the clock", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		l := startListener(t, closeWith(1000))
		q := h.addQuestion(store.NewQuestion{URL: l.url(), Protocol: 2}, "")
		require.NoError(t, h.dispatcher().sendDeadline(t.Context(), q.ID))
		dials, _ := l.counts()
		require.Zero(t, dials)
	})
	t.Run("agent that is gone", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		l := startListener(t, func(p *peerConn) { p.refuse(503) })
		d := h.dispatcher()
		pauses := 0
		d.after = func(time.Duration) <-chan time.Time {
			pauses++
			return time.After(0)
		}
		id := h.addExtended(store.NewQuestion{URL: l.url(), ListenerKey: "key", Protocol: 2})
		require.NoError(t, d.sendDeadline(t.Context(), id))
		extension := h.waitForExtension(id)
		require.Equal(t, schema.Unreachable, extension.Agent)
		require.Contains(t, extension.Error, "HTTP 503")
		dials, _ := l.counts()
		require.Equal(t, maxControlAttempts, dials)
		require.Equal(t, maxControlAttempts-1, pauses)
	})
}

// TestSendDeadline_ResumesAfterRestart: a deadline that was not sent before the hub stopped is
// sent after the restart.
func TestSendDeadline_ResumesAfterRestart(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	l := startListener(t, withProof("key", func(p *peerConn) {
		if _, _, err := p.read(); err == nil {
			p.sendClose(1000)
		}
	}))
	id := h.addExtended(store.NewQuestion{URL: l.url(), ListenerKey: "key", Protocol: 2})
	h.reopen()
	h.startDispatcher(h.dispatcher())
	require.Equal(t, schema.Delivered, h.waitForExtension(id).Agent)
}

// failingStore fails the first reads that the dispatcher makes for deadlines.
type failingStore struct {
	store.Store
	questions, listeners atomic.Int32 // reads that fail
}

var errDisk = errors.New("disk failure")

func (s *failingStore) Question(ctx context.Context, id schema.EventID) (*store.Question, error) {
	if s.questions.Add(-1) >= 0 {
		return nil, errDisk
	}
	return s.Store.Question(ctx, id)
}

func (s *failingStore) Listeners(ctx context.Context, after schema.EventID, limit int) ([]store.Listener, error) {
	if s.listeners.Add(-1) >= 0 {
		return nil, errDisk
	}
	return s.Store.Listeners(ctx, after, limit)
}

// TestSendDeadline_RetriesAfterStoreError: a failure of the store does not lose a deadline, neither
// one that was just moved nor one from before a restart.
func TestSendDeadline_RetriesAfterStoreError(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*failingStore){
		"read of the question": func(s *failingStore) { s.questions.Store(3) },
		"rescan":               func(s *failingStore) { s.listeners.Store(2) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			l := startListener(t, withProof("key", func(p *peerConn) {
				if _, _, err := p.read(); err == nil {
					p.sendClose(1000)
				}
			}))
			id := h.addExtended(store.NewQuestion{URL: l.url(), ListenerKey: "key", Protocol: 2})
			h.reopen() // only a rescan finds the deadline
			failing := &failingStore{Store: h.store}
			fail(failing)
			d := h.dispatcher()
			d.Store = failing
			h.startDispatcher(d)
			require.Equal(t, schema.Delivered, h.waitForExtension(id).Agent)
		})
	}
}
