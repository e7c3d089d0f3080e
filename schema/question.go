package schema

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"strings"
	"time"

	"github.com/hookback/hookback/schema/internal/object"
)

// Kind is the kind of answer that a question takes.
type Kind string

// The kinds of protocol version 1.
const (
	Permission Kind = "permission" // approve or deny
	FreeText   Kind = "question"   // free text
	Choice     Kind = "choice"     // one of the offered labels
)

// Limits of a question. A hub rejects a question that exceeds them.
const (
	MaxQuestionBytes = 64 << 10
	DefaultTimeout   = 300 * time.Second
	MaxTimeout       = 30 * 24 * time.Hour
	MinReminder      = 30 * time.Second
	MaxReminders     = 20
	MaxQuestions     = 20
	MaxChoices       = 100
)

// The values of onTimeout: the agent's action if no one answers in time.
const (
	EmitTimeout = "emit_timeout" // continues with the outcome __timeout__; the default
	FailRun     = "fail_run"     // ends the run with an error
)

// Risk is the risk level of a request.
type Risk string

// The risk levels, in ascending order.
const (
	LowRisk      Risk = "low"
	MediumRisk   Risk = "medium"
	HighRisk     Risk = "high"
	CriticalRisk Risk = "critical"
)

// Class is the hub's classification of a tool call.
type Class string

// The classes.
const (
	ClassHarmless Class = "harmless" // the hub knows that it changes nothing
	ClassRisky    Class = "risky"    // it has a finding of medium risk or more
	ClassUnknown  Class = "unknown"  // neither
)

// HumanInTheLoop is a question to a person, carried by an event.
//
// Its members are camelCase. The snake_case names are accepted too.
type HumanInTheLoop struct {
	Question string `json:"question"`
	Type     Kind   `json:"type"`
	// Choices are labels; the form __…__ is reserved. A version 1 choice without them becomes a question with a text.
	Choices []string `json:"choices,omitempty"`
	// AllowOther lets a person answer a choice with a text, as Response.Response.
	AllowOther bool `json:"allowOther,omitempty"`

	// ResponseWebSocketURL is the listener that the hub calls back with the answer. Without it the
	// agent polls. It is a secret: the hub returns it only to the sender.
	ResponseWebSocketURL string `json:"responseWebSocketUrl,omitempty"`

	// Timeout is in seconds. If absent, it is DefaultTimeout (300 s); 0 means no deadline.
	Timeout          *float64 `json:"timeout,omitempty"`
	RequiresResponse *bool    `json:"requiresResponse,omitempty"` // false: for information only, without reminders

	// Version 2.

	// ProtocolVersion 2 announces a listener that acknowledges answers.
	ProtocolVersion int `json:"protocolVersion,omitempty"`
	// ListenerKey lets the listener prove its identity before the hub sends it anything (see
	// ListenerProof). It is a secret like the address.
	ListenerKey string `json:"listenerKey,omitempty"`

	// Nonce is chosen by the client, 32 random bytes in base64url or hex: 32 to 128 printable ASCII
	// characters. It makes AskDigest unique, and opts a version 2 question in to signed answers (see
	// Answer.Seal). The hub never returns it.
	Nonce string `json:"nonce,omitempty"`
	// RequestSecret is chosen by the client like Nonce. With it the agent withdraws the question and
	// fetches its answer. The hub stores its hash and never returns it. If absent, the hub makes one
	// and returns it with the first response to the POST.
	RequestSecret string `json:"requestSecret,omitempty"`

	// Lifeline makes the hub watch the listener's liveness. If the version 2 listener disconnects,
	// the hub resolves the question as cancelled, source orphaned, because its agent can't come
	// back.
	Lifeline bool `json:"lifeline,omitempty"`

	// AlsoAsked is set if the agent's own prompt is open at the same time. Its user can answer
	// there, and the first answer wins.
	AlsoAsked bool `json:"alsoAsked,omitempty"`
	// PromptAfter is the time in seconds after which the agent's own prompt opens, if no one has
	// answered by then.
	PromptAfter float64 `json:"promptAfter,omitempty"`

	// Interruptible is set if the agent can end its turn with a denial (see Response.Interrupt).
	Interruptible bool `json:"interruptible,omitempty"`

	// Appeal is set if the agent's own reviewer refused the call. An approval lets exactly this
	// call run once.
	Appeal *Appeal `json:"appeal,omitempty"`

	ToolCall  *ToolCall      `json:"toolCall,omitempty"`
	Questions []FormQuestion `json:"questions,omitempty"`
	Context   *Context       `json:"context,omitempty"`
	Risk      Risk           `json:"risk,omitempty"`
	AgentPath []string       `json:"agentPath,omitempty"` // from the root agent to the requester

	RequiredApprovals       int         `json:"requiredApprovals,omitempty"`
	Recipients              *Recipients `json:"recipients,omitempty"`
	ReminderIntervalSeconds float64     `json:"reminderIntervalSeconds,omitempty"`
	ReminderMaxCount        int         `json:"reminderMaxCount,omitempty"`
	OnTimeout               string      `json:"onTimeout,omitempty" jsonschema:"enum=emit_timeout,enum=fail_run"`
	ReasonRequired          string      `json:"reasonRequired,omitempty" jsonschema:"enum=never,enum=deny,enum=always"`

	// EscalateAfterSeconds is the time after creation at which a pending question is also addressed
	// to EscalateTo. The quorum does not change.
	EscalateAfterSeconds float64     `json:"escalateAfterSeconds,omitempty"`
	EscalateTo           *Recipients `json:"escalateTo,omitempty"`
	// ExcludeRequester excludes the person whose token sent the question from voting. The default
	// is true.
	ExcludeRequester *bool `json:"excludeRequester,omitempty"`

	// Suggestions are "always allow" options of the agent's own permission system. An answer can
	// return one of them as remember.
	Suggestions []json.RawMessage `json:"suggestions,omitempty"`

	Extra map[string]json.RawMessage `json:"-"`
}

