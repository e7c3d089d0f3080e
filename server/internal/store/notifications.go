package store

import (
	"context"
	"time"

	"github.com/hookback/hookback/schema"
)

// Notifications is the outbox of notifications, and their channels.
type Notifications interface {
	// NotificationCursor returns the log position up to which notifications were planned.
	NotificationCursor(ctx context.Context) (cursor int64, err error)

	// SetNotificationCursor advances the cursor. A lower value is ignored.
	SetNotificationCursor(ctx context.Context, cursor int64) error

	// NotificationProgress returns the progress of a question's notifications; zero if none.
	NotificationProgress(ctx context.Context, id schema.EventID) (n NotificationProgress, err error)

	// BecameGroupLeader reports whether a former duplicate now leads its group and has no
	// notification yet.
	BecameGroupLeader(ctx context.Context, id schema.EventID) (leads bool, err error)

	// AddNotifications stores notifications of a question and leaves existing ones
	// unchanged. If done is not nil, it is stored in the same transaction.
	AddNotifications(ctx context.Context, id schema.EventID, notifications []Notification, done *NotificationProgress) error

	// NotificationsOf returns all notifications of a question, unordered.
	NotificationsOf(ctx context.Context, id schema.EventID) ([]Notification, error)

	// DueNotifications returns up to n due notifications of a channel, longest due first,
	// and the time of the next one: zero if none is queued.
	DueNotifications(ctx context.Context, channel int64, now time.Time, n int) (due []Notification, next time.Time, err error)

	// ClaimNotification leases a queued notification until the given time, unless its
	// recipient got one through its channel after since. A zero since disables the cooldown.
	// Check and lease are one step, so two notifications can't pass the same cooldown.
	ClaimNotification(ctx context.Context, n *Notification, until, since time.Time) (claim Claim, err error)

	// SetNotification stores the result of an attempt. A notification that is no longer
	// queued stays unchanged, unless it was sent after all.
	SetNotification(ctx context.Context, n *Notification) error

	// SuppressNotifications suppresses the queued notifications of a question and reports
	// whether there were any.
	SuppressNotifications(ctx context.Context, id schema.EventID, why string) (found bool, err error)

	// ReleaseNotificationLeases makes notifications due whose sending was interrupted by a
	// restart. It returns the pending questions that have notifications.
	ReleaseNotificationLeases(ctx context.Context) ([]schema.EventID, error)

	// Channels returns all channels, oldest first.
	Channels(ctx context.Context) ([]Channel, error)

	// AddChannel stores a channel and sets its ID and CreatedAt. IDs are never reused. It
	// fails with schema.ErrInvalid if there are limit channels already.
	AddChannel(ctx context.Context, c *Channel, limit int) error

	// RemoveChannel removes a channel and fails its queued notifications. It returns the
	// questions of those notifications. It fails with schema.ErrNotFound.
	RemoveChannel(ctx context.Context, id int64, by string) (questions []schema.EventID, err error)

	// SetChannelFilter replaces the filter of a channel. It fails with schema.ErrNotFound.
	SetChannelFilter(ctx context.Context, id int64, filter schema.ChannelFilter, by string) error

	// NotificationSettings returns a person's settings; zero if there are none.
	NotificationSettings(ctx context.Context, person string) (settings schema.NotificationSettings, err error)

	// SetNotificationSettings replaces a person's settings.
	SetNotificationSettings(ctx context.Context, person string, settings schema.NotificationSettings) error

	// PushKeys returns the hub's key pair for Web Push; empty before SetPushKeys.
	PushKeys(ctx context.Context) (private, public string, err error)

	// SetPushKeys stores the hub's key pair for Web Push unless it has one: existing
	// subscriptions depend on that one. The private key is encrypted.
	SetPushKeys(ctx context.Context, private, public string) error

	// AddPushSubscription stores a person's browser for Web Push, and takes it over from a
	// previous owner. It fails with schema.ErrInvalid if the person has limit browsers
	// already.
	AddPushSubscription(ctx context.Context, person string, b schema.PushSubscription, limit int) error

	// RemovePushSubscription removes a browser's subscription.
	RemovePushSubscription(ctx context.Context, endpoint string) error

	// PushSubscriptions returns a person's subscriptions.
	PushSubscriptions(ctx context.Context, person string) (all []schema.PushSubscription, _ error)

	// PushSubscribers returns the set of people with a subscription.
	PushSubscribers(ctx context.Context) (map[string]bool, error)

	// IsLinkUsed reports whether a signed link was used to vote.
	IsLinkUsed(ctx context.Context, id schema.EventID, mac []byte) (bool, error)

	// UseLink records that a signed link was used to vote.
	UseLink(ctx context.Context, id schema.EventID, mac []byte) error
}

// Channel is a configured notification channel, including its secrets.
type Channel struct {
	ID         int64
	Name, Kind string
	URL        string // secret, encrypted in the database
	Secret     string // of a webhook, encrypted in the database; empty: none
	Person     string // owner; empty: shared by everyone
	IsBrief    bool   // its messages show no details
	Filter     schema.ChannelFilter
	CreatedAt  time.Time
	CreatedBy  string
}

// Notification is a stored notification about a question.
type Notification struct {
	ID             int64
	Question       schema.EventID
	Channel        int64 // 0: Web Push
	ReminderNumber int   // number of the reminder
	CreatedAt      time.Time
	Due            time.Time // next attempt, while queued
	schema.Notification
}

// NotificationProgress records which notifications of a question were planned, besides
// the first.
type NotificationProgress struct {
	Reminders int
	Escalated bool
}

// Claim is the result of ClaimNotification.
type Claim int

// The results of ClaimNotification.
const (
	Claimed       Claim = iota // leased to the caller until the given time
	ClaimLost                  // leased to another worker, or no longer queued
	ClaimCooldown              // the recipient got a notification through this channel within the cooldown
	ClaimInFlight              // another notification to the recipient through this channel is being sent
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
