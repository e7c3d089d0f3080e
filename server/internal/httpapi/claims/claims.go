// Package claims keeps in memory who handles which pending request. A claim is a lease: it ends by
// itself unless a page of its person shows the request. It informs people and blocks nothing, so it
// is neither stored nor in the audit log. Hubs of one database send each other their claims, and each then
// ends them by itself.
package claims

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	// checkInterval is the time between two checks of the leases.
	checkInterval = 15 * time.Second
	// renewAfter is the age from which a lease is renewed, so that not every check is broadcast.
	renewAfter = 30 * time.Second
	// maxClaims limits the claims in memory. A further one replaces the one that ends first.
	maxClaims = 200
)

// Presence knows which requests people have open.
type Presence interface {
	// IsShowing reports whether a page of the person shows the request.
	IsShowing(person string, id schema.EventID) bool
}

// People knows the accounts of the hub.
type People interface {
	// IdentityOf returns the identity of a named person; ok is false if there is none.
	IdentityOf(name, via string) (id auth.Identity, ok bool)
}

// Config holds the dependencies of Claims. All are required.
type Config struct {
	Store interface {
		Question(ctx context.Context, id schema.EventID) (*store.Question, error)
	}
	Feed     *feed.Feed
	People   People
	Presence Presence
	Clock    func() time.Time // of all hubs of the database
	Log      *slog.Logger
}

// Claims are the active claims. Its methods are safe for concurrent use.
type Claims struct {
	Config
	mu     sync.Mutex
	active map[schema.EventID]*lease
	shared sharedChanges
}

type lease struct {
	control.Claim
	until time.Time // monotonic, so that a step of the clock changes nothing
}

func (l *lease) renew(now time.Time) {
	l.until = now.Add(control.ClaimLease)
	l.ExpiresAt = schema.Millis(l.until.UnixMilli())
}

// New returns no claims. Run ends them.
func New(cfg Config) *Claims {
	return &Claims{Config: cfg, active: map[schema.EventID]*lease{}, shared: sharedChanges{own: map[schema.EventID]sharedChange{}, newest: map[schema.EventID]int64{}}}
}

// List returns the active claims by the id of the request.
func (c *Claims) List() control.ClaimList {
	c.mu.Lock()
	defer c.mu.Unlock()
	return control.ClaimList{Claims: c.listLocked()}
}

