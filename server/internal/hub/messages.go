package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/hub/arrival"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/store"
)

// maxListedMessages limits the messages of a session that are listed.
const maxListedMessages = 50

// SendMessage stores a message from the caller to a running session, and returns it as
// control.Message in JSON. A repeat with the same key returns the first one.
func (h *Hub) SendMessage(ctx context.Context, d control.MessageDraft, key string, caller Caller) ([]byte, error) {
	if err := h.requireMessageAccess(caller.Identity); err != nil {
		return nil, err
	}
	if len(key) > schema.MaxName {
		return nil, &schema.FieldError{Field: control.IdempotencyHeader, Detail: "is longer than 1024 bytes"}
	}
	return h.storeMessage(ctx, d, key, caller.Identity.Name)
}

// storeMessage stores a message from a person, or from store.LocalName.
func (h *Hub) storeMessage(ctx context.Context, d control.MessageDraft, key, from string) ([]byte, error) {
	d.Text = h.redactText(d.Text)
	d, err := d.Clean()
	if err != nil {
		return nil, err
	}
	session := store.SessionKey{App: d.SourceApp, Session: d.SessionID}
	if err := h.requireReceiver(ctx, session); err != nil {
		return nil, err
	}
	m, isNew, err := h.Store.CreateMessage(ctx, store.MessageDraft{MessageDraft: d, From: from, SentAt: h.Clock(), Key: key})
	if errors.Is(err, store.ErrManyWaiting) {
		err = &schema.HintError{
			Err:  fmt.Errorf("%w: %d messages wait for this session", schema.ErrTooMany, control.MaxWaitingMessages),
			Hint: "Wait until the agent has taken some, or withdraw one.",
		}
	}
	if err != nil {
		return nil, withRetryHint(err)
	}
	if !isNew {
		return json.Marshal(m)
	}
	// The session may have ended since the check, before the message was stored.
	if ended, failed := h.hasEnded(ctx, session); failed == nil && ended {
		err = cmp.Or(h.Store.EndMessages(ctx, session), schema.ErrSessionEnded)
	}
	h.messagesChanged(session)
	if err != nil {
		return nil, err
	}
	return json.Marshal(m)
}

// redactText returns text with secrets removed.
func (h *Hub) redactText(text string) string {
	if h.Redactor == nil || text == "" {
		return text
	}
	list, err := json.Marshal([]string{text})
	if err != nil {
		return ""
	}
	clean, n := h.Redactor.JSON(list)
	if n == 0 {
		return text
	}
	var texts []string
	if json.Unmarshal(clean, &texts) != nil || len(texts) != 1 {
		return ""
	}
	return texts[0]
}

// requireMessageAccess requires a signed-in operator, also on an open hub: a message carries a
// person's name to a model.
func (h *Hub) requireMessageAccess(caller auth.Identity) error {
	if !caller.IsAuthenticated() {
		return &schema.HintError{Err: schema.ErrSignIn, Hint: "A message carries your name to the agent. Sign in first."}
	}
	return h.People.Check(schema.AccessKeep, caller)
}

// requireReceiver returns an error unless the session exists, has not ended, and its agent can
// receive messages.
func (h *Hub) requireReceiver(ctx context.Context, key store.SessionKey) error {
	recent, err := h.Store.Find(ctx, store.Filter{App: key.App, Session: key.Session, Limit: 20})
	if err != nil {
		return err
	}
	if len(recent) == 0 {
		return schema.ErrNotFound
	}
	ended, err := h.hasEnded(ctx, key)
	switch {
	case err != nil:
		return err
	case ended:
		return &schema.HintError{Err: schema.ErrSessionEnded, Hint: "Nothing was sent. Start or resume a session of this agent."}
	}
	for _, e := range recent {
		if control.CanReceive(question.HookFactsOf(e).Agent) {
			return nil
		}
	}
	return &schema.HintError{Err: schema.ErrNotSupported, Hint: "Only the hooks of Claude Code hand messages to the model."}
}

