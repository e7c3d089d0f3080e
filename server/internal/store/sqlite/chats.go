package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

const (
	chatAccountColumns = `SELECT kind, account, label, person, linked_at FROM chat_accounts WHERE stream_id = 1 `
	chatMessageColumns = `SELECT channel, chat, message, notice, question, revision FROM chat_messages WHERE stream_id = 1 `

	queryChatAccount      = chatAccountColumns + `AND kind = ? AND account = ?`
	queryChatAccounts     = chatAccountColumns + `AND person = ? ORDER BY person, kind, account`
	queryChatMessage      = chatMessageColumns + `AND channel = ? AND chat = ? AND message = ?`
	queryMessagesToSettle = chatMessageColumns + `AND channel = ? AND settled = 0
		AND (SELECT state FROM questions q WHERE q.stream_id = 1 AND q.seq = chat_messages.question) <> 'pending' ORDER BY question LIMIT ?`
)

func notFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return schema.ErrNotFound
	}
	return err
}

func chatAccountFields(a *store.ChatAccount) []any {
	return []any{&a.Kind, &a.Account, &a.Label, &a.Person, kit.ScanTime(&a.LinkedAt)}
}

func chatMessageFields(m *store.ChatMessage) []any {
	return []any{&m.Channel, &m.Chat, &m.Message, &m.Notice, &m.Question, &m.Revision}
}

func (s *engine) ChatOffset(ctx context.Context, channel int64) (offset int64, err error) {
	err = s.readers.get(ctx, []any{&offset}, `SELECT position FROM chat_offsets WHERE stream_id = 1 AND channel = ?`, channel)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return offset, err
}

func (s *engine) SetChatOffset(ctx context.Context, channel, offset int64) error {
	return s.writer.exec(ctx, false, `INSERT INTO chat_offsets (stream_id, channel, position) VALUES (1, ?, ?)
		ON CONFLICT (stream_id, channel) DO UPDATE SET position = excluded.position`, channel, offset)
}

func (s *engine) LinkChatAccount(ctx context.Context, a store.ChatAccount) error {
	return s.writer.do(ctx, &op{essential: true, needsSavepoint: true, run: func(t *tx) error {
		if _, err := t.exec(`INSERT INTO chat_accounts (stream_id, kind, account, label, person, linked_at) VALUES (1, ?, ?, ?, ?, ?)
			ON CONFLICT (stream_id, kind, account) DO UPDATE SET label = excluded.label, person = excluded.person, linked_at = excluded.linked_at`,
			a.Kind, a.Account, a.Label, a.Person, kit.Millis(t.now)); err != nil {
			return err
		}
		return t.appendLedger(store.LedgerRecord{Action: "chat.linked", Actor: a.Person, Data: kit.ChatAccountData{Kind: a.Kind, Account: a.Account, Label: a.Label, Person: a.Person}})
	}})
}

func (s *engine) ChatAccount(ctx context.Context, kind, account string) (a store.ChatAccount, err error) {
	err = s.readers.get(ctx, chatAccountFields(&a), queryChatAccount, kind, account)
	return a, notFound(err)
}

func (s *engine) ChatAccounts(ctx context.Context, person string) ([]store.ChatAccount, error) {
	rows, err := s.readers.query(ctx, queryChatAccounts, person)
	return collect(rows, err, func(rows *sql.Rows, a *store.ChatAccount) error { return rows.Scan(chatAccountFields(a)...) })
}

func (s *engine) UnlinkChatAccount(ctx context.Context, kind, account, person string) error {
	return s.writer.do(ctx, &op{essential: true, needsSavepoint: true, run: func(t *tx) error {
		removed := kit.ChatAccountData{Kind: kind, Account: account, Person: person}
		if err := t.get([]any{&removed.Label}, `DELETE FROM chat_accounts WHERE stream_id = 1 AND kind = ? AND account = ? AND person = ? RETURNING label`,
			kind, account, person); err != nil {
			return notFound(err)
		}
		return t.appendLedger(store.LedgerRecord{Action: "chat.unlinked", Actor: person, Data: removed})
	}})
}

func (s *engine) AddChatMessage(ctx context.Context, m store.ChatMessage) error {
	return s.writer.exec(ctx, false, `INSERT INTO chat_messages (stream_id, channel, chat, message, notice, question, revision, settled)
		VALUES (1, ?, ?, ?, ?, ?, ?, 0) ON CONFLICT DO NOTHING`, m.Channel, m.Chat, m.Message, m.Notice, m.Question, m.Revision)
}

func (s *engine) ChatMessage(ctx context.Context, channel int64, chat, message string) (m store.ChatMessage, err error) {
	err = s.readers.get(ctx, chatMessageFields(&m), queryChatMessage, channel, chat, message)
	return m, notFound(err)
}

func (s *engine) MessagesToSettle(ctx context.Context, channel int64, n int) ([]store.ChatMessage, error) {
	rows, err := s.readers.query(ctx, queryMessagesToSettle, channel, n)
	return collect(rows, err, func(rows *sql.Rows, m *store.ChatMessage) error { return rows.Scan(chatMessageFields(m)...) })
}

func (s *engine) SettleChatMessage(ctx context.Context, m store.ChatMessage) error {
	return s.writer.exec(ctx, false, `UPDATE chat_messages SET settled = 1 WHERE stream_id = 1 AND channel = ? AND chat = ? AND message = ?`, m.Channel, m.Chat, m.Message)
}
