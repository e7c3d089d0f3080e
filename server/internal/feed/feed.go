// Package feed is the live end of the hub's log: an ordered ring of encoded
// frames that any number of readers follow by sequence number.
//
// Nobody subscribes. A reader keeps a cursor, the seq of the last frame it has,
// and asks for what came after it:
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
// So there is no queue per reader and no reader the feed knows of: a slow one
// costs nothing, can't be sent things in the wrong order and loses nothing, it
// only falls behind what the ring holds and goes to the store for it.
package feed

import "sync"

// maxBatch is how many frames one After returns at most. It bounds how long a reader
// that is far behind holds the lock.
const maxBatch = 512

// Frame is one entry of the log, encoded once for all readers. Its bytes are
// shared and must not be changed.
type Frame struct {
	Seq    int64
	Status bool   // version 2 sends it as "status", else as "event"
	Data   []byte // version 2's data; version 1's too, for an event
	// End is version 1's data, the whole event, when this status frame is the end
	// of a question. It is nil otherwise: version 1 hears of no other changes.
	End []byte
}

func (fr Frame) size() int { return len(fr.Data) + len(fr.End) }

// Feed is the ring. Its methods may be called from any goroutine.
type Feed struct {
	maxBytes int
	closed   chan struct{} // always closed: "there is more already"

	mu         sync.Mutex // not an RWMutex: Publish would queue behind every reader it woke
	ring       []Frame    // a circle: count frames from start on, with seqs without holes up to head
	start      int
	count      int
	bytes      int           // of the frames in the ring
	head       int64         // the last seq published
	more       chan struct{} // closed and replaced by Publish when a reader has it
	hasWaiters bool          // a reader has more
}

// New returns an empty feed whose next frame has the seq head+1. It holds the
// newest frames, at most maxFrames of them and at most maxBytes of data.
func New(head int64, maxFrames, maxBytes int) *Feed {
	f := &Feed{
		maxBytes: maxBytes,
		closed:   make(chan struct{}),
		ring:     make([]Frame, max(maxFrames, 1)),
		head:     head,
		more:     make(chan struct{}),
	}
	close(f.closed)
	return f
}

// Head is the seq of the last frame published.
func (f *Feed) Head() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.head
}

// Publish appends frames and wakes every reader that waits, once for all of them.
// Frames come in the order of their seqs. One that was published already is left
// out; behind a hole the ring starts anew, so that readers take what they missed
// from the store.
func (f *Feed) Publish(frames ...Frame) {
	if len(frames) == 0 {
		return
	}
	f.mu.Lock()
	for _, frame := range frames {
		f.pushLocked(frame)
	}
	var wake chan struct{}
	if f.hasWaiters {
		wake, f.more, f.hasWaiters = f.more, make(chan struct{}), false
	}
	f.mu.Unlock()
	if wake != nil {
		close(wake)
	}
}

func (f *Feed) pushLocked(frame Frame) {
	if frame.Seq <= f.head {
		return
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

// dropLocked forgets the oldest frame.
func (f *Feed) dropLocked() {
	f.bytes -= f.ring[f.start].size()
	f.ring[f.start] = Frame{}
	f.start = (f.start + 1) % len(f.ring)
	f.count--
}

// After returns frames behind seq, the oldest first and without holes, and a
// channel that is closed once it is worth asking again: at once when there are
// frames, with the next Publish when there are none. The slice is the caller's.
//
// Without frames and with ok set the reader has everything that was published;
// that includes a reader ahead of Head, which got a committed row from the store
// before it was published. Without ok the ring no longer reaches back to seq.
func (f *Feed) After(seq int64) (frames []Frame, more <-chan struct{}, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	behind := f.head - seq
	if behind <= 0 || behind > int64(f.count) {
		f.hasWaiters = true
		return nil, f.more, behind <= 0
	}
	frames = make([]Frame, min(behind, maxBatch))
	first := f.start + f.count - int(behind)
	for i := range frames {
		frames[i] = f.ring[(first+i)%len(f.ring)]
	}
	return frames, f.closed, true
}
