package stream

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
)

const (
	// noSlot is the slot of a stream that is in no shard.
	noSlot = -1
	// fullShard is the number of streams from which another shard is used. One write takes
	// 3 to 8 µs, so a shard reaches this many in less than the time of a commit.
	fullShard = 64
)

// shard writes the log to the streams of one version that have all of it, its members. It
// encodes each batch once, and no write blocks: a stream that cannot take all of its bytes
// leaves, and its own goroutine sends the rest and the frames after it until the client has the
// whole log again. So no client delays another, and an event wakes one goroutine rather than
// one per stream. The goroutine of a shard runs while it has members.
type shard struct {
	*Server
	version int
	streams atomic.Int64
	output  feed.Wakeup // members have output other than the log, or the last one left

	mu      sync.Mutex // held while the members are written to, which does not block
	running bool
	members []*stream
	seq     int64 // every member has the frames up to this one
	socket  socketWriter
	buffer  []byte
	lent    bool // streams that left still send bytes of buffer

	queueMu sync.Mutex // acquired after mu
	queue   []*stream  // streams with output other than the log; some are members no longer
}

// join makes the shard the writer of the stream if the stream has not ended and has all
// frames that the members have. It may have more.
func (sh *shard) join(st *stream) bool {
	_ = st.conn.Conn.SetWriteDeadline(time.Time{})
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if st.ctx.Err() != nil || len(sh.members) > 0 && st.seq < sh.seq {
		return false
	}
	if len(sh.members) == 0 {
		sh.seq = st.seq
	}
	st.slot = len(sh.members)
	sh.members = append(sh.members, st)
	if st.hasPending() { // since the stream's goroutine sent it
		sh.enqueue(st)
	}
	if !sh.running {
		sh.running = true
		go sh.run()
	}
	return true
}

// remove reports whether the stream was a member. If so, the caller starts its writer.
func (sh *shard) remove(st *stream) bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.removeLocked(st)
}

func (sh *shard) removeLocked(st *stream) bool {
	if st.slot == noSlot {
		return false
	}
	last := len(sh.members) - 1
	sh.members[st.slot] = sh.members[last]
	sh.members[st.slot].slot = st.slot
	sh.members[last] = nil
	sh.members = sh.members[:last]
	st.slot = noSlot
	if last == 0 {
		sh.output.Wake()
	}
	return true
}

// enqueue makes the shard send the pending output of the stream if it is a member.
func (sh *shard) enqueue(st *stream) {
	sh.queueMu.Lock()
	if !st.queued {
		st.queued = true
		sh.queue = append(sh.queue, st)
	}
	sh.queueMu.Unlock()
	sh.output.Wake()
}

// run writes to the members until none is left.
func (sh *shard) run() {
	defer func() {
		if v := recover(); v != nil {
			middleware.LogPanic(sh.Log, v)
			sh.removeAll()
		}
	}()
	ping := time.NewTimer(sh.PingInterval)
	defer ping.Stop()
	for {
		seq, ok := sh.position()
		if !ok {
			return
		}
		frames, more, err := sh.Query.FramesAfter(sh.stopping, seq)
		if err != nil {
			sh.removeAll() // the streams get the same error and handle it
			return
		}
		if len(frames) > 0 {
			sh.sendFrames(frames)
			coalesceFrames(sh.stopping, len(frames))
		}
		select { // more is closed if there were frames, and one of the ready cases is chosen at random
		case <-more:
		case <-sh.stopping.Done():
		case <-sh.output:
			sh.sendPending()
		case <-ping.C:
			sh.ping()
			ping.Reset(sh.PingInterval)
		}
	}
}

// position returns the seq after which the members continue. If there are none, ok is false
// and the goroutine must end.
func (sh *shard) position() (seq int64, ok bool) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.running = len(sh.members) > 0 && sh.stopping.Err() == nil
	if !sh.running {
		sh.removeAllLocked()
	}
	return sh.seq, sh.running
}

// sendFrames sends the frames after sh.seq to all members.
func (sh *shard) sendFrames(frames []feed.Frame) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if frames[0].Seq != sh.seq+1 {
		return // other members have joined since the frames were read
	}
	for len(frames) > 0 {
		n := batchLen(frames)
		sh.sendBatch(frames[:n])
		frames = frames[n:]
	}
}

func (sh *shard) sendBatch(frames []feed.Frame) {
	if sh.lent || cap(sh.buffer) > maxPooledBuffer {
		sh.buffer, sh.lent = nil, false
	}
	sh.buffer = encode(sh.buffer[:0], sh.version, frames)
	before, last := sh.seq, frames[len(frames)-1].Seq
	sh.seq = last
	for _, st := range slices.Backward(sh.members) { // write may remove the stream
		switch {
		case st.seq >= last:
		case st.seq <= before:
			st.seq = last
			sh.write(st, sh.buffer)
		default: // it had more frames than the others when it joined
			missing := slices.IndexFunc(frames, func(f feed.Frame) bool { return f.Seq > st.seq })
			st.seq = last
			sh.write(st, encode(nil, sh.version, frames[missing:]))
		}
	}
}

// sendPending sends the output of the queued streams.
func (sh *shard) sendPending() {
	sh.queueMu.Lock()
	queue := sh.queue
	sh.queue = nil
	for _, st := range queue {
		st.queued = false
	}
	sh.queueMu.Unlock()
	if len(queue) == 0 {
		return
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, st := range queue {
		if st.slot != noSlot {
			sh.write(st, st.takePending(nil))
		}
	}
}

func (sh *shard) ping() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	frame := appendHeartbeat(nil, sh.version, sh.Query.Clock())
	next := time.Now().Add(sh.PingInterval)
	for _, st := range slices.Backward(sh.members) {
		st.pingAt = next
		sh.write(st, frame)
	}
}

// write sends b to a member without blocking. If the member does not take all of it, it leaves
// the shard and its goroutine sends the rest, which must not change any more.
func (sh *shard) write(st *stream, b []byte) {
	n := sh.socket.write(st.socket, b)
	if n == len(b) {
		return
	}
	sh.lent = true
	sh.removeLocked(st)
	go st.runWriter(b[n:])
}

// removeAll makes every member's goroutine its writer.
func (sh *shard) removeAll() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.running = false
	sh.removeAllLocked()
}

func (sh *shard) removeAllLocked() {
	for _, st := range slices.Backward(sh.members) {
		sh.removeLocked(st)
		go st.runWriter(nil)
	}
}
