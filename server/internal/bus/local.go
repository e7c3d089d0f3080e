package bus

import (
	"context"
	"errors"
	"sync"
)

// Local joins hubs in one process, for tests. The zero value joins none yet.
type Local struct {
	mu    sync.Mutex
	ends  map[*localBus]struct{}
	isCut bool
}

// Join returns the bus of another hub.
func (l *Local) Join() Bus {
	b := &localBus{local: l}
	b.Merger = NewMerger(b.send)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ends == nil {
		l.ends = map[*localBus]struct{}{}
	}
	l.ends[b] = struct{}{}
	return b
}

// SetUp cuts or restores the connection between all hubs.
func (l *Local) SetUp(isUp bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isCut = !isUp
}

type localBus struct {
	*Merger
	local *Local
}

var errDown = errors.New("the bus is down")

func (b *localBus) send(_ context.Context, commit int64) error {
	b.local.mu.Lock()
	defer b.local.mu.Unlock()
	if b.local.isCut {
		return errDown
	}
	for other := range b.local.ends {
		if other != b {
			other.Receive(Encode(commit))
		}
	}
	return nil
}

// Up implements Link.
func (b *localBus) Up() bool {
	b.local.mu.Lock()
	defer b.local.mu.Unlock()
	_, isOpen := b.local.ends[b]
	return isOpen && !b.local.isCut
}

// Close implements Link.
func (b *localBus) Close() error {
	b.local.mu.Lock()
	delete(b.local.ends, b)
	b.local.mu.Unlock()
	return b.Merger.Close()
}