// hasEnded reports whether the session has ended and was not resumed.
func (h *Hub) hasEnded(ctx context.Context, key store.SessionKey) (bool, error) {
	newest := func(kind string) (schema.EventID, error) {
		list, err := h.Store.Find(ctx, store.Filter{App: key.App, Session: key.Session, Type: kind, Limit: 1})
		if err != nil || len(list) == 0 {
			return 0, err
		}
		return list[0].ID, nil
	}
	end, err := newest(sessionEndEvent)
	if err != nil || end == 0 {
		return false, err
	}
	for _, kind := range []string{sessionStartEvent, promptEvent, toolStartEvent} {
		later, err := newest(kind)
		if err != nil || later > end {
			return false, err
		}
	}
	return true, nil
}

// WithdrawMessage withdraws a message that waits, and returns it as control.Message in JSON.
func (h *Hub) WithdrawMessage(ctx context.Context, id int64, caller Caller) ([]byte, error) {
	if err := h.requireMessageAccess(caller.Identity); err != nil {
		return nil, err
	}
	m, err := h.Store.WithdrawMessage(ctx, id, caller.Identity.Name)
	if err != nil {
		return nil, err
	}
	h.messagesChanged(store.SessionKey{App: m.SourceApp, Session: m.SessionID})
	return json.Marshal(m)
}

// SessionMessages returns the newest messages to a session, oldest first, as JSON.
func (h *Hub) SessionMessages(ctx context.Context, key store.SessionKey) ([]byte, error) {
	list, err := h.Store.Messages(ctx, key, maxListedMessages)
	if err != nil {
		return nil, err
	}
	if list == nil {
		list = []control.Message{}
	}
	return json.Marshal(list)
}

// messagesChanged reports a change of the messages to a session to its waiting hook and to the
// pages.
func (h *Hub) messagesChanged(key store.SessionKey) {
	h.mu.Lock()
	if w := h.messageWaiters[key]; w != nil {
		w.changed.Wake()
	}
	h.mu.Unlock()
	h.Feed.PublishFact(feed.Fact{Kinds: feed.Messages, Note: control.MessagesChanged{SourceApp: key.App, SessionID: key.Session}})
}

// canSendMessage reports whether a person may still send a message that was sent at that time.
func (h *Hub) canSendMessage(from string, sentAt schema.Millis) bool {
	switch {
	case h.People == nil:
		return true
	case from == store.LocalName: // the reason of an answer without a sign-in
		return h.People.Check(schema.AccessDecide, auth.Identity{}) == nil
	}
	identity, known := h.People.IdentityOf(from, "message")
	created, _ := h.People.CreatedAt(from)
	return known && identity.Name == from && sentAt >= schema.Millis(created.UnixMilli()) &&
		h.People.Check(schema.AccessKeep, identity) == nil
}

// requestDirective adds the effect of the event on the messages to its session, and lets the store answer with the
// directive for its agent, as far as the poster applies it.
func (h *Hub) requestDirective(a *arrival.Arrival, caller Caller) {
	key := store.SessionKey{App: a.App, Session: a.Session}
	ends, hasMessages := a.Type == sessionEndEvent, h.Store.HasMessages(key)
	agentID := ""
	if ends || hasMessages { // finding the subagent decodes the payload, and few sessions have messages
		agentID = a.Call().Facts.AgentID
		// The results of a call come before the model reads the message that was handed over with it.
		acts := a.Type == toolStartEvent || a.Type == stopEvent || a.Type == subagentStopEvent
		a.Messages = &store.MessageStep{AgentID: agentID, ActedOn: acts, Ended: ends}
	}
	if caller.Accepts == nil || *caller.Accepts == (control.Accepts{}) {
		return
	}
	r := &store.DirectiveRequest{Accepts: *caller.Accepts, AgentID: agentID, IsValid: h.env.IsGrantValid}
	if r.Message = r.Message && hasMessages && !ends && (a.Type != stopEvent || h.mayBlockStop(key)); r.Message {
		r.CanSend = h.canSendMessage
	}
	if r.Grant && (r.Later || h.Store.HasGrants(a.App, a.Session)) {
		if c := a.SentCall(nil); c.Exists() {
			r.Digest = control.Digest(c.Name, c.Arguments)
			stored := r.Digest
			if r.Later {
				stored = control.LaterDigest(stored, c.Cwd, c.Facts.AgentID)
			}
			r.StoredDigest = h.env.StoredDigest(stored)
		}
	}
	a.Directive = r
}

