package sessions

import (
	"context"
	"sync"
	"time"

	"github.com/hookback/hookback/server/internal/feed"
)

const (
	// stepInterval is the minimum time between the starts of two projector steps, unless a query
	// waits or the backlog is large. A step reads and writes each session once, however
	// many events it has, so larger steps are cheaper.
	stepInterval = time.Second
	// maxJoin is how long a step waits for the commit of an event that it can join. It delays only
	// progress that no one reads.
	maxJoin = 2 * time.Second
	// maxCatchUp limits how long a query waits for the projector, which may be far behind after a
	// restart.
	maxCatchUp = 2 * time.Second
)

// progress is the position of the projector in the log, and whether queries wait for it.
type progress struct {
	wake feed.Wakeup // ends the projector's pause

	mu       sync.Mutex
	running  bool
	at       int64         // position that the projections include
	wanted   int64         // position that queries wait for
	urgent   chan struct{} // closed while queries wait, so that a step joins no later commit
	advanced chan struct{} // closed and replaced when at changes or the projector stops
}

// start records that the projector runs. The caller must call the returned function when it stops.
func (p *progress) start() (stop func()) {
	set := func(running bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.running = running
		p.broadcast()
	}
	set(true)
	return func() { set(false) }
}

func (p *progress) isRunning() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running
}

func (p *progress) broadcast() {
	close(p.advanced)
	p.advanced = make(chan struct{})
}

// reach records the position of the projector.
func (p *progress) reach(at int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = at
	if p.wanted <= at && p.isUrgent() {
		p.urgent = make(chan struct{})
	}
	p.broadcast()
}

func (p *progress) isUrgent() bool {
	select {
	case <-p.urgent:
		return true
	default:
		return false
	}
}

// hurry makes the current step commit now.
func (p *progress) hurry() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.isUrgent() {
		close(p.urgent)
	}
	p.wake.Wake()
}

// joinUntil returns the channel that ends the wait of a step for a commit to join. It is nil if
// there is nothing to wait for.
func (p *progress) joinUntil() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running {
		return nil
	}
	return p.urgent
}

// await makes the projector hurry and waits until it has reached the position, stops, or takes
// longer than maxCatchUp. It reports whether the position was reached.
func (p *progress) await(ctx context.Context, position int64) bool {
	ctx, cancel := context.WithTimeout(ctx, maxCatchUp)
	defer cancel()
	for ctx.Err() == nil {
		p.mu.Lock()
		reached, running, advanced := p.at >= position, p.running, p.advanced
		p.wanted = max(p.wanted, position)
		p.mu.Unlock()
		if reached || !running {
			return reached
		}
		p.hurry()
		select {
		case <-advanced:
		case <-ctx.Done():
		}
	}
	return false
}

// catchUp brings the projections up to date with the stored events. A query calls it first, so
// that it includes every event that was acknowledged before. If that takes too long, it returns how
// far they are behind, in ms.
func (s *Service) catchUp(ctx context.Context) (lagMS int64) {
	if s.progress.await(ctx, s.Store.Head()) {
		return 0
	}
	return s.Store.ProjectionLag().Time.Milliseconds()
}
