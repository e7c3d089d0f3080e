package hub

import (
	"context"
	"fmt"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/peer"
	"github.com/hookback/hookback/server/internal/store"
)

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
	inSession := h.reserved.inSession(key)
	if s := h.pending[key]; s != nil {
		inSession += int(s.pending)
	}
	switch l := h.PendingLimits; {
	case inSession >= l.Session:
		return "this session already has", l.Session
	case h.reserved.ofOwner(owner) >= l.Owner:
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
