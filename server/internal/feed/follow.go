package feed

import (
	"context"
	"slices"
	"time"
)

// Kinds is a set of kinds of facts.
type Kinds uint32

// The kinds of facts. A change of a question can be of several kinds.
const (
	Entry       Kinds = 1 << iota // the log grew; this wakes a follower and is in no batch
	NewQuestion                   // a question was stored
	Liveness                      // that question ends when its listener disconnects
	Changed                       // a question changed
	Deadline                      // its deadline moved
	Undo                          // its undo window opened or closed
	Leased                        // its answer is reserved for this process and can be sent now
	Due                           // an attempt to send its answer has a new time
	Accounts                      // an account changed, or the hub was locked; not in the log
	Channels                      // a notification channel or a browser for Web Push was added; not in the log
	Ratings                       // a tool call was rated; not in the log, the note is a history.RiskyCall
	Messages                      // the messages to a session changed; not in the log, the note is a control.MessagesChanged
	Frozen                        // a freeze began or was lifted; not in the log
	Alerts                        // an alert opened or closed; not in the log, the note is a []control.Alert
	AlertRules                    // the alert rules changed; not in the log
	NewAlert                      // an alert opened; not in the log, the note is a control.Alert
	Rules                         // another hub created a rule; not in the log
	Members                       // a hub of the database came or went, or this one leads; not in the log
	Allowances                    // an allowance was created or ended; not in the log, the note is a []schema.Rule
)

// Fact is one thing that happened: an entry of the log, or something outside the log.
type Fact struct {
	Kinds Kinds
	ID    int64 // the event or question; 0: none
	// Note describes what happened outside the log, in a type of the publisher's package; nil
	// for entries of the log.
	Note any
}

// maxFacts is the number of facts that are kept. Plain events are not facts, so it is
// independent of the size and number of the frames. Facts with a Note are kept apart, so that no
// number of others displaces them: they can't be read from the store.
const (
	maxFacts = 8192
	maxNotes = 1024
)

// factRing keeps the newest facts.
type factRing struct {
	size  int
	facts []Fact // circular, once it has size facts: fact n is at n%size
	count int64  // facts so far
}

func (r *factRing) add(fact Fact) {
	if len(r.facts) < r.size {
		r.facts = append(r.facts, fact)
	} else {
		r.facts[r.count%int64(r.size)] = fact
	}
	r.count++
}

// read adds the facts of these kinds from the position to the batch, and advances the position.
func (r *factRing) read(position *int64, kinds Kinds, batch *Batch) {
	if oldest := r.count - int64(len(r.facts)); *position < oldest {
		*position, batch.Rescan = oldest, true
	}
	for ; *position < r.count; *position++ {
		if fact := r.facts[*position%int64(r.size)]; fact.Kinds&kinds != 0 {
			batch.Facts = append(batch.Facts, fact)
		}
	}
}

// Batch is what happened since a follower was last called.
type Batch struct {
	// Facts are of the follower's kinds, the oldest first, but facts with a Note last. They are
	// valid until the function returns.
	Facts []Fact
	// Rescan is set in the first batch, and when facts were lost because the follower was too
	// slow: the store may hold changes that are not in Facts.
	Rescan bool
	// Fired is set when the Timer of an earlier batch fired. There can be facts as well.
	Fired bool
	// Timer, if the function sets it, makes Follow call the function when it fires, even if
	// nothing has happened. It is nil at each call: see Follow.
	Timer <-chan time.Time
}

// Has reports whether a fact of one of the kinds happened, or may have happened. Entry is no fact:
// a follower of entries is called only if there may be new ones.
func (b *Batch) Has(kinds Kinds) bool {
	return b.Rescan || slices.ContainsFunc(b.Facts, func(fact Fact) bool { return fact.Kinds&kinds != 0 })
}

// PublishFact publishes a fact that is not in the log.
func (f *Feed) PublishFact(fact Fact) {
	f.mu.Lock()
	if fact.Note == nil {
		f.facts.add(fact)
	} else {
		f.notes.add(fact)
	}
	waiting := f.newFact.replace()
	f.mu.Unlock()
	wake(waiting)
}

// Follow calls fn with the facts of these kinds since the feed was created, and again whenever
// something happens, until ctx ends or fn returns an error, which it returns. Facts that arrive
// while fn runs are in its next batch. Each call drops the batch's timer: fn must set Timer again
// if a fact called it before the timer fired. A fact of another kind keeps the timer. The first
// batch asks for a rescan of the store, so that a worker's start and its recovery from lost facts
// are the same.
func (f *Feed) Follow(ctx context.Context, kinds Kinds, fn func(*Batch) error) error {
	p := follower{head: -1}
	batch := Batch{Rescan: true}
	for ctx.Err() == nil {
		newFact, more := f.collect(&p, kinds, &batch)
		if p.isNew || batch.Rescan || batch.Fired || len(batch.Facts) > 0 {
			batch.Timer = nil
			if err := fn(&batch); err != nil {
				return err
			}
			batch.Facts, batch.Rescan, batch.Fired = batch.Facts[:0], false, false
			p.isNew = false
			continue
		}
		select {
		case <-newFact:
		case <-more:
		case <-batch.Timer:
			batch.Fired = true
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// Position is how far someone has read the facts.
type Position struct {
	Facts, Notes int64 // without a note, and with one
}

// Since returns the facts of these kinds after p, the position after them, and a channel that is closed when
// there may be more. Batch.Rescan is set if facts were lost.
func (f *Feed) Since(p Position, kinds Kinds) (batch Batch, end Position, more <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.facts.read(&p.Facts, kinds, &batch)
	f.notes.read(&p.Notes, kinds, &batch)
	return batch, p, f.newFact.wait()
}

// follower is how far a follower has read.
type follower struct {
	Position
	head  int64 // seq of the last frame seen; -1: none yet
	isNew bool  // the log has grown, and the follower asked for that
}

// collect adds the facts after p to the batch. The channels are closed when there may be more:
// newFact by any fact, and more, which is nil unless the kinds include Entry, by any frame.
func (f *Feed) collect(p *follower, kinds Kinds, batch *Batch) (newFact, more <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.facts.read(&p.Facts, kinds, batch)
	f.notes.read(&p.Notes, kinds, batch)
	if kinds&Entry != 0 {
		p.isNew = p.isNew || p.head != f.head
		p.head, more = f.head, f.more.wait()
	}
	return f.newFact.wait(), more
}
