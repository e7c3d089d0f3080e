package tables

import (
	"context"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
)

var messages = newTable("messages", "id", "id, state, app, session, agent_id, sender, text, sent_at, handed_at, handed_by",
	func(m *control.Message) []any {
		return []any{&m.ID, &m.State, &m.SourceApp, &m.SessionID, &m.AgentID, &m.From, &m.Text, &m.CreatedAt, &m.HandedAt, &m.Event}
	})

func sessionOf(m *control.Message) store.SessionKey {
	return store.SessionKey{App: m.SourceApp, Session: m.SessionID}
}

func (t *Tables) CreateMessage(ctx context.Context, d store.MessageDraft) (m control.Message, isNew bool, err error) {
	err = t.Write(ctx, Essential|Policy, func(w *Work) (err error) {
		m, isNew, err = w.createMessage(&d)
		return err
	})
	return m, isNew, err
}

func (t *Tables) WithdrawMessage(ctx context.Context, id int64, by string) (control.Message, error) {
	return write(ctx, t, Essential|Policy, func(w *Work) (control.Message, error) {
		m, found, err := messages.getIn(w, `WHERE id = $1`, id)
		if err = orNotFound(found, err); err == nil && m.State != control.MessageSaved {
			err = schema.ErrHandedOver
		}
		if err == nil {
			err = w.setMessageState(&m, control.MessageWithdrawn, by)
		}
		return m, err
	})
}

func (t *Tables) Messages(ctx context.Context, key store.SessionKey, n int) ([]control.Message, error) {
	newest, err := messages.list(ctx, t, `WHERE session = $1 AND app = $2 ORDER BY id DESC LIMIT $3`, key.Session, key.App, n)
	slices.Reverse(newest)
	return newest, err
}

func (t *Tables) EndMessages(ctx context.Context, key store.SessionKey) error {
	return t.Write(ctx, Essential, func(w *Work) error { return w.endMessages(key) })
}

func (t *Tables) HasMessages(key store.SessionKey) bool { return t.open.has(key.App, key.Session) }

func (t *Tables) OpenMessages() map[store.SessionKey]int64 { return t.open.all() }

func (t *Tables) HasWaitingMessages(key store.SessionKey) bool {
	return t.saved.has(key.App, key.Session)
}

// PruneMessages removes up to limit messages from before a time that wait no more, and returns their number. It
// leaves the newest message, so that no id is used twice.
func (w *Work) PruneMessages(before int64, limit int) (n int, err error) {
	list, err := messages.listIn(w, `WHERE id < (SELECT max(id) FROM messages) AND sent_at < $1 AND state <> 'saved' ORDER BY id LIMIT $2`, before, limit)
	for i := range list {
		m := &list[i]
		if err == nil {
			err = w.Exec(`DELETE FROM messages WHERE id = $1`, m.ID)
		}
		if m.State == control.MessageHandedOver {
			w.afterCommit(func() { w.t.open.add(sessionOf(m), -1) })
		}
	}
	return len(list), err
}

// savedMessages returns the messages that wait for agents of a session.
func (w *Work) savedMessages(app, session string) ([]control.Message, error) {
	return messages.listIn(w, `WHERE session = $1 AND app = $2 AND state = 'saved' ORDER BY id`, session, app)
}

// setMessageState changes the state of a message, and keeps the counts of its session.
func (w *Work) setMessageState(m *control.Message, state control.MessageState, actor string) error {
	before := m.State
	m.State = state
	if err := w.Exec(`UPDATE messages SET state = $1, handed_at = $2, handed_by = $3 WHERE id = $4`, m.State, int64(m.HandedAt), m.Event, m.ID); err != nil {
		return err
	}
	key := sessionOf(m)
	w.afterCommit(func() {
		if before == control.MessageSaved {
			w.t.saved.add(key, -1)
		}
		if state != control.MessageHandedOver {
			w.t.open.add(key, -1)
		}
	})
	if state == control.MessageActedOn {
		return nil
	}
	return w.AppendLedger(store.LedgerRecord{Action: "message." + string(state), Actor: actor, Data: messageData{ID: m.ID, Event: m.Event}})
}

