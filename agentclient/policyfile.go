package agentclient

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hookback/hookback/schema"
)

// Limits of a policy's file.
const (
	maxPolicyBytes = 1 << 20
	maxRules       = 1000
	maxPattern     = 1000 // characters of a glob or a regular expression
)

// PolicyFile is one file's rules.
type PolicyFile struct {
	rules    rules
	warnings []PolicyProblem
}

// PolicyRule is a rule as people read it.
type PolicyRule struct {
	Where    string // file:line, as in Ruling
	Effect   Effect
	Sentence string
}

// Rule implements Policy.
func (f *PolicyFile) Rule(call ToolCall) PolicyResult { return f.rules.Rule(call) }

// ForProject is the file with the say of a project: it can ask for a person and deny,
// but not allow. The agents that it rules can write it themselves, and a repository
// that was just cloned brings its own. An allow in it leaves the call to the agent's
// own permission flow: an exception from the rules behind it, no more.
func (f *PolicyFile) ForProject() *PolicyFile {
	restricted := &PolicyFile{rules: slices.Clone(f.rules), warnings: f.warnings}
	for i := range restricted.rules {
		restricted.rules[i].restricted = true
	}
	return restricted
}

// Rules lists the rules, the first that is tried first.
func (f *PolicyFile) Rules() []PolicyRule {
	list := make([]PolicyRule, len(f.rules))
	for i := range f.rules {
		r := &f.rules[i]
		list[i] = PolicyRule{Where: r.location, Effect: r.appliedEffect(), Sentence: r.describe()}
	}
	return list
}

// Warnings are what is probably a mistake, though the file can be used.
func (f *PolicyFile) Warnings() []PolicyProblem { return f.warnings }

// ReadPolicy reads one file. Its error is a *PolicyError, or the system's where the
// file isn't there.
func ReadPolicy(file string) (*PolicyFile, error) { return readPolicy(file, nil) }

func readPolicy(file string, call *ToolCall) (*PolicyFile, error) {
	text, err := readPolicyText(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, &PolicyError{[]PolicyProblem{{File: file, Text: err.Error()}}}
	}
	return parsePolicy(file, text, call)
}

// readPolicyText reads a regular file of bounded size. A pipe would make a hook wait.
func readPolicyText(file string) ([]byte, error) {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxPolicyBytes+1))
	if len(text) > maxPolicyBytes {
		return nil, errors.New("it is larger than 1 MiB; a policy has at most 1,000 rules")
	}
	return text, err
}

// ParsePolicy reads the text of a policy; file is how problems and rulings call it.
// Its error is a *PolicyError with everything that is wrong.
func ParsePolicy(file string, text []byte) (*PolicyFile, error) { return parsePolicy(file, text, nil) }

func parsePolicy(file string, text []byte, call *ToolCall) (*PolicyFile, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // what some editors put in front
	r := policyParser{file: file, text: text, call: call}
	root, err := parseJSON(text)
	if jsonErr := (*jsonError)(nil); errors.As(err, &jsonErr) {
		return nil, &PolicyError{[]PolicyProblem{r.newProblem(jsonErr.offset, "it is not valid JSON: %v", jsonErr)}}
	}
	if !utf8.Valid(text) {
		return nil, &PolicyError{[]PolicyProblem{{File: file, Text: "it is not UTF-8; save it as that"}}}
	}
	f := &PolicyFile{rules: r.parseRules(root)}
	if len(r.problems) > 0 {
		slices.SortStableFunc(r.problems, comparePositions)
		return nil, &PolicyError{r.problems}
	}
	if call == nil { // nobody reads them there
		f.warnings = r.findWarnings(f.rules)
	}
	return f, nil
}

func comparePositions(a, b PolicyProblem) int {
	return cmp.Or(a.Line-b.Line, a.Column-b.Column)
}

// policyParser makes rules of a file's JSON, and collects what is wrong with it.
type policyParser struct {
	file      string
	text      []byte
	problems  []PolicyProblem
	call      *ToolCall // whose rules are kept; nil: all
	otherTool bool      // the rule that is being read is not about it
}

