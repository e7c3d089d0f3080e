package sqlite

import (
	"context"
	"database/sql"

	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

const (
	messageColumns  = `SELECT id, state, app, session, agent_id, sender, text, sent_at, handed_at, handed_by FROM messages`
	querySaved      = messageColumns + ` WHERE session = ? AND app = ? AND state = 'saved' ORDER BY id`
	queryHandedOver = messageColumns + ` WHERE session = ? AND app = ? AND agent_id = ? AND state = 'handed_over' AND handed_by < ? ORDER BY id`
	queryMessages   = `SELECT * FROM (` + messageColumns + ` WHERE session = ? AND app = ? ORDER BY id DESC LIMIT ?) ORDER BY id`
)

func scanMessage(rows *sql.Rows, m *control.Message) error {
	return rows.Scan(&m.ID, &m.State, &m.SourceApp, &m.SessionID, &m.AgentID, &m.From, &m.Text, &m.CreatedAt, &m.HandedAt, &m.Event)
}

var messageQueries = kit.MessageQueries{
	Saved: querySaved, HandedOver: queryHandedOver,
	OfEvent: messageColumns + ` WHERE handed_by = ? AND handed_by > 0 ORDER BY id`,
	WithKey: messageColumns + ` WHERE key = ?`,
}

func (t *tx) messages() kit.Messages {
	return kit.Messages{Store: t, Tx: t, Queries: &messageQueries, Now: t.now, Saved: &t.w.store.messages, Open: &t.w.store.openMessages}
}

// Messages implements kit.MessageStore.
func (t *tx) Messages(query string, args ...any) ([]control.Message, error) {
	rows, err := t.query(query, args...)
	return collect(rows, err, scanMessage)
}

// InsertMessage implements kit.MessageStore.
func (t *tx) InsertMessage(m *control.Message, key []byte) error {
	var last sql.NullInt64
	if err := t.get([]any{&last}, `SELECT max(id) FROM messages`); err != nil {
		return err
	}
	m.ID = last.Int64 + 1
	_, err := t.exec(`INSERT INTO messages (id, app, session, agent_id, sender, text, state, sent_at, handed_at, handed_by, key)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, 0, ?)`, m.ID, m.SourceApp, m.SessionID, m.AgentID, m.From, m.Text, m.State, int64(m.CreatedAt), kit.Nullable(key))
	return err
}

// UpdateMessage implements kit.MessageStore.
func (t *tx) UpdateMessage(m *control.Message) error {
	_, err := t.exec(`UPDATE messages SET state = ?, handed_at = ?, handed_by = ? WHERE id = ?`, m.State, int64(m.HandedAt), m.Event, m.ID)
	return err
}

// AppendLedger implements kit.LedgerTx.
func (t *tx) AppendLedger(records ...store.LedgerRecord) error { return t.appendLedger(records...) }

// AfterCommit implements kit.LedgerTx.
func (t *tx) AfterCommit(f func()) { t.afterCommit(f) }

func (s *engine) CreateMessage(ctx context.Context, d store.MessageDraft) (m control.Message, isNew bool, err error) {
	err = s.writer.do(ctx, &op{essential: true, needsSavepoint: true, run: func(t *tx) error {
		m, isNew, err = t.messages().Create(&d)
		return err
	}})
	return m, isNew, err
}

func (s *engine) WithdrawMessage(ctx context.Context, id int64, by string) (m control.Message, err error) {
	err = s.writer.do(ctx, &op{essential: true, needsSavepoint: true, run: func(t *tx) error {
		list, err := t.Messages(messageColumns+` WHERE id = ?`, id)
		if err == nil {
			m, err = t.messages().Withdraw(list, by)
		}
		return err
	}})
	return m, err
}

func (s *engine) Messages(ctx context.Context, key store.SessionKey, n int) ([]control.Message, error) {
	rows, err := s.readers.query(ctx, queryMessages, key.Session, key.App, n)
	return collect(rows, err, scanMessage)
}

func (s *engine) EndMessages(ctx context.Context, key store.SessionKey) error {
	return s.writer.do(ctx, &op{essential: true, needsSavepoint: true, run: func(t *tx) error { return t.messages().End(key) }})
}

func (s *engine) HasMessages(key store.SessionKey) bool {
	return s.openMessages.Has(key.App, key.Session)
}

func (s *engine) OpenMessages() map[store.SessionKey]int64 { return s.openMessages.All() }

func (s *engine) HasWaitingMessages(key store.SessionKey) bool {
	return s.messages.Has(key.App, key.Session)
}

// loadMessages counts the messages that wait for agents, at the start.
func (s *engine) loadMessages(ctx context.Context, w *writer) error {
	rows, err := w.conn.QueryContext(ctx, `SELECT app, session, state FROM messages WHERE state IN ('saved', 'handed_over')`)
	return eachRow(rows, err, func(rows *sql.Rows) error {
		var key store.SessionKey
		var state control.MessageState
		err := rows.Scan(&key.App, &key.Session, &state)
		s.openMessages.Add(key, 1)
		if state == control.MessageSaved {
			s.messages.Add(key, 1)
		}
		return err
	})
}

// queryPrunableMessages does not select the newest message, so that no id is used twice.
const queryPrunableMessages = messageColumns + ` WHERE id < (SELECT max(id) FROM messages) AND sent_at < ? AND state <> 'saved' ORDER BY id LIMIT ?`

// pruneMessages removes messages that wait no more. They are as old as the events next to them.
func (s *engine) pruneMessages(ctx context.Context, p *store.RetentionPolicy, pace *prunePace) error {
	if p.EventsBefore.IsZero() {
		return nil
	}
	for more := true; more; {
		var err error
		more, err = pace.run(ctx, s.writer, func(t *tx, limit int) (int, error) {
			return t.pruneMessages(kit.Millis(p.EventsBefore), limit)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) pruneMessages(before int64, limit int) (n int, err error) {
	list, err := t.Messages(queryPrunableMessages, before, limit)
	if err != nil {
		return 0, err
	}
	for i := range list {
		m := &list[i]
		if _, err := t.exec(`DELETE FROM messages WHERE id = ?`, m.ID); err != nil {
			return 0, err
		}
		if m.State == control.MessageHandedOver {
			t.afterCommit(func() { t.w.store.openMessages.Add(store.SessionKey{App: m.SourceApp, Session: m.SessionID}, -1) })
		}
	}
	return len(list), nil
}
