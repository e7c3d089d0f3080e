package ratings

import (
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// Limits of the calls that may still change. The oldest ones no longer change beyond them.
const (
	maxSessionCalls = 100
	maxOpenCalls    = 4096
)

// openCalls are the calls that may still change, by session and in the order of the log.
type openCalls struct {
	bySession map[store.SessionKey][]*store.RatedCall
	order     []*store.RatedCall // oldest first; some are closed
	count     int
}

func newOpenCalls(calls []store.RatedCall) *openCalls {
	o := &openCalls{bySession: map[store.SessionKey][]*store.RatedCall{}}
	for i := range calls {
		o.add(&calls[i])
	}
	return o
}

func keyOf(c *store.RatedCall) store.SessionKey {
	return store.SessionKey{App: c.SourceApp, Session: c.SessionID}
}

// add adds a call. It returns the calls that no longer fit, which it removes.
func (o *openCalls) add(c *store.RatedCall) (evicted []*store.RatedCall) {
	key := keyOf(c)
	if list := o.bySession[key]; len(list) >= maxSessionCalls {
		evicted = append(evicted, list[0])
		o.remove(list[0])
	}
	for o.count >= maxOpenCalls {
		oldest := o.order[0]
		o.order = o.order[1:]
		if slices.Contains(o.bySession[keyOf(oldest)], oldest) {
			evicted = append(evicted, oldest)
			o.remove(oldest)
		}
	}
	o.bySession[key] = append(o.bySession[key], c)
	o.order = append(o.order, c)
	o.count++
	if len(o.order) > 2*maxOpenCalls {
		o.order = slices.DeleteFunc(o.order, func(c *store.RatedCall) bool { return !slices.Contains(o.bySession[keyOf(c)], c) })
	}
	return evicted
}

func (o *openCalls) remove(c *store.RatedCall) {
	key := keyOf(c)
	list := o.bySession[key]
	i := slices.Index(list, c)
	if i < 0 {
		return
	}
	o.count--
	if list = slices.Delete(list, i, i+1); len(list) == 0 {
		delete(o.bySession, key)
	} else {
		o.bySession[key] = list
	}
}

// find returns the newest call that an event is about, or nil: the one with its id, otherwise one
// of the same tool that has no other id, with the same arguments if the event has any.
func (o *openCalls) find(key store.SessionKey, f *callFacts) *store.RatedCall {
	list, digest := o.bySession[key], f.argumentsDigest()
	for _, c := range slices.Backward(list) {
		if f.useID != "" && c.UseID == f.useID {
			return c
		}
	}
	for _, c := range slices.Backward(list) {
		if c.ToolName == f.tool && (c.UseID == "" || f.useID == "") && (digest == "" || digest == c.Digest) {
			return c
		}
	}
	return nil
}

// callOf returns the call that an event belongs to; nil if it starts another one.
func (o *openCalls) callOf(key store.SessionKey, f *callFacts) *store.RatedCall {
	c := o.find(key, f)
	if f.step == started && c != nil && (f.useID == "" || c.UseID != f.useID || c.Digest != f.argumentsDigest()) {
		return nil // another call, not one event twice; some models use the same ids in each turn
	}
	return c
}

// findQuestion returns the call that a question is about, or nil.
func (o *openCalls) findQuestion(key store.SessionKey, question schema.EventID) *store.RatedCall {
	for _, c := range o.bySession[key] {
		if slices.Contains(c.Questions, question) {
			return c
		}
	}
	return nil
}
