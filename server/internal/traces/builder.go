package traces

import (
	"encoding/json"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/sessions/digest"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	// maxIdle ends a turn whose agent reports nothing; maxWait one that waits for a person.
	maxIdle = time.Hour
	maxWait = 24 * time.Hour
	// maxTurns limits the open turns in memory. The oldest ends first.
	maxTurns = 5000
)

// builder makes turns from the log. Its result depends only on the log, so that turns which are read again
// after a restart are the same.
type builder struct {
	withContent bool
	open        map[store.SessionKey]*turn
	minute      int64 // of the newest event
	ended       []endedTurn
}

// endedTurn is a turn that ended with a row of the log.
type endedTurn struct {
	seq     int64
	spans   []span
	content int // bytes of arguments and prompts
}

func (b *builder) apply(entry *store.LogEntry) {
	e := entry.Event
	if e.App == schema.TestApp {
		return // nothing ran
	}
	key := store.SessionKey{App: e.App, Session: e.Session}
	if entry.Ends {
		b.applyResolution(key, entry)
		return
	}
	b.endIdle(entry.Seq, e.ReceivedAt)
	if digest.IsTelemetry(e.Type) {
		return
	}
	f := parse(e)
	t := b.open[key]
	if t != nil && f.Kind == digest.Prompt {
		b.end(t, entry.Seq)
		t = nil
	}
	if t == nil {
		if !f.opensTurn() {
			return
		}
		t = newTurn(key, entry.Seq, f, b.withContent)
		b.makeRoom(entry.Seq)
		b.open[key] = t
	}
	t.apply(f)
	if t.isOver() || f.Kind == digest.SessionEnd {
		b.end(t, entry.Seq)
	}
}

func (b *builder) applyResolution(key store.SessionKey, entry *store.LogEntry) {
	var st schema.Status
	t := b.open[key]
	if t == nil || json.Unmarshal(entry.Event.Status, &st) != nil {
		return
	}
	if t.endWait(entry.Event.ID, &st) && t.isOver() {
		b.end(t, entry.Seq)
	}
}

func (b *builder) end(t *turn, seq int64) {
	delete(b.open, t.key)
	b.ended = append(b.ended, endedTurn{seq, t.close(), max(t.content, 0)})
}

// endIdle ends turns without events, once per minute of the log.
func (b *builder) endIdle(seq int64, now time.Time) {
	minute := now.UnixMilli() / time.Minute.Milliseconds()
	if minute == b.minute {
		return
	}
	b.minute = minute
	for _, t := range b.open {
		limit := maxIdle
		if len(t.waits) > 0 {
			limit = maxWait
		}
		if now.UnixMilli()-t.lastMS > limit.Milliseconds() {
			b.end(t, seq)
		}
	}
}

func (b *builder) makeRoom(seq int64) {
	if len(b.open) < maxTurns {
		return
	}
	var oldest *turn
	for _, t := range b.open {
		if oldest == nil || t.first < oldest.first {
			oldest = t
		}
	}
	b.end(oldest, seq)
}

// resumeAt returns the log position before the open turns, at most at.
func (b *builder) resumeAt(at int64) int64 {
	for _, t := range b.open {
		at = min(at, t.first-1)
	}
	return at
}
