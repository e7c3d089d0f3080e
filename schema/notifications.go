package schema

import "encoding/json"

// Notification is one message about a question to one person by one channel, or to a channel
// that many read.
type Notification struct {
	Channel string `json:"channel"` // its name in the settings
	Kind    string `json:"kind" jsonschema:"enum=asked,enum=reminder,enum=escalated"`
	Person  string `json:"person,omitempty"`
	// State: queued, sent, failed (Error says why; it was retried), or suppressed (Why).
	State    string `json:"state" jsonschema:"enum=queued,enum=sent,enum=suppressed,enum=failed"`
	Why      string `json:"why,omitempty" jsonschema:"enum=cooldown,enum=quiet_hours,enum=watching,enum=answered,enum=no_address,enum=gone"`
	Error    string `json:"error,omitempty"` // without the channel's secrets
	Attempts int    `json:"attempts,omitempty"`
	At       Millis `json:"at"`
}

// The words of a Notice.
const (
	NotificationCreated   = "asked"
	NotificationReminder  = "reminder"
	NotificationEscalated = "escalated"

	NotificationQueued     = "queued"
	NotificationSent       = "sent"
	NotificationSuppressed = "suppressed"
	NotificationFailed     = "failed"

	SuppressedCooldown   = "cooldown"
	SuppressedQuietHours = "quiet_hours"
	SuppressedWatching   = "watching"
	SuppressedAnswered   = "answered"
	SuppressedNoAddress  = "no_address"
	SuppressedRemoved    = "gone" // who was asked may not answer any more
)

// MaxNotifications is how many notices a status lists: the newest. NotificationCounts counts all.
const MaxNotifications = 50

// NotificationCounts says what became of a question's notices when there are more than a
// status lists.
type NotificationCounts struct {
	Queued     int `json:"queued,omitempty"`
	Sent       int `json:"sent,omitempty"`
	Suppressed int `json:"suppressed,omitempty"`
	Failed     int `json:"failed,omitempty"`
}

// Channel is a way by which people are told of questions while they are not looking.
// Its address is a secret: it is given once, by whoever makes the channel, and never
// shown again.
type Channel struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
	// Kind is slack, discord, telegram, ntfy, gotify, pushover, mattermost, smtp or webhook.
	Kind string `json:"kind"`
	// Address is the scheme of the address and, where that is no secret, the host.
	Address string `json:"address"`
	// Person whose channel it is; absent: everybody's. One of kind smtp that is
	// everybody's writes to each person at their own address.
	Person    string `json:"person,omitempty"`
	CreatedAt Millis `json:"createdAt"`
	CreatedBy string `json:"createdBy"`
	// Secret of a webhook, whsec_…, shown once: what its receiver verifies the signature
	// with (Standard Webhooks).
	Secret string `json:"secret,omitempty"`
	// Paused is set while the channel fails: until then the hub leaves it alone.
	Paused Millis `json:"paused,omitempty"`
}

// ChannelDraft is the body of POST /api/channels.
type ChannelDraft struct {
	Name string `json:"name"`
	// URL is the address, in the notation of shoutrrr (slack://, discord://, telegram://,
	// ntfy://, gotify://, pushover://, mattermost://); smtp://USER:PASSWORD@HOST:PORT/?from=ADDRESS
	// or smtps:// for mail; https:// or http:// for a webhook.
	URL    string `json:"url"`
	Person string `json:"person,omitempty"` // as in Channel
}

// ChannelTestResult says what became of a message that was sent to try a channel.
type ChannelTestResult struct {
	State string `json:"state" jsonschema:"enum=sent,enum=failed"`
	Error string `json:"error,omitempty"`
}

// NotificationSettings are a person's own: when they want to hear of questions, and where.
type NotificationSettings struct {
	// CooldownMinutes: after one message no further one by the same channel for so long.
	CooldownMinutes int `json:"cooldownMinutes,omitempty"`
	// QuietFrom and QuietTo, such as 22:00 and 07:30, in TimeZone (an IANA name): then
	// only questions of critical risk are told. Both or none.
	QuietFrom string `json:"quietFrom,omitempty"`
	QuietTo   string `json:"quietTo,omitempty"`
	TimeZone  string `json:"timeZone,omitempty"`
	// Email is where mail goes; an admin sets it (POST /api/people/:name).
	Email string `json:"email,omitempty"`
	// Browsers is how many of this person's get Web Push; it can't be set.
	Browsers int `json:"browsers,omitempty"`
}

