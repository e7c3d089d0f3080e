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
const question = `\b(?:what|who) [^.!;:?\x01]{0,120}\?`

var wordRules = []wordRule{
	{
		"free relative what",
		`\bwhat (?:is|was|are|were|has|had|have|can|could|may|might|must|does|did|do|comes?|came|becomes?|became|goes|went|stands|stood|runs|ran|waits|follows|remains|begins|belongs|needs|keeps|holds|counts|matters|happens|happened|it|they|he|she|one|people|somebody|a|an|the|this|that|these|each|every|no|another|its|their)\b`,
		question + `|\bno matter what\b|\bwhat (?:is|are) best\b|\bwhat happen(?:s|ed)\b|\bwhat (?:this|it|that|the \w+|they) (?:does|do|means?|looks?|is for)\b|\bwhat (?:\S+ ){1,6}looks? like\b` +
			`|\b(?:knows?|see|sees|explains?|understand|learn|states?|articulate|determines?|decides?|care|matter|idea|here's|unclear|clear to me|wonder|ask|asks|note|about) (?:exactly |still )?what\b`,
		`name the thing: "the value that …", "the call"`,
	},
	{
		"free relative who",
		`(?:^|[.;:!?] |\b(?:of|by|for|to|from|with|than|and|or|says?|is|are) )who (?:is|was|are|has|had|may|can|must|will|would|wants|asks|asked|answers|answered|votes|voted|comes|came|reads|looks|posts|pulls|signs|gives|opens|knows|does|did)\b`,
		question + `|\bwho (?:knows|would have)\b|\b(?:people|person|users?|anyone|someone|man|one) (?:and|or) who\b`,
		`name the role: "the user", "the approver"`,
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
	{"stands", `\b(?:stands?|stood)\b`, `\bstands? (?:for|out|in for|alone|up)\b|\bstand-(?:in|ins|by|alone|up)\b`, `"is", "is stored in", "appears"`},
	{"anew", `\b(?:anew|for ever|therein|whereby|wherein)\b`, "", `"again", "forever", "so"`},
	{
		"as it is",
		`\bas (?:it|they|he|she|one) (?:is|are|was|were|stands?|stood|came|comes)(?:[.,;:)]|$| now\b| there\b| then\b)|\bas things stand\b|\bas \S+ has it\b`,
		"", `"unchanged", "verbatim", "the current value"`,
	},
	{"by now", `\b(?:by now|meanwhile|by way of|henceforth|from now on|till then|so far as|as far as (?:it|they|he|one))\b`, "", `"already", "in the meantime", "since"`},
	{
		"is to",
		`\b(?:is|are|was|were) to be\b|\b(?:how|when|where|which|who|whom|that|it|they|he|what) (?:\w+ ){0,2}(?:is|are|was|were) to [a-z]+\b`,
		`\bup to\b|\b(?:goal|purpose|idea|aim|point|intent|intention|way|job|task|option|approach|solution|alternative|trick|fix|role|default|plan|reason|convention|thing|step|choice|recommendation)(?: \w+){0,4} (?:is|are|was|were) to\b|\bwhat (?:\w+ )?(?:is|are) to [a-z]+ \w+\?`,
		`"must", "will", or the present tense`,
	},
	{
		"double genitive",
		`\bof (?:its|their|his|her|one's|one’s|our|my|your) own\b|\bof (?:ours|theirs|hers|mine|yours|one's|one’s|whose|somebody's|nobody's|another's)\b|\b(?:one's|one’s|oneself)\b`,
		"", `"its own X", "our X", "the user's X"`,
	},
	{"beside", `\bbeside\b`, `\bside by side\b|\bbeside the point\b`, `"besides", "next to", "alongside"`},
	{
		"a yes, a no",
		`\b(?:a|the|every|its|their|person's|real|s) (?:yes|no)(?:[.,;:)]|$| (?:is|from|with|to|for|that|or|and|by|in|of)\b)`,
		`\bno (?:such|one|longer|more|other)\b`, `"an approval", "a denial"`,
	},
	{
		"in words",
		`\bin (?:plain |its |their |the |a |other systems' |the hub's |few )?words?(?:[.,;:)]|$| (?:of|and|that|what|why|as|to|for|by)\b)`,
		`\bin other words\b`, `"as text", "as a sentence"`,
	},
	{
		"knows, wants",
		`\b(?:wants?|wanted|knows?|believes?|hears?|heard|forgets?|remembers?|learns|speaks?|speaking)\b`,
		`\b(?:you|we|i|users?|people|developers?|clients?|callers?|who|someone|anyone) (?:\w+ )?(?:wants?|wanted|know|knows?|forget|remember|believe)\b|\bwant(?:s|ed)? to\b` +
			`|\bknows? (?:how|which|where|what|about|not|there|that|it)\b|\bremember(?:s|:)? (?:to|that|a)\b|(?:^|[.;:!?] )remember\b|\b(?:can't|never|must|let you) (?:know|remember)\b` +
			`|\bspeak(?:s|ing)? (?:the|will|of)\b|\b(?:got|have|has|was) ["\x01%\w]+, wanted\b|\bwanted[: ]%|\bgeneral(?:ly)? speaking\b|\blet (?:us|me|them|\w+) know\b` +
			`|\b(?:you'd|we'd|don't|doesn't|didn't|to|not|might|may|would|will) (?:\w+ )?(?:want|know|remember|forget|believe|hear)\b`,
		`"has", "requires", "receives", "caches"`,
	},
	{
		"takes",
		`\b(?:takes?|took|taken) (?:up|in|along|away|back|out)\b|\blets? go\b|\bgiv(?:e|es|ing) (?:away|back|out|way)\b`,
		`\b(?:takes?|took) up to\b|\btakes? in (?:a|an|the|two|three)\b`, `"resumes", "accepts", "releases", "removes", "returns"`,
	},
	{
		"looks",
		`\b(?:looks?|looked|looking) (?:at|through|whether|over|into)\b`,
		`(?:^|[.;:!?(] )look at\b|\b(?:another|a closer|we're|you're|i|we|you) look(?:ed|ing)? (?:at|into|through)\b|\b(?:let's|to|you|please|can|first|then|by|worth|when) (?:\w+ )?(?:look|looking|take a look) (?:at|into|through)\b`,
		`"reads", "checks", "scans"`,
	},
	{"goes on", `\b(?:go|goes|went) on\b|\bgoes (?:by|along)\b`, `\bgo(?:es)? on (?:the|a|an|top)\b`, `"continues", "is named"`},
	{"those that", `\bthose (?:that|who|whom|of|with|which|whose|in)\b`, `\bfor those (?:who|of)\b`, `repeat the noun: "the rules that …"`},
	{
		"for where",
		`\b(?:where|for whom|for which) (?:there (?:is|are|was|were)|none is|one is|it can|they can|it is|they are|nobody|no one)\b`,
		`\b(?:to|from|of|about|cases?|places?|contexts?|situations?|systems?|platforms?|environments?|code|know|see|find|point|line|file) where\b`, `"if", "when"`,
	},
	{
		"so much",
		`\bso (?:much|many|long|often|far) (?:of|more|as|that|a|is|was|it|they|in|ago|for|at|time|bytes|events|days|rows)\b|\bever (?:slower|faster|longer|more|less|so)\b|\bsuch (?:a one|as have|as is)\b`,
		`\bso (?:far|long|many) that\b|\b(?:not|never) so (?:much|many)\b`, `state the quantity: "n bytes"`,
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