func (w *Work) createMessage(d *store.MessageDraft) (m control.Message, isNew bool, err error) {
	var key []byte
	if d.Key != "" {
		key = hashKey(d.From + "\x00" + d.Key)
		first, err := messages.listIn(w, `WHERE key = $1`, key)
		if err != nil {
			return m, false, err
		}
		if len(first) > 0 {
			m = first[0]
			if (control.MessageDraft{SourceApp: m.SourceApp, SessionID: m.SessionID, AgentID: m.AgentID, Text: m.Text}) != d.MessageDraft {
				return m, false, schema.ErrKeyConflict
			}
			return m, false, nil
		}
	}
	saved, err := w.savedMessages(d.SourceApp, d.SessionID)
	if err != nil {
		return m, false, err
	}
	if len(saved) >= control.MaxWaitingMessages {
		return m, false, store.ErrManyWaiting
	}
	m = control.Message{
		State: control.MessageSaved, SourceApp: d.SourceApp, SessionID: d.SessionID, AgentID: d.AgentID,
		From: d.From, Text: d.Text, CreatedAt: schema.Millis(Millis(d.SentAt)),
	}
	if err := w.insertMessage(&m, key); err != nil {
		return m, false, err
	}
	w.afterCommit(func() {
		w.t.saved.add(sessionOf(&m), 1)
		w.t.open.add(sessionOf(&m), 1)
	})
	return m, true, w.AppendLedger(store.LedgerRecord{Action: "message.saved", Actor: m.From, Data: messageData{ID: m.ID, App: m.SourceApp, Session: m.SessionID}})
}

func (w *Work) insertMessage(m *control.Message, key []byte) (err error) {
	if m.ID, err = nextID(w, "messages"); err != nil {
		return err
	}
	return w.Exec(`INSERT INTO messages (id, app, session, agent_id, sender, text, state, sent_at, handed_at, handed_by, key)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, 0, $9)`,
		m.ID, m.SourceApp, m.SessionID, m.AgentID, m.From, m.Text, m.State, int64(m.CreatedAt), Nullable(key))
}

// endMessages ends the saved messages to a session that has ended.
func (w *Work) endMessages(key store.SessionKey) error {
	saved, err := w.savedMessages(key.App, key.Session)
	for i := range saved {
		if err == nil {
			err = w.setMessageState(&saved[i], control.MessageExpired, ByHub)
		}
	}
	return err
}

// AdvanceMessages applies the effect of an event on the messages to its session.
func (w *Work) AdvanceMessages(e *store.Event, step *store.MessageStep) error {
	key := store.SessionKey{App: e.App, Session: e.Session}
	if step == nil || !w.t.open.has(key.App, key.Session) {
		return nil
	}
	if step.ActedOn {
		handedOver, err := messages.listIn(w, `WHERE session = $1 AND app = $2 AND agent_id = $3 AND state = 'handed_over' AND handed_by < $4
			ORDER BY id`, key.Session, key.App, step.AgentID, e.ID)
		if err != nil {
			return err
		}
		for i := range handedOver {
			if err := w.setMessageState(&handedOver[i], control.MessageActedOn, ""); err != nil {
				return err
			}
		}
	}
	if step.Ended {
		return w.endMessages(key)
	}
	return nil
}

// handOver adds the messages that wait for the event's agent, oldest first. A message
// whose sender may no longer send it is withdrawn.
func (w *Work) handOver(d *control.Directive, e *store.Event, r *store.DirectiveRequest) error {
	if !r.Message || !w.t.saved.has(e.App, e.Session) {
		return nil
	}
	saved, err := w.savedMessages(e.App, e.Session)
	if err != nil {
		return err
	}
	units := 0
	for i := range saved {
		m := &saved[i]
		if m.AgentID != r.AgentID {
			continue
		}
		if r.CanSend != nil && !r.CanSend(m.From, m.CreatedAt) {
			if err := w.setMessageState(m, control.MessageWithdrawn, ByHub); err != nil {
				return err
			}
			continue
		}
		text := control.MessageText{ID: m.ID, From: m.From, Text: m.Text}
		if units += text.PromptUnits(); len(d.Messages) > 0 && units > control.MaxPromptUnits || len(d.Messages) == control.MaxHandedOver {
			return nil
		}
		m.HandedAt, m.Event = schema.Millis(Millis(w.Now)), e.ID
		if err := w.setMessageState(m, control.MessageHandedOver, ByHub); err != nil {
			return err
		}
		d.Messages = append(d.Messages, text)
	}
	return nil
}

// repeatMessages adds the messages that were handed over with the event.
func (w *Work) repeatMessages(d *control.Directive, e *store.Event, r *store.DirectiveRequest) error {
	if !r.Message {
		return nil
	}
	list, err := messages.listIn(w, `WHERE handed_by = $1 AND handed_by > 0 ORDER BY id`, e.ID)
	for _, m := range list {
		if m.AgentID == r.AgentID {
			d.Messages = append(d.Messages, control.MessageText{ID: m.ID, From: m.From, Text: m.Text})
		}
	}
	return err
}
