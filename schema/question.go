package schema

import (
	"encoding/json"
	"maps"
	"strings"
	"time"
)

// Kind says what sort of answer a question wants.
type Kind string

// The three kinds of question of protocol version 1.
const (
	Permission Kind = "permission" // yes or no
	FreeText   Kind = "question"   // a text
	Choice     Kind = "choice"     // one of the offered labels
)

// Limits of a question. A hub refuses what exceeds them.
const (
	MaxQuestionBytes = 64 << 10
	DefaultTimeout   = 300 * time.Second
	MaxTimeout       = 30 * 24 * time.Hour
	MinReminder      = 30 * time.Second
	MaxReminders     = 20
	MaxQuestions     = 20
	MaxChoices       = 100
)

// What an agent does when nobody answers in time, in onTimeout.
const (
	EmitTimeout = "emit_timeout" // goes on with the outcome __timeout__; unless told
	FailRun     = "fail_run"     // ends with an error
)

// Risk is the agent's own estimate of what can go wrong.
type Risk string

// The levels of risk, from harmless to irreversible.
const (
	LowRisk      Risk = "low"
	MediumRisk   Risk = "medium"
	HighRisk     Risk = "high"
	CriticalRisk Risk = "critical"
)

// HumanInTheLoop is a question to a person, carried by an event.
//
// Members are camelCase on the wire; snake_case names are accepted too.
type HumanInTheLoop struct {
	Question string   `json:"question"`
	Type     Kind     `json:"type"`
	Choices  []string `json:"choices,omitempty"` // labels; those of the form __…__ are reserved

	// ResponseWebSocketURL is where the hub dials the answer to. Without it the
	// agent pulls its answer. It is a secret: only the poster ever sees it again.
	ResponseWebSocketURL string `json:"responseWebSocketUrl,omitempty"`

	// Timeout in seconds: absent means DefaultTimeout, 0 means never.
	Timeout          *float64 `json:"timeout,omitempty"`
	RequiresResponse *bool    `json:"requiresResponse,omitempty"` // false: for information, nobody is reminded

	// Version 2.

	// ProtocolVersion 2 announces a listener that acknowledges answers.
	ProtocolVersion int `json:"protocolVersion,omitempty"`
	// ListenerKey lets the listener prove that it is the one that asked, before
	// the hub sends it anything (see ListenerProof). A secret, like the address.
	ListenerKey string `json:"listenerKey,omitempty"`

	// Lifeline says that the asker can't come back: once its version 2 listener is
	// gone, the hub ends the question (cancelled, orphaned) instead of waiting for it.
	Lifeline bool `json:"lifeline,omitempty"`

	// AlsoAsked says that the agent's own prompt is open meanwhile: its user can answer
	// there, and the first answer wins.
	AlsoAsked bool `json:"alsoAsked,omitempty"`

	ToolCall  *ToolCall      `json:"toolCall,omitempty"`
	Questions []FormQuestion `json:"questions,omitempty"`
	Context   *Context       `json:"context,omitempty"`
	Risk      Risk           `json:"risk,omitempty"`
	AgentPath []string       `json:"agentPath,omitempty"` // from the root agent to the one that asks

	RequiredApprovals       int         `json:"requiredApprovals,omitempty"`
	Recipients              *Recipients `json:"recipients,omitempty"`
	ReminderIntervalSeconds float64     `json:"reminderIntervalSeconds,omitempty"`
	ReminderMaxCount        int         `json:"reminderMaxCount,omitempty"`
	OnTimeout               string      `json:"onTimeout,omitempty" jsonschema:"enum=emit_timeout,enum=fail_run"`
	ReasonRequired          string      `json:"reasonRequired,omitempty" jsonschema:"enum=never,enum=deny,enum=always"`

	// EscalateAfterSeconds after it was asked, a question that is still pending is put
	// to EscalateTo as well. How many have to agree does not change.
	EscalateAfterSeconds float64     `json:"escalateAfterSeconds,omitempty"`
	EscalateTo           *Recipients `json:"escalateTo,omitempty"`
	// ExcludeRequester keeps a person whose own token asked from voting: so unless false.
	ExcludeRequester *bool `json:"excludeRequester,omitempty"`

	// Suggestions are "always allow" offers of the agent's own permission
	// system. One of them may come back in the answer as remember.
	Suggestions []json.RawMessage `json:"suggestions,omitempty"`

	Extra map[string]json.RawMessage `json:"-"`
}

// ToolCall is what will run when a person says yes.
type ToolCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	ID        string          `json:"id,omitempty"`
	Editable  bool            `json:"editable,omitempty"` // may be approved with changed arguments

	Extra map[string]json.RawMessage `json:"-"` // unknown members
}

