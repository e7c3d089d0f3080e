package ratings

import (
	"encoding/json"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/store"
)

// batch collects the changes of a step.
type batch struct {
	open    *openCalls
	changed []*store.RatedCall                   // each once, in the order of the first change
	before  map[*store.RatedCall]store.RatedCall // the calls of earlier steps, as they were stored
	counts  map[store.CallKey]store.CallCount
	// overruled are the calls that a directive decided, by event: the hook reports a call first.
	overruled map[schema.EventID]history.CallDecider
}

func (b *batch) apply(entry *store.LogEntry) {
	e := entry.Event
	if e.App == schema.TestApp {
		return // nothing ran
	}
	key := store.SessionKey{App: e.App, Session: e.Session}
	if entry.Ends {
		b.applyResolution(key, e)
		return
	}
	f := parseCall(e)
	switch f.step {
	case noStep:
		return
	case sessionEnded:
		for _, c := range slices.Clone(b.open.bySession[key]) {
			b.change(c, func() { c.Closed = true })
		}
		return
	}
	c := b.open.callOf(key, &f)
	if c == nil {
		if f.step == ended || f.tool == "" {
			return // its start is not in the log
		}
		c = newCall(e, &f)
		c.Risk, c.Codes = f.rate()
		b.add(c)
	}
	b.change(c, func() {
		applyStep(c, e, &f)
		overrule(c, b.overruled[e.ID])
	})
}

func applyStep(c *store.RatedCall, e *store.Event, f *callFacts) {
	switch f.step {
	case started:
		if f.isPermission {
			ask(c, e)
		} else {
			applyVerdict(c, f.verdict)
		}
	case questioned:
		ask(c, e)
	case refused:
		c.Decided, c.Appealed = history.DecidedByAgent, f.isAppeal
		end(c, history.CallRefused)
	case ended:
		outcome := history.CallRan
		if f.failed {
			outcome = history.CallFailed
		}
		end(c, outcome)
	}
}

func (b *batch) applyResolution(key store.SessionKey, e *store.Event) {
	var st schema.Status
	if c := b.open.findQuestion(key, e.ID); c != nil && json.Unmarshal(e.Status, &st) == nil {
		b.change(c, func() { resolve(c, &st) })
	}
}

// add adds a new call.
func (b *batch) add(c *store.RatedCall) {
	b.changed = append(b.changed, c)
	b.count(c, 1)
	for _, old := range b.open.add(c) {
		b.change(old, func() { old.Closed = true })
	}
}

// change applies a change to a call, and moves it in the counts.
func (b *batch) change(c *store.RatedCall, apply func()) {
	if !slices.Contains(b.changed, c) {
		b.changed = append(b.changed, c)
		b.before[c] = *c
	}
	b.count(c, -1)
	apply()
	b.count(c, 1)
	if c.Closed {
		b.open.remove(c)
	}
}

func (b *batch) count(c *store.RatedCall, n int64) {
	key := store.CallKey{Quarter: c.Quarter, Decided: c.Decided, Risk: c.Risk, Outcome: c.Outcome}
	sum := b.counts[key]
	sum.Calls += n
	if c.Appealed {
		sum.Appealed += n
	}
	if b.counts[key] = sum; sum == (store.CallCount{}) {
		delete(b.counts, key)
	}
}
