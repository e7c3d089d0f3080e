package postgres

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

const (
	messageColumns  = `SELECT id, state, app, session, agent_id, sender, text, sent_at, handed_at, handed_by FROM messages`
	querySaved      = messageColumns + ` WHERE session = $1 AND app = $2 AND state = 'saved' ORDER BY id`
	queryHandedOver = messageColumns + ` WHERE session = $1 AND app = $2 AND agent_id = $3 AND state = 'handed_over' AND handed_by < $4 ORDER BY id`
	queryMessages   = `SELECT * FROM (` + messageColumns + ` WHERE session = $1 AND app = $2 ORDER BY id DESC LIMIT $3) newest ORDER BY id`
)

func scanMessage(rows pgx.Rows, m *control.Message) error {
	return rows.Scan(&m.ID, &m.State, &m.SourceApp, &m.SessionID, &m.AgentID, &m.From, &m.Text, &m.CreatedAt, &m.HandedAt, &m.Event)
}

func (t *tx) messages(query string, args ...any) ([]control.Message, error) {
	rows, err := t.query(query, args...)
	return collect(rows, err, scanMessage)
}

func sessionOf(m *control.Message) store.SessionKey {
	return store.SessionKey{App: m.SourceApp, Session: m.SessionID}
}

// setMessageState changes the state of a message, and keeps the counts of its session.
func (t *tx) setMessageState(m *control.Message, state control.MessageState, actor string) error {
	before := m.State
	m.State = state
	err := t.exec(`UPDATE messages SET state = $1, handed_at = $2, handed_by = $3 WHERE id = $4`, m.State, int64(m.HandedAt), m.Event, m.ID)
	if err != nil {
		return err
	}
	key := sessionOf(m)
	t.afterCommit(func() {
		if before == control.MessageSaved {
			t.w.store.messages.Add(key, -1)
		}
		if state != control.MessageHandedOver {
			t.w.store.openMessages.Add(key, -1)
		}
	})
	if state == control.MessageActedOn {
		return nil
	}
	return t.appendLedger(store.LedgerRecord{Action: "message." + string(state), Actor: actor, Data: kit.MessageData{ID: m.ID, Event: m.Event}})
}

func (s *engine) CreateMessage(ctx context.Context, d store.MessageDraft) (m control.Message, isNew bool, err error) {
	err = s.writer.changePolicy(ctx, &op{run: func(t *tx) error {
		m, isNew, err = t.createMessage(&d)
		return err
	}})
	return m, isNew, err
}

