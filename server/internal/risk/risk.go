// Package risk assesses tool calls. Its findings warn an approver before a call runs, for example
// that it deletes files, sends data or can't be undone.
//
// It judges the reading of package call: a dangerous word inside a quoted string is no finding, and a
// command inside sh -c '…' is one. The package recognizes programs, not intentions: a call without
// findings is not proven safe. Only a call in the table of harmless ones is. It does no I/O, and its
// running time is linear in the length of the arguments.
package risk

import (
	"encoding/json"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/paths"
	"github.com/hookback/hookback/schema"
)

// Assessment is the result of assessing a tool call.
type Assessment struct {
	Class    schema.Class
	Risk     schema.Risk      // the highest risk of Findings; empty if there are none
	Findings []schema.Finding // most severe first, at most maxFindings
}

// Assess assesses a tool call. No findings means that no rule matched, not that the call is safe:
// only the class harmless means that. cwd is the directory that the call runs in, which is taken for
// the project; empty if unknown. Excerpts are copied from the arguments, so arguments must already
// be redacted.
func Assess(tool string, arguments json.RawMessage, cwd string) Assessment {
	return AssessCall(call.Read(call.Input{Tool: tool, Dir: cwd, Arguments: arguments}), cwd)
}

// AssessCall is Assess for a call that was read.
func AssessCall(c *call.Call, cwd string) Assessment {
	a := newAssessor(c, cwd)
	a.assessCall()
	findings := a.top()
	level := Highest("", findings)
	class := schema.ClassUnknown
	switch {
	case severity(level) >= severity(medium):
		class = schema.ClassRisky
	case isHarmless(c, paths.NewWorkingDir(cwd).CWD):
		class = schema.ClassHarmless
	}
	return Assessment{class, level, findings}
}

// Highest returns the higher of an agent's own estimate and the risks of the findings.
func Highest(own schema.Risk, findings []schema.Finding) schema.Risk {
	for _, f := range findings {
		if severity(f.Risk) > severity(own) {
			own = f.Risk
		}
	}
	return own
}
