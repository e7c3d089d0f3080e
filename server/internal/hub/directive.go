package hub

import (
	"bytes"
	"context"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/hub/rawevent"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/store"
)

// requestDirective lets the store answer the event with the directive for its agent, as far as
// the poster applies it. body is the event before redaction.
func (h *Hub) requestDirective(d *store.EventDraft, body []byte, caller Caller) {
	if caller.Accepts == nil || *caller.Accepts == (control.Accepts{}) {
		return
	}
	r := &store.DirectiveRequest{Accepts: *caller.Accepts, IsValid: h.env.IsGrantValid}
	// Finding the subagent decodes the payload, and few sessions have messages.
	if r.Message = r.Message && h.Store.HasMessages(store.SessionKey{App: d.App, Session: d.Session}); r.Message {
		r.AgentID = question.HookFactsOf(&d.Event).AgentID
	}
	if r.Grant && h.Store.HasGrants(d.App, d.Session) {
		r.Digest, r.StoredDigest = h.callDigest(body)
	}
	d.Directive = r
}

// callDigest returns the digest of the call in an event before redaction, and its form in the
// database.
func (h *Hub) callDigest(body []byte) (digest string, stored []byte) {
	s, err := rawevent.Scan(body)
	if err != nil {
		return "", nil
	}
	call, ok := question.CallOf(&store.Event{Tool: s.Tool, Payload: s.Payload}, &schema.HumanInTheLoop{})
	if !ok {
		return "", nil
	}
	digest = control.Digest(call.Name, call.Arguments)
	return digest, h.env.StoredDigest(digest)
}

// isSameEvent reports whether a repeat has the content of the first event.
func isSameEvent(repeat, first *store.Event) bool {
	return bytes.Equal(repeat.Envelope, first.Envelope) && bytes.Equal(repeat.Payload, first.Payload)
}

// expireGrants ends the grants that have expired at now, and returns when to call it again; zero:
// when there is a new grant.
func (h *Hub) expireGrants(ctx context.Context, now time.Time) (next time.Time) {
	next, err := h.Store.ExpireGrants(ctx, now)
	if err != nil && ctx.Err() == nil {
		h.Log.Error("expired grants not recorded; they can't be used", "retry_in", time.Second, "err", err)
		return now.Add(time.Second)
	}
	return next
}

// expireGrantsAfterStep ends all grants when the clock was set back, so that none is valid longer
// than people were told.
func (h *Hub) expireGrantsAfterStep(ctx context.Context, now time.Time, step time.Duration) {
	if step < 0 {
		h.expireGrants(ctx, now.Add(question.GrantLifetime-step))
	}
}
