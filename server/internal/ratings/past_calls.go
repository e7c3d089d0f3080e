package ratings

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/store"
)

// PastDays is the number of days that SearchBack reads.
const PastDays = 30

// Limits of a read of the past.
const (
	pastEvents    = 20_000
	pastArguments = 64 << 20 // bytes of arguments that are kept
	pastTime      = time.Second
	pageTime      = 100 * time.Millisecond
)

// PastCall is a tool call of the history: who decided about it and how it ended, without its risk.
type PastCall struct {
	*store.RatedCall
	Call   policy.Call
	Cwd    string
	At     time.Time      // of its first event
	Answer schema.Outcome // approve or deny, if a person answered a question about it here
	IsCut  bool           // the arguments are not known: the event is too large for a list
}

// PastCalls returns the calls of the matching events, oldest first, and whether these are all calls of
// the last days.
func (f *Follower) PastCalls(ctx context.Context, terms *filter.Filter, now time.Time) (calls []PastCall, complete bool, err error) {
	var events []pastEvent
	size, isUnknown := 0, false
	complete, err = f.SearchBack(ctx, terms, now, func(e *store.Event) bool {
		p, ok := newPastEvent(e)
		if ok {
			events = append(events, p)
			size += len(p.facts.arguments)
			isUnknown = isUnknown || p.facts.tool == "" && e.PayloadBytes > 0 // the payload, which a list leaves out, names it
		}
		return size <= pastArguments
	})
	if err != nil {
		return nil, false, err
	}
	return joinCalls(events), complete && !isUnknown, nil
}

// SearchBack calls visit with the matching events of the last days, newest first, until it returns
// false. It reports whether these were all. It reads a limited number of events in limited time.
func (f *Follower) SearchBack(
	ctx context.Context, terms *filter.Filter, now time.Time, visit func(e *store.Event) bool,
) (complete bool, err error) {
	q := store.Search{Filter: terms, From: now.Add(-PastDays * 24 * time.Hour), Limit: schema.MaxPageLimit, MaxBytes: store.MaxPageBytes, Timeout: pageTime}
	for began, read := time.Now(), 0; read < pastEvents && time.Since(began) < pastTime; {
		page, err := f.Store.Search(ctx, q)
		if err != nil {
			return false, err
		}
		for _, e := range slices.Backward(page.Events) {
			if !visit(e) {
				return false, nil
			}
		}
		if page.Complete {
			return true, nil
		}
		read += len(page.Events)
		q.Before = page.SearchedTo
	}
	return false, nil
}

// pastEvent is the part of an event that concerns a call.
type pastEvent struct {
	event  store.Event // without its payload
	facts  callFacts
	status *schema.Status // of its question
}

func newPastEvent(e *store.Event) (p pastEvent, ok bool) {
	if e.App == schema.TestApp {
		return p, false // nothing ran
	}
	p.facts = parseCall(e)
	if p.facts.step == noStep {
		return p, false
	}
	if p.facts.step == ended && p.facts.useID != "" {
		p.facts.arguments = nil // the start has them
	}
	p.event = store.Event{ID: e.ID, ReceivedAt: e.ReceivedAt, App: e.App, Session: e.Session, Type: e.Type, PayloadBytes: e.PayloadBytes}
	var st schema.Status
	if e.Question != nil {
		p.event.Question = []byte("{}")
		if json.Unmarshal(e.Status, &st) == nil {
			p.status = &st
		}
	}
	return p, true
}

// joinCalls returns the calls that the events, newest first, are about.
func joinCalls(events []pastEvent) (calls []PastCall) {
	open, index := newOpenCalls(nil), map[*store.RatedCall]int{}
	for i := range slices.Backward(events) {
		p := &events[i]
		e, f := &p.event, &p.facts
		key := store.SessionKey{App: e.App, Session: e.Session}
		if f.step == sessionEnded {
			for _, c := range slices.Clone(open.bySession[key]) {
				open.remove(c)
			}
			continue
		}
		c := open.callOf(key, f)
		if c == nil {
			if f.step == ended || f.tool == "" {
				continue // its start is not among the events
			}
			c = newCall(e, f)
			open.add(c)
			index[c] = len(calls)
			calls = append(calls, PastCall{
				RatedCall: c, Call: f.policyCall(), Cwd: f.cwd, At: e.ReceivedAt,
				IsCut: len(f.arguments) == 0 && e.PayloadBytes > 0,
			})
		}
		applyStep(c, e, f)
		if p.status != nil {
			resolve(c, p.status)
			calls[index[c]].setAnswer(p.status)
		}
		if c.Closed {
			open.remove(c)
		}
	}
	return calls
}

// setAnswer records the answer of a person.
func (c *PastCall) setAnswer(st *schema.Status) {
	if (st.Source == schema.ByHuman || st.Source == schema.ByQuorum) && (st.Outcome == schema.Approve || st.Outcome == schema.Deny) {
		c.Answer = st.Outcome
	}
}
