package hub

import "github.com/hookback/hookback/server/internal/store"

// PendingLimits bound the pending questions, so that one program can't bury the questions of the
// others. Zero values select the defaults.
type PendingLimits struct {
	Session int // of one session, default 256
	Owner   int // of one token or program, default 1,000
	Hub     int // of the hub, default 10,000
}

func (l *PendingLimits) setDefaults() {
	for _, d := range []struct {
		field *int
		value int
	}{{&l.Session, 256}, {&l.Owner, 1000}, {&l.Hub, 10_000}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
}

// reservations count questions against the limits: per requester the ones asked at this hub since it
// started and not settled, and per session the ones not stored yet. Hub.mu guards them.
type reservations struct {
	owners    map[string]string           // uid of the event → owner
	byOwner   map[string]int              // owner → number of its questions
	unstored  map[string]store.SessionKey // uid of the event → session
	bySession map[store.SessionKey]int    // session → number of its questions in unstored
}

func newReservations() reservations {
	return reservations{
		owners: map[string]string{}, byOwner: map[string]int{},
		unstored: map[string]store.SessionKey{}, bySession: map[store.SessionKey]int{},
	}
}

// add counts a question that is about to be stored.
func (r *reservations) add(d *store.EventDraft, owner string) {
	key := store.SessionKey{App: d.App, Session: d.Session}
	r.owners[d.UID], r.unstored[d.UID] = owner, key
	r.byOwner[owner]++
	r.bySession[key]++
}

// markStored ends the count for the session of a question that is stored.
func (r *reservations) markStored(uid string) { decrement(r.unstored, r.bySession, uid) }

// remove deletes a question that was settled or not stored.
func (r *reservations) remove(uid string) {
	r.markStored(uid)
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

// inSession returns the number of questions of a session that are not stored yet.
func (r *reservations) inSession(key store.SessionKey) int { return r.bySession[key] }

// ofOwner returns the number of questions of a requester.
func (r *reservations) ofOwner(owner string) int { return r.byOwner[owner] }
