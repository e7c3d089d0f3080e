package agentclient

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hookback/hookback/schema"
)

// Effect is what a policy says of a call. The zero value is no opinion.
type Effect string

// What a policy can say.
const (
	ThenAllow Effect = "allow" // it runs, nobody is asked
	ThenAsk   Effect = "ask"   // a person decides
	ThenDeny  Effect = "deny"  // it doesn't run, nobody is asked
)

// PolicyResult is what a policy says of one call, and why. The zero value is no opinion.
type PolicyResult struct {
	Effect Effect      `json:"then,omitempty"`
	Risk   schema.Risk `json:"risk,omitempty"`
	Reason string      `json:"reason,omitempty"`
	// Where is the rule, as file:line; empty for rules that are Go.
	Where string `json:"where,omitempty"`
}

// ToolCall is a call that is about to run, as policies and tools see it.
type ToolCall struct {
	ID   string // the agent's; may be empty
	Name string
	// Alias is the tool's common name, such as Bash or Edit, where the agent has its
	// own for it.
	Alias string
	// Command is the command line of a shell call, whatever its argument is called.
	Command   string
	Arguments json.RawMessage
}

// Policy says which calls need a person. It is called from many goroutines.
type Policy interface {
	Rule(call ToolCall) PolicyResult
}

// PolicyProblem is one thing that is wrong with a policy's file, and what to do.
type PolicyProblem struct {
	File         string
	Line, Column int // from 1, columns in characters; 0: the file as a whole
	Text         string
}

func (p PolicyProblem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Text)
}

// PolicyError says why a policy can't be used: all that is wrong, in the order of
// the files. A hook that gets one asks a person about every call.
type PolicyError struct {
	Problems []PolicyProblem // at least one
}

// Error is one line for each problem.
func (e *PolicyError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}