func (t *tx) createMessage(d *store.MessageDraft) (m control.Message, isNew bool, err error) {
	var key []byte
	if d.Key != "" {
		key = kit.HashKey(d.From + "\x00" + d.Key)
		first, err := t.messages(messageColumns+` WHERE key = $1`, key)
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
	saved, err := t.messages(querySaved, d.SessionID, d.SourceApp)
	if err != nil {
		return m, false, err
	}
	if len(saved) >= control.MaxWaitingMessages {
		return m, false, store.ErrManyWaiting
	}
	var last sql.NullInt64
	if err := t.get([]any{&last}, `SELECT max(id) FROM messages`); err != nil {
		return m, false, err
	}
	m = control.Message{
		ID: last.Int64 + 1, State: control.MessageSaved, SourceApp: d.SourceApp, SessionID: d.SessionID, AgentID: d.AgentID,
		From: d.From, Text: d.Text, CreatedAt: schema.Millis(kit.Millis(d.SentAt)),
	}
	err = t.exec(`INSERT INTO messages (id, app, session, agent_id, sender, text, state, sent_at, handed_at, handed_by, key)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, 0, $9)`, m.ID, m.SourceApp, m.SessionID, m.AgentID, m.From, m.Text, m.State, int64(m.CreatedAt), nullable(key))
	if err != nil {
		return m, false, err
	}
	t.afterCommit(func() {
		t.w.store.messages.Add(sessionOf(&m), 1)
		t.w.store.openMessages.Add(sessionOf(&m), 1)
	})
	return m, true, t.appendLedger(store.LedgerRecord{Action: "message.saved", Actor: m.From, Data: kit.MessageData{ID: m.ID, App: m.SourceApp, Session: m.SessionID}})
}

func (s *engine) WithdrawMessage(ctx context.Context, id int64, by string) (m control.Message, err error) {
	err = s.writer.changePolicy(ctx, &op{run: func(t *tx) error {
		list, err := t.messages(messageColumns+` WHERE id = $1`, id)
		switch {
		case err != nil:
			return err
		case len(list) == 0:
			return schema.ErrNotFound
		case list[0].State != control.MessageSaved:
			return schema.ErrHandedOver
		}
		m = list[0]
		return t.setMessageState(&m, control.MessageWithdrawn, by)
	}})
	return m, err
}

func (s *engine) Messages(ctx context.Context, key store.SessionKey, n int) ([]control.Message, error) {
	rows, err := s.readers.query(ctx, queryMessages, key.Session, key.App, n)
	return collect(rows, err, scanMessage)
}

func (s *engine) EndMessages(ctx context.Context, key store.SessionKey) error {
	return s.writer.do(ctx, &op{run: func(t *tx) error { return t.endMessages(key) }})
}

// endMessages ends the saved messages to a session that has ended.
func (t *tx) endMessages(key store.SessionKey) error {
	saved, err := t.messages(querySaved, key.Session, key.App)
	for i := range saved {
		if err == nil {
			err = t.setMessageState(&saved[i], control.MessageExpired, kit.ByHub)
		}
	}
	return err
}

func (s *engine) HasMessages(key store.SessionKey) bool {
	return s.openMessages.Has(key.App, key.Session)
}

func (s *engine) HasWaitingMessages(key store.SessionKey) bool {
	return s.messages.Has(key.App, key.Session)
}

// advanceMessages applies the effect of an event on the messages to its session.
func (t *tx) advanceMessages(e *store.Event, step *store.MessageStep) error {
	key := store.SessionKey{App: e.App, Session: e.Session}
	if step == nil || !t.w.store.openMessages.Has(key.App, key.Session) {
		return nil
	}
	if step.ActedOn {
		handedOver, err := t.messages(queryHandedOver, key.Session, key.App, step.AgentID, e.ID)
		if err != nil {
			return err
		}
		for i := range handedOver {
			if err := t.setMessageState(&handedOver[i], control.MessageActedOn, ""); err != nil {
				return err
			}
		}
	}
	if step.Ended {
		return t.endMessages(key)
	}
	return nil
}

// handOverMessages adds the messages that wait for the event's agent, oldest first. A message
// whose sender may no longer send it is withdrawn.
func (t *tx) handOverMessages(d *control.Directive, e *store.Event, r *store.DirectiveRequest) error {
	if !r.Message || !t.w.store.messages.Has(e.App, e.Session) {
		return nil
	}
	saved, err := t.messages(querySaved, e.Session, e.App)
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
			if err := t.setMessageState(m, control.MessageWithdrawn, kit.ByHub); err != nil {
				return err
			}
			continue
		}
		text := control.MessageText{ID: m.ID, From: m.From, Text: m.Text}
		if units += text.PromptUnits(); len(d.Messages) > 0 && units > control.MaxPromptUnits || len(d.Messages) == control.MaxHandedOver {
			return nil
		}
		m.HandedAt, m.Event = schema.Millis(kit.Millis(t.now)), e.ID
		if err := t.setMessageState(m, control.MessageHandedOver, kit.ByHub); err != nil {
			return err
		}
		d.Messages = append(d.Messages, text)
	}
	return nil
}

// repeatMessages adds the messages that were handed over with the event.
func (t *tx) repeatMessages(d *control.Directive, e *store.Event, r *store.DirectiveRequest) error {
	if !r.Message {
		return nil
	}
	list, err := t.messages(messageColumns+` WHERE handed_by = $1 AND handed_by > 0 ORDER BY id`, e.ID)
	for _, m := range list {
		if m.AgentID == r.AgentID {
			d.Messages = append(d.Messages, control.MessageText{ID: m.ID, From: m.From, Text: m.Text})
		}
	}
	return err
}

// loadMessages counts the messages that wait for agents.
func (s *engine) loadMessages(ctx context.Context, w *writer) error {
	open, saved := map[store.SessionKey]int64{}, map[store.SessionKey]int64{}
	rows, err := w.conn.Query(ctx, `SELECT app, session, state FROM messages WHERE state IN ('saved', 'handed_over')`)
	err = eachRow(rows, err, func(rows pgx.Rows) error {
		var key store.SessionKey
		var state control.MessageState
		err := rows.Scan(&key.App, &key.Session, &state)
		if open[key]++; state == control.MessageSaved {
			saved[key]++
		}
		return err
	})
	if err == nil {
		s.openMessages.Load(open)
		s.messages.Load(saved)
	}
	return err
}

func (t *tx) pruneMessages(before int64, limit int) (n int, err error) {
	list, err := t.messages(queryPrunableMessages, before, limit)
	if err != nil {
		return 0, err
	}
	for i := range list {
		m := &list[i]
		if err := t.exec(`DELETE FROM messages WHERE id = $1`, m.ID); err != nil {
			return 0, err
		}
		if m.State == control.MessageHandedOver {
			t.afterCommit(func() { t.w.store.openMessages.Add(sessionOf(m), -1) })
		}
	}
	return len(list), nil
}