// FormQuestion is one of several questions in one request.
type FormQuestion struct {
	ID         string   `json:"id"`
	Question   string   `json:"question"`
	Header     string   `json:"header,omitempty"`
	Options    []Option `json:"options,omitempty"` // none: a text is wanted
	Multiple   bool     `json:"multiple,omitempty"`
	AllowOther bool     `json:"allowOther,omitempty"` // a text of the person's own is welcome too

	Extra map[string]json.RawMessage `json:"-"` // unknown members
}

// Option is one label a person can pick.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`

	Extra map[string]json.RawMessage `json:"-"` // unknown members
}

// Context is what a person needs to see beside the question to decide it.
type Context struct {
	Why        string   `json:"why,omitempty"`
	Cwd        string   `json:"cwd,omitempty"`
	Branch     string   `json:"branch,omitempty"`
	Diff       string   `json:"diff,omitempty"`
	UserPrompt string   `json:"userPrompt,omitempty"`
	Links      []string `json:"links,omitempty"`

	Extra map[string]json.RawMessage `json:"-"` // unknown members
}

// Recipients says who may answer.
type Recipients struct {
	Mode    string   `json:"mode,omitempty" jsonschema:"enum=anyone,enum=owner,enum=owner_admins,enum=selected_members"`
	Members []string `json:"members,omitempty"`

	Extra map[string]json.RawMessage `json:"-"` // unknown members
}

// UnmarshalJSON accepts camelCase and snake_case names and keeps unknown members.
func (q *HumanInTheLoop) UnmarshalJSON(b []byte) error { return decodeObject(b, q, true) }

// UnmarshalJSON accepts camelCase and snake_case names and keeps unknown members.
func (c *ToolCall) UnmarshalJSON(b []byte) error { return decodeObject(b, c, true) }

// MarshalJSON writes camelCase names and the members of Extra.
func (c ToolCall) MarshalJSON() ([]byte, error) {
	type plain ToolCall
	return encodeObject(plain(c), c.Extra)
}

// UnmarshalJSON accepts camelCase and snake_case names and keeps unknown members.
func (s *FormQuestion) UnmarshalJSON(b []byte) error { return decodeObject(b, s, true) }

// MarshalJSON writes camelCase names and the members of Extra.
func (s FormQuestion) MarshalJSON() ([]byte, error) {
	type plain FormQuestion
	return encodeObject(plain(s), s.Extra)
}

// UnmarshalJSON accepts camelCase and snake_case names and keeps unknown members.
func (o *Option) UnmarshalJSON(b []byte) error { return decodeObject(b, o, true) }

// MarshalJSON writes camelCase names and the members of Extra.
func (o Option) MarshalJSON() ([]byte, error) {
	type plain Option
	return encodeObject(plain(o), o.Extra)
}

// UnmarshalJSON accepts camelCase and snake_case names and keeps unknown members.
func (c *Context) UnmarshalJSON(b []byte) error { return decodeObject(b, c, true) }

// MarshalJSON writes camelCase names and the members of Extra.
func (c Context) MarshalJSON() ([]byte, error) {
	type plain Context
	return encodeObject(plain(c), c.Extra)
}

// UnmarshalJSON accepts camelCase and snake_case names and keeps unknown members.
func (r *Recipients) UnmarshalJSON(b []byte) error { return decodeObject(b, r, true) }

// MarshalJSON writes camelCase names and the members of Extra.
func (r Recipients) MarshalJSON() ([]byte, error) {
	type plain Recipients
	return encodeObject(plain(r), r.Extra)
}

// MarshalJSON writes camelCase names and the members of Extra.
func (q HumanInTheLoop) MarshalJSON() ([]byte, error) {
	type plain HumanInTheLoop
	return encodeObject(plain(q), q.Extra)
}

// TimeoutDuration is how long a person has, or 0 for ever.
func (q *HumanInTheLoop) TimeoutDuration() time.Duration {
	if q.Timeout == nil {
		return DefaultTimeout
	}
	return time.Duration(*q.Timeout * float64(time.Second))
}

// Redacted is the question without its secrets, as lists and streams show it. A
// secret whose name the agent misspelled is one too.
func (q HumanInTheLoop) Redacted() HumanInTheLoop {
	q.ResponseWebSocketURL, q.ListenerKey = "", ""
	q.Extra = maps.Clone(q.Extra)
	maps.DeleteFunc(q.Extra, func(name string, _ json.RawMessage) bool {
		switch strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name)) {
		case "responsewebsocketurl", "listenerkey", "requestsecret":
			return true
		default:
			return false
		}
	})
	return q
}

// Acknowledges reports whether the listener speaks version 2.
func (q *HumanInTheLoop) Acknowledges() bool { return q.ProtocolVersion >= 2 }
