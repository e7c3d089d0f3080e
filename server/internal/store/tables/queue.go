package tables

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/hookback/hookback/schema"
)

const (
	queueLimit = 4096 // ops in the queue; more are rejected (backpressure)
	joinLimit  = 16   // ops that wait for the commit of others
	groupLimit = 512  // ops in one transaction
)

// Op is one write. Run executes on the writer's goroutine, possibly several times, because a transaction
// may have been rolled back.
type Op struct {
	Run   func(*Work) error
	Kind  Change
	Key   []byte // of an event: its idempotency key
	Bytes int    // of an event
	// IsCurrentAt is a number of commits that the state in memory has to include before the op runs; 0: any.
	IsCurrentAt int64
	Err         error
	state       atomic.Int32
	done        chan struct{} // closed once Err is set
}

// The states of an op.
const (
	queued int32 = iota
	taken
	abandoned
)

// Queue passes writes to the goroutine that commits them, the writer of an engine.
type Queue struct {
	refusal    func(*Op) error // of writes that must not be attempted
	groupBytes int             // of the events in one transaction

	mu      sync.RWMutex // guards stopped, and ops against a send after close
	stopped bool
	ops     chan *Op
	joining chan *Op      // ops that do not start a commit
	done    chan struct{} // closed when the writer has ended
}

// NewQueue returns a queue whose groups end at a number of bytes.
func NewQueue(groupBytes int, refusal func(*Op) error) *Queue {
	return &Queue{
		refusal: refusal, groupBytes: groupBytes,
		ops: make(chan *Op, queueLimit), joining: make(chan *Op, joinLimit), done: make(chan struct{}),
	}
}

// Len is the number of writes that wait.
func (q *Queue) Len() int { return len(q.ops) }

// Commit queues an op and waits until it is committed and published. If ctx ends before the writer takes the
// op, Commit returns ctx.Err() and nothing happens. After that it waits for the commit, so the caller owns its
// bytes again when Commit returns. With until the op makes no commit, but is part of the next one of another op;
// when until is closed, it is queued like any other.
func (q *Queue) Commit(ctx context.Context, o *Op, until <-chan struct{}) error {
	if until != nil && q.join(ctx, o, until) {
		return q.Wait(ctx, o)
	}
	if err := q.Add(o); err != nil {
		return err
	}
	return q.Wait(ctx, o)
}

// Wait waits for an op that was added, like Commit.
func (q *Queue) Wait(ctx context.Context, o *Op) error {
	select {
	case <-o.done:
	case <-ctx.Done():
		if o.state.CompareAndSwap(queued, abandoned) {
			return ctx.Err()
		}
		<-o.done
	}
	return o.Err
}

// join queues an op for the next commit of another one. It returns false if too many wait.
func (q *Queue) join(ctx context.Context, o *Op, until <-chan struct{}) bool {
	o.done = make(chan struct{})
	select {
	case q.joining <- o:
	default:
		return false
	}
	select {
	case <-o.done:
		return true
	case <-ctx.Done():
		return true
	case <-until:
	case <-q.done:
	}
	// The writer takes it once, from whichever queue it reads first.
	if err := q.send(o); err != nil && o.state.CompareAndSwap(queued, abandoned) {
		o.Err = err
		close(o.done)
	}
	return true
}

// Add queues an op without waiting for it.
func (q *Queue) Add(o *Op) error {
	if err := q.refusal(o); err != nil {
		return err
	}
	o.done = make(chan struct{})
	return q.send(o)
}

func (q *Queue) send(o *Op) error {
	q.mu.RLock()
	defer q.mu.RUnlock()
	if q.stopped {
		return schema.ErrStopping
	}
	select {
	case q.ops <- o:
		return nil
	default:
		return &schema.HintError{
			Err:  fmt.Errorf("%w: this was not stored; existing data is safe", schema.ErrBusy),
			Hint: "Try again in a second.",
		}
	}
}

// Stop returns once all queued ops are committed and the writer has ended.
func (q *Queue) Stop() {
	q.mu.Lock()
	if !q.stopped {
		q.stopped = true
		close(q.ops)
	}
	q.mu.Unlock()
	<-q.done
}

// Run is the writer: it calls commit with an op as soon as one is queued, never waits for a group to fill, and
// runs until Stop. It calls end last.
func (q *Queue) Run(commit func(group []*Op), end func()) {
	defer close(q.done)
	defer end()
	group := make([]*Op, 0, groupLimit)
	for o := range q.ops {
		if group = appendClaimed(group[:0], o); len(group) > 0 {
			commit(group)
		}
	}
}

// Take adds the queued ops to a group.
func (q *Queue) Take(group []*Op) []*Op {
	bytes := 0
	for _, o := range group {
		bytes += o.Bytes
	}
	for len(group) < groupLimit && bytes < q.groupBytes {
		select {
		case o, ok := <-q.ops:
			if !ok {
				return group
			}
			group = appendClaimed(group, o)
			bytes += o.Bytes
			continue
		default:
		}
		select {
		case o := <-q.joining:
			group = appendClaimed(group, o)
		default:
			return group
		}
	}
	return group
}

// appendClaimed adds an op unless its caller gave up.
func appendClaimed(group []*Op, o *Op) []*Op {
	if !o.state.CompareAndSwap(queued, taken) {
		return group
	}
	return append(group, o)
}

// Finish releases the callers of a group. An error that is not nil replaces the errors of the ops.
func Finish(group []*Op, err error) {
	for _, o := range group {
		if err != nil {
			o.Err = err
		}
		close(o.done)
	}
}
