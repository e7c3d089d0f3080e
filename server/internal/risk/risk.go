// Package risk says in plain words what a person should know of a tool call
// before saying yes to it: that it deletes, that it sends, that it can't be undone.
//
// It reads a command line the way a shell does, so that a dangerous word inside a
// quotation is no alarm and a command inside sh -c '…' is one. It knows programs,
// not intentions: a call without findings is not a safe one. It does no I/O, and
// takes time in proportion to the length of the arguments.
package risk

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/hookback/hookback/schema"
)

const (
	maxFindings = 16
	maxPerCode  = 4 // so that one kind does not push out the others
)

// Assess returns what stands out in a tool call, the worst first, at most 16: none is
// a good sign but no promise. cwd is the folder the call runs in, or empty when
// that is not known. Excerpts are parts of the arguments as they are given, so
// give those that may be shown.
func Assess(tool string, arguments json.RawMessage, cwd string) []schema.Finding {
	a := &assessor{workingDir: newWorkingDir(cwd), wordBudget: maxWords, byteBudget: 8*len(arguments) + 1<<10, pipeBudget: maxWords, assigned: map[string]bool{}}
	a.assessCall(tool, arguments)
	return a.top()
}

// Highest is the higher one of an agent's own estimate and of the findings.
func Highest(own schema.Risk, findings []schema.Finding) schema.Risk {
	for _, f := range findings {
		if severity(f.Risk) > severity(own) {
			own = f.Risk
		}
	}
	return own
}

func severity(r schema.Risk) int {
	return slices.Index([]schema.Risk{schema.LowRisk, schema.MediumRisk, schema.HighRisk, schema.CriticalRisk}, r)
}

// rule is what a finding says, wherever it is found.
type rule struct {
	code string
	risk schema.Risk
	text string
}

// Short names for tables.
const (
	low      = schema.LowRisk
	medium   = schema.MediumRisk
	high     = schema.HighRisk
	critical = schema.CriticalRisk
)

// assessor collects the findings of one call.
type assessor struct {
	workingDir
	wordBudget     int             // left to read
	byteBudget     int             // of scripts left to read: inner ones are read again
	pipeBudget     int             // back along pipes that are left
	callScope      *scope          // where its commands run, when the call says so
	invisibleRunes int             // characters that were noted because they can't be seen
	assigned       map[string]bool // variables that the script itself gave a value
	findings       []schema.Finding
}

// add notes a finding, once.
func (a *assessor) add(r rule, sp span) {
	f := schema.Finding{Code: r.code, Risk: r.risk, Text: r.text}
	if sp.src != nil {
		f.At, f.Excerpt = sp.excerpt()
	}
	if len(a.findings) < maxWords && !slices.Contains(a.findings[max(0, len(a.findings)-maxFindings):], f) {
		a.findings = append(a.findings, f)
	}
}

// top sorts the findings and keeps those that matter.
func (a *assessor) top() []schema.Finding {
	slices.SortStableFunc(a.findings, func(a, b schema.Finding) int { return cmp.Compare(severity(b.Risk), severity(a.Risk)) })
	var kept []schema.Finding
	count := map[string]int{}
	for _, f := range a.findings {
		if count[f.Code] == maxPerCode || slices.Contains(kept, f) {
			continue
		}
		count[f.Code]++
		if kept = append(kept, f); len(kept) == maxFindings {
			break
		}
	}
	return kept
}