func (c *Claims) listLocked() []control.Claim {
	list := make([]control.Claim, 0, len(c.active))
	for _, l := range c.active {
		list = append(list, l.Claim)
	}
	slices.SortFunc(list, func(a, b control.Claim) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// Claim records that the caller handles a pending request, or the person to if it is not empty.
func (c *Claims) Claim(ctx context.Context, id schema.EventID, to string, by auth.Identity) error {
	if !by.HasRole(schema.Operator) {
		return notAllowed("Only operators can claim a request.")
	}
	claim := control.Claim{ID: id, Person: by.Name}
	if to != "" && to != by.Name {
		person, known := c.People.IdentityOf(to, "claim")
		if !known || !person.HasRole(schema.Operator) {
			return &schema.FieldError{Field: "to", Detail: "must be the name of a person with the role operator"}
		}
		claim.Person, claim.By = person.Name, by.Name
	}
	st, err := c.statusOf(ctx, id)
	if err == nil && st.IsSettled() {
		err = question.SettledError(st)
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.active[id] == nil && len(c.active) >= maxClaims {
		c.dropFirstLocked()
	}
	l := &lease{Claim: claim}
	l.renew(time.Now())
	c.active[id] = l
	c.shareLocked(id, l)
	c.publishLocked(id)
	return nil
}

// Release ends a claim. Its person, who handed it over, and admins may; a request without a claim
// stays without one.
func (c *Claims) Release(ctx context.Context, id schema.EventID, by auth.Identity) error {
	if _, err := c.statusOf(ctx, id); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.active[id]
	switch {
	case l == nil:
		return nil
	case l.Person != by.Name && l.By != by.Name && !by.HasRole(schema.Admin):
		return notAllowed(fmt.Sprintf("Only %s or an admin can release it. A claim blocks nothing: you can answer.", l.Person))
	}
	delete(c.active, id)
	c.shareLocked(id, nil)
	c.publishLocked(id)
	return nil
}

func notAllowed(hint string) error { return &schema.HintError{Err: schema.ErrNotAllowed, Hint: hint} }

// statusOf returns the status of a question.
func (c *Claims) statusOf(ctx context.Context, id schema.EventID) (*schema.Status, error) {
	stored, err := c.Store.Question(ctx, id)
	if err != nil {
		return nil, err
	}
	st := new(schema.Status)
	if err := json.Unmarshal(stored.Status, st); err != nil {
		return nil, fmt.Errorf("read status of question %d: %w", id, err)
	}
	return st, nil
}

// dropFirstLocked drops the claim that ends first.
func (c *Claims) dropFirstLocked() {
	var first *lease
	for _, l := range c.active {
		if first == nil || l.until.Before(first.until) {
			first = l
		}
	}
	delete(c.active, first.ID)
}

// publishLocked sends all claims to the streams.
func (c *Claims) publishLocked(id schema.EventID) {
	c.Feed.PublishFact(feed.Fact{Kinds: feed.Claims, ID: int64(id), Note: c.listLocked()})
}

// Run ends claims of resolved requests and of people who left, until ctx ends.
func (c *Claims) Run(ctx context.Context) {
	defer func() { middleware.LogPanic(c.Log, recover()) }()
	_ = c.Feed.Follow(ctx, feed.Changed|feed.Claims, func(batch *feed.Batch) error { // ends with ctx
		for _, fact := range batch.Facts { // also of a claim: its request may have been resolved at the same time
			c.endIfSettled(ctx, schema.EventID(fact.ID))
		}
		if batch.Rescan {
			for _, claim := range c.List().Claims {
				c.endIfSettled(ctx, claim.ID)
			}
		}
		if c.checkLeases(time.Now()) {
			batch.Timer = time.After(checkInterval)
		}
		return nil
	})
}

// endIfSettled ends the claim of a request that is resolved or gone.
func (c *Claims) endIfSettled(ctx context.Context, id schema.EventID) {
	c.mu.Lock()
	claimed := c.active[id]
	c.mu.Unlock()
	if claimed == nil {
		return
	}
	if st, err := c.statusOf(ctx, id); err == nil && !st.IsSettled() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.active, id)
	c.publishLocked(id)
}

// checkLeases renews the leases of people whose page shows the request, and ends the others when
// they are over. It reports whether any claim is left.
func (c *Claims) checkLeases(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, l := range c.active {
		person, known := c.People.IdentityOf(l.Person, "claim")
		switch {
		case !known || !person.HasRole(schema.Operator) || !now.Before(l.until):
			delete(c.active, id)
		case l.until.Sub(now) < control.ClaimLease-renewAfter && c.Presence.IsShowing(l.Person, id):
			l.renew(now)
			c.shareRenewalLocked(id, now)
		default:
			continue
		}
		c.publishLocked(id)
	}
	return len(c.active) > 0
}

// sharedChange is a claim or a release that was made at one hub, as sent to the others. The newest change
// of a request counts. Times are from Config.Clock, in Unix ms.
type sharedChange struct {
	ID     schema.EventID `json:"id"`
	Person string         `json:"person,omitempty"` // empty: released
	By     string         `json:"by,omitempty"`
	At     int64          `json:"at"`
	Until  int64          `json:"until"` // end of the lease, or when no hub has the released claim any more
}

// sharedChanges is the message between hubs.
type sharedChanges struct {
	own      map[schema.EventID]sharedChange // made here
	newest   map[schema.EventID]int64        // the time of the newest change that is known
	observer func()                          // nil: there are no other hubs
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

// Share returns the changes that the other hubs need; nil: none.
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

// maxKnown is how long the time of the newest change is kept: longer than any hub sends a change that is
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
