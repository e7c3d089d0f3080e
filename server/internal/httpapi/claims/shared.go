package claims

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

// sharedChange is a claim or a release that was made at one hub, as it tells the others. The newest change
// of a request counts. Times are those of Config.Clock, in Unix ms.
type sharedChange struct {
	ID     schema.EventID `json:"id"`
	Person string         `json:"person,omitempty"` // empty: released
	By     string         `json:"by,omitempty"`
	At     int64          `json:"at"`
	Until  int64          `json:"until"` // end of the lease, or when no hub has the released claim any more
}

// sharedChanges is what hubs tell each other.
type sharedChanges struct {
	own      map[schema.EventID]sharedChange // made here
	newest   map[schema.EventID]int64        // the time of the newest change that is known
	observer func()                          // nil: there are no other hubs
}

func newSharedChanges() sharedChanges {
	return sharedChanges{own: map[schema.EventID]sharedChange{}, newest: map[schema.EventID]int64{}}
}

// Observe sets the function that is called after Share has changed. It must be quick.
func (c *Claims) Observe(changed func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shared.observer = changed
}

// shareLocked records a claim that was made here, or a release.
func (c *Claims) shareLocked(id schema.EventID, claim *lease) {
	s := &c.shared
	if s.observer == nil {
		return
	}
	now := c.Clock()
	change := sharedChange{ID: id, At: max(now.UnixMilli(), s.newest[id]+1), Until: now.Add(control.ClaimLease).UnixMilli()}
	if claim != nil {
		change.Person, change.By = claim.Person, claim.By
	}
	s.own[id], s.newest[id] = change, change.At
	s.observer()
}

// shareRenewalLocked moves the end of a claim that was made here.
func (c *Claims) shareRenewalLocked(id schema.EventID, now time.Time) {
	if change, ok := c.shared.own[id]; ok {
		change.Until = c.Clock().Add(c.active[id].until.Sub(now)).UnixMilli()
		c.shared.own[id] = change
		c.shared.observer()
	}
}

// Share returns what the other hubs need to know; nil: nothing.
func (c *Claims) Share() json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, now := &c.shared, c.Clock().UnixMilli()
	maps.DeleteFunc(s.own, func(id schema.EventID, change sharedChange) bool {
		hasEnded := change.Person != "" && c.active[id] == nil
		return hasEnded || change.Until <= now
	})
	maps.DeleteFunc(s.newest, func(_ schema.EventID, at int64) bool { return at < now-maxKnown.Milliseconds() })
	if len(s.own) == 0 {
		return nil
	}
	list := slices.SortedFunc(maps.Values(s.own), func(a, b sharedChange) int { return int(a.At - b.At) })
	data, err := json.Marshal(list[max(0, len(list)-maxClaims):])
	if err != nil {
		return nil // cannot fail: only numbers and names
	}
	return data
}

// maxKnown is how long the time of the newest change is kept: longer than any hub tells of a change that is
// not renewed.
const maxKnown = 24 * time.Hour

// SetOthers applies what other hubs share.
func (c *Claims) SetOthers(all []json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, data := range all {
		var changes []sharedChange
		if len(data) > 0 && json.Unmarshal(data, &changes) == nil {
			for i := range changes[:min(len(changes), maxClaims)] {
				c.followLocked(&changes[i])
			}
		}
	}
}

// followLocked applies a change that was made at another hub, unless a newer one is known.
func (c *Claims) followLocked(change *sharedChange) {
	s := &c.shared
	left := time.Duration(change.Until-c.Clock().UnixMilli()) * time.Millisecond
	if change.At < s.newest[change.ID] || left <= 0 {
		return
	}
	isKnown := change.At == s.newest[change.ID]
	until := time.Now().Add(min(left, control.ClaimLease))
	l := c.active[change.ID]
	switch {
	case isKnown && (l == nil || until.Sub(l.until) < time.Second):
		return
	case change.Person == "":
		delete(c.active, change.ID)
	default:
		if l == nil && len(c.active) >= maxClaims {
			c.dropFirstLocked()
		}
		c.active[change.ID] = &lease{
			Claim: control.Claim{ID: change.ID, Person: change.Person, By: change.By, ExpiresAt: schema.Millis(until.UnixMilli())}, until: until,
		}
	}
	if s.newest[change.ID] = change.At; !isKnown {
		delete(s.own, change.ID)
	}
	c.publishLocked(change.ID)
}
