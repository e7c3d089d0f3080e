package schema

import "encoding/json"

// Rule answers questions in the place of a person who said so once, in so many words.
// Every answer it gives is an event like any other, with its name on it.
type Rule struct {
	ID   int64  `json:"id"`
	Then string `json:"then" jsonschema:"enum=allow,enum=deny"`
	Text string `json:"text"` // the whole rule in plain words, made by the hub

	// What it covers: with Call, exactly this call of this tool (its arguments too);
	// else the Tool whose arguments meet every condition of When.
	Tool string      `json:"tool"`
	Call string      `json:"call,omitempty"` // hash of tool, arguments and directory
	When []Condition `json:"when,omitempty"`
	// Where: the narrower ones are absent when the rule reaches further.
	SourceApp string `json:"source_app,omitempty"`
	SessionID string `json:"session_id,omitempty"`
	Cwd       string `json:"cwd,omitempty"` // the project: this directory and all below

	Reason string  `json:"reason,omitempty"` // given to the agent with a denial
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

var ruleRoutes []Route
