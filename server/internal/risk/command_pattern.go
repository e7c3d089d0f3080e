package risk

import (
	"slices"
	"strings"
)

// commandPattern is a line of the book, read.
type commandPattern struct {
	rule
	subcommands []alternatives // the program's own commands, in their order
	required    []alternatives // each of them somewhere among the arguments
	excluded    alternatives   // none of these
}

// alternatives is a list of alternatives.
type alternatives []string

// patternsByProgram are those of the book, by program.
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
	case strings.IndexByte("-=~+:/", w[0]) >= 0 || len(p.required) > 0:
		p.required = append(p.required, parseAlternatives(w))
	default:
		p.subcommands = append(p.subcommands, parseAlternatives(w))
	}
}

// parseAlternatives takes a term apart. In =a|b the mark is meant for both.
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

// applyRuleTable judges a program by the book.
func (a *assessor) applyRuleTable(inv *invocation) {
	for i := range patternsByProgram[inv.name] {
		if p := &patternsByProgram[inv.name][i]; p.matches(inv) {
			a.add(p.rule, inv.span)
		}
	}
}

func (p *commandPattern) matches(inv *invocation) bool {
	args := inv.args
	for _, sub := range p.subcommands {
		at := operandIndex(args)
		if at < 0 || !sub.matchesOperand(args[at].text) {
			return false
		}
		args = args[at+1:]
	}
	for _, need := range p.required {
		if !need.matchesAny(inv.args) {
			return false
		}
	}
	return !p.excluded.matchesAny(inv.args)
}

// operandIndex is the index of the first argument that is no option, nor an option's
// value; -1: there is none.
func operandIndex(args []shellWord) int {
	for i := 0; i < len(args); i++ {
		switch text := args[i].text; {
		case len(text) < 2 || text[0] != '-':
			return i
		case valueOptions[text]:
			i++
		}
	}
	return -1
}

// matchesOperand reports whether an operand is one of the alternatives.
func (t alternatives) matchesOperand(text string) bool {
	return slices.ContainsFunc(t, func(want string) bool {
		if start, ok := strings.CutSuffix(want, "…"); ok {
			return len(text) > len(start) && strings.HasPrefix(text, start)
		}
		return want == "<>" || want == text
	})
}

func (t alternatives) matchesAny(args []shellWord) bool {
	for i := range args {
		for _, want := range t {
			if matchArgument(args[i].text, want) {
				return true
			}
		}
	}
	return false
}

// matchArgument compares an argument with one alternative of a term.
func matchArgument(text, want string) bool {
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
	switch {
	case text == want:
		return true
	case strings.HasPrefix(want, "--"):
		return strings.HasPrefix(text, want+"=")
	case len(want) == 2 && want[0] == '-':
		return isCluster(text) && strings.IndexByte(text[1:], want[1]) >= 0
	default:
		return false
	}
}

// isCluster reports whether an argument is made of short options: -rf.
func isCluster(text string) bool {
	return len(text) > 1 && len(text) <= 7 && text[0] == '-' && strings.Trim(text[1:], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
}
