package risk

import (
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/programs"
)

// commandPattern is one parsed line of a table row's patterns.
type commandPattern struct {
	rule
	program     string
	subcommands []alternatives // nested commands, in order
	required    []alternatives // each must match some argument
	excluded    alternatives   // none may match an argument
	valued      string         // the letters of ignored options
	ignored     []string       // operands, and options with a value, next to which there must be another operand
}

// alternatives is one pattern term, split at its bars.
type alternatives []string

// patternsByProgram indexes the patterns of ruleTable by program name.
var patternsByProgram = func() map[string][]commandPattern {
	m := map[string][]commandPattern{}
	for _, e := range ruleTable {
		for line := range strings.Lines(e.patterns) {
			words := strings.Fields(line)
			if len(words) == 0 {
				continue
			}
			p := commandPattern{rule: e.rule}
			for _, w := range words[1:] {
				p.addTerm(w)
			}
			for _, program := range strings.Split(words[0], "|") {
				p.program = program
				m[program] = append(m[program], p)
			}
		}
	}
	return m
}()

func (p *commandPattern) addTerm(w string) {
	switch rest, not := strings.CutPrefix(w, "!"); {
	case not:
		p.excluded = parseAlternatives(rest)
	case strings.HasPrefix(w, "<-"):
		p.ignored = strings.Split(strings.Trim(w, "<>"), "|")
		for _, option := range p.ignored {
			if len(option) == 2 && option[0] == '-' {
				p.valued += option[1:]
			}
		}
	case strings.IndexByte("-=~+:/", w[0]) >= 0 || len(p.required) > 0:
		p.required = append(p.required, parseAlternatives(w))
	default:
		p.subcommands = append(p.subcommands, parseAlternatives(w))
	}
}

// parseAlternatives splits a term at its bars. In =a|b the = applies to both.
func parseAlternatives(w string) alternatives {
	list := strings.Split(w, "|")
	exact := false
	for i, alternative := range list {
		exact = exact || strings.HasPrefix(alternative, "=")
		if exact && strings.IndexByte("=~", alternative[0]) < 0 {
			list[i] = "=" + alternative
		}
	}
	return list
}

// applyRuleTable adds the findings of all table rows that match the invocation.
func (a *assessor) applyRuleTable(inv *invocation) {
	patterns := patternsByProgram[inv.name]
	if !slices.Contains(strings.Fields("echo printf git grep egrep fgrep rg ag ack sed awk"), inv.name) { // whose words are text
		patterns = append(slices.Clip(patterns), patternsByProgram["*"]...)
	}
	for i := range patterns {
		if p := &patterns[i]; p.matches(inv) {
			a.add(p.rule, inv.span)
		}
	}
}

func (p *commandPattern) matches(inv *invocation) bool {
	args := inv.args
	for _, sub := range p.subcommands {
		name, rest := subcommand(args, valueOptions...)
		if !sub.matchesOperand(name) {
			return false
		}
		args = rest
	}
	if p.ignored != nil && !p.hasOther(args) {
		return false
	}
	for _, need := range p.required {
		if !need.matchesAny(p.program, inv.args) {
			return false
		}
	}
	return !p.excluded.exclude(inv)
}

// hasOther reports whether there is an operand that is neither ignored nor the value of an ignored option.
func (p *commandPattern) hasOther(args []call.Word) bool {
	for i := 0; i < len(args); i++ {
		switch text := args[i].Text; {
		case !strings.HasPrefix(text, "-"):
			if !slices.Contains(p.ignored, text) {
				return true
			}
		case slices.Contains(p.ignored, text),
			len(text) > 2 && text[1] != '-' && strings.IndexAny(text[1:], p.valued) == len(text)-2: // -qr
			i++
		}
	}
	return false
}

// exclude reports whether a call certainly has one of the alternatives.
func (t alternatives) exclude(inv *invocation) bool {
	var options []string
	var others alternatives
	for _, want := range t {
		if strings.HasPrefix(want, "-") {
			options = append(options, strings.TrimLeft(want, "-"))
		} else {
			others = append(others, want)
		}
	}
	return others.matchesAny(inv.name, inv.args) || len(options) > 0 && programs.HasFlag(inv.words(), options...)
}

// matchesOperand reports whether an operand is one of the alternatives.
func (t alternatives) matchesOperand(text string) bool {
	return slices.ContainsFunc(t, func(want string) bool {
		if start, ok := strings.CutSuffix(want, "…"); ok {
			return len(text) > len(start) && strings.HasPrefix(text, start)
		}
		return want == "<>" && text != "" || want == text
	})
}

func (t alternatives) matchesAny(program string, args []call.Word) bool {
	for i := range args {
		for _, want := range t {
			if matchArgument(program, args[i].Text, want) {
				return true
			}
		}
	}
	return false
}

// matchArgument reports whether an argument matches one alternative of a term.
func matchArgument(program, text, want string) bool {
	if exact, ok := strings.CutPrefix(want, "="); ok {
		return text == exact
	}
	if part, ok := strings.CutPrefix(want, "~"); ok {
		return strings.Contains(text, part)
	}
	if start, ok := strings.CutSuffix(want, "…"); ok {
		return len(text) > len(start) && strings.HasPrefix(text, start)
	}
	if want == "<>" {
		return len(text) > 0 && text[0] != '-'
	}
	if program == "*" { // whose options have no abbreviations
		return text == want || strings.HasPrefix(text, want+"=")
	}
	return text == want || len(want) > 1 && want[0] == '-' && want != "--" && programs.IsOption(program, text, strings.TrimLeft(want, "-"))
}