func (r *policyParser) newProblem(at int64, format string, args ...any) PolicyProblem {
	before := r.text[:min(at, int64(len(r.text)))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return PolicyProblem{
		File: r.file, Line: bytes.Count(before, []byte("\n")) + 1, Column: utf8.RuneCount(before[start:]) + 1,
		Text: fmt.Sprintf(format, args...),
	}
}

func (r *policyParser) addProblem(at int64, format string, args ...any) {
	r.problems = append(r.problems, r.newProblem(at, format, args...))
}

func (r *policyParser) lineAt(at int64) int { return bytes.Count(r.text[:at], []byte("\n")) + 1 }

// objectMembers gives an object's members by name, each once, all of them known.
func (r *policyParser) objectMembers(n *jsonNode, what string, known ...string) map[string]*jsonNode {
	if n.kind != jsonObject {
		r.addProblem(n.offset, "%s must be an object, not %s", what, n.kind)
		return nil
	}
	found := make(map[string]*jsonNode, len(n.members))
	for _, m := range n.members {
		switch {
		case !slices.Contains(known, m.name):
			r.addProblem(m.offset, "%s has no member %q; %s", what, oneLine(m.name, 60), suggestion(m.name, known))
		case found[m.name] != nil:
			r.addProblem(m.offset, "%s has the member %q twice; keep one of them", what, m.name)
		default:
			found[m.name] = m.value
		}
	}
	return found
}

func (r *policyParser) parseRules(root *jsonNode) rules {
	top := r.objectMembers(root, "a policy", "$schema", "rules")
	if top == nil {
		return nil
	}
	list := top["rules"]
	switch {
	case list == nil:
		r.addProblem(root.offset, `a policy needs its rules: {"rules": [{"tool": "Bash", "then": "ask"}]}`)
		return nil
	case list.kind != jsonArray:
		r.addProblem(list.offset, "rules must be a list, not %s", list.kind)
		return nil
	case len(list.items) > maxRules:
		r.addProblem(list.items[maxRules].offset, "there are more than %d rules; use globs, or conditions, to say it with fewer", maxRules)
		return nil
	}
	all := make(rules, 0, len(list.items))
	for _, item := range list.items {
		if parsed, ok := r.parseRule(item); ok {
			all = append(all, parsed)
		}
	}
	return all
}

func (r *policyParser) parseRule(n *jsonNode) (rule, bool) {
	before := len(r.problems)
	m := r.objectMembers(n, "a rule", "tool", "when", "then", "risk", "reason")
	if m == nil {
		return rule{}, false
	}
	parsed := rule{line: r.lineAt(n.offset), reason: r.textMember(m["reason"], "reason")}
	parsed.location = fmt.Sprintf("%s:%d", r.file, parsed.line)
	parsed.effect = Effect(r.wordMember(m["then"], "then", string(ThenAllow), string(ThenAsk), string(ThenDeny)))
	if m["then"] == nil {
		r.addProblem(n.offset, "a rule needs then: allow, ask or deny")
	}
	risks := []string{string(schema.LowRisk), string(schema.MediumRisk), string(schema.HighRisk), string(schema.CriticalRisk)}
	parsed.risk = schema.Risk(r.wordMember(m["risk"], "risk", risks...))
	parsed.tool = r.textMember(m["tool"], "tool")
	switch tool := m["tool"]; {
	case tool == nil:
		r.addProblem(n.offset, `a rule needs its tool: a name such as "Bash", or a glob such as "mcp__*"`)
	case parsed.tool == "" && tool.kind == jsonText:
		r.addProblem(tool.offset, `an empty tool matches nothing; "*" is any tool`)
	case utf8.RuneCountInString(parsed.tool) > maxPattern:
		r.addProblem(tool.offset, "the name is longer than %d characters", maxPattern)
	}
	// Who allows must mean exactly this tool; who asks or denies may mean more.
	parsed.glob = newGlob(parsed.tool, parsed.effect != ThenAllow)
	r.otherTool = r.call != nil && !parsed.appliesTo(r.call)
	if when := m["when"]; when != nil {
		parsed.when = r.parseConditions(when, parsed.effect == ThenAllow)
	}
	return parsed, len(r.problems) == before && !r.otherTool
}

// textMember is a member that must be a text; absent is empty.
func (r *policyParser) textMember(n *jsonNode, name string) string {
	if n == nil {
		return ""
	}
	text, ok := n.value.(string)
	if !ok {
		r.addProblem(n.offset, "%s must be a text, not %s", name, n.kind)
	}
	return text
}

// wordMember is a member that must be one of some words; absent is empty.
func (r *policyParser) wordMember(n *jsonNode, name string, words ...string) string {
	text := r.textMember(n, name)
	if n != nil && n.kind == jsonText && !slices.Contains(words, text) {
		r.addProblem(n.offset, "%s can't be %q; %s", name, oneLine(text, 60), suggestion(text, words))
	}
	return text
}

// suggestion says which words there are, and which one was probably meant.
func suggestion(got string, known []string) string {
	if near := closestMatch(got, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "it is one of " + strings.Join(known, ", ")
}