// PushKey is the hub's public key for Web Push, which a browser subscribes with.
type PushKey struct {
	Key string `json:"key"` // P-256, uncompressed, base64url
}

// PushSubscription is a browser's, as PushSubscription.toJSON() writes it. To take one
// back its endpoint is enough.
type PushSubscription struct {
	Endpoint       string   `json:"endpoint"`
	ExpirationTime *float64 `json:"expirationTime,omitempty"`
	Keys           PushKeys `json:"keys"`
}

// PushKeys are a browser's keys for Web Push.
type PushKeys struct {
	P256dh string `json:"p256dh,omitempty"`
	Auth   string `json:"auth,omitempty"`
}

// PushMessage is what a browser's service worker is sent: no more than it takes to show
// that something waits and to open it.
type PushMessage struct {
	ID    EventID `json:"id"`
	Title string  `json:"title"`
	Tag   string  `json:"tag"` // the same for every message about one question
	// Settled: the question is over, and what was shown of it goes away.
	Settled bool `json:"settled,omitempty"`
}

// Link is the body of POST /hitl/:id/link: the token of a signed link, from the
// fragment of its address.
type Link struct {
	Token string `json:"token"`
}

// LinkPreview is what a signed link shows.
type LinkPreview struct {
	Person    string `json:"person"` // whose link it is
	ExpiresAt Millis `json:"expiresAt"`
	Event     Event  `json:"event"`
}

// LinkVote is the body of POST /hitl/:id/vote: an answer by a signed link, in the name
// of the person it was sent to. Exactly one of Permission, Response, Choice and Answers.
type LinkVote struct {
	Token      string                     `json:"token"`
	Permission *bool                      `json:"permission,omitempty"`
	Response   *string                    `json:"response,omitempty"`
	Choice     *string                    `json:"choice,omitempty"`
	Answers    map[string]json.RawMessage `json:"answers,omitempty"`
	Reason     string                     `json:"reason,omitempty"`
	Comment    string                     `json:"comment,omitempty"`
	// Revision is that of the status that the person saw: their answer is for whoever asked
	// the same by then, too. Without it, for the one request alone.
	Revision int64 `json:"revision,omitempty"`
}

// The paths of notices and signed links.
const (
	PathChannels        = "/api/channels"
	PathMyNotifications = "/api/channels/mine"
	PathChannel         = "/api/channels/:id"
	PathTestChannel     = "/api/channels/:id/test"
	PathPushKey         = "/api/push/key"
	PathPush            = "/api/push"
	PathLink            = "/hitl/:id/link"
	PathLinkVote        = "/hitl/:id/vote"
)

var notificationRoutes = []Route{
	{"GET", PathChannels, "The channels that people are told by, without their secrets", nil, nil, []Channel{}},
	{"POST", PathChannels, "Make a channel; a webhook's secret is shown once", nil, ChannelDraft{}, Channel{}},
	{"GET", PathMyNotifications, "When and where the caller is told of questions", nil, nil, NotificationSettings{}},
	{"POST", PathMyNotifications, "Change when and where the caller is told of questions, as a whole", nil, NotificationSettings{}, NotificationSettings{}},
	{"DELETE", PathChannel, "Remove a channel", nil, nil, []Channel{}},
	{"GET", PathPushKey, "The key that browsers subscribe to Web Push with", nil, nil, PushKey{}},
	{"POST", PathPush, "Tell this browser of questions by Web Push; who is signed in is told of theirs", nil, PushSubscription{}, NotificationSettings{}},
	{"DELETE", PathPush, "Tell this browser no more; its endpoint is enough", nil, PushSubscription{}, NotificationSettings{}},
	{"POST", PathLink, "Look at a request by a signed link, which decides nothing", nil, Link{}, LinkPreview{}},
	{"POST", PathLinkVote, "Answer a request by a signed link, in the name of the person it was sent to; once", nil, LinkVote{}, Event{}},
	{"POST", PathTestChannel, "Send a message to try a channel, and wait for what becomes of it", nil, nil, ChannelTestResult{}},
}
