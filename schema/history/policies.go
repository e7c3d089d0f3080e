package history

import "github.com/hookback/hookback/schema"

// The paths of the reads about policies.
const (
	PathPolicies  = "/api/policies"
	PathReplay    = "/api/policies/replay"
	PathAutomatic = "/api/automatic"
)

// Limits of the reads about policies.
const (
	MaxPolicyText     = 32 << 10 // bytes of a policy that is replayed
	MaxReplayExamples = 50
	MaxAutomatic      = 200 // answers on a page of GET /api/automatic
)

// PolicyOrigin is the authority of a policy file.
type PolicyOrigin string

// The origins of policies. Only the user's own file can allow.
const (
	OriginUser    PolicyOrigin = "user"
	OriginProject PolicyOrigin = "project"
)

// PolicyList is the result of GET /api/policies: the policy files that hooks reported as in force,
// user files before project files.
type PolicyList struct {
	Policies []ReportedPolicy `json:"policies"` // at most 100
	// Complete is false if there was more history than the hub reads for one request: then files can
	// be missing, and hits are too low.
	Complete bool `json:"complete"`
}

// ReportedPolicy is the newest report about a policy file on a host. The agent's machine reported it,
// so nothing in it is verified.
type ReportedPolicy struct {
	Origin PolicyOrigin `json:"origin" jsonschema:"enum=user,enum=project"`
	Path   string       `json:"path"`
	Cwd    string       `json:"cwd,omitempty"`    // the directory of the agent that reported it
	Host   string       `json:"host,omitempty"`   // the machine's name
	Person string       `json:"person,omitempty"` // who ran the agent, see Session
	Hash   string       `json:"hash"`             // SHA-256 of the file, in hexadecimal; empty: it can't be read

	ReportedAt schema.Millis  `json:"reportedAt"`
	Event      schema.EventID `json:"event"`    // the report
	Sessions   int64          `json:"sessions"` // of the last 30 days that reported the file in any version

	// Text is the file as reported, without secrets. It is absent if the file can't be read or is
	// larger than a report.
	Text     string          `json:"text,omitempty"`
	Problems []PolicyProblem `json:"problems"` // why the rules are not known; otherwise empty
	Rules    []PolicyRule    `json:"rules"`    // in the order of evaluation
}

// PolicyProblem is a mistake in a policy, or the reason why it can't be read.
type PolicyProblem struct {
	Line   int    `json:"line,omitempty"`   // from 1; absent: the whole file
	Column int    `json:"column,omitempty"` // from 1, in characters
	Text   string `json:"text"`
}

// PolicyRule is a rule of a policy file, and its effect on the calls of the last 30 days.
type PolicyRule struct {
	Index    int    `json:"index"` // from 0
	Then     string `json:"then" jsonschema:"enum=allow,enum=ask,enum=deny"`
	Sentence string `json:"sentence"`
	JSON     string `json:"json"` // the rule itself, for hookback policy add
	Hits     int64  `json:"hits"` // calls that the rule decides
	Opposed  int64  `json:"opposed"`
}

// ReplayDraft is the body of POST /api/policies/replay: either the text of a hookback.json, a further rule
// for it, or a rule of the hub.
type ReplayDraft struct {
	Policy string       `json:"policy,omitempty"`                                     // at most MaxPolicyText (32 KiB)
	Origin PolicyOrigin `json:"origin,omitempty" jsonschema:"enum=user,enum=project"` // default user
	// Add is a rule for hookback.json, as JSON: only it is compared, and Policy is the file that it is for.
	Add  string            `json:"add,omitempty"`
	Rule *schema.RuleDraft `json:"rule,omitempty"`
}

// Replay is the result of POST /api/policies/replay: the effect that a draft would have had. A policy
// is compared with tool calls, a rule of the hub with permissions that were requested.
type Replay struct {
	Days      int   `json:"days"`
	Looked    int64 `json:"looked"` // calls or permissions that were compared
	Allowed   int64 `json:"allowed"`
	Denied    int64 `json:"denied"`
	Asked     int64 `json:"asked"`
	Unmatched int64 `json:"unmatched"` // left to the agent, or for a rule to people
	// Opposed counts the calls that the draft would allow and a person denied, or the reverse.
	Opposed int64 `json:"opposed"`
	// Complete is false if the hub did not compare all calls of these days.
	Complete bool            `json:"complete"`
	Problems []PolicyProblem `json:"problems"` // probable mistakes
	Examples []ReplayExample `json:"examples"` // at most 50; opposed first, then the newest

	Sentence string `json:"sentence,omitempty"` // the rule of ReplayDraft.Add
	// Policy is the text of the file with this rule, as hookback policy add writes it. Absent: the text has no list of rules.
	Policy string `json:"policy,omitempty"`
}

// ReplayExample is a call that a draft decides.
type ReplayExample struct {
	Event     schema.EventID `json:"event"`
	SourceApp string         `json:"source_app"`
	Tool      string         `json:"tool"`
	Title     string         `json:"title"` // what the call does
	Effect    string         `json:"effect" jsonschema:"enum=allow,enum=deny,enum=ask"`
	Rule      int            `json:"rule"` // index of the rule, from 0
	Sentence  string         `json:"sentence"`
	Decided   CallDecider    `json:"decided" jsonschema:"enum=person,enum=rule,enum=policy,enum=grant,enum=agent"` // at the time
	Outcome   CallOutcome    `json:"outcome" jsonschema:"enum=open,enum=ran,enum=failed,enum=refused"`
	Opposed   bool           `json:"opposed,omitempty"`
	At        schema.Millis  `json:"at"`
}

// AutomaticPage is a page of GET /api/automatic: the answers that rules of the hub gave, newest
// first.
type AutomaticPage struct {
	Answers []AutomaticAnswer `json:"answers"`
	Next    schema.EventID    `json:"next,omitempty"` // before of the next page; absent: the last one
}

// AutomaticAnswer is an answer that a rule of the hub gave.
type AutomaticAnswer struct {
	Event     schema.EventID `json:"event"`
	SourceApp string         `json:"source_app"`
	SessionID string         `json:"session_id"`
	Tool      string         `json:"tool"`
	Title     string         `json:"title"` // what the call does
	Risk      schema.Risk    `json:"risk,omitempty"`
	Rule      schema.RuleRef `json:"rule"`
	Author    string         `json:"author,omitempty"` // who created the rule
	Active    bool           `json:"active,omitempty"` // the rule still answers, so it can be revoked
	Then      string         `json:"then" jsonschema:"enum=allow,enum=deny"`
	At        schema.Millis  `json:"at"`
}
