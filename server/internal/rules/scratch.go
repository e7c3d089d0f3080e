package rules

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"path"
	"regexp"
	"strings"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/paths"
	"github.com/hookback/hookback/agentclient/call/programs"
	"github.com/hookback/hookback/schema"
)

// A rule from scratch has no call that a person has seen. Samples represent the calls that it may cover:
// if a sample is refused, so is the rule. The rule itself checks every call again.

// Samples returns a call for each condition of a draft from scratch, at least one. Their risk is not
// known yet. The draft need not be valid: a caller that stops at the first refused sample does little
// for a draft with many conditions.
func Samples(d *schema.RuleDraft) iter.Seq[*Call] {
	return func(yield func(*Call) bool) {
		values := make([]any, len(d.When))
		for i := range d.When {
			values[i] = sampleValue(&d.When[i])
		}
		for i := range max(1, len(d.When)) {
			sample := &Call{
				Kind: schema.Permission, Tool: d.Tool, App: d.SourceApp, Session: d.SessionID, Cwd: d.Cwd,
				Arguments: sampleArguments(d.When, values, i), Hash: []byte{0}, IsSample: true,
			}
			if !yield(sample) {
				return
			}
		}
	}
}

// projectDir returns the directory of a rule for a project: of a sample, the one in its draft. A rule
// from a git worktree is for the project.
func (c *Call) projectDir() string {
	if c.IsSample {
		return cleanDir(c.Cwd)
	}
	return cmp.Or(c.mainDir(), c.workingDir)
}

// sampleArguments returns arguments with the values of all conditions. Where several conditions are about one
// argument, the given one counts.
func sampleArguments(when []schema.Condition, values []any, preferred int) json.RawMessage {
	arguments := map[string]any{}
	for i := range when {
		setArgument(arguments, when[i].Argument, values[i])
	}
	if preferred < len(when) {
		setArgument(arguments, when[preferred].Argument, values[preferred])
	}
	text, err := json.Marshal(arguments)
	if err != nil {
		return json.RawMessage("{}")
	}
	return text
}

// sampleValue returns a value that meets a condition, or nil if its own value is invalid.
func sampleValue(c *schema.Condition) (value any) {
	if json.Unmarshal(c.Value, &value) != nil {
		return nil
	}
	switch text, isText := value.(string); {
	case isText && c.Is == "glob":
		value = wildcards.ReplaceAllString(text, "x")
	case isText && c.Is == "under":
		value = strings.TrimRight(text, "/") + "/x"
	}
	return value
}

func setArgument(arguments map[string]any, argument string, value any) {
	if value == nil {
		return
	}
	names := strings.Split(argument, ".")
	for _, name := range names[:len(names)-1] {
		inner, isObject := arguments[name].(map[string]any)
		if !isObject {
			inner = map[string]any{}
			arguments[name] = inner
		}
		arguments = inner
	}
	arguments[names[len(names)-1]] = value
}

// wildcards are the parts of a glob that stand for other text.
var wildcards = regexp.MustCompile(`[*?]+|\[[^\]]*\]`)

// validateScratch checks the members of a draft that replace the call.
func validateScratch(d *schema.RuleDraft) error {
	required := func(field, value string) error {
		if value == "" || len(value) > schema.MaxName {
			return &schema.FieldError{Field: field, Detail: fmt.Sprintf("must have 1 to %d bytes with the reach %s", schema.MaxName, d.Reach)}
		}
		return nil
	}
	switch {
	case d.Scope != schema.ScopeWhen && d.Scope != schema.ScopeTool:
		return &schema.FieldError{Field: "scope", Detail: "must be when or tool without from: other scopes are about one call"}
	case len(d.Tool) > schema.MaxName:
		return &schema.FieldError{Field: "tool", Detail: fmt.Sprintf("is longer than %d bytes", schema.MaxName)}
	case d.Reach == schema.ReachEverywhere:
		return nil
	}
	if err := required("source_app", d.SourceApp); err != nil || d.Reach == schema.ReachAgent {
		return err
	}
	if d.Reach == schema.ReachSession {
		return required("session_id", d.SessionID)
	}
	if err := required("cwd", d.Cwd); err != nil {
		return err
	}
	cwd := paths.ToSlashes(d.Cwd)
	isClean := path.Clean(cwd) == strings.TrimSuffix(cwd, "/") || cwd == "/"
	if !paths.IsAbsolute(cwd) || !programs.IsPlainText(cwd) || !isClean {
		return &schema.FieldError{Field: "cwd", Detail: "must be the absolute path of a folder"}
	}
	return nil
}

// scratchRefusal returns why a rule can't be made from scratch, or "".
func scratchRefusal(d *schema.RuleDraft, r *schema.Rule, sample *Call) string {
	if d.Then == schema.ThenDeny {
		return ""
	}
	if len(d.When) == 0 && sample.Class != schema.ClassHarmless {
		return "A rule from scratch can't allow every call of a tool that may change something: add a condition, or create the rule from a request."
	}
	conditions := compileConditions(d, sample.Tool)
	if _, runsCommands := call.ShellOf(sample.Tool); runsCommands && !namesProgram(conditions) {
		return "A rule from scratch that allows commands must name the program: add a condition for the whole command or for its start."
	}
	commands := newCommandRule(r, conditions)
	return commands.refusal(sample)
}

// namesProgram reports whether a condition determines the first word of the command.
func namesProgram(conditions []condition) bool {
	for i := range conditions {
		c := &conditions[i]
		if !c.isCommand || len(c.operand) == 0 {
			continue
		}
		if c.is == "equals" || c.is == "starts_with" || c.is == "glob" && !strings.ContainsAny(c.operand[0], `*?[\\`) {
			return true
		}
	}
	return false
}
