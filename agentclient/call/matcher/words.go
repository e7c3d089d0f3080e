package matcher

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// IsOption reports whether a program may read a word as more than an operand: an option, an
// assignment (NAME=value), a file of further arguments (@file), or a pattern that a shell may expand
// to a file name that is an option. With windows set, /x counts too.
func IsOption(word string, windows bool) bool {
	if strings.Contains(word, "=") {
		return true
	}
	switch r, _ := utf8.DecodeRuneInString(word); r {
	case '-', '+', '@', '*', '?', '[':
		return true
	case '–', '—', '―': // PowerShell reads them as hyphens
		return true
	case '/':
		return windows
	default:
		return false
	}
}

// Options is the set of options that a rule covers: those of the commands that a person has seen
// or written. The zero value is empty. It is for one system: Windows must be set before Add.
type Options struct {
	Windows bool // words that begin with / are options

	seen       []seenOption
	terminator bool // -- ends the options
}

type seenOption struct {
	text     string
	value    func(string) bool // for a pattern such as --format=*: matches the rest of the word
	operands int               // number of operands before the option
}

// Add adds the options of a command. Options must not occur earlier in a call than they do here,
// because an option before a subcommand has another meaning.
func (o *Options) Add(words []string) { o.add(words, false, nil) }

// AddOperand adds the options that a rule names in a test of the command: those of the operand of
// equals and starts_with, each word of contains, and the options of a glob, which must have a
// literal name: --format=* covers each value, --f* covers nothing.
func (o *Options) AddOperand(op string, operand []string, s Strictness) {
	if op == "glob" {
		o.add(operand, false, s.newMatcher)
		return
	}
	o.add(operand, op == "contains", nil)
}

func (o *Options) add(words []string, anywhere bool, newMatcher func(pattern string) func(word string) bool) {
	operands, ended, passesOn := 0, false, false
	for _, w := range words {
		if !IsOption(w, o.Windows) {
			if !anywhere {
				operands++
			}
			continue
		}
		s := seenOption{text: w, operands: operands}
		if wild := strings.IndexAny(w, "*?[\\"); newMatcher != nil && wild >= 0 {
			if equals := strings.IndexByte(w, '='); equals < 0 || wild < equals {
				continue
			}
			s.value = newMatcher(w)
		}
		o.seen = append(o.seen, s)
		passesOn = passesOn || ended
		ended = ended || w == "--"
	}
	if ended {
		o.terminator = !passesOn
	}
}

// Words returns the options in the order in which they were added, without duplicates.
func (o *Options) Words() (words []string) {
	for _, s := range o.seen {
		if !slices.Contains(words, s.text) {
			words = append(words, s.text)
		}
	}
	return words
}

// Cover reports whether the set has every option of a call, in the same form. An abbreviation is
// another form. Words after -- are operands if -- is in the set and no option followed it there:
// some programs pass those words on as options.
func (o *Options) Cover(call []string) bool {
	operands := 0
	for _, w := range call {
		switch {
		case !IsOption(w, o.Windows):
			operands++
		case !slices.ContainsFunc(o.seen, func(s seenOption) bool { return s.covers(w, operands) }):
			return false
		case w == "--" && o.terminator:
			return true
		}
	}
	return true
}

func (s *seenOption) covers(word string, operands int) bool {
	return s.operands <= operands && (s.text == word || s.value != nil && s.value(word))
}

// CompareWords reports whether the words of a command meet a test of the command: equals,
// starts_with, contains or glob.
//
// A glob is compared word by word. The word * matches one or more words. A plain last word that
// ends in * (git log*) matches that word and any operands, so git logx does not match; in a path or
// an option it matches within the word. Options in the call need Options.Cover too.
func (s Strictness) CompareWords(op string, operand, words []string) bool {
	n := len(operand)
	switch op {
	case "equals":
		return slices.Equal(words, operand)
	case "starts_with":
		return len(words) >= n && slices.Equal(words[:n], operand)
	case "contains":
		for i := range len(words) - n + 1 {
			if slices.Equal(words[i:i+n], operand) {
				return true
			}
		}
		return false
	}
	if n > 0 {
		if stem, ok := strings.CutSuffix(operand[n-1], "*"); ok && isPlainStem(stem) {
			operand = append(slices.Clone(operand[:n-1]), stem)
			return s.matchSequence(operand, words) || s.matchSequence(append(operand, "*"), words)
		}
	}
	return s.matchSequence(operand, words)
}

// isPlainStem reports whether the text before a final star is a complete word, such as log, and
// not the start of a path, an option or a name with parts, such as test: of npm.
func isPlainStem(stem string) bool {
	if stem == "" || strings.ContainsAny(stem, `*?[]\/:=@+"'`) || stem[0] == '-' {
		return false
	}
	c := stem[len(stem)-1]
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}

func (s Strictness) matchSequence(pattern, words []string) bool {
	p, w, star, restart := 0, 0, -1, 0
	for w < len(words) {
		switch {
		case p < len(pattern) && pattern[p] == "*":
			star, restart = p, w+1 // the star takes one word at first
			p, w = p+1, w+1
		case p < len(pattern) && s.MatchGlob(pattern[p], words[w]):
			p, w = p+1, w+1
		case star >= 0: // and one word more if the rest does not match
			restart++
			p, w = star+1, restart
		default:
			return false
		}
	}
	return p == len(pattern)
}

// SplitPattern splits a glob pattern for a command into the patterns of its words. Quotes group
// words and are removed; a backslash stays, because it escapes in the patterns too. If the quotes
// are not balanced, they count as characters.
func SplitPattern(pattern string) []string {
	var words []string
	var word strings.Builder
	var quote byte
	started := false
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case quote == 0 && (c == '\'' || c == '"'):
			quote, started = c, true
		case c == quote && quote != 0:
			quote = 0
		case quote == 0 && (c == ' ' || c == '\t'):
			if started {
				words = append(words, word.String())
			}
			word.Reset()
			started = false
		case c == '\\' && i+1 < len(pattern):
			i++
			word.WriteByte(c)
			word.WriteByte(pattern[i])
			started = true
		default:
			word.WriteByte(c)
			started = true
		}
	}
	if quote != 0 {
		return strings.Fields(pattern)
	}
	if started {
		words = append(words, word.String())
	}
	return words
}
