package schema

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hookback/hookback/schema/internal/object"
)

// Notification is one message about a question through one channel, to one person or to a shared channel.
type Notification struct {
	Channel string `json:"channel"` // name of the channel in the settings
	Kind    string `json:"kind" jsonschema:"enum=asked,enum=reminder,enum=escalated"`
	Person  string `json:"person,omitempty"`
	// State is queued, sent, failed (see Error; the hub retried) or suppressed (see Why).
	State    string `json:"state" jsonschema:"enum=queued,enum=sent,enum=suppressed,enum=failed"`
	Why      string `json:"why,omitempty" jsonschema:"enum=cooldown,enum=quiet_hours,enum=watching,enum=answered,enum=no_address,enum=gone"`
	Error    string `json:"error,omitempty"` // without the channel's secrets
	Attempts int    `json:"attempts,omitempty"`
	At       Millis `json:"at"`
}

// The values in a Notification.
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
	SuppressedRemoved    = "gone" // the recipient may no longer answer
)

// MaxNotifications is the maximum number of notifications in a status. It lists the newest, and
// NotificationCounts counts all.
const MaxNotifications = 50

// NotificationCounts counts the notifications of a question by state, if there are more than a status lists.
type NotificationCounts struct {
	Queued     int `json:"queued,omitempty"`
	Sent       int `json:"sent,omitempty"`
	Suppressed int `json:"suppressed,omitempty"`
	Failed     int `json:"failed,omitempty"`
}

// Channel is a configured destination for notifications. Its address is a secret that is never
// returned after the channel was created.
type Channel struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
	// Kind is slack, discord, telegram, ntfy, gotify, pushover, mattermost, smtp or webhook.
	Kind string `json:"kind"`
	// Address is the scheme of the address and, unless it is secret, the host.
	Address string `json:"address"`
	// Person is the owner of the channel; absent for a shared channel. A shared smtp channel sends
	// to each person's own address.
	Person    string         `json:"person,omitempty"`
	Detail    string         `json:"detail,omitempty" jsonschema:"enum=brief"` // as in ChannelDraft; absent: full
	Filter    *ChannelFilter `json:"filter,omitempty"`                         // absent: every request
	CreatedAt Millis         `json:"createdAt"`
	CreatedBy string         `json:"createdBy"`
	// Secret verifies the signatures of a webhook (Standard Webhooks, whsec_…). It is shown once.
	Secret string `json:"secret,omitempty"`
	// Paused is set while the circuit breaker of the channel is open: the hub sends nothing before this time.
	Paused Millis `json:"paused,omitempty"`
	// Bot is the user name of the bot that takes answers, once it is known.
	Bot string `json:"bot,omitempty"`
	// NoAnswers is why the bot takes no answers, as a sentence; absent: it takes them, or its kind never does.
	NoAnswers string `json:"noAnswers,omitempty"`
}

// ChannelFilter selects the requests that a channel sends: those that match every member that is set. It has no effect on
// other messages. A request that no channel selects waits for a person who looks at the inbox.
type ChannelFilter struct {
	Projects []string `json:"projects,omitempty"` // globs of folders, such as shop, with everything below them
	Paths    []string `json:"paths,omitempty"`    // globs of files of the call, as in a control.RequestDefault
	Agents   []string `json:"agents,omitempty"`   // globs of names of agents
	// Risk is the lowest risk, as the hub or the agent states it.
	Risk Risk `json:"risk,omitempty" jsonschema:"enum=low,enum=medium,enum=high,enum=critical"`
	// Owners are names in CODEOWNERS files or of accounts. A request that went to everyone, because its owners could not
	// decide or did not answer, matches.
	Owners []string `json:"owners,omitempty"`
}

// The limits of a ChannelFilter.
const (
	MaxFilterEntries    = 20
	MaxFilterEntryBytes = 200
)

// IsEmpty reports whether the filter selects every request.
func (f *ChannelFilter) IsEmpty() bool {
	return len(f.Projects)+len(f.Paths)+len(f.Agents)+len(f.Owners) == 0 && f.Risk == ""
}

// Validate returns a *FieldError if the filter is not valid.
func (f *ChannelFilter) Validate() error {
	for name, list := range map[string][]string{"projects": f.Projects, "paths": f.Paths, "agents": f.Agents, "owners": f.Owners} {
		isWrong := func(s string) bool { return s == "" || len(s) > MaxFilterEntryBytes }
		if len(list) > MaxFilterEntries || slices.ContainsFunc(list, isWrong) {
			return &FieldError{Field: name, Detail: fmt.Sprintf("must be at most %d texts of 1 to %d bytes", MaxFilterEntries, MaxFilterEntryBytes)}
		}
	}
	switch f.Risk {
	case "", LowRisk, MediumRisk, HighRisk, CriticalRisk:
		return nil
	default:
		return &FieldError{Field: "risk", Detail: "must be low, medium, high or critical, or absent"}
	}
}

// UnmarshalJSON matches member names exactly and rejects unknown members.
func (f *ChannelFilter) UnmarshalJSON(b []byte) error { return object.DecodeStrict(b, f) }

// ChannelDraft is the body of POST /api/channels.
type ChannelDraft struct {
	Name string `json:"name"`
	// URL is the address in shoutrrr notation (slack://, discord://, telegram://, ntfy://,
	// gotify://, pushover://, mattermost://); smtp://USER:PASSWORD@HOST:PORT/?from=ADDRESS or
	// smtps:// for mail; https:// or http:// for a webhook.
	URL    string `json:"url"`
	Person string `json:"person,omitempty"`                                   // as in Channel
	Detail string `json:"detail,omitempty" jsonschema:"enum=full,enum=brief"` // default full; brief: no question, call and buttons
}