// Appeal is the refusal of a call by the agent's own reviewer. Both texts are the agent's.
type Appeal struct {
	By     string `json:"by"` // such as Claude Code auto mode
	Reason string `json:"reason,omitempty"`
	// Later is set if the policy leaves the call to a person and the agent continues without it. By is
	// then the policy. An approval lets the call run once in the next hour, and a message tells the agent.
	Later bool `json:"later,omitempty"`
}

// ToolCall is the call that runs if a person approves it.
type ToolCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// ArgumentsRef is a JSON Pointer to the arguments in the event's payload, such as /tool_input,
	// for arguments that would not fit into a request twice. It excludes Arguments and Editable.
	// The hub checks that it resolves; readers resolve it as well. Name can then be absent: it is the event's tool_name. Hubs that
	// do not support ArgumentsRef reject such a question.
	ArgumentsRef string `json:"argumentsRef,omitempty"`
	ID           string `json:"id,omitempty"`
	Editable     bool   `json:"editable,omitempty"` // can be approved with changed arguments
	// Consequence is the effect that the call will have. People see it with the call, and the receipt
	// of their decision proves it. It is the requester's word.
	Consequence *Consequence `json:"consequence,omitempty"`

	Extra map[string]json.RawMessage `json:"-"` // unknown members
}

// FormQuestion is one of several questions in a request.
type FormQuestion struct {
	ID         string   `json:"id"`
	Question   string   `json:"question"`
	Header     string   `json:"header,omitempty"`
	Options    []Option `json:"options,omitempty"` // empty: takes a text
	Multiple   bool     `json:"multiple,omitempty"`
	AllowOther bool     `json:"allowOther,omitempty"` // also accepts a text that is not among the options

	Extra map[string]json.RawMessage `json:"-"` // unknown members
}

// Option is a label that a person can pick.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`

	Extra map[string]json.RawMessage `json:"-"` // unknown members
}

// Context is background information that helps a person to decide a question.
type Context struct {
	Why         string   `json:"why,omitempty"`
	Cwd         string   `json:"cwd,omitempty"`
	Project     string   `json:"project,omitempty"` // cwd in the main working tree, if it is in a linked git worktree
	Branch      string   `json:"branch,omitempty"`
	Commit      string   `json:"commit,omitempty"` // Git commit that the call works on, 40 or 64 hex digits; people see it whole
	Diff        string   `json:"diff,omitempty"`
	UserPrompt  string   `json:"userPrompt,omitempty"`
	LastMessage string   `json:"lastMessage,omitempty"` // of the agent's model, before the question
	Links       []string `json:"links,omitempty"`
	// Owners are the owners of the files that the call changes. They are a claim of the requester's machine: they can
	// only lessen who may answer (see Recipients.Owners).
	Owners *FileOwners `json:"owners,omitempty"`

	Extra map[string]json.RawMessage `json:"-"` // unknown members
}

// FileOwners are the owners of the files of a call, from a CODEOWNERS file.
type FileOwners struct {
	Files   []OwnedFiles `json:"files,omitempty"`   // grouped by equal owners, at most 50 groups
	From    string       `json:"from,omitempty"`    // such as .github/CODEOWNERS of origin/main
	Problem string       `json:"problem,omitempty"` // why there are no files, as a sentence
}

// OwnedFiles are files with the same owners.
type OwnedFiles struct {
	Paths  []string `json:"paths"`  // in the repository; at most 5 of them are listed
	Owners []string `json:"owners"` // @user, @org/team or mail address; at most 50
}

