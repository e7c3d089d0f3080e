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
	guest := &PolicyFile{rules: slices.Clone(f.rules), warnings: f.warnings}
	for i := range guest.rules {
		guest.rules[i].guest = true
	}
	return guest
}

// Rules lists the rules, the first that is tried first.
func (f *PolicyFile) Rules() []PolicyRule {
	list := make([]PolicyRule, len(f.rules))
	for i := range f.rules {
		r := &f.rules[i]
		list[i] = PolicyRule{Where: r.where, Effect: r.says(), Sentence: r.words()}
	}
	return list
}

// Warnings are what is probably a mistake, though the file can be used.
func (f *PolicyFile) Warnings() []PolicyProblem { return f.warnings }

// ReadPolicy reads one file. Its error is a *PolicyError, or the system's where the
// file isn't there.
func ReadPolicy(file string) (*PolicyFile, error) { return readPolicy(file, nil) }

func readPolicy(file string, call *ToolCall) (*PolicyFile, error) {
	text, err := readWhole(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, &PolicyError{[]PolicyProblem{{File: file, Text: err.Error()}}}
	}
	return parsePolicy(file, text, call)
}

// readWhole reads a regular file of bounded size. A pipe would make a hook wait.
func readWhole(file string) ([]byte, error) {
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
	r := policyReader{file: file, text: text, call: call}
	root, err := parseJSON(text)
	if fault := (*jsonError)(nil); errors.As(err, &fault) {
		return nil, &PolicyError{[]PolicyProblem{r.problem(fault.at, "it is not valid JSON: %v", fault)}}
	}
	if !utf8.Valid(text) {
		return nil, &PolicyError{[]PolicyProblem{{File: file, Text: "it is not UTF-8; save it as that"}}}
	}
	f := &PolicyFile{rules: r.policy(root)}
	if len(r.problems) > 0 {
		slices.SortStableFunc(r.problems, inOrder)
		return nil, &PolicyError{r.problems}
	}
	if call == nil { // nobody reads them there
		f.warnings = r.warnings(f.rules)
	}
	return f, nil
}

func inOrder(a, b PolicyProblem) int {
	return cmp.Or(a.Line-b.Line, a.Column-b.Column)
}

// policyReader makes rules of a file's JSON, and collects what is wrong with it.
type policyReader struct {
	file     string
	text     []byte
	problems []PolicyProblem
	call     *ToolCall // whose rules are kept; nil: all
	other    bool      // the rule that is being read is not about it
}

func (r *policyReader) problem(at int64, format string, args ...any) PolicyProblem {
	before := r.text[:min(at, int64(len(r.text)))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return PolicyProblem{
		File: r.file, Line: bytes.Count(before, []byte("\n")) + 1, Column: utf8.RuneCount(before[start:]) + 1,
		Text: fmt.Sprintf(format, args...),
	}
}

func (r *policyReader) wrong(at int64, format string, args ...any) {
	r.problems = append(r.problems, r.problem(at, format, args...))
}

func (r *policyReader) line(at int64) int { return bytes.Count(r.text[:at], []byte("\n")) + 1 }

// members gives an object's members by name, each once, all of them known.
func (r *policyReader) members(n *jsonNode, what string, known ...string) map[string]*jsonNode {
	if n.kind != jsonObject {
		r.wrong(n.at, "%s must be an object, not %s", what, n.kind)
		return nil
	}
	found := make(map[string]*jsonNode, len(n.members))
	for _, m := range n.members {
		switch {
		case !slices.Contains(known, m.name):
			r.wrong(m.at, "%s has no member %q; %s", what, oneLine(m.name, 60), instead(m.name, known))
		case found[m.name] != nil:
			r.wrong(m.at, "%s has the member %q twice; keep one of them", what, m.name)
		default:
			found[m.name] = m.value
		}
	}
	return found
}

func (r *policyReader) policy(root *jsonNode) rules {
	top := r.members(root, "a policy", "$schema", "rules")
	if top == nil {
		return nil
	}
	list := top["rules"]
	switch {
	case list == nil:
		r.wrong(root.at, `a policy needs its rules: {"rules": [{"tool": "Bash", "then": "ask"}]}`)
		return nil
	case list.kind != jsonArray:
		r.wrong(list.at, "rules must be a list, not %s", list.kind)
		return nil
	case len(list.items) > maxRules:
		r.wrong(list.items[maxRules].at, "there are more than %d rules; use globs, or conditions, to say it with fewer", maxRules)
		return nil
	}
	all := make(rules, 0, len(list.items))
	for _, item := range list.items {
		if one, ok := r.rule(item); ok {
			all = append(all, one)
		}
	}
	return all
}

func (r *policyReader) rule(n *jsonNode) (rule, bool) {
	before := len(r.problems)
	m := r.members(n, "a rule", "tool", "when", "then", "risk", "reason")
	if m == nil {
		return rule{}, false
	}
	one := rule{line: r.line(n.at), reason: r.textOf(m["reason"], "reason")}
	one.where = fmt.Sprintf("%s:%d", r.file, one.line)
	one.then = Effect(r.word(m["then"], "then", string(ThenAllow), string(ThenAsk), string(ThenDeny)))
	if m["then"] == nil {
		r.wrong(n.at, "a rule needs then: allow, ask or deny")
	}
	risks := []string{string(schema.LowRisk), string(schema.MediumRisk), string(schema.HighRisk), string(schema.CriticalRisk)}
	one.risk = schema.Risk(r.word(m["risk"], "risk", risks...))
	one.tool = r.textOf(m["tool"], "tool")
	switch tool := m["tool"]; {
	case tool == nil:
		r.wrong(n.at, `a rule needs its tool: a name such as "Bash", or a glob such as "mcp__*"`)
	case one.tool == "" && tool.kind == jsonText:
		r.wrong(tool.at, `an empty tool matches nothing; "*" is any tool`)
	case utf8.RuneCountInString(one.tool) > maxPattern:
		r.wrong(tool.at, "the name is longer than %d characters", maxPattern)
	}
	// Who allows must mean exactly this tool; who asks or denies may mean more.
	one.glob = newGlob(one.tool, one.then != ThenAllow)
	r.other = r.call != nil && !one.about(r.call)
	if when := m["when"]; when != nil {
		one.when = r.conditions(when, one.then == ThenAllow)
	}
	return one, len(r.problems) == before && !r.other
}

// textOf is a member that must be a text; absent is empty.
func (r *policyReader) textOf(n *jsonNode, name string) string {
	if n == nil {
		return ""
	}
	text, ok := n.value.(string)
	if !ok {
		r.wrong(n.at, "%s must be a text, not %s", name, n.kind)
	}
	return text
}

// word is a member that must be one of some words; absent is empty.
func (r *policyReader) word(n *jsonNode, name string, words ...string) string {
	text := r.textOf(n, name)
	if n != nil && n.kind == jsonText && !slices.Contains(words, text) {
		r.wrong(n.at, "%s can't be %q; %s", name, oneLine(text, 60), instead(text, words))
	}
	return text
}

// instead says which words there are, and which one was probably meant.
func instead(got string, known []string) string {
	if near := closest(got, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "it is one of " + strings.Join(known, ", ")
}
