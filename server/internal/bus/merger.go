package bus

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/server/internal/feed"
)

const (
	// mergeWindow is the time after a message in which further rings become one message.
	mergeWindow = 2 * time.Millisecond
	// maxUnread is the number of received commits that wait for the reader.
	maxUnread = 16
)

// Merger is the part of a bus above its connection: it merges rings before they are sent, keeps received
// commits for the reader, and counts. Its methods can be used by several goroutines.
type Merger struct {
	newest  atomic.Int64 // commit to send; 0: none
	wakeup  feed.Wakeup
	rings   chan int64
	stop    context.CancelFunc
	stopped context.Context
	running sync.WaitGroup

	sent, received, dropped atomic.Int64
}

// NewMerger returns a Merger that passes commits to send, one at a time. Its context ends when the
// Merger is closed. If send returns an error, the commit is dropped and counted.
func NewMerger(send func(ctx context.Context, commit int64) error) *Merger {
	m := &Merger{wakeup: feed.NewWakeup(), rings: make(chan int64, maxUnread)}
	m.stopped, m.stop = context.WithCancel(context.Background())
	m.running.Go(func() { m.run(send) })
	return m
}

func (m *Merger) run(send func(ctx context.Context, commit int64) error) {
	for {
		select {
		case <-m.wakeup:
		case <-m.stopped.Done():
			return
		}
		commit := m.newest.Swap(0)
		if commit == 0 { // sent with an earlier wake-up
			continue
		}
		if err := send(m.stopped, commit); err != nil {
			m.dropped.Add(1)
		} else {
			m.sent.Add(1)
		}
		if !feed.Sleep(m.stopped, mergeWindow) {
			return
		}
	}
}

// Ring implements Bus.
func (m *Merger) Ring(commit int64) {
	if m.stopped.Err() != nil {
		m.dropped.Add(1)
		return
	}
	for {
		newest := m.newest.Load()
		if commit <= newest {
			return // it is on its way
		}
		if m.newest.CompareAndSwap(newest, commit) {
			m.wakeup.Wake()
			return
		}
	}
}

// Receive takes a message of another hub. It does not block. Messages that name no commit are ignored.
func (m *Merger) Receive(message string) {
	commit, ok := Decode(message)
	if !ok {
		return
	}
	m.received.Add(1)
	for {
		select {
		case m.rings <- commit:
			return
		default:
		}
		select {
		case <-m.rings:
			m.dropped.Add(1)
		default:
		}
	}
}

// Rings implements Bus.
func (m *Merger) Rings() <-chan int64 { return m.rings }

// Stats implements Link.
func (m *Merger) Stats() Stats {
	return Stats{Sent: m.sent.Load(), Received: m.received.Load(), Dropped: m.dropped.Load()}
}

// Close ends the goroutine that sends.
func (m *Merger) Close() error {
	m.stop()
	m.running.Wait()
	return nil
}
