package hub

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/store"
)

// An appeal blocks its agent's turn, so it waits only if someone can see it, and not again and
// again in a session in which no one answers.

const (
	// viewedAppealTimeout is how long an appeal waits that only open pages show.
	viewedAppealTimeout = 2 * time.Minute
)

// Opened records that a person has a question open.
func (h *Hub) Opened(id schema.EventID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unanswered.Opened(id)
}

// sendReason sends the reason for keeping a call refused to the session, once the answer is final: a
// hook can't tell the model why. A reason without a sign-in reaches the model, as that of any denial
// does, and carries no name. The answer stands even if its author may not send messages or the session
// can't have any.
func (h *Hub) sendReason(ctx context.Context, e *store.Event) {
	if !question.IsAppeal(e) {
		return
	}
	var st schema.Status
	if json.Unmarshal(e.Status, &st) != nil || st.Outcome != schema.Deny || st.RespondedBy == nil || st.Reason == "" ||
		st.Source != schema.ByHuman && st.Source != schema.ByQuorum {
		return
	}
	text := []rune("About the refused call: " + st.Reason)
	text = text[:min(len(text), control.MaxMessageText)]
	d := control.MessageDraft{SourceApp: e.App, SessionID: e.Session, Text: string(text), AgentID: question.HookFactsOf(e).AgentID}
	key := "appeal/" + strconv.FormatInt(int64(e.ID), 10)
	if err := h.sendReasonOf(context.WithoutCancel(ctx), st.RespondedBy, d, key); err != nil {
		h.Log.Info("the reason for a refusal was not sent to the session", "id", e.ID, "err", err)
	}
}

func (h *Hub) sendReasonOf(ctx context.Context, by *schema.Responder, d control.MessageDraft, key string) error {
	if !by.Verified {
		_, err := h.storeMessage(ctx, d, key, store.LocalName)
		return err
	}
	identity, _ := h.People.IdentityOf(by.Name, by.Via)
	_, err := h.SendMessage(ctx, d, key, Caller{Identity: identity})
	return err
}

// appealAudience returns the open pages and the notifications that can show an appeal of the
// session now; none if no one answered the last ones.
func (h *Hub) appealAudience(ctx context.Context, key store.SessionKey) (watching, reachable int) {
	h.mu.Lock()
	ignored := h.unanswered.AreIgnored(key)
	h.mu.Unlock()
	if ignored {
		return 0, 0
	}
	if h.Reach != nil {
		reachable = h.Reach.Reachable(ctx)
	}
	return h.Viewers.Count(), reachable
}

// limitAppeal shortens the timeout of an appeal that no notification announces.
func (h *Hub) limitAppeal(ctx context.Context, key store.SessionKey, q *schema.HumanInTheLoop) {
	if q.Appeal == nil {
		return
	}
	limit := viewedAppealTimeout.Seconds()
	if _, reachable := h.appealAudience(ctx, key); reachable == 0 &&
		(q.TimeoutDuration() == 0 || q.TimeoutDuration() > viewedAppealTimeout) {
		q.Timeout = &limit
	}
}
