package stream

import (
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"github.com/hookback/hookback/schema"
)

// maxSharedNames is the number of people that hubs tell each other of one request.
const maxSharedNames = 20

// SharedPresence is what a hub tells the others of the same database about its pages.
type SharedPresence struct {
	schema.Presence          // with up to maxSharedNames names
	Focused         []string `json:"focused,omitempty"` // people whose tab has the focus
}

// Observe sets the function that is called after Share may have changed. It must be quick. Call Observe
// before the first stream.
func (p *Presence) Observe(changed func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.observer = changed
	p.focusTimer = time.AfterFunc(schema.ViewingTimeout, changed)
}

// Share returns what the other hubs need to know; nil: nothing.
func (p *Presence) Share() json.RawMessage {
	p.mu.Lock()
	defer p.mu.Unlock()
	shared := SharedPresence{Presence: presenceOf(p.viewing)}
	for st, at := range p.focused {
		if time.Since(at) < schema.ViewingTimeout {
			shared.Focused = append(shared.Focused, st.person)
		}
	}
	slices.Sort(shared.Focused)
	shared.Focused = slices.Compact(shared.Focused)
	if shared.Screens == 0 {
		return nil
	}
	data, err := json.Marshal(shared)
	if err != nil {
		return nil // cannot fail: only numbers and names
	}
	return data
}

// SetOthers replaces what other hubs share.
func (p *Presence) SetOthers(all []json.RawMessage) {
	others := make([]SharedPresence, 0, len(all))
	for _, data := range all {
		var shared SharedPresence
		if json.Unmarshal(data, &shared) == nil && len(data) > 0 {
			others = append(others, shared)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(others)+len(p.others) > 0 && !reflect.DeepEqual(p.others, others) {
		p.others = others
		p.changedLocked()
	}
}

// focusChangedLocked tells the observer now, and when the focus is no longer valid.
func (p *Presence) focusChangedLocked() {
	if p.observer != nil {
		p.focusTimer.Reset(schema.ViewingTimeout)
		p.observer()
	}
}

// messageLocked returns the presence on all hubs. names: with the names of the viewers.
func (p *Presence) messageLocked(names bool) schema.Presence {
	sum := presenceOf(p.viewing)
	requests := map[schema.EventID]*schema.ViewedRequest{}
	for i := range sum.Looking {
		requests[sum.Looking[i].ID] = &sum.Looking[i]
	}
	for i := range p.others {
		sum.Screens += p.others[i].Screens
		for _, r := range p.others[i].Looking {
			if known := requests[r.ID]; known != nil {
				known.Screens += r.Screens
				known.People = append(known.People, r.People...)
			} else {
				r.People = slices.Clone(r.People)
				requests[r.ID] = &r
			}
		}
	}
	list := make([]schema.ViewedRequest, 0, len(requests))
	for _, r := range requests {
		slices.Sort(r.People)
		r.People = slices.Compact(r.People) // a person may have several tabs
		if r.People = r.People[:min(len(r.People), schema.MaxNamedViewers)]; !names {
			r.People = nil
		}
		list = append(list, *r)
	}
	return schema.Presence{Screens: sum.Screens, Looking: mostViewed(list)}
}
