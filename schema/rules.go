package schema

import (
	"encoding/json"
	"time"
)

// Rule is a stored decision of a person that answers matching questions. Each answer it gives is an
// ordinary event that names the rule.
type Rule struct {
	ID   int64  `json:"id"`
	Then string `json:"then" jsonschema:"enum=allow,enum=deny"`
	Text string `json:"text"` // the whole rule as a plain sentence, written by the hub

	// Scope is session for an allowance: the rule answers the harmless and the unknown calls of its
	// session, of every tool. Tool is empty then. Other rules have none.
	Scope string `json:"scope,omitempty" jsonschema:"enum=session"`
	// Scope of the rule: with Call, exactly this call of the tool; otherwise every call of Tool
	// whose arguments meet all conditions of When.
	Tool string      `json:"tool"`
	Call string      `json:"call,omitempty"` // hash of tool and arguments, and of the directory unless the scope is arguments
	When []Condition `json:"when,omitempty"`
	// Command is the command that an allow rule was created from, as words. A command that is not
	// known to be harmless may only have options that are in it or in When.
	Command []string `json:"command,omitempty"`
	// Reach of the rule: an absent member does not restrict it.
	SourceApp string `json:"source_app,omitempty"`
	SessionID string `json:"session_id,omitempty"`
	Cwd       string `json:"cwd,omitempty"` // the project: this directory and everything below it

	Reason string  `json:"reason,omitempty"` // sent to the agent with the answer
	From   EventID `json:"from,omitempty"`   // the question it was created from

	CreatedAt Millis `json:"createdAt"`
	CreatedBy string `json:"createdBy"`
	ExpiresAt Millis `json:"expiresAt,omitempty"` // absent: valid until revoked
	RevokedAt Millis `json:"revokedAt,omitempty"`
	RevokedBy string `json:"revokedBy,omitempty"`
	Uses      int64  `json:"uses"`
	LastUseAt Millis `json:"lastUseAt,omitempty"`
}

// Condition is a test of one argument of a tool call. A command (the argument of a shell tool) can
// only match if it is a single simple command.
type Condition struct {
	Argument string          `json:"argument"` // name of the argument; dotted for a nested one
	Is       string          `json:"is" jsonschema:"enum=equals,enum=starts_with,enum=contains,enum=glob,enum=at_most,enum=at_least,enum=under"`
	Value    json.RawMessage `json:"value"` // a string, number or boolean
}

// The scopes of a RuleDraft, narrowest first.
const (
	ScopeCall      = "call"      // exactly this call: tool, arguments and directory
	ScopeArguments = "arguments" // this tool with exactly these arguments, in any directory
	ScopeWhen      = "when"      // calls of this tool that meet every condition of When
	ScopeTool      = "tool"      // every call of this tool
	ScopeSession   = "session"   // an allowance: harmless calls of the session, for AllowanceTTL
)

// The reaches of a RuleDraft, narrowest first.
const (
	ReachSession    = "session"    // until the session ends
	ReachProject    = "project"    // the application in this directory and below
	ReachAgent      = "agent"      // the application
	ReachEverywhere = "everywhere" // every application
)

// The decisions of a rule.
const (
	ThenAllow = "allow"
	ThenDeny  = "deny"
)

// DefaultRuleTTL is the default lifetime of a rule. AllowanceTTL is the lifetime of an allowance.
const (
	DefaultRuleTTL = 8 * time.Hour
	AllowanceTTL   = 15 * time.Minute
)

// MaxConditions is the maximum number of conditions of a rule.
const MaxConditions = 20

// RuleDraft is the body of POST /api/rules and POST /api/rules/preview: a rule that a person
// creates from a stored question, whose call it takes over, or from scratch. The question itself is
// not answered unless ApplyNow is set.
type RuleDraft struct {
	From EventID `json:"from,omitempty"` // absent: from scratch, with the scope when or tool
	// The calls of a rule from scratch: Tool and, according to the reach, the application, the session
	// and the absolute path of the project.
	Tool      string `json:"tool,omitempty"`
	SourceApp string `json:"source_app,omitempty"`
	SessionID string `json:"session_id,omitempty"`
	Cwd       string `json:"cwd,omitempty"`

	Then  string      `json:"then" jsonschema:"enum=allow,enum=deny"`
	Scope string      `json:"scope" jsonschema:"enum=call,enum=arguments,enum=when,enum=tool,enum=session"`
	When  []Condition `json:"when,omitempty"` // 1 to MaxConditions (20); only for the scope when
	Reach string      `json:"reach" jsonschema:"enum=session,enum=project,enum=agent,enum=everywhere"`
	// TTLSeconds is the lifetime of the rule. If absent, it is DefaultRuleTTL (8 hours); 0 means
	// until revoked. A rule with the reach session ends with the session at the latest. With the
	// scope session it is always AllowanceTTL (15 minutes).
	TTLSeconds *int64 `json:"ttlSeconds,omitempty"`
	Reason     string `json:"reason,omitempty"` // sent to the agent
	// ApplyNow also applies the rule to matching pending questions. Otherwise it answers only later
	// questions.
	ApplyNow bool `json:"applyNow,omitempty"`
}

// RuleRef names the rule that answered.
type RuleRef struct {
	ID   int64  `json:"id"`
	Text string `json:"text"`
}

// RulePreview describes a rule before it is created: its sentence, and how it would have answered
// the questions that people decided.
type RulePreview struct {
	Rule    Rule   `json:"rule"`
	Refused string `json:"refused,omitempty"` // why the rule can't be created
	// Exact is present if a rule that allows must name this call exactly: with the scope call, or for
	// command with a condition that equals the whole command.
	Exact string `json:"exact,omitempty" jsonschema:"enum=call,enum=command"`

	Looked    int64   `json:"looked"`    // number of stored questions compared, newest first
	Matched   int64   `json:"matched"`   // questions it would have answered
	Agreed    int64   `json:"agreed"`    // same decision as the person
	Opposed   int64   `json:"opposed"`   // opposite decision; see Examples
	Undecided int64   `json:"undecided"` // questions without an answer
	Examples  []Event `json:"examples"`  // matched questions, opposed ones first, at most 5
}

// The values of RulePreview.Exact.
const (
	ExactCall    = "call"
	ExactCommand = "command"
)

// The paths of rules.
const (
	PathRules       = "/api/rules"
	PathRulePreview = "/api/rules/preview"
	PathRule        = "/api/rules/:id"
)
