package schema

import "encoding/json"

// LedgerEntry is one act that decided something: a vote, an end, a rule, a sign-in, a
// change of people or settings. Entries are numbered without holes and each holds the
// hash of the one before it, so that none can be changed, taken out or put in between
// without every later hash being wrong.
type LedgerEntry struct {
	N    int64           `json:"n"`
	At   Millis          `json:"at"`           // the hub's clock
	Act  string          `json:"act"`          // such as question.voted, question.ended, rule.made, person.signed_in
	Who  string          `json:"who"`          // a person, an agent's token, a rule, or the hub
	Of   EventID         `json:"of,omitempty"` // the question
	Data json.RawMessage `json:"data,omitempty" jsonschema:"type=object"`
	Prev string          `json:"prev"` // Hash of entry N-1, hex; 64 zeros for the first
	// Hash is hex(SHA-256(the entry's JSON without hash, members in the order n, at, act,
	// who, of, data, prev, no white space, data as it stands)).
	Hash string `json:"hash"`
}

var decisionRoutes []Route
