package risk

import (
	"cmp"
	"slices"
	"sync"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/paths"
	"github.com/hookback/hookback/schema"
)

const (
	maxFindings = 16
	maxPerCode  = 4 // keeps one kind from displacing the others
	// maxKept bounds the findings before the most severe ones are chosen.
	maxKept = 1 << 14
)

// rule is the template of a finding.
type rule struct {
	code string
	risk schema.Risk
	text string
}

// Short names for the rule tables.
const (
	low      = schema.LowRisk
	medium   = schema.MediumRisk
	high     = schema.HighRisk
	critical = schema.CriticalRisk
)

// assessor collects the findings about one call.
type assessor struct {
	paths.WorkingDir
	call           *call.Call
	strings        map[string]string // of the arguments, by JSON pointer
	files          map[int][]int     // in the words of commands, by the index of the command
	flow           []flow            // what the commands write to, by index
	pipeBudget     int               // steps that may still be followed back along pipes
	invisibleRunes int               // number of invisible characters reported so far
	assigned       map[string]bool   // variables that the script assigns
	toolReads      bool              // the tool only reads, judging by its name
	downloaded     map[string]bool   // files that the script downloaded
	substitutesHub func() []call.Span
	// repositoryFolders has the last folder objects or refs that the call creates, by directory.
	repositoryFolders map[string]string
	findings          []schema.Finding
}

func newAssessor(c *call.Call, cwd string) *assessor {
	a := &assessor{
		WorkingDir: paths.NewWorkingDir(cwd), call: c, strings: map[string]string{}, pipeBudget: maxKept,
		assigned: map[string]bool{},
	}
	a.substitutesHub = sync.OnceValue(a.findSubstitutesOfHub)
	if a.CWD == "" && len(c.Commands) > 0 {
		a.WorkingDir = paths.NewWorkingDir(c.Commands[0].Dir) // that the call names for its command
	}
	return a
}

// add adds a finding unless it repeats a recent one. The place is empty for the call as a whole.
func (a *assessor) add(r rule, sp call.Span) {
	f := schema.Finding{Code: r.code, Risk: r.risk, Text: r.text}
	if sp.Pointer != call.LongPointer {
		f.At, f.Excerpt = sp.Pointer, truncate(a.text(sp))
	}
	if len(a.findings) < maxKept && !slices.Contains(a.findings[max(0, len(a.findings)-maxFindings):], f) {
		a.findings = append(a.findings, f)
	}
}

// top returns the most severe findings, at most maxFindings in total and maxPerCode per code.
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

// flow is what reads the output of a command.
type flow struct {
	reader int  // index of the command that reads it; 0: none, as the first one reads from no pipe
	isSent bool // it reaches a program that sends data to the network
}

func severity(r schema.Risk) int {
	return slices.Index([]schema.Risk{schema.LowRisk, schema.MediumRisk, schema.HighRisk, schema.CriticalRisk}, r)
}
