package policy

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/matcher"
	"github.com/hookback/hookback/agentclient/internal/plaintext"
)

// Limits of a policy file.
const (
	maxRules   = 1000
	maxPattern = 1000 // characters of a glob or a regular expression
	maxQuorum  = 20   // people, as in the hub's defaults
)

// File is the policy in one file.
type File struct {
	rules    rules
	warnings []Problem
}

// Rule describes a rule for people.
type Rule struct {
	Location string // file:line, as in Result
	Effect   Effect
	Sentence string
}

// Evaluate implements Policy.
func (f *File) Evaluate(call Call) Result { return f.rules.Evaluate(call) }

// ForProject returns a copy with the authority of a project: its rules can ask and deny
// but not allow. Agents can write a project's file themselves, and a cloned repository
// brings its own. An allow rule of a project only exempts calls from the rules after it,
// so that they go to the agent's own permission prompt.
func (f *File) ForProject() *File {
	restricted := &File{rules: slices.Clone(f.rules), warnings: f.warnings}
	for i := range restricted.rules {
		restricted.rules[i].restricted = true
	}
	return restricted
}

// Rules returns the rules in the order in which they are evaluated.
func (f *File) Rules() []Rule {
	list := make([]Rule, len(f.rules))
	for i := range f.rules {
		r := &f.rules[i]
		list[i] = Rule{Location: r.location, Effect: r.appliedEffect(), Sentence: r.describe()}
	}
	return list
}

// Warnings returns probable mistakes that do not prevent the use of the file.
func (f *File) Warnings() []Problem { return f.warnings }

// Read reads one file. The error is a *Error, or one that matches
// os.ErrNotExist if the file does not exist.
func Read(file string) (*File, error) { return read(file, nil) }

func read(file string, call *callArguments) (*File, error) {
	text, err := plaintext.ReadPolicy(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, &Error{[]Problem{{File: file, Text: err.Error()}}}
	}
	return parse(file, text, call)
}

// Parse parses the text of a policy. file is the name to use in problems and
// results. The error is a *Error with all problems.
func Parse(file string, text []byte) (*File, error) { return parse(file, text, nil) }

func parse(file string, text []byte, pending *callArguments) (*File, error) {
	text = plaintext.Decode(text)
	r := fileParser{file: file, text: text, call: pending}
	root, err := call.ParseValue(text, maxDepth)
	if jsonErr := (*call.SyntaxError)(nil); errors.As(err, &jsonErr) {
		return nil, &Error{[]Problem{r.newProblem(jsonErr.Offset, "the policy is not valid JSON: %v", jsonErr)}}
	}
	if !utf8.Valid(text) {
		return nil, &Error{[]Problem{{File: file, Text: "the policy is not UTF-8; save it with that encoding"}}}
	}
	f := &File{rules: r.parseRules(root)}
	if len(r.problems) > 0 {
		slices.SortStableFunc(r.problems, comparePositions)
		return nil, &Error{r.problems}
	}
	if pending == nil { // no one reads warnings during a single call
		f.warnings = r.findWarnings(f.rules)
	}
	return f, nil
}

func comparePositions(a, b Problem) int {
	return cmp.Or(a.Line-b.Line, a.Column-b.Column)
}

// fileParser converts a file's JSON to rules and collects problems.
type fileParser struct {
	file      string
	text      []byte
	problems  []Problem
	call      *callArguments // keep only rules about this call; nil: all
	otherTool bool           // the current rule is not about call
}

