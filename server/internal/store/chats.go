package store

import (
	"context"
	"time"

	"github.com/hookback/hookback/schema"
)

// Chats holds the chat accounts and messages with which people answer.
type Chats interface {
	// ChatOffset returns the offset up to which a channel's updates were handled; 0: none.
	ChatOffset(ctx context.Context, channel int64) (offset int64, err error)

	// SetChatOffset stores the offset of a channel. It is stored after the updates were handled.
	SetChatOffset(ctx context.Context, channel, offset int64) error

	// LinkChatAccount links a chat account with a person, in place of its previous person. The audit
	// log gets the entry chat.linked.
	LinkChatAccount(ctx context.Context, a ChatAccount) error

	// ChatAccount returns the link of an account. It fails with schema.ErrNotFound.
	ChatAccount(ctx context.Context, kind, account string) (ChatAccount, error)

	// ChatAccounts returns the accounts of a person.
	ChatAccounts(ctx context.Context, person string) ([]ChatAccount, error)

	// UnlinkChatAccount removes a person's account. It fails with schema.ErrNotFound.
	UnlinkChatAccount(ctx context.Context, kind, account, person string) error

	// AddChatMessage stores a message that was sent about a question.
	AddChatMessage(ctx context.Context, m ChatMessage) error

	// ChatMessage returns a message by its place. It fails with schema.ErrNotFound.
	ChatMessage(ctx context.Context, channel int64, chat, message string) (ChatMessage, error)

	// MessagesToSettle returns up to n messages of a channel that still offer an answer and whose
	// questions are settled, oldest first.
	MessagesToSettle(ctx context.Context, channel int64, n int) ([]ChatMessage, error)

	// SettleChatMessage records that a message shows the outcome.
	SettleChatMessage(ctx context.Context, m ChatMessage) error
}

// ChatAccount is a chat account that a person linked to answer with it.
type ChatAccount struct {
	Kind     string // of channel, such as telegram
	Account  string // the service's number of the account
	Label    string // the name that the account shows
	Person   string
	LinkedAt time.Time // set by LinkChatAccount
}

// ChatMessage is a message about a question in a chat.
type ChatMessage struct {
	Channel       int64
	Chat, Message string // the service's names
	Notice        int64
	Question      schema.EventID
	Revision      int64 // of the question's status when it was sent
}
