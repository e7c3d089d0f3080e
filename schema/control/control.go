// Package control has the messages with which people steer running agents: one-time grants for
// refused calls, messages to a session, and freezes. An agent's hook receives them as a [Directive]
// in the response to its event.
package control

import (
	"cmp"
	"strings"

	"github.com/hookback/hookback/schema"
)

// A hook whose agent reads its output sends these headers with POST /events. The hub then answers
// with an [EventReceipt] instead of the stored event, and repeats the preference in
// AppliedHeader.
const (
	PreferHeader  = "Prefer"             // MinimalReturn
	AppliedHeader = "Preference-Applied" // MinimalReturn
	MinimalReturn = "return=minimal"     // RFC 7240
	AcceptsHeader = "Hookback-Accepts"   // the parts of a directive that the hook can apply, such as "grant, message, freeze"
	AcceptGrant   = "grant"
	AcceptLater   = "later"
	AcceptMessage = "message"
	AcceptFreeze  = "freeze"
)

// EventReceipt is the response to a hook's event if the hook asked for it by header.
type EventReceipt struct {
	ID        schema.EventID `json:"id"`
	Directive *Directive     `json:"directive,omitempty"`
}

// Directive contains the parts that the hook of an event applies before it prints its verdict. A freeze
// overrules the policy, a policy's denial overrules a grant, and messages are added to any verdict.
type Directive struct {
	Freeze   *FreezeNotice `json:"freeze,omitempty"`
	Grant    *Grant        `json:"grant,omitempty"`
	Messages []MessageText `json:"messages,omitempty"`
	// Asked is the request that already waits for a person about this call of a hook that accepts later.
	Asked schema.EventID `json:"asked,omitempty"`
}

// FreezeNotice returns the freeze of the directive, which may be nil.
func (d *Directive) FreezeNotice() *FreezeNotice {
	if d == nil {
		return nil
	}
	return d.Freeze
}

// Grant is a person's one-time approval of a call that the agent's own reviewer refused.
type Grant struct {
	Question schema.EventID `json:"question"` // the appeal
	// Digest identifies the tool and its exact arguments. The hook compares it with its own call.
	Digest string `json:"digest"`
	By     string `json:"by,omitempty"`
	// Approval is the signed resolution of the appeal. A hook whose account trusts a hub needs it.
	Approval *schema.Envelope `json:"approval,omitempty"`
}

// FreezeNotice is the freeze that stops the call.
type FreezeNotice struct {
	ID     int64       `json:"id"`
	Scope  FreezeScope `json:"scope,omitempty" jsonschema:"enum=all,enum=app,enum=session"` // absent: all
	By     string      `json:"by,omitempty"`
	Reason string      `json:"reason,omitempty"` // for people; a model must not read it, because any program can freeze
	// SourceApp is the frozen application, also of a frozen session. The hook may have named another one.
	SourceApp string `json:"source_app,omitempty"`
}

// Text states who froze which agents, in one sentence.
func (n *FreezeNotice) Text() string {
	what := "all agents"
	switch n.Scope {
	case FreezeApp:
		what = "the agents of this application"
	case FreezeSession:
		what = "this session"
	}
	who := cmp.Or(n.By, "A person")
	if who == "local user" {
		who = "A local user"
	} else if name, isAgent := strings.CutPrefix(who, "agent "); isAgent {
		who = "Agent " + name
	}
	return who + " froze " + what + "."
}

// Guidance is Text with instructions for the model.
func (n *FreezeNotice) Guidance() string { return n.Text() + " Nothing ran. Wait for a person." }

// MessageText is a message from a person, for the model.
type MessageText struct {
	ID   int64  `json:"id"`
	From string `json:"from"`
	Text string `json:"text"`
}

// FreezeScope is the set of agents that a freeze stops.
type FreezeScope string

// The scopes of a freeze.
const (
	FreezeAll     FreezeScope = "all"
	FreezeApp     FreezeScope = "app"     // the agents of one source_app
	FreezeSession FreezeScope = "session" // one session of an app
)

// FreezeRule is the rule by which the hub froze a session.
type FreezeRule string

// The rules of automatic freezes.
const (
	RuleFailures FreezeRule = "failures" // equal failures in a row
	RuleSpend    FreezeRule = "spend"    // cost within a window
)

// FreezeDraft is the body of POST /api/freezes.
type FreezeDraft struct {
	Scope     FreezeScope `json:"scope" jsonschema:"enum=all,enum=app,enum=session"`
	SourceApp string      `json:"source_app,omitempty"`
	SessionID string      `json:"session_id,omitempty"`
	Reason    string      `json:"reason,omitempty"` // at most MaxFreezeReason bytes
}

// MaxFreezeReason is the maximum length of the reason of a freeze, in bytes.
const MaxFreezeReason = 500

// Validate checks a draft. Its errors are *schema.FieldError.
func (d *FreezeDraft) Validate() error {
	invalid := func(field, detail string) error { return &schema.FieldError{Field: field, Detail: detail} }
	switch {
	case d.Scope != FreezeAll && d.Scope != FreezeApp && d.Scope != FreezeSession:
		return invalid("scope", "must be all, app or session")
	case (d.SourceApp != "") != (d.Scope != FreezeAll):
		return invalid("source_app", "is required for the scopes app and session, and only for them")
	case (d.SessionID != "") != (d.Scope == FreezeSession):
		return invalid("session_id", "is required for the scope session, and only for it")
	case len(d.SourceApp) > schema.MaxName || len(d.SessionID) > schema.MaxName:
		return invalid("session_id", "is too long, or source_app is")
	case len(d.Reason) > MaxFreezeReason:
		return invalid("reason", "is too long")
	default:
		return nil
	}
}