func (r *fileParser) newProblem(at int64, format string, args ...any) Problem {
	before := r.text[:min(at, int64(len(r.text)))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return Problem{
		File: r.file, Line: bytes.Count(before, []byte("\n")) + 1, Column: utf8.RuneCount(before[start:]) + 1,
		Text: fmt.Sprintf(format, args...),
	}
}

func (r *fileParser) addProblem(at int64, format string, args ...any) {
	r.problems = append(r.problems, r.newProblem(at, format, args...))
}

func (r *fileParser) lineAt(at int64) int { return bytes.Count(r.text[:at], []byte("\n")) + 1 }

// objectMembers returns an object's members by name. It reports unknown and duplicate
// members.
func (r *fileParser) objectMembers(n *value, what string, known ...string) map[string]*value {
	if n.Kind() != call.ObjectKind {
		r.addProblem(n.Offset(), "%s must be an object, not %s", what, n.Kind())
		return nil
	}
	found := make(map[string]*value, len(n.Members()))
	for _, m := range n.Members() {
		switch {
		case !slices.Contains(known, m.Name):
			r.addProblem(m.Offset, "%s has no member %q; %s", what, excerpt(m.Name), suggestion(m.Name, known))
		case found[m.Name] != nil:
			r.addProblem(m.Offset, "%s has the member %q twice; keep one of them", what, m.Name)
		default:
			found[m.Name] = m.Value
		}
	}
	return found
}

func (r *fileParser) parseRules(root *value) rules {
	top := r.objectMembers(root, "a policy", "$schema", "rules")
	if top == nil {
		return nil
	}
	list := top["rules"]
	switch {
	case list == nil:
		r.addProblem(root.Offset(), `a policy requires rules, such as {"rules": [{"tool": "Bash", "then": "ask"}]}`)
		return nil
	case list.Kind() != call.ArrayKind:
		r.addProblem(list.Offset(), "rules must be an array, not %s", list.Kind())
		return nil
	case len(list.Members()) > maxRules:
		r.addProblem(list.Members()[maxRules].Value.Offset(), "a policy can have at most %d rules; combine rules with globs or conditions", maxRules)
		return nil
	}
	all := make(rules, 0, len(list.Members()))
	for _, item := range list.Members() {
		if parsed, ok := r.parseRule(item.Value); ok {
			all = append(all, parsed)
		}
	}
	return all
}

func (r *fileParser) parseRule(n *value) (rule, bool) {
	before := len(r.problems)
	m := r.objectMembers(n, "a rule", "tool", "when", "then", "ask", "risk", "reason")
	if m == nil {
		return rule{}, false
	}
	parsed := rule{line: r.lineAt(n.Offset()), reason: r.textMember(m["reason"], "reason")}
	parsed.location = fmt.Sprintf("%s:%d", r.file, parsed.line)
	parsed.effect = Effect(r.wordMember(m["then"], "then", string(Allow), string(Ask), later, string(Deny)))
	if m["then"] == nil {
		r.addProblem(n.Offset(), "a rule requires then: allow, ask, later or deny")
	}
	if parsed.later = parsed.effect == later; parsed.later {
		parsed.effect = Ask
	}
	if ask := m["ask"]; ask != nil {
		r.parseAsk(ask, &parsed)
	}
	parsed.risk = r.wordMember(m["risk"], "risk", "low", "medium", "high", "critical")
	parsed.tool = r.textMember(m["tool"], "tool")
	switch tool := m["tool"]; {
	case tool == nil:
		r.addProblem(n.Offset(), `a rule requires tool: a name such as "Bash", or a glob such as "mcp__*"`)
	case parsed.tool == "" && tool.Kind() == call.TextKind:
		r.addProblem(tool.Offset(), `tool must not be empty; use "*" for any tool`)
	case utf8.RuneCountInString(parsed.tool) > maxPattern:
		r.addProblem(tool.Offset(), "tool must have at most %d characters", maxPattern)
	}
	// A rule that allows applies to exactly this tool; others ignore case.
	parsed.glob = matcher.NewGlob(parsed.tool, parsed.effect != Allow)
	r.otherTool = r.call != nil && !parsed.mayApplyTo(r.call)
	if when := m["when"]; when != nil {
		parsed.when = r.parseConditions(when, parsed.effect == Allow)
	}
	if parsed.effect == Allow {
		parsed.options = grantedOptions(parsed.when)
	}
	return parsed, len(r.problems) == before && !r.otherTool
}

// parseAsk reads who decides a call about which a rule asks.
func (r *fileParser) parseAsk(n *value, to *rule) {
	m := r.objectMembers(n, "ask", "owners", "quorum")
	owners, quorum := m["owners"], m["quorum"]
	switch {
	case m == nil:
	case to.effect != Ask:
		r.addProblem(n.Offset(), "ask goes with then: ask or later")
	case owners == nil && quorum == nil:
		r.addProblem(n.Offset(), "ask requires owners or quorum")
	case owners != nil && (owners.Kind() != call.BoolKind || owners.Literal() != "true"):
		r.addProblem(owners.Offset(), "owners must be true, or absent")
	default:
		to.owners = owners != nil
	}
	if quorum == nil {
		return
	}
	var err error
	to.quorum, err = strconv.Atoi(quorum.Literal())
	if err != nil || quorum.Kind() != call.NumberKind || to.quorum < 2 || to.quorum > maxQuorum {
		r.addProblem(quorum.Offset(), "quorum must be a number from 2 to %d", maxQuorum)
	}
}

// textMember returns a member that must be a string, or "" if it is absent.
func (r *fileParser) textMember(n *value, name string) string {
	if n == nil {
		return ""
	}
	text, ok := n.Text()
	if !ok {
		r.addProblem(n.Offset(), "%s must be a string, not %s", name, n.Kind())
	}
	return text
}

// wordMember returns a member that must be one of words, or "" if it is absent.
func (r *fileParser) wordMember(n *value, name string, words ...string) string {
	text := r.textMember(n, name)
	if n != nil && n.Kind() == call.TextKind && !slices.Contains(words, text) {
		r.addProblem(n.Offset(), "%s can't be %q; %s", name, excerpt(text), suggestion(text, words))
	}
	return text
}

// suggestion returns a correction of got, or the known words if none is close.
func suggestion(got string, known []string) string {
	if near := closestMatch(got, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "use one of " + strings.Join(known, ", ")
}

// excerpt returns a wrong word on one line, of at most 60 characters.
func excerpt(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= 60 {
		return text
	}
	return string([]rune(text)[:59]) + "…"
}

// Weight returns an upper bound of the steps that evaluating a call takes, for each byte of its
// arguments: the length of the patterns, and the size of the compiled regular expressions.
func (f *File) Weight() (weight int) {
	for i := range f.rules {
		for _, c := range f.rules[i].when {
			weight += len(c.Text)
			if tree, err := syntax.Parse(c.Text, syntax.Perl); c.Op == "regex" && err == nil {
				weight += programSize(tree)
			}
		}
	}
	return weight
}
