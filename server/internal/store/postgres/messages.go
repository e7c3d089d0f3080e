package postgres

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"

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

var messageQueries = kit.MessageQueries{
	Saved: querySaved, HandedOver: queryHandedOver,
	OfEvent: messageColumns + ` WHERE handed_by = $1 AND handed_by > 0 ORDER BY id`,
	WithKey: messageColumns + ` WHERE key = $1`,
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
	return t.exec(`INSERT INTO messages (id, app, session, agent_id, sender, text, state, sent_at, handed_at, handed_by, key)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, 0, $9)`, m.ID, m.SourceApp, m.SessionID, m.AgentID, m.From, m.Text, m.State, int64(m.CreatedAt), kit.Nullable(key))
}

// UpdateMessage implements kit.MessageStore.
func (t *tx) UpdateMessage(m *control.Message) error {
	return t.exec(`UPDATE messages SET state = $1, handed_at = $2, handed_by = $3 WHERE id = $4`, m.State, int64(m.HandedAt), m.Event, m.ID)
}

// AppendLedger implements kit.LedgerTx.
func (t *tx) AppendLedger(records ...store.LedgerRecord) error { return t.appendLedger(records...) }

// AfterCommit implements kit.LedgerTx.
func (t *tx) AfterCommit(f func()) { t.afterCommit(f) }

func (s *engine) CreateMessage(ctx context.Context, d store.MessageDraft) (m control.Message, isNew bool, err error) {
	err = s.writer.changePolicy(ctx, &op{run: func(t *tx) error {
		m, isNew, err = t.messages().Create(&d)
		return err
	}})
	return m, isNew, err
}

func (s *engine) WithdrawMessage(ctx context.Context, id int64, by string) (m control.Message, err error) {
	err = s.writer.changePolicy(ctx, &op{run: func(t *tx) error {
		list, err := t.Messages(messageColumns+` WHERE id = $1`, id)
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
	return s.writer.do(ctx, &op{run: func(t *tx) error { return t.messages().End(key) }})
}

func (s *engine) HasMessages(key store.SessionKey) bool {
	return s.openMessages.Has(key.App, key.Session)
}

func (s *engine) OpenMessages() map[store.SessionKey]int64 { return s.openMessages.All() }

func (s *engine) HasWaitingMessages(key store.SessionKey) bool {
	return s.messages.Has(key.App, key.Session)
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
	list, err := t.Messages(queryPrunableMessages, before, limit)
	if err != nil {
		return 0, err
	}
	for i := range list {
		m := &list[i]
		if err := t.exec(`DELETE FROM messages WHERE id = $1`, m.ID); err != nil {
			return 0, err
		}
		if m.State == control.MessageHandedOver {
			t.afterCommit(func() { t.w.store.openMessages.Add(store.SessionKey{App: m.SourceApp, Session: m.SessionID}, -1) })
		}
	}
	return len(list), nil
}