// Recipients selects the people who may answer.
type Recipients struct {
	Mode    string   `json:"mode,omitempty" jsonschema:"enum=anyone,enum=owner,enum=owner_admins,enum=selected_members"`
	Members []string `json:"members,omitempty"`
	// Owners leaves the question to the owners of its files (Context.Owners) among these people. If none of them may
	// answer, or fewer than have to agree, all of these people are asked, and Status.Owners has the reason.
	Owners bool `json:"owners,omitempty"`

	Extra map[string]json.RawMessage `json:"-"` // unknown members
}

// UnmarshalJSON accepts camelCase and snake_case names and keeps unknown members in Extra.
func (q *HumanInTheLoop) UnmarshalJSON(b []byte) error { return object.Decode(b, q, true) }

// UnmarshalJSON accepts camelCase and snake_case names and keeps unknown members in Extra.
func (c *ToolCall) UnmarshalJSON(b []byte) error { return object.Decode(b, c, true) }

// MarshalJSON encodes camelCase names and the members of Extra.
func (c ToolCall) MarshalJSON() ([]byte, error) {
	type plain ToolCall
	return object.Encode(plain(c), c.Extra)
}

// UnmarshalJSON accepts camelCase and snake_case names and keeps unknown members in Extra.
func (s *FormQuestion) UnmarshalJSON(b []byte) error { return object.Decode(b, s, true) }

// MarshalJSON encodes camelCase names and the members of Extra.
func (s FormQuestion) MarshalJSON() ([]byte, error) {
	type plain FormQuestion
	return object.Encode(plain(s), s.Extra)
}

// UnmarshalJSON accepts camelCase and snake_case names and keeps unknown members in Extra.
func (o *Option) UnmarshalJSON(b []byte) error { return object.Decode(b, o, true) }

// MarshalJSON encodes camelCase names and the members of Extra.
func (o Option) MarshalJSON() ([]byte, error) {
	type plain Option
	return object.Encode(plain(o), o.Extra)
}

// UnmarshalJSON accepts camelCase and snake_case names and keeps unknown members in Extra.
func (c *Context) UnmarshalJSON(b []byte) error { return object.Decode(b, c, true) }

// MarshalJSON encodes camelCase names and the members of Extra.
func (c Context) MarshalJSON() ([]byte, error) {
	type plain Context
	return object.Encode(plain(c), c.Extra)
}

// UnmarshalJSON accepts camelCase and snake_case names and keeps unknown members in Extra.
func (r *Recipients) UnmarshalJSON(b []byte) error { return object.Decode(b, r, true) }

// MarshalJSON encodes camelCase names and the members of Extra.
func (r Recipients) MarshalJSON() ([]byte, error) {
	type plain Recipients
	return object.Encode(plain(r), r.Extra)
}

// MarshalJSON encodes camelCase names and the members of Extra.
func (q HumanInTheLoop) MarshalJSON() ([]byte, error) {
	type plain HumanInTheLoop
	return object.Encode(plain(q), q.Extra)
}

// TimeoutDuration returns the time that people have to answer, or 0 if there is no deadline.
func (q *HumanInTheLoop) TimeoutDuration() time.Duration {
	if q.Timeout == nil {
		return DefaultTimeout
	}
	return time.Duration(*q.Timeout * float64(time.Second))
}

// Redacted returns the question without its secrets, for lists and streams. It also removes unknown
// members that are misspelled names of secrets.
func (q HumanInTheLoop) Redacted() HumanInTheLoop {
	q.ResponseWebSocketURL, q.ListenerKey, q.RequestSecret, q.Nonce = "", "", "", ""
	q.Extra = maps.Clone(q.Extra)
	maps.DeleteFunc(q.Extra, func(name string, _ json.RawMessage) bool { return IsSecretMember(name) })
	return q
}

// DefaultKind returns the kind of a question that names none.
func (q *HumanInTheLoop) DefaultKind() Kind {
	switch {
	case len(q.Choices) > 0:
		return Choice
	case len(q.Questions) > 0:
		return FreeText
	default:
		return Permission
	}
}

// Acknowledges reports whether the listener supports protocol version 2.
func (q *HumanInTheLoop) Acknowledges() bool { return q.ProtocolVersion >= 2 }

// IsSecretMember reports whether a member of humanInTheLoop with this name, in any spelling, is a
// secret between the agent and the hub.
func IsSecretMember(name string) bool {
	switch strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name)) {
	case "responsewebsocketurl", "listenerkey", "requestsecret":
		return true
	default:
		return false
	}
}

// NonceOf returns the nonce of a question whose agent derives it from its request secret, so that a
// restarted agent which still has the secret asks the same question: base64url of SHA-256("hookback
// nonce 1\n" secret).
func NonceOf(requestSecret string) string {
	sum := sha256.Sum256([]byte("hookback nonce 1\n" + requestSecret))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// RequestSecretHash returns the form in which a hub stores a request secret.
func RequestSecretHash(secret string) []byte {
	sum := sha256.Sum256([]byte("hookback secret 1\n" + secret))
	return sum[:]
}