// mayBlockStop reports whether a message may keep the agent from ending its turn.
func (h *Hub) mayBlockStop(key store.SessionKey) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stopBlocks[key] < control.MaxStopBlocks
}

// afterMessages reports the changes by a stored event: it may have taken messages, and a prompt or
// the end of the session ends the wait of its hook.
func (h *Hub) afterMessages(_ context.Context, d *postedEvent) {
	taken := d.receipt.Directive
	key := store.SessionKey{App: d.App, Session: d.Session}
	h.mu.Lock()
	switch {
	case d.Type == stopEvent && taken != nil && len(taken.Messages) > 0:
		h.stopBlocks[key]++
	case d.Type == stopEvent, d.Type == promptEvent, d.Type == sessionEndEvent:
		delete(h.stopBlocks, key)
	}
	if d.Type == promptEvent || d.Type == sessionEndEvent {
		h.endMessageWaitLocked(key)
	}
	h.mu.Unlock()
	if d.Messages != nil {
		h.messagesChanged(key)
	}
}

// WaitOptions are the options of WaitForMessage.
type WaitOptions struct {
	Name  string         // of the waiter; another one of the same session ends its wait
	After schema.EventID // of the previous status; 0: none
	Wait  time.Duration
}

// WaitForMessage waits until a message waits for the session or there is nothing more to wait
// for. It hands over no message.
func (h *Hub) WaitForMessage(ctx context.Context, key store.SessionKey, o WaitOptions, caller Caller) (control.WaitStatus, error) {
	if !caller.Identity.CanPost(key.App) {
		return control.WaitStatus{}, schema.ErrNotAllowed
	}
	w := &messageWaiter{name: o.Name, changed: feed.NewWakeup()}
	defer h.addMessageWaiter(key, w)()
	status := control.WaitStatus{After: int64(o.After)}
	if o.After == 0 {
		status.After = h.Store.Head()
	}
	for _, kind := range []string{promptEvent, sessionEndEvent} {
		later, err := h.Store.Find(ctx, store.Filter{App: key.App, Session: key.Session, Type: kind, After: schema.EventID(status.After), Limit: 1})
		if err != nil {
			return status, err
		}
		status.Ended = status.Ended || len(later) > 0
	}
	deadline := time.Now().Add(o.Wait)
	for {
		h.mu.Lock()
		status.Ended = status.Ended || w.ended
		h.mu.Unlock()
		status.Waiting = !status.Ended && h.Store.HasWaitingMessages(key)
		left := time.Until(deadline)
		if status.Ended || status.Waiting || left <= 0 || !w.changed.Wait(ctx, left) {
			return status, nil
		}
	}
}

// messageWaiter is the hook that waits for messages to an idle session.
type messageWaiter struct {
	name    string // chosen by the hook
	changed feed.Wakeup
	ended   bool // by a prompt, the end of the session or another waiter; guarded by Hub.mu
}

// addMessageWaiter registers a waiter, and ends the wait of another one.
func (h *Hub) addMessageWaiter(key store.SessionKey, w *messageWaiter) (remove func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if older := h.messageWaiters[key]; older != nil {
		older.ended = older.name != w.name
		older.changed.Wake()
	}
	h.messageWaiters[key] = w
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.messageWaiters[key] == w {
			delete(h.messageWaiters, key)
		}
	}
}

// endMessageWaitLocked ends the wait of the session's hook. The caller holds mu.
func (h *Hub) endMessageWaitLocked(key store.SessionKey) {
	if w := h.messageWaiters[key]; w != nil {
		w.ended = true
		w.changed.Wake()
	}
}

// sendNotice sends a person's decision about an appeal to the session, once the answer is final. A
// reason without a sign-in reaches the model, as that of any denial does, and carries no name. The answer
// counts even if its author may not send messages or the session can't have any.
func (h *Hub) sendNotice(ctx context.Context, r *question.Notice) {
	if r == nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	var err error
	from := store.LocalName
	if r.By.Verified {
		identity, _ := h.People.IdentityOf(r.By.Name, r.By.Via)
		from, err = identity.Name, h.requireMessageAccess(identity)
	}
	if err == nil {
		_, err = h.storeMessage(ctx, r.Message, r.Key, from)
	}
	if err != nil {
		h.Log.Info("the decision about an appeal was not sent to the session", "message", r.Key, "err", err)
	}
}
