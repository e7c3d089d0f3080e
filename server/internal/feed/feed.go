// Package feed holds the newest part of the hub's log: an in-memory ring buffer of
// encoded frames with fan-out by cursor to any number of readers.
//
// Readers do not subscribe. Each keeps a cursor, the seq of the last frame that it has,
// and requests the frames after it:
//
//	for {
//		frames, more, ok := f.After(cursor)
//		if !ok {
//			// too far behind: read from the store instead
//		}
//		if len(frames) == 0 {
//			<-more // or ctx.Done()
//			continue
//		}
//		send(frames)
//		cursor = frames[len(frames)-1].Seq
//	}
//
// There is no queue per reader, and the feed has no list of readers. Backpressure is
// therefore free: a slow reader costs nothing, gets frames in order and loses none. If it
// falls behind the ring, it reads from the store.
//
// Workers use Follow. They get small facts instead of encoded frames, and are called only
// for the kinds of facts that they name.
package feed

import (
	"context"
	"sync"
	"time"
)

// maxBatch limits the frames that After returns, and so how long a slow reader holds the
// lock.
const maxBatch = 512

// Frame is one entry of the log, encoded once for all readers. Its bytes are shared and
// must not be changed.
type Frame struct {
	Seq   int64
	ID    int64 // the event, or the question that changed
	Kinds Kinds // for followers; 0: a plain event
	// Foreign is true if another hub committed the entry.
	Foreign bool
	Status  bool   // sent as "status" by stream version 2, otherwise as "event"
	Data    []byte // for version 2, and for version 1 if it is an event
	// End is the whole event for version 1 if this status frame settles a question. It is
	// nil otherwise, because version 1 sends no other changes.
	End []byte
}

func (fr Frame) size() int { return len(fr.Data) + len(fr.End) }

// Feed is the ring buffer. Its methods are safe for concurrent use.
type Feed struct {
	maxBytes int
	closed   chan struct{} // always closed; returned when there is more already

	mu    sync.Mutex // not an RWMutex: Publish would queue behind every reader that it woke
	ring  []Frame    // circular: count frames from start, with consecutive seqs up to head
	start int
	count int
	bytes int       // total size of the frames in the ring
	head  int64     // seq of the last published frame
	more  broadcast // wakes readers after each Publish

	facts   factRing  // without a Note
	notes   factRing  // with a Note
	newFact broadcast // wakes followers after each fact
}

// broadcast wakes all that wait for it. Without waiters it costs nothing.
type broadcast struct {
	woken   chan struct{} // closed and replaced
	awaited bool
}

func newBroadcast() broadcast { return broadcast{woken: make(chan struct{})} }

func (b *broadcast) wait() <-chan struct{} {
	b.awaited = true
	return b.woken
}

// replace returns the channel to close after the lock is released, or nil if no one waits.
func (b *broadcast) replace() chan struct{} {
	if !b.awaited {
		return nil
	}
	before := b.woken
	*b = newBroadcast()
	return before
}

// wake wakes the readers that wait for a replaced channel.
func wake(replaced chan struct{}) {
	if replaced != nil {
		close(replaced)
	}
}

// New returns an empty feed whose next frame has the seq head+1. It keeps the newest
// frames, at most maxFrames and at most maxBytes of data.
func New(head int64, maxFrames, maxBytes int) *Feed {
	f := &Feed{
		maxBytes: maxBytes,
		closed:   make(chan struct{}),
		ring:     make([]Frame, max(maxFrames, 1)),
		head:     head,
		facts:    factRing{size: maxFacts},
		notes:    factRing{size: maxNotes},
		more:     newBroadcast(),
		newFact:  newBroadcast(),
	}
	close(f.closed)
	return f
}

// Head returns the seq of the last published frame.
func (f *Feed) Head() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.head
}

// Publish appends frames in the order of their seqs and wakes all waiting readers once.
// Frames that were already published are ignored. A gap in the seqs clears the ring, so
// that readers get the missing frames from the store.
func (f *Feed) Publish(frames ...Frame) {
	if len(frames) == 0 {
		return
	}
	f.mu.Lock()
	facts := f.facts.count
	for _, frame := range frames {
		f.pushLocked(frame)
	}
	var newFact chan struct{}
	if f.facts.count != facts {
		newFact = f.newFact.replace()
	}
	more := f.more.replace()
	f.mu.Unlock()
	wake(newFact)
	wake(more)
}

func (f *Feed) pushLocked(frame Frame) {
	if frame.Seq <= f.head {
		return
	}
	if frame.Kinds != 0 {
		f.facts.add(Fact{Kinds: frame.Kinds, ID: frame.ID})
	}
	if frame.Seq != f.head+1 {
		for f.count > 0 {
			f.dropLocked()
		}
	}
	if f.count == len(f.ring) {
		f.dropLocked()
	}
	f.ring[(f.start+f.count)%len(f.ring)] = frame
	f.count++
	f.bytes += frame.size()
	f.head = frame.Seq
	for f.bytes > f.maxBytes {
		f.dropLocked()
	}
}

// dropLocked removes the oldest frame.
func (f *Feed) dropLocked() {
	f.bytes -= f.ring[f.start].size()
	f.ring[f.start] = Frame{}
	f.start = (f.start + 1) % len(f.ring)
	f.count--
}

// After returns the frames after seq, the oldest first and without gaps, and a channel
// that is closed when another call can return more: already closed if there are frames,
// otherwise closed by the next Publish. The caller owns the slice.
//
// If there are no frames and ok is true, the reader has everything that was published.
// That includes a reader ahead of Head, which got a committed row from the store before it
// was published. If ok is false, the ring no longer reaches back to seq.
func (f *Feed) After(seq int64) (frames []Frame, more <-chan struct{}, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	behind := f.head - seq
	if behind <= 0 || behind > int64(f.count) {
		return nil, f.more.wait(), behind <= 0
	}
	frames = make([]Frame, min(behind, maxBatch))
	first := f.start + f.count - int(behind)
	for i := range frames {
		frames[i] = f.ring[(first+i)%len(f.ring)]
	}
	return frames, f.closed, true
}

// Wakeup wakes one worker that waits for work from its own process. Wakes while the worker is
// busy count as one. A nil Wakeup never wakes anyone.
type Wakeup chan struct{}

// NewWakeup returns a Wakeup.
func NewWakeup() Wakeup { return make(Wakeup, 1) }

// Wake wakes the worker. It does not block.
func (w Wakeup) Wake() {
	select {
	case w <- struct{}{}:
	default:
	}
}

// Wait blocks for d, or until Wake is called. It returns false if ctx ended first.
func (w Wakeup) Wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w:
	case <-ctx.Done():
		return false
	}
	return true
}

// Sleep blocks for d, if it is positive. It returns false if ctx ended first.
func Sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	return Wakeup(nil).Wait(ctx, d)
}
