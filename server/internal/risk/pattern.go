package risk

import (
	"slices"
	"strings"
)

// pattern is a line of the book, read.
type pattern struct {
	rule
	subs   []term // the program's own commands, in their order
	needs  []term // each of them somewhere among the arguments
	spares term   // none of these
}

// term is a list of alternatives.
type term []string

// patterns are those of the book, by program.
var patterns = func() map[string][]pattern {
	m := map[string][]pattern{}
	for _, e := range book {
		for line := range strings.Lines(e.when) {
			words := strings.Fields(line)
			if len(words) == 0 {
				continue
			}
			p := pattern{rule: e.rule}
			for _, w := range words[1:] {
				p.add(w)
			}
			for _, program := range strings.Split(words[0], "|") {
				m[program] = append(m[program], p)
			}
		}
	}
	return m
}()

func (p *pattern) add(w string) {
	switch rest, not := strings.CutPrefix(w, "!"); {
	case not:
		p.spares = alternatives(rest)
	case strings.IndexByte("-=~+:/", w[0]) >= 0 || len(p.needs) > 0:
		p.needs = append(p.needs, alternatives(w))
	default:
		p.subs = append(p.subs, alternatives(w))
	}
}

// alternatives takes a term apart. In =a|b the mark is meant for both.
func alternatives(w string) term {
	list := strings.Split(w, "|")
	exact := false
	for i, one := range list {
		exact = exact || strings.HasPrefix(one, "=")
		if exact && strings.IndexByte("=~", one[0]) < 0 {
			list[i] = "=" + one
		}
	}
	return list
}

// byBook judges a program by the book.
func (j *judge) byBook(r *run) {
	for i := range patterns[r.name] {
		if p := &patterns[r.name][i]; p.matches(r) {
			j.add(p.rule, r.span)
		}
	}
}

func (p *pattern) matches(r *run) bool {
	args := r.args
	for _, sub := range p.subs {
		at := operand(args)
		if at < 0 || !sub.is(args[at].text) {
			return false
		}
		args = args[at+1:]
	}
	for _, need := range p.needs {
		if !need.among(r.args) {
			return false
		}
	}
	return !p.spares.among(r.args)
}

// operand is the index of the first argument that is no option, nor an option's
// value; -1: there is none.
func operand(args []word) int {
	for i := 0; i < len(args); i++ {
		switch text := args[i].text; {
		case len(text) < 2 || text[0] != '-':
			return i
		case valued[text]:
			i++
		}
	}
	return -1
}

// is reports whether an operand is one of the alternatives.
func (t term) is(text string) bool {
	return slices.ContainsFunc(t, func(want string) bool {
		if start, ok := strings.CutSuffix(want, "…"); ok {
			return len(text) > len(start) && strings.HasPrefix(text, start)
		}
		return want == "<>" || want == text
	})
}

func (t term) among(args []word) bool {
	for i := range args {
		for _, want := range t {
			if matches(args[i].text, want) {
				return true
			}
		}
	}
	return false
}

// matches compares an argument with one alternative of a term.
func matches(text, want string) bool {
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
