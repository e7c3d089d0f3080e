package feed

import (
	"context"
	"slices"
	"time"
)

// Kinds is a set of kinds of facts.
type Kinds uint16

// The kinds of facts. A change of a question can be of several kinds.
const (
	Entry       Kinds = 1 << iota // the log grew; this wakes a follower and is in no batch
	NewQuestion                   // a question was stored
	Liveness                      // that question ends when its listener disconnects
	Changed                       // a question changed
	Ended                         // the change is its resolution
	Deadline                      // its deadline moved
	Undo                          // its undo window opened or closed
	Leased                        // its answer is reserved for this process and can be sent now
	Due                           // an attempt to send its answer has a new time
	Accounts                      // an account changed, or the hub was locked; not in the log
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
// independent of the size and number of the frames.
const maxFacts = 8192

// Batch is what happened since a follower was last called.
type Batch struct {
	// Facts are of the follower's kinds, the oldest first. They are valid until the function
	// returns.
	Facts []Fact
	// Rescan is set in the first batch, and when facts were lost because the follower was too
	// slow: the store may hold changes that are not in Facts.
	Rescan bool
	// Fired is set when the Timer of an earlier batch fired. There can be facts as well.
	Fired bool
	// Timer, if the function sets it, makes Follow call the function when it fires, even if
	// nothing has happened.
	Timer <-chan time.Time
}

// Has reports whether a fact of one of the kinds happened, or may have happened.
func (b *Batch) Has(kinds Kinds) bool {
	return b.Rescan || slices.ContainsFunc(b.Facts, func(fact Fact) bool { return fact.Kinds&kinds != 0 })
}

// Tell publishes a fact that is not in the log.
func (f *Feed) Tell(fact Fact) {
	f.mu.Lock()
	f.addFactLocked(fact)
	wake := f.newFact.replace()
	f.mu.Unlock()
	ring(wake)
}

func (f *Feed) addFactLocked(fact Fact) {
	if len(f.facts) < maxFacts {
		f.facts = append(f.facts, fact)
	} else {
		f.facts[f.factCount%maxFacts] = fact
	}
	f.factCount++
}

// Follow calls fn with the facts of these kinds since the feed was created, and again whenever
// something happens, until ctx ends or fn returns an error, which it returns. Facts that arrive
// while fn runs are in its next batch. The first batch asks for a rescan of the store, so that
// a worker's start and its recovery from lost facts are the same.
func (f *Feed) Follow(ctx context.Context, kinds Kinds, fn func(*Batch) error) error {
	p := position{head: -1}
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

// position is how far a follower has read.
type position struct {
	facts int64 // facts read
	head  int64 // seq of the last frame seen; -1: none yet
	isNew bool  // the log has grown, and the follower asked for that
}

// collect adds the facts after p to the batch. The channels are closed when there may be more:
// newFact by any fact, and more, which is nil unless the kinds include Entry, by any frame.
func (f *Feed) collect(p *position, kinds Kinds, batch *Batch) (newFact, more <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if oldest := f.factCount - int64(len(f.facts)); p.facts < oldest {
		p.facts, batch.Rescan = oldest, true
	}
	for ; p.facts < f.factCount; p.facts++ {
		if fact := f.facts[p.facts%maxFacts]; fact.Kinds&kinds != 0 {
			batch.Facts = append(batch.Facts, fact)
		}
	}
	if kinds&Entry != 0 {
		p.isNew = p.isNew || p.head != f.head
		p.head, more = f.head, f.more.wait()
	}
	return f.newFact.wait(), more
}
