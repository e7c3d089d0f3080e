package schema

import (
	"encoding/json"
	"time"
)

// Rule answers questions in the place of a person who said so once, in so many words.
// Every answer it gives is an event like any other, with its name on it.
type Rule struct {
	ID   int64  `json:"id"`
	Then string `json:"then" jsonschema:"enum=allow,enum=deny"`
	Text string `json:"text"` // the whole rule in plain words, made by the hub

	// What it covers: with Call, exactly this call of this tool (its arguments too);
	// else the Tool whose arguments meet every condition of When.
	Tool string      `json:"tool"`
	Call string      `json:"call,omitempty"` // hash of tool and arguments, and of the directory unless any will do
	When []Condition `json:"when,omitempty"`
	// Where: the narrower ones are absent when the rule reaches further.
	SourceApp string `json:"source_app,omitempty"`
	SessionID string `json:"session_id,omitempty"`
	Cwd       string `json:"cwd,omitempty"` // the project: this directory and all below

	Reason string  `json:"reason,omitempty"` // given to the agent with its answer
	From   EventID `json:"from,omitempty"`   // the question it was made at

	CreatedAt Millis `json:"createdAt"`
	CreatedBy string `json:"createdBy"`
	ExpiresAt Millis `json:"expiresAt,omitempty"` // absent: until it is revoked
	RevokedAt Millis `json:"revokedAt,omitempty"`
	RevokedBy string `json:"revokedBy,omitempty"`
	Uses      int64  `json:"uses"`
	LastUseAt Millis `json:"lastUseAt,omitempty"`
}

// Condition is one thing that must hold for an argument of a tool call. A command
// (the argument of a shell tool) only meets one when it is a single simple command.
type Condition struct {
	Argument string          `json:"argument"` // its name; dotted for one inside another
	Is       string          `json:"is" jsonschema:"enum=equals,enum=starts_with,enum=contains,enum=glob,enum=at_most,enum=at_least,enum=under"`
	Value    json.RawMessage `json:"value"` // a string, a number, true or false
}

// The scopes of a RuleDraft, the narrowest first.
const (
	ScopeCall      = "call"      // exactly this call: the tool, its arguments, the directory
	ScopeArguments = "arguments" // this tool with exactly these arguments, in any directory
	ScopeWhen      = "when"      // this tool where every condition of When holds
	ScopeTool      = "tool"      // every call of this tool
)

// The reaches of a RuleDraft, the narrowest first.
const (
	ReachSession    = "session"    // until the session ends
	ReachProject    = "project"    // the application in this directory and all below
	ReachAgent      = "agent"      // the application
	ReachEverywhere = "everywhere" // every application
)

// What a rule says.
const (
	ThenAllow = "allow"
	ThenDeny  = "deny"
)

// DefaultRuleTTL is how long a rule holds unless told otherwise.
const DefaultRuleTTL = 8 * time.Hour

// MaxConditions is how many conditions a rule may have.
const MaxConditions = 20

// RuleDraft is the body of POST /api/rules, and of /api/rules/preview: a rule as a
// person makes it at a question that is stored. What it covers is taken from there.
// Answering that question is something else, unless ApplyNow.
type RuleDraft struct {
	From  EventID     `json:"from"`
	Then  string      `json:"then" jsonschema:"enum=allow,enum=deny"`
	Scope string      `json:"scope" jsonschema:"enum=call,enum=arguments,enum=when,enum=tool"`
	When  []Condition `json:"when,omitempty"` // with the scope when: 1 to MaxConditions
	Reach string      `json:"reach" jsonschema:"enum=session,enum=project,enum=agent,enum=everywhere"`
	// TTLSeconds is how long it holds: absent, DefaultRuleTTL; 0, until it is revoked.
	// One that reaches no further than a session ends with the session at the latest.
	TTLSeconds *int64 `json:"ttlSeconds,omitempty"`
	Reason     string `json:"reason,omitempty"` // given to the agent
	// ApplyNow has it answer what is pending and covered by it, too: otherwise it
	// answers only what is asked from now on.
	ApplyNow bool `json:"applyNow,omitempty"`
}

// RuleRef names the rule that answered.
type RuleRef struct {
	ID   int64  `json:"id"`
	Text string `json:"text"`
}

// RulePreview says what a rule would do before it is made: the words it would be shown
// with, and how it would have answered what people decided.
type RulePreview struct {
	Rule    Rule   `json:"rule"`
	Refused string `json:"refused,omitempty"` // why it can't be made

	Looked    int64   `json:"looked"`    // questions it was held against, the newest first
	Matched   int64   `json:"matched"`   // it would have answered
	Agreed    int64   `json:"agreed"`    // as the person did
	Opposed   int64   `json:"opposed"`   // the other way round: look at Examples
	Undecided int64   `json:"undecided"` // nobody had answered
	Examples  []Event `json:"examples"`  // of those it would have answered, opposed ones first, at most 5
}

// The paths of rules.
const (
	PathRules       = "/api/rules"
	PathRulePreview = "/api/rules/preview"
	PathRule        = "/api/rules/:id"
)

var ruleRoutes = []Route{
	{"GET", PathRules, "Rules with how often each was used, the newest first: those that hold, and the newest of those that are over, at most 1000", nil, nil, []Rule{}},
	{"POST", PathRules, "Make a rule that answers permissions in the place of the person who makes it", nil, RuleDraft{}, Rule{}},
	{"POST", PathRulePreview, "What a rule would do, in words and held against the newest stored permissions, without making it", nil, RuleDraft{}, RulePreview{}},
	{"DELETE", PathRule, "Revoke a rule; it stays in the list", nil, nil, Rule{}},
}
