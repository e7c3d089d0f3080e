package agentclient

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
	EffectAllow Effect = "allow" // run the call, ask no one
	EffectAsk   Effect = "ask"   // let a person decide
	EffectDeny  Effect = "deny"  // do not run the call, ask no one
)

// PolicyResult is a policy's decision about one call. The zero value is no opinion.
type PolicyResult struct {
	Effect Effect      `json:"then,omitempty"`
	Risk   schema.Risk `json:"risk,omitempty"`
	Reason string      `json:"reason,omitempty"`
	// Location is the rule's position as file:line. It is empty for policies in Go.
	Location string `json:"where,omitempty"`
}

// ToolCall is a call that is about to run, the input of policies and tools.
type ToolCall struct {
	ID   string // assigned by the agent; may be empty
	Name string
	// Alias is the common name of the tool, such as Bash or Edit, if the agent uses
	// a name of its own.
	Alias string
	// Command is the command line of a shell call, whatever its argument is named.
	Command   string
	Arguments json.RawMessage
}

// Policy decides which calls need approval. It must be safe for concurrent use.
type Policy interface {
	Evaluate(call ToolCall) PolicyResult
}

// PolicyProblem is one error or warning in a policy file.
type PolicyProblem struct {
	File         string
	Line, Column int // counted from 1, columns in characters; 0: the whole file
	Text         string
}

func (p PolicyProblem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Text)
}

// PolicyError reports why a policy can't be used. It lists all problems in the order of
// the files. A hook that gets one asks a person about every call.
type PolicyError struct {
	Problems []PolicyProblem // at least one
}

// Error returns one line per problem.
func (e *PolicyError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}
