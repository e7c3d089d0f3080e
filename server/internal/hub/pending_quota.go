package hub

import (
	"context"
	"fmt"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/peer"
	"github.com/hookback/hookback/server/internal/store"
)

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

// reservations count questions against the limits: per requester those that were asked since the hub
// started and are not settled, and per session those that are not stored yet. Hub.pending counts the
// stored ones of a session. Guarded by Hub.mu.
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

// markStored ends the count for the session of a question that Hub.pending counts from here on.
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

// reservePending counts the question of d for its session, its owner and the hub, or returns an error if
// one of them has too many. The count ends when the question is settled, or with releasePending.
func (h *Hub) reservePending(ctx context.Context, d *store.EventDraft, caller Caller, program *peer.Process) error {
	owner := pendingOwner(caller, program)
	who, n := h.tryReservePending(d, owner)
	if who == "" {
		return nil
	}
	if d.IdempotencyKey != "" {
		if known, err := h.Store.HasKey(ctx, d.IdempotencyKey); err != nil || known { // a repeat adds no question
			return err
		}
	}
	return &schema.HintError{
		Err:  &schema.FieldError{Field: "humanInTheLoop", Detail: fmt.Sprintf("was not stored: %s %d questions waiting", who, n), Cause: schema.ErrTooMany},
		Hint: "Answer, cancel or withdraw some of them, and ask again.",
	}
}

// tryReservePending returns whose limit is reached, and the limit; or "" after it has counted the
// question.
func (h *Hub) tryReservePending(d *store.EventDraft, owner string) (who string, limit int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := store.SessionKey{App: d.App, Session: d.Session}
	inSession := h.reserved.bySession[key]
	if s := h.pending[key]; s != nil {
		inSession += int(s.pending)
	}
	switch l := h.PendingLimits; {
	case inSession >= l.Session:
		return "this session already has", l.Session
	case h.reserved.byOwner[owner] >= l.Owner:
		return "this agent already has", l.Owner
	case int(h.pendingTotal)+len(h.reserved.unstored) >= l.Hub:
		return "this hub already has", l.Hub
	}
	h.reserved.add(d, owner)
	return "", 0
}

// releasePending stops counting a draft that was not stored.
func (h *Hub) releasePending(d *store.EventDraft) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reserved.remove(d.UID)
}

// pendingOwner returns who a question counts for: the token or person, the program, or the address.
func pendingOwner(caller Caller, program *peer.Process) string {
	switch who := caller.Identity.Requester(); {
	case who != "":
		return "token " + who
	case program != nil && len(program.Chain) > 0:
		return fmt.Sprintf("process %d %d", program.Chain[0].PID, program.Chain[0].Start)
	default:
		return "address " + caller.Remote.Addr().String()
	}
}
