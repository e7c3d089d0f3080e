// Package policy decides which tool calls need a person: by the rules of hookback.json, or by a
// policy in Go.
//
// Load reads the rules of the user and the project, Parse the rules of one file:
//
//	{"rules": [
//		{"tool": "refund", "when": {"amount": {"greater": 10000}}, "then": "ask", "risk": "high"},
//		{"tool": "mcp__*__delete*", "then": "deny", "reason": "Deletion is disabled here."}
//	]}
//
// "ask": {"owners": true, "quorum": 2} in a rule that asks leaves the call to two owners of its files.
//
// The first matching rule decides. Rules that ask or deny match broadly: they ignore case,
// and a call that they can't evaluate (text instead of a number, a duplicate argument)
// asks. Rules that allow match strictly, and never allow a command with shell operators.
//
// Use Tools, Above, Below, Always and Never in Go, combine them with Any and All, or write your own
// func(Call) bool as a Func.
package policy

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hookback/hookback/schema"
)

// Effect is the opinion of a policy about a call. The zero value is no opinion.
type Effect string

// Effects of a policy.
const (
	Allow Effect = "allow" // run the call, ask no one
	Ask   Effect = "ask"   // let a person decide
	Deny  Effect = "deny"  // do not run the call, ask no one
)

// Result is a policy's decision about one call. The zero value is no opinion.
type Result struct {
	Effect Effect `json:"then,omitempty"`
	// Later goes with Ask: the agent continues without the call, and may run it once a person has approved it. Only
	// the hooks of agents that take messages can do that; everyone else asks and waits.
	Later bool `json:"later,omitempty"`
	// Owners goes with Ask: the owners of the files decide, if some of them may answer. Quorum people have to agree; 0: one.
	Owners bool   `json:"owners,omitempty"`
	Quorum int    `json:"quorum,omitempty"`
	Risk   string `json:"risk,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Location is the rule's position as file:line. It is empty for policies in Go.
	Location string `json:"where,omitempty"`
}

// Call is a call that is about to run, the input of policies and tools.
type Call struct {
	ID    string // assigned by the agent; may be empty
	Agent string // such as claude-code; may be empty
	Name  string
	// Alias is the common name of the tool, such as Bash or Edit, if the agent uses
	// its own name.
	Alias string
	// Command is the command line of a shell call, whatever its argument is named.
	Command   string
	Arguments json.RawMessage
	// Dir is the working directory of the call; empty: unknown.
	Dir string
	// Consequence returns the effect of the call; nil, or a nil result: unknown. Rules about it then ask.
	Consequence func() *schema.Consequence
}

// Policy decides which calls need approval. It must be safe for concurrent use.
type Policy interface {
	Evaluate(call Call) Result
}

// Problem is one error or warning in a policy file.
type Problem struct {
	File         string
	Line, Column int // counted from 1, columns in characters; 0: the whole file
	Text         string
}

func (p Problem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Text)
}

// Error reports why a policy can't be used. It lists all problems in the order of
// the files. A hook that gets one asks a person about every call.
type Error struct {
	Problems []Problem // at least one
}

// Error returns one line per problem.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}
