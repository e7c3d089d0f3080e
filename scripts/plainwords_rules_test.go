package scripts_test

import (
	"regexp"
	"strings"
)

// A wordRule matches one habit that makes technical English hard to read. Patterns
// match lower-case text; a space matches any white space, line breaks included.
type wordRule struct {
	name    string
	pattern string
	except  string // a match that overlaps one of this pattern is plain English; empty: none
	write   string // advice for the author
}

// question matches an interrogative clause.
const question = `\bwhat [^.!;:?\x01]{0,120}\?`

var wordRules = []wordRule{
	{
		"free relative what",
		`\bwhat (?:is|was|are|were|has|had|have|can|could|may|might|must|does|did|do|comes?|came|becomes?|became|goes|went|stands|stood|runs|ran|waits|follows|remains|begins|belongs|needs|keeps|holds|counts|matters|happens|happened|it|they|he|she|one|people|somebody|a|an|the|this|that|these|each|every|no|another|its|their)\b`,
		question + `|\bno matter what\b|\bwhat (?:is|are) best\b|\bwhat happen(?:s|ed)\b|\bwhat (?:this|it|that|the \w+|they) (?:does|do|means?|looks?|is for)\b|\bwhat (?:\S+ ){1,6}looks? like\b` +
			`|\b(?:knows?|see|sees|explains?|understand|learn|states?|articulate|determines?|decides?|care|matter|idea|here's|unclear|clear to me|wonder|ask|asks|note|about) (?:exactly |still )?what\b`,
		`name the thing: "the value that …", "the call"`,
	},
	{
		"indefinite person",
		`\b(?:nobody|somebody|anybody|everybody|whoever|whomever|whosever|whom)(?:'s)?\b`,
		"",
		`"no one", "someone", or the role: "a user", "the approver"`,
	},
	{
		"says",
		`\b(?:says?|said|saying)\b`,
		`\bsay, |\(say\b|\bsay (?:it's|we|you|that you|\d)|\bsays? so\b|\bagent says\b|\bthat said\b|\bwithout saying\b|\bneedless to say\b|\b(?:says?|said):? \x01|\b(?:says?|said):` +
			`|\b(?:rfc ?\d*|specs?|specification|standard|docs?|documentation|manual|readme|man page|license)(?: \S+){0,3} says?\b`,
		`"reports", "returns", "contains", "states"`,
	},
	{
		"tells",
		`\b(?:told|tells?|telling)\b`,
		`\btell(?:s|ing)? (?:\S+ ){1,4}to [a-z]|\bunless told otherwise\b|\btold (?:\w+ )?to [a-z]|\bcan tell\b|\bto tell (?:whether|if|that|which|when|apart)\b|\btell(?:s|ing)? the difference\b`,
		`"sends", "notifies", "reports", "distinguishes"`,
	},
}

// A wordMatcher is a compiled wordRule.
type wordMatcher struct {
	wordRule
	re, exceptions *regexp.Regexp // exceptions is nil if the rule has none
}

func compileWordRules() []wordMatcher {
	spaces := func(pattern string) *regexp.Regexp {
		return regexp.MustCompile(strings.ReplaceAll(pattern, " ", `\s+`))
	}
	matchers := make([]wordMatcher, len(wordRules))
	for i, r := range wordRules {
		matchers[i] = wordMatcher{wordRule: r, re: spaces(r.pattern)}
		if r.except != "" {
			matchers[i].exceptions = spaces(r.except)
		}
	}
	return matchers
}

// find returns the offsets of the rule's matches in text.
func (m *wordMatcher) find(text string) (offsets []int) {
	matches := m.re.FindAllStringIndex(text, -1)
	if len(matches) == 0 {
		return nil
	}
	var allowed [][]int
	if m.exceptions != nil {
		allowed = m.exceptions.FindAllStringIndex(text, -1)
	}
	for _, match := range matches {
		if !overlapsAny(match, allowed) {
			offsets = append(offsets, match[0])
		}
	}
	return offsets
}

func overlapsAny(match []int, ranges [][]int) bool {
	for _, r := range ranges {
		if match[0] < r[1] && r[0] < match[1] {
			return true
		}
	}
	return false
}
