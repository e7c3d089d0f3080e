package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

const (
	chatAccountColumns = `SELECT kind, account, label, person, linked_at FROM chat_accounts `
	chatMessageColumns = `SELECT channel, chat, message, notice, question, revision FROM chat_messages `

	queryChatAccount      = chatAccountColumns + `WHERE kind = $1 AND account = $2`
	queryChatAccounts     = chatAccountColumns + `WHERE person = $1 ORDER BY person, kind, account`
	queryChatMessage      = chatMessageColumns + `WHERE channel = $1 AND chat = $2 AND message = $3`
	queryMessagesToSettle = chatMessageColumns + `WHERE channel = $1 AND NOT settled
		AND (SELECT state FROM questions q WHERE q.seq = chat_messages.question) <> 'pending' ORDER BY question LIMIT $2`
)

func notFound(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
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
	err = s.readers.get(ctx, []any{&offset}, `SELECT position FROM chat_offsets WHERE channel = $1`, channel)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	return offset, err
}

func (s *engine) SetChatOffset(ctx context.Context, channel, offset int64) error {
	return s.writer.exec(ctx, `INSERT INTO chat_offsets (channel, position) VALUES ($1, $2)
		ON CONFLICT (channel) DO UPDATE SET position = excluded.position`, channel, offset)
}

func (s *engine) LinkChatAccount(ctx context.Context, a store.ChatAccount) error {
	return s.writer.changePolicy(ctx, &op{run: func(t *tx) error {
		if err := t.exec(`INSERT INTO chat_accounts (kind, account, label, person, linked_at) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (kind, account) DO UPDATE SET label = excluded.label, person = excluded.person, linked_at = excluded.linked_at`,
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
	return collect(rows, err, func(rows pgx.Rows, a *store.ChatAccount) error { return rows.Scan(chatAccountFields(a)...) })
}

func (s *engine) UnlinkChatAccount(ctx context.Context, kind, account, person string) error {
	return s.writer.changePolicy(ctx, &op{run: func(t *tx) error {
		removed := kit.ChatAccountData{Kind: kind, Account: account, Person: person}
		if err := t.get([]any{&removed.Label}, `DELETE FROM chat_accounts WHERE kind = $1 AND account = $2 AND person = $3 RETURNING label`,
			kind, account, person); err != nil {
			return notFound(err)
		}
		return t.appendLedger(store.LedgerRecord{Action: "chat.unlinked", Actor: person, Data: removed})
	}})
}

func (s *engine) AddChatMessage(ctx context.Context, m store.ChatMessage) error {
	return s.writer.exec(ctx, `INSERT INTO chat_messages (channel, chat, message, notice, question, revision, settled)
		VALUES ($1, $2, $3, $4, $5, $6, false) ON CONFLICT DO NOTHING`, m.Channel, m.Chat, m.Message, m.Notice, m.Question, m.Revision)
}

func (s *engine) ChatMessage(ctx context.Context, channel int64, chat, message string) (m store.ChatMessage, err error) {
	err = s.readers.get(ctx, chatMessageFields(&m), queryChatMessage, channel, chat, message)
	return m, notFound(err)
}

func (s *engine) MessagesToSettle(ctx context.Context, channel int64, n int) ([]store.ChatMessage, error) {
	rows, err := s.readers.query(ctx, queryMessagesToSettle, channel, n)
	return collect(rows, err, func(rows pgx.Rows, m *store.ChatMessage) error { return rows.Scan(chatMessageFields(m)...) })
}

func (s *engine) SettleChatMessage(ctx context.Context, m store.ChatMessage) error {
	return s.writer.exec(ctx, `UPDATE chat_messages SET settled = true WHERE channel = $1 AND chat = $2 AND message = $3`, m.Channel, m.Chat, m.Message)
}
