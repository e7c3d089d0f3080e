package tables

import (
	"context"

	"github.com/hookback/hookback/server/internal/store"
)

var chatAccounts = newTable("chat_accounts", "kind, account", "kind, account, label, person, linked_at", func(a *store.ChatAccount) []any {
	return []any{&a.Kind, &a.Account, &a.Label, &a.Person, ScanTime(&a.LinkedAt)}
})

var chatMessages = newTable("chat_messages", "channel, chat, message", "channel, chat, message, notice, question, revision",
	func(m *store.ChatMessage) []any {
		return []any{&m.Channel, &m.Chat, &m.Message, &m.Notice, &m.Question, &m.Revision}
	})

func (t *Tables) ChatOffset(ctx context.Context, channel int64) (int64, error) {
	return read[int64](ctx, t, `SELECT position FROM chat_offsets WHERE channel = $1`, channel)
}

func (t *Tables) SetChatOffset(ctx context.Context, channel, offset int64) error {
	return t.exec(ctx, Plain, `INSERT INTO chat_offsets (channel, position) VALUES ($1, $2)
		ON CONFLICT (channel) DO UPDATE SET position = excluded.position`, channel, offset)
}

func (t *Tables) LinkChatAccount(ctx context.Context, a store.ChatAccount) error {
	return t.Write(ctx, Essential|Policy, func(w *Work) error {
		a.LinkedAt = w.Now
		if err := chatAccounts.upsert(w, &a); err != nil {
			return err
		}
		linked := chatAccountData{Kind: a.Kind, Account: a.Account, Label: a.Label, Person: a.Person}
		return w.AppendLedger(store.LedgerRecord{Action: "chat.linked", Actor: a.Person, Data: linked})
	})
}

func (t *Tables) ChatAccount(ctx context.Context, kind, account string) (store.ChatAccount, error) {
	return chatAccounts.one(ctx, t, `WHERE kind = $1 AND account = $2`, kind, account)
}

func (t *Tables) ChatAccounts(ctx context.Context, person string) ([]store.ChatAccount, error) {
	return chatAccounts.list(ctx, t, `WHERE person = $1 ORDER BY person, kind, account`, person)
}

func (t *Tables) UnlinkChatAccount(ctx context.Context, kind, account, person string) error {
	return t.Write(ctx, Essential|Policy, func(w *Work) error {
		removed := chatAccountData{Kind: kind, Account: account, Person: person}
		found, err := w.Get([]any{&removed.Label}, `DELETE FROM chat_accounts WHERE kind = $1 AND account = $2 AND person = $3 RETURNING label`,
			kind, account, person)
		if err := orNotFound(found, err); err != nil {
			return err
		}
		return w.AppendLedger(store.LedgerRecord{Action: "chat.unlinked", Actor: person, Data: removed})
	})
}

func (t *Tables) AddChatMessage(ctx context.Context, m store.ChatMessage) error {
	return t.exec(ctx, Plain, `INSERT INTO chat_messages (channel, chat, message, notice, question, revision, settled)
		VALUES ($1, $2, $3, $4, $5, $6, false) ON CONFLICT DO NOTHING`, m.Channel, m.Chat, m.Message, m.Notice, m.Question, m.Revision)
}

func (t *Tables) ChatMessage(ctx context.Context, channel int64, chat, message string) (store.ChatMessage, error) {
	return chatMessages.one(ctx, t, `WHERE channel = $1 AND chat = $2 AND message = $3`, channel, chat, message)
}

func (t *Tables) MessagesToSettle(ctx context.Context, channel int64, n int) ([]store.ChatMessage, error) {
	return chatMessages.list(ctx, t, `WHERE channel = $1 AND NOT settled
		AND (SELECT state FROM questions q WHERE q.seq = chat_messages.question) <> 'pending' ORDER BY question LIMIT $2`, channel, n)
}

func (t *Tables) SettleChatMessage(ctx context.Context, m store.ChatMessage) error {
	return t.exec(ctx, Plain, `UPDATE chat_messages SET settled = true WHERE channel = $1 AND chat = $2 AND message = $3`,
		m.Channel, m.Chat, m.Message)
}