// Freeze stops the agents of its scope at their next tool call until a person lifts it.
type Freeze struct {
	ID        int64         `json:"id"`
	Scope     FreezeScope   `json:"scope" jsonschema:"enum=all,enum=app,enum=session"`
	SourceApp string        `json:"source_app,omitempty"`
	SessionID string        `json:"session_id,omitempty"`
	By        string        `json:"by,omitempty"`
	Reason    string        `json:"reason,omitempty"`
	Rule      FreezeRule    `json:"rule,omitempty" jsonschema:"enum=failures,enum=spend"` // of an automatic freeze
	CostUSD   float64       `json:"cost_usd,omitempty"`                                   // of the session when the rule spend froze it
	CreatedAt schema.Millis `json:"created_at"`
	LiftedAt  schema.Millis `json:"lifted_at,omitempty"`
	LiftedBy  string        `json:"lifted_by,omitempty"`
}

// Stops reports whether the freeze is active and stops this session.
func (f *Freeze) Stops(app, session string) bool {
	switch {
	case f.LiftedAt > 0:
		return false
	case f.Scope == FreezeApp:
		return f.SourceApp == app
	case f.Scope == FreezeSession:
		return f.SourceApp == app && f.SessionID == session
	default:
		return true
	}
}

// Notice returns the freeze in the form for agents.
func (f *Freeze) Notice() *FreezeNotice {
	return &FreezeNotice{ID: f.ID, Scope: f.Scope, By: f.By, Reason: f.Reason, SourceApp: f.SourceApp}
}

// FreezeList is the body of GET /api/freezes: the active freezes, and the state of their agents. It
// counts the sessions that were at work when the freeze began, or have been since.
type FreezeList struct {
	Freezes      []Freeze `json:"freezes"` // the oldest first
	Stopped      int      `json:"stopped"`
	Finishing    int      `json:"finishing"`       // a call that had begun still runs
	Uncontrolled int      `json:"uncontrolled"`    // no hook that can stop the agent: observe mode, or an older hook
	Unchecked    int      `json:"unchecked"`       // calls, not sessions, that ran because their hook could not reach the hub
	Ended        []int64  `json:"ended,omitempty"` // the freezes of a session that has ended
}

// MessageState is the progress of a message to a session.
type MessageState string

// The states of a message.
const (
	MessageSaved      MessageState = "saved"
	MessageHandedOver MessageState = "handed_over" // in the response to an event of the session
	MessageActedOn    MessageState = "acted_on"    // the session sent a later event
	MessageExpired    MessageState = "expired"     // the session ended before the message was handed over
	MessageWithdrawn  MessageState = "withdrawn"
)

// MessageDraft is the body of POST /api/session/messages.
type MessageDraft struct {
	SourceApp string `json:"source_app"`
	SessionID string `json:"session_id"`
	AgentID   string `json:"agent_id,omitempty"` // a subagent; empty: the main agent
	Text      string `json:"text"`               // 1 to 2,000 characters
}

// Message is a message from a person to a running session.
type Message struct {
	ID        int64          `json:"id"`
	State     MessageState   `json:"state" jsonschema:"enum=saved,enum=handed_over,enum=acted_on,enum=expired,enum=withdrawn"`
	SourceApp string         `json:"source_app"`
	SessionID string         `json:"session_id"`
	AgentID   string         `json:"agent_id,omitempty"`
	From      string         `json:"from"`
	Text      string         `json:"text"`
	CreatedAt schema.Millis  `json:"created_at"`
	HandedAt  schema.Millis  `json:"handed_at,omitempty"`
	Event     schema.EventID `json:"event,omitempty"` // the event in whose response the message was handed over
}

// MessagesChanged is the data of the frame message of a version 2 stream: the messages to this
// session have changed.
type MessagesChanged struct {
	SourceApp string `json:"source_app"`
	SessionID string `json:"session_id"`
}

// The paths of these messages.
const (
	PathFreezes  = "/api/freezes"
	PathFreeze   = "/api/freezes/:id"
	PathMessages = "/api/session/messages"
	PathMessage  = "/api/session/messages/:id"
	PathWait     = "/api/session/messages/wait"
)

// HookVerdict is the member "hook" of an event: the hook's own decision about the call, without a
// person. An event whose hook had no opinion has none.
type HookVerdict struct {
	Verdict string `json:"verdict,omitempty" jsonschema:"enum=allow,enum=deny,enum=ask"`
	By      string `json:"by,omitempty" jsonschema:"enum=policy,enum=grant,enum=freeze"`
	Rule    string `json:"rule,omitempty"` // file:line of the policy's rule
	// UnknownEvent is set if the hook does not know the agent's event and took it for a call that is
	// about to run.
	UnknownEvent bool `json:"unknownEvent,omitempty"`
}

// HookMember is the name of the member.
const HookMember = "hook"

// Values of HookVerdict.
const (
	VerdictAllow = "allow"
	VerdictDeny  = "deny"
	VerdictAsk   = "ask"
	ByPolicy     = "policy"
	ByGrant      = "grant"
	ByFreeze     = "freeze"
)
