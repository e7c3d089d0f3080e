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

// pendingOwners counts the pending questions of each owner since the hub started, by the uid of
// their event. It is guarded by Hub.mu.
type pendingOwners struct {
	ownerOf map[string]string // uid → owner
	counts  map[string]int    // owner → number of its questions
}

// add counts a question that is about to be stored.
func (p *pendingOwners) add(uid, owner string) {
	if p.ownerOf == nil {
		p.ownerOf, p.counts = map[string]string{}, map[string]int{}
	}
	p.ownerOf[uid] = owner
	p.counts[owner]++
}

// remove deletes a question that was settled or not stored.
func (p *pendingOwners) remove(uid string) {
	owner, ok := p.ownerOf[uid]
	if !ok {
		return
	}
	delete(p.ownerOf, uid)
	if p.counts[owner]--; p.counts[owner] == 0 {
		delete(p.counts, owner)
	}
}

// reservePending counts the question of d for its owner, or returns an error if there are too many.
// The count ends when the question is settled, or with releasePending.
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
	inSession := int64(0)
	if s := h.pending[store.SessionKey{App: d.App, Session: d.Session}]; s != nil {
		inSession = s.pending
	}
	switch l := h.PendingLimits; {
	case inSession >= int64(l.Session):
		return "this session already has", l.Session
	case h.owners.counts[owner] >= l.Owner:
		return "this agent already has", l.Owner
	case h.pendingTotal >= int64(l.Hub):
		return "this hub already has", l.Hub
	}
	h.owners.add(d.UID, owner)
	return "", 0
}

// releasePending stops counting a draft that was not stored.
func (h *Hub) releasePending(d *store.EventDraft) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.owners.remove(d.UID)
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
