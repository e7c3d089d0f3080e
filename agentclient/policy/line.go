package policy

import "strings"

// expansion replaces text in a parsed word that is that is known only at run time: a variable, a
// substitution or an alternative in braces.
const expansion = "\x00"

// lineWord is one word of a command line, without its quotes.
type lineWord struct {
	text    string
	splits  bool // an expansion outside quotes: it may become several words
	pattern bool // * ? or [ outside quotes: it may become a file name
	quoted  bool // some of it was quoted: it may be a script for another shell
}

// lineParser splits a command line into words at the places where sh, bash, zsh and
// PowerShell do. It reads any text: the result is for rules that look for a command, not
// for running one.
type lineParser struct {
	text       string
	pos        int
	windows    bool
	depth      int
	commands   [][]lineWord // substitutions included
	words      []lineWord
	word       lineWord
	started    bool
	buf        strings.Builder
	incomplete bool // ends inside quotes or a substitution, or is nested too deeply
}

const maxLineDepth = 50

// parseLine returns the commands of a command line, and whether it is complete.
func parseLine(text string, windows bool) (commands [][]lineWord, complete bool) {
	p := lineParser{text: text, windows: windows}
	p.parse(0)
	return p.commands, !p.incomplete
}

// parse reads commands up to closer, which is left to the caller, or to the end.
func (p *lineParser) parse(closer byte) {
	groups := 0
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		if c == closer && groups == 0 && closer != 0 {
			break
		}
		p.pos++
		switch {
		case strings.IndexByte(" \t<>", c) >= 0:
			p.endWord()
		case strings.IndexByte("\r\n;&|()", c) >= 0:
			p.endCommand()
			if c == '(' {
				groups++
			} else if c == ')' {
				groups = max(0, groups-1)
			}
		case p.escapes(c):
			p.parseEscape()
		case c == '\'':
			p.parseSingleQuotes()
		case c == '"':
			p.parseDoubleQuotes()
		default:
			p.parseChar(c)
		}
	}
	if p.pos == len(p.text) && closer != 0 {
		p.incomplete = true
	}
	p.endCommand()
}

// parseChar reads a character that may start an expansion. It has been consumed.
func (p *lineParser) parseChar(c byte) {
	switch {
	case c == '$' && p.startsExpansion():
		p.word.splits = true
		p.parseExpansion()
	case c == '`' && !p.windows:
		p.word.splits = true
		p.parseNested('`')
	case c == '{' && p.pos < len(p.text) && strings.IndexByte(" }\t\n", p.text[p.pos]) < 0:
		p.word.splits = true
		p.add(expansion)
	case strings.IndexByte("*?[", c) >= 0:
		p.word.pattern = true
		p.add(string(c))
	default:
		p.add(p.text[p.pos-1 : p.pos])
	}
}

func (p *lineParser) add(text string) {
	p.buf.WriteString(text)
	p.started = true
}

func (p *lineParser) endWord() {
	if p.started {
		p.word.text = p.buf.String()
		p.words = append(p.words, p.word)
	}
	p.buf.Reset()
	p.word, p.started = lineWord{}, false
}

func (p *lineParser) endCommand() {
	p.endWord()
	if len(p.words) > 0 {
		p.commands = append(p.commands, p.words)
	}
	p.words = nil
}

// escapes reports whether the shells of the system read the character after c literally.
func (p *lineParser) escapes(c byte) bool {
	if p.windows {
		return c == '`' || c == '^'
	}
	return c == '\\'
}

// parseEscape reads the character after an escape.
func (p *lineParser) parseEscape() {
	switch {
	case p.pos == len(p.text):
		p.incomplete = true
	case p.text[p.pos] == '\n': // the command continues
		p.pos++
	default:
		p.word.quoted = true
		p.add(p.text[p.pos : p.pos+1])
		p.pos++
	}
}

func (p *lineParser) parseSingleQuotes() {
	p.word.quoted = true
	rest := p.text[p.pos:]
	end := strings.IndexByte(rest, '\'')
	if end < 0 {
		p.incomplete = true
		end = len(rest)
	}
	p.add(rest[:end])
	p.pos = min(p.pos+end+1, len(p.text))
}

func (p *lineParser) parseDoubleQuotes() {
	p.word.quoted = true
	p.add("")
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		p.pos++
		switch {
		case c == '"':
			return
		case c == '\\' && !p.windows && p.pos < len(p.text) && strings.IndexByte("$`\"\\\n", p.text[p.pos]) >= 0:
			if p.text[p.pos] != '\n' {
				p.add(p.text[p.pos : p.pos+1])
			}
			p.pos++
		case c == '$' && p.startsExpansion():
			p.parseExpansion()
		case c == '`' && !p.windows:
			p.parseNested('`')
		default:
			p.add(p.text[p.pos-1 : p.pos])
		}
	}
	p.incomplete = true
}

// startsExpansion reports whether the $ before pos expands.
func (p *lineParser) startsExpansion() bool {
	if p.pos == len(p.text) {
		return false
	}
	c := p.text[p.pos]
	return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("({@*#?$!-'", c) >= 0
}

// parseExpansion reads the text after a $. The name of a variable stays in the word, after
// the mark: it makes no difference there.
func (p *lineParser) parseExpansion() {
	if p.text[p.pos] == '(' {
		p.pos++
		p.parseNested(')')
		return
	}
	p.add(expansion)
}

// parseNested reads the commands of a substitution.
func (p *lineParser) parseNested(closer byte) {
	p.add(expansion)
	if p.depth >= maxLineDepth {
		p.incomplete = true
		p.pos = len(p.text)
		return
	}
	inner := lineParser{text: p.text, pos: p.pos, windows: p.windows, depth: p.depth + 1}
	inner.parse(closer)
	p.commands = append(p.commands, inner.commands...)
	p.incomplete = p.incomplete || inner.incomplete
	p.pos = min(inner.pos+1, len(p.text))
}

// simpleWords returns the words of a command line that isSimpleCommand accepts.
func simpleWords(text string, windows bool) (words []string, ok bool) {
	if !isSimpleCommandFor(text, windows) {
		return nil, false
	}
	commands, complete := parseLine(text, windows)
	if !complete || len(commands) != 1 {
		return nil, false
	}
	for _, w := range commands[0] {
		words = append(words, w.text)
	}
	return words, true
}

// joinWords returns a command line with these words.
func joinWords(words []string, windows bool) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quoteWord(w, windows)
	}
	return strings.Join(quoted, " ")
}

func quoteWord(w string, windows bool) string {
	special := func(r rune) bool {
		return r >= 0x80 ||
			!(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@%+~*?[]^!#", r) || windows && r == '\\')
	}
	switch {
	case w != "" && !strings.ContainsFunc(w, special):
		return w
	case windows:
		return `"` + w + `"`
	default:
		return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
}
