package filter

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hookback/hookback/schema"
)

// Limits of a filter. They bound the time that matching takes.
const (
	maxBytes = 1 << 10
	maxTerms = 64
	// maxSteps limits the total number of RE2 instructions of a filter's regular expressions,
	// which bounds the steps per character. Repeats multiply it: (a?){1000} is long.
	maxSteps = 512
)

// Filter selects events. It is safe for concurrent use.
type Filter struct {
	terms []term
	probe probe
}

// term is one condition.
type term struct {
	negated  bool
	key      string // lower case; "" if not keyed
	keyed    bool   // tests the values of key instead of the text
	value    string // folded
	glob     []string
	regex    *regexp.Regexp
	literals []string // texts that occur in everything that regex matches
	steps    int      // RE2 instructions of regex
	levels   []string // the risks that an order such as >=medium selects; nil: no order
}

// Parse parses a filter. Its errors are *schema.FieldError for the field "filter".
func Parse(text string) (*Filter, error) {
	if len(text) > maxBytes || !utf8.ValidString(text) {
		return nil, invalid("must be UTF-8 text of at most %d bytes", maxBytes)
	}
	f, steps := &Filter{}, 0
	for rest := skipSpace(text); rest != ""; rest = skipSpace(rest) {
		var tok token
		tok, rest = nextToken(rest)
		if tok.value == "" && !tok.keyed {
			continue
		}
		t, err := tok.toTerm()
		if err != nil {
			return nil, err
		}
		if steps += t.steps; steps > maxSteps {
			return nil, invalid("has regular expressions that take too long for the history: use fewer repeats and alternatives")
		}
		if f.terms = append(f.terms, t); len(f.terms) > maxTerms {
			return nil, invalid("has more than %d terms", maxTerms)
		}
	}
	f.probe = newProbe(f.RequiredLiterals())
	return f, nil
}

func invalid(format string, args ...any) error {
	return &schema.FieldError{Field: "filter", Detail: fmt.Sprintf(format, args...)}
}

func (tok *token) toTerm() (term, error) {
	t := term{negated: tok.negated, key: strings.ToLower(tok.key), keyed: tok.keyed}
	if tok.regex {
		var err error
		if t.regex, t.literals, t.steps, err = compileRegex(tok.value); err != nil {
			return t, invalid("/%s/ is not a regular expression that the hub can search for: %v", tok.value, err)
		}
		return t, nil
	}
	t.value = Fold(tok.value)
	if t.key == "risk" {
		t.levels = riskLevels(t.value)
	}
	if t.keyed && strings.Contains(t.value, "*") {
		t.glob = strings.Split(t.value, "*")
		if t.key == transcriptKey { // anywhere in the text
			t.glob = append(append([]string{""}, t.glob...), "")
		}
	}
	return t, nil
}

// Match reports whether all terms of the filter match e.
func (f *Filter) Match(e *Event) bool {
	if !f.probe.mayMatch(e) {
		return false
	}
	r := eventView{Event: e}
	for i := range f.terms {
		if t := &f.terms[i]; t.matches(&r) == t.negated {
			return false
		}
	}
	return true
}

func (t *term) matches(r *eventView) bool {
	if !t.keyed {
		return t.matchesText(r.searchText())
	}
	if t.key == transcriptKey {
		return t.matchesTranscript(r.Transcript)
	}
	return r.anyValue(t.key, func(text string) bool { return t.matchesText(Fold(text)) })
}

// matchesText tests folded text: a word must occur in it, the value of a key must equal it.
func (t *term) matchesText(text string) bool {
	switch {
	case t.levels != nil:
		return slices.Contains(t.levels, text)
	case t.regex != nil:
		return t.regex.MatchString(text)
	case !t.keyed:
		return strings.Contains(text, t.value)
	case t.glob != nil:
		return matchGlob(t.glob, text)
	default:
		return text == t.value
	}
}

// matchesTranscript tests the text of a transcript: the value of the term must occur in it.
func (t *term) matchesTranscript(text string) bool {
	switch {
	case text == "":
		return false
	case t.regex != nil:
		return t.regex.MatchString(text)
	case t.glob != nil:
		return matchGlob(t.glob, text)
	default:
		return strings.Contains(text, t.value)
	}
}

// matchGlob reports whether text consists of the parts in order, with anything in between. Each
// part is matched at its first occurrence, because a later one never helps.
func matchGlob(parts []string, text string) bool {
	first, last := parts[0], parts[len(parts)-1]
	if len(text) < len(first)+len(last) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return true
}

// RequiredLiterals returns folded texts that all occur in the IndexText of every matching event.
// None contains a line break.
func (f *Filter) RequiredLiterals() (list []string) {
	for _, t := range f.terms {
		if t.negated || t.keyed && !isIndexedKey(t.key) {
			continue
		}
		fragments := []string{t.value}
		switch {
		case t.regex != nil:
			fragments = t.literals
		case t.glob != nil:
			fragments = t.glob
		}
		for _, fragment := range fragments {
			list = append(list, strings.Split(fragment, "\n")...)
		}
	}
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}

// risks are the levels of risk, lowest first.
var risks = []string{string(schema.LowRisk), string(schema.MediumRisk), string(schema.HighRisk), string(schema.CriticalRisk)}

// riskLevels returns the levels that an order such as ">=medium" selects, or nil if value is none.
func riskLevels(value string) []string {
	for _, order := range [...]struct {
		operator string
		levels   func(at int) []string
	}{
		{">=", func(at int) []string { return risks[at:] }},
		{"<=", func(at int) []string { return risks[:at+1] }},
		{">", func(at int) []string { return risks[at+1:] }},
		{"<", func(at int) []string { return risks[:at] }},
	} {
		if level, found := strings.CutPrefix(value, order.operator); found {
			if at := slices.Index(risks, level); at >= 0 {
				return slices.Clip(order.levels(at))
			}
			return nil
		}
	}
	return nil
}

func isIndexedKey(key string) bool {
	return key != "id" && key != transcriptKey && !isRatedKey(key) && !isStatusKey(key)
}

// isRatedKey reports whether the rating of a call is a value of key.
func isRatedKey(key string) bool { return ratedFields[key] != nil }

// isStatusKey reports whether the value of a key can change after the event is stored.
func isStatusKey(key string) bool { return key == "status" || key == "delivery" }
