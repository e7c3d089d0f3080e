// Package quota counts the questions of sessions and requesters for their limits. It has no I/O and no
// locks.
package quota

import "github.com/hookback/hookback/server/internal/store"

// Limits bound the pending questions, so that one program can't bury the questions of the
// others. Zero values select the defaults.
type Limits struct {
	Session int // of one session, default 256
	Owner   int // of one token or program, default 1,000
	Hub     int // of the hub, default 10,000
}

// SetDefaults replaces zero values.
func (l *Limits) SetDefaults() {
	for _, d := range []struct {
		field *int
		value int
	}{{&l.Session, 256}, {&l.Owner, 1000}, {&l.Hub, 10_000}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
}

// Reservations count questions against the limits: per requester the ones asked at this hub since it
// started and not settled, and per session the ones not stored yet.
type Reservations struct {
	owners    map[string]string           // uid of the event → owner
	byOwner   map[string]int              // owner → number of its questions
	unstored  map[string]store.SessionKey // uid of the event → session
	bySession map[store.SessionKey]int    // session → number of its questions in unstored
}

// New returns reservations without questions.
func New() Reservations {
	return Reservations{
		owners: map[string]string{}, byOwner: map[string]int{},
		unstored: map[string]store.SessionKey{}, bySession: map[store.SessionKey]int{},
	}
}

// Add counts a question that is about to be stored.
func (r *Reservations) Add(d *store.EventDraft, owner string) {
	key := store.SessionKey{App: d.App, Session: d.Session}
	r.owners[d.UID], r.unstored[d.UID] = owner, key
	r.byOwner[owner]++
	r.bySession[key]++
}

// MarkStored ends the count for the session of a question that is stored.
func (r *Reservations) MarkStored(uid string) { decrement(r.unstored, r.bySession, uid) }

// Remove deletes a question that was settled or not stored.
func (r *Reservations) Remove(uid string) {
	r.MarkStored(uid)
	decrement(r.owners, r.byOwner, uid)
}

// decrement deletes a question and lowers the count under its key.
func decrement[K comparable](keys map[string]K, counts map[K]int, uid string) {
	key, ok := keys[uid]
	if !ok {
		return
	}
	delete(keys, uid)
	if counts[key]--; counts[key] == 0 {
		delete(counts, key)
	}
}

// InSession returns the number of questions of a session that are not stored yet.
func (r *Reservations) InSession(key store.SessionKey) int { return r.bySession[key] }

// OfOwner returns the number of questions of a requester.
func (r *Reservations) OfOwner(owner string) int { return r.byOwner[owner] }

// Unstored returns the number of questions that are not stored yet.
func (r *Reservations) Unstored() int { return len(r.unstored) }