// ChannelTestResult is the result of a test message.
type ChannelTestResult struct {
	State string `json:"state" jsonschema:"enum=sent,enum=failed"`
	Error string `json:"error,omitempty"`
}

// NotificationSettings are one person's settings for notifications.
type NotificationSettings struct {
	// CooldownMinutes is the minimum time between two messages through the same channel.
	CooldownMinutes int `json:"cooldownMinutes,omitempty"`
	// QuietFrom and QuietTo, such as 22:00 and 07:30, delimit quiet hours in TimeZone (an IANA
	// name). In quiet hours only questions of critical risk are sent. Set both or neither.
	QuietFrom string `json:"quietFrom,omitempty"`
	QuietTo   string `json:"quietTo,omitempty"`
	TimeZone  string `json:"timeZone,omitempty"`
	// ReportAt, such as 07:30, is when the report of the last 24 hours (GET /api/report) is sent, in TimeZone: by Web
	// Push, by mail, and through the channels of this person and the shared ones that this person added. Absent: never.
	ReportAt string `json:"reportAt,omitempty"`
	// ReportedAt is when it was last sent, or the settings were saved. It is read-only.
	ReportedAt Millis `json:"reportedAt,omitempty"`
	// Email is the address for mail. An admin sets it with POST /api/people/:name before the person
	// signs in; later only the person changes it. If empty, it stays unchanged.
	Email string `json:"email,omitempty"`
	// AnswerByPush adds the request and buttons to Web Push messages, at low and medium risk only. A
	// browser answers only while this person is signed in there.
	AnswerByPush bool `json:"answerByPush,omitempty"`
	// Browsers is the number of this person's browsers with Web Push. It is read-only.
	Browsers int `json:"browsers,omitempty"`
}

// PushKey is the hub's public key, with which browsers subscribe to Web Push.
type PushKey struct {
	Key string `json:"key"` // P-256, uncompressed, base64url
}

// PushSubscription is a browser's subscription, as encoded by PushSubscription.toJSON(). Its
// endpoint alone is enough to unsubscribe.
type PushSubscription struct {
	Endpoint       string   `json:"endpoint"`
	ExpirationTime *float64 `json:"expirationTime,omitempty"`
	Keys           PushKeys `json:"keys"`
}

// PushKeys are the keys of a browser for Web Push.
type PushKeys struct {
	P256dh string `json:"p256dh,omitempty"`
	Auth   string `json:"auth,omitempty"`
}

// PushMessage is the message to a browser's service worker. It contains only the title and the request's
// id, unless the person chose AnswerByPush.
type PushMessage struct {
	ID       EventID `json:"id"`
	Title    string  `json:"title"`
	Tag      string  `json:"tag"`                // equal for all messages about one question
	Text     string  `json:"text,omitempty"`     // the complete permission request, with Token
	Token    string  `json:"token,omitempty"`    // of a signed link that answers it while the person is signed in
	NeedsYou *int64  `json:"needsYou,omitempty"` // see Me; the badge of an installed page. absent: unknown
	// Settled is set once the question is resolved, so that the notification can be cleared.
	Settled bool `json:"settled,omitempty"`
}

// Link is the body of POST /hitl/:id/link: the token in the fragment of a signed link.
type Link struct {
	Token string `json:"token"`
}

// LinkPreview is the request behind a signed link.
type LinkPreview struct {
	Person    string `json:"person"` // recipient of the link
	ExpiresAt Millis `json:"expiresAt"`
	Event     Event  `json:"event"`
}

// LinkVote is the body of POST /hitl/:id/vote: an answer by the recipient of a signed link. Exactly
// one of Permission, Response, Choice and Answers is set.
type LinkVote struct {
	Token      string                     `json:"token"`
	Permission *bool                      `json:"permission,omitempty"`
	Response   *string                    `json:"response,omitempty"`
	Choice     *string                    `json:"choice,omitempty"`
	Answers    map[string]json.RawMessage `json:"answers,omitempty"`
	Reason     string                     `json:"reason,omitempty"`
	Comment    string                     `json:"comment,omitempty"`
	// Revision is the status revision that the person saw. With it, the answer also applies to the
	// duplicates in the group at that revision; without it, only to this request.
	Revision int64 `json:"revision,omitempty"`
}

// UnmarshalJSON matches member names exactly and rejects unknown members.
func (v *LinkVote) UnmarshalJSON(b []byte) error { return object.DecodeStrict(b, v) }

// The paths of notifications and signed links.
const (
	PathChannels        = "/api/channels"
	PathChatAccounts    = "/api/chat-accounts"
	PathChatCodes       = "/api/chat-accounts/codes"
	PathChatAccount     = "/api/chat-accounts/:kind/:account"
	PathMyNotifications = "/api/channels/mine"
	PathChannel         = "/api/channels/:id"
	PathTestChannel     = "/api/channels/:id/test"
	PathChannelFilter   = "/api/channels/:id/filter"
	PathPushKey         = "/api/push/key"
	PathPush            = "/api/push"
	PathLink            = "/hitl/:id/link"
	PathLinkVote        = "/hitl/:id/vote"
)
