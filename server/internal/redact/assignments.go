package redact

import (
	"bytes"
	"regexp"
	"slices"
	"unicode"
)

// findAssignment finds the value in NAME=value, "name": "value", --name value or Name: value, if
// the name around s.b[at:] belongs to a secret.
func (r *Redactor) findAssignment(s *scan, at int) (match, bool) {
	from, to := s.nameAround(at)
	rule := keyNameOf(s.b[from:to])
	if rule == nil {
		return match{}, false
	}
	if s.raw {
		return match{}, valueMayFollow(s.b, from, to)
	}
	v, ok := valueAt(s.b, from, to)
	if !ok || !rule.mayBe(s.b[v.at:]) || s.layout != nil && v.mayBeCode(s.b, from) && !s.layout.entries[v.at] {
		return match{}, false
	}
	m, ok := v.locate(s)
	m.rule, m.name = rule.rule, from
	return m, ok
}

// nameAround returns the bounds of the name around s.b[at:].
func (s *scan) nameAround(at int) (from, to int) {
	from, to = at, at
	for from > 0 && at-from < maxNameBytes && isName(s.b[from-1]) {
		from--
	}
	for to < len(s.b) && to-at < maxNameBytes && isName(s.b[to]) {
		to++
	}
	if s.raw && from > 0 && s.b[from-1] == '\\' { // the name follows an escape such as \n or \u000a
		skip := 1
		if s.b[from] == 'u' {
			skip = 5
		}
		from = min(from+skip, at)
	}
	return from, to
}

// valueMayFollow reports whether a value may follow the name b[from:to] in JSON text.
func valueMayFollow(b []byte, from, to int) bool {
	if to == len(b) {
		return false
	}
	switch b[to] {
	case '"', '\'', '`', '\\', '>':
		return true
	case ' ':
		if b[from] == '-' {
			return true
		}
	}
	i := skipSpace(b, to)
	return i < len(b) && (b[i] == '=' || b[i] == ':' || b[i] == '\\')
}

// skipSpace skips up to eight blanks.
func skipSpace(b []byte, from int) int {
	i := from
	for i < len(b) && i < from+8 && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	return i
}

// assignedValue is the start of a value and how it is written.
type assignedValue struct {
	at    int
	name  []byte
	style valueStyle
}

type valueStyle int

const (
	codeStyle   valueStyle = iota // name=value without quotes; may be an expression
	envStyle                      // NAME=value, up to the next blank
	headerStyle                   // Name: value
	flagStyle                     // --name value
	randomStyle                   // name = value or name: value, where only a value that looks random is a secret
	quotedStyle                   // "value" or \"value\"; at is the first byte inside the quotes
)

// valueAt parses the separator after the name b[from:to].
func valueAt(b []byte, from, to int) (assignedValue, bool) {
	v := assignedValue{name: b[from:to]}
	i := skipWhile(b, to, isSlash)
	quotedName := i < len(b) && isQuote(b[i])
	if quotedName {
		if i++; i < len(b) && b[i] == ']' { // config["password"] =
			i++
		}
	} else if i > to {
		return v, false
	}
	sep := skipSpace(b, i)
	if sep == len(b) {
		return v, false
	}
	spaced := sep > i
	isPair := pairedValue.Match(b[to:min(len(b), to+4096)])
	switch c := b[sep]; {
	case isPair:
		v.at = skipSpace(b, to+bytes.IndexByte(b[to:], ':')+1)
		v.style = styleOf(v.name, '=', false)
	case c == '=' || c == ':':
		next := sep + 1
		if next < len(b) && (b[next] == '=' || c == '=' && b[next] == '>') { // := and =>; == is a comparison
			if c == '=' && b[next] == '=' {
				return v, false
			}
			next++
		}
		v.at = skipSpace(b, next)
		if b[from] == '-' && v.at > next && c == '=' {
			if b[from+1] == '-' || from > 0 && b[from-1] != '\n' { // --name= is empty, and another word follows
				return v, false
			}
			v.name = v.name[1:] // a line of a diff
		}
		spaced = spaced || v.at > next
		v.style = styleOf(v.name, c, spaced)
	case c == '>' && sep == to && from > 0 && b[from-1] == '<': // <name>value</name>
		v.at, v.style = sep+1, codeStyle
	case b[from] == '-' && spaced && !quotedName && !isSwitch.Match(v.name):
		v.at, v.style = sep, flagStyle
	default:
		return v, false
	}
	if q := skipWhile(b, v.at, isSlash); q < len(b) && isQuote(b[q]) {
		v.at, v.style = q+1, quotedStyle
		return v, true
	}
	return v, v.at < len(b)
}

// mayBeCode reports whether a value without quotes can be a command or an expression: that of a
// variable with a sigil ($PASSWORD=./run or $env:PASSWORD=./run in PowerShell), or after a blank
// (PASSWORD = system "run").
func (v assignedValue) mayBeCode(b []byte, nameFrom int) bool {
	sigil := nameFrom - 1
	for sigil >= 0 && nameFrom-sigil < maxNameBytes && (isName(b[sigil]) || bytes.IndexByte([]byte(":.[]"), b[sigil]) >= 0) {
		sigil--
	}
	isVariable := sigil >= 0 && b[sigil] == '$' && v.style != quotedStyle
	return isVariable || v.style == codeStyle && isSpace(b[v.at-1])
}

// styleOf returns how an unquoted value is written.
func styleOf(name []byte, sep byte, spaced bool) valueStyle {
	upper := !bytes.ContainsFunc(name, func(c rune) bool { return c >= 'a' && c <= 'z' })
	trimmed := bytes.TrimLeft(name, "-")
	switch {
	case sep == ':' && (bytes.IndexByte(trimmed, '-') >= 0 || isHeader(trimmed)):
		return headerStyle
	case sep == ':':
		return randomStyle // else it may be a type, as in "password: string"
	case len(trimmed) < len(name):
		return flagStyle
	case upper && !spaced:
		return envStyle
	case upper || !spaced:
		return codeStyle
	default:
		return randomStyle
	}
}

// isSwitch matches names of flags that are followed by no value, as in --no-password.
var isSwitch = regexp.MustCompile(`^--?(no|ask|show|skip|use|with|without|prompt|print|require|reset|revoke|rotate|create)[-_]`)

var (
	endsLine = regexp.MustCompile(`^(["'` + "`" + `\\]|[ \t]*(\r?\n|$))`)
	// chosen matches a password that a person made up, unlike typeName.
	chosen = regexp.MustCompile(`^[a-z0-9!@#$%^&*-]*([a-z][0-9]|[0-9!@#$%^&*][a-z])[a-z0-9!@#$%^&*-]*$|` +
		`^\w[\w!@#$%^&*-]*([!@#$%^&*][A-Za-z0-9]|[0-9][A-Za-z]+[0-9])[\w!@#$%^&*-]*$|^[A-Za-z0-9+/]+==?$`)
	// pairedValue is between the name of a variable and its value, as in - name: NAME, value: VALUE.
	pairedValue = regexp.MustCompile(`^(["'],\s*["']?value["']?: *["']|["']?[ \t]*\r?\n[ \t]{0,64}value: +(["']|[^\s"'(\[{]+[ \t]*(\r?\n|$)))`)
	typeName    = regexp.MustCompile(`^.{0,7}$|^(u?int|float|str|bool|byte|sha|utf|base|varchar|char|decimal|uuid|md|v)[a-z]*[0-9]|^[a-z-]+$`)
)

// looksRandom reports whether a value has the form of a key in base64, and not of a name or a path.
func looksRandom(text []byte) bool {
	return len(text) >= 32 && text[0] != '/' && bytes.IndexByte(text, '.') < 0 && keySigns.Match(text) &&
		bytes.ContainsFunc(text, unicode.IsUpper) && bytes.ContainsFunc(text, unicode.IsLower)
}

var keySigns = regexp.MustCompile(`[/+=]|[0-9].*[0-9].*[0-9]`)

func isHeader(name []byte) bool {
	return bytes.HasSuffix(bytes.ToLower(name), []byte("authorization")) || bytes.EqualFold(name, []byte("cookie"))
}

func isSlash(c byte) bool { return c == '\\' }
func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// locate returns the bytes of the value if it may be a secret. References such as $TOKEN or
// <your token>, and placeholders, are not.
func (v assignedValue) locate(s *scan) (match, bool) {
	b := s.b
	if v.at >= len(b) || bytes.IndexByte([]byte("$<{(%*"), b[v.at]) >= 0 || placeholderLen(b[v.at:]) > 0 {
		return match{}, false
	}
	end := v.valueEnd(s)
	text := b[v.at:end]
	isCommand := s.layout != nil && v.style == quotedStyle && b[v.at-1] == '`'
	if len(text) == 0 || isCommand || text[0] == '#' && isSpace(b[v.at-1]) || // a comment
		v.name[0] == '-' && text[0] == '-' || v.style == randomStyle && !looksRandom(text) &&
		!(endsLine.Match(b[end:]) && chosen.Match(text) && !typeName.Match(text)) ||
		v.style == codeStyle && isExpression(v.name, text) {
		return match{}, false
	}
	return match{from: v.at, to: end}, true
}

func (v assignedValue) valueEnd(s *scan) int {
	b := s.b
	stop := func(set string) int {
		return skipWhile(b, v.at, func(c byte) bool { return c > ' ' && !isQuote(c) && bytes.IndexByte([]byte(set), c) < 0 })
	}
	switch v.style {
	case quotedStyle:
		return closingQuote(b, v.at)
	case headerStyle:
		if bytes.HasSuffix(bytes.ToLower(v.name), []byte("cookie")) {
			if v.at >= s.cookieEnd { // a line of many is read once
				s.cookieEnd = skipWhile(b, v.at, func(c byte) bool { return c >= ' ' && !isQuote(c) })
			}
			return s.cookieEnd
		}
		end := stop("")
		// Authorization: Basic dXNlcjpwdw==
		if end+1 < len(b) && b[end] == ' ' && skipWhile(b, v.at, isAlnum) == end && isHeader(v.name) {
			v.at = end + 1
			return max(end, stop(""))
		}
		return end
	case envStyle, flagStyle:
		return stop(`\`)
	default:
		return stop(`\&;,)}]<>|`)
	}
}

// closingQuote returns where the quotation that begins at from ends: at the same quote with as
// many backslashes before it. An unterminated one ends at the next blank.
func closingQuote(b []byte, from int) int {
	quote := b[from-1]
	slashes := 0
	for from-2-slashes >= 0 && b[from-2-slashes] == '\\' {
		slashes++
	}
	for i, n := from, 0; i < len(b) && i < from+4096; i++ {
		switch {
		case b[i] == '\\':
			n++
			continue
		case b[i] == quote && n <= slashes:
			return max(from, i-n)
		}
		n = 0
	}
	return skipWhile(b, from, func(c byte) bool { return c > ' ' && c != quote })
}

// isExpression reports whether an unquoted value is code: a call, a member access, a constant,
// or the name itself.
func isExpression(name, text []byte) bool {
	if len(text) > 64 {
		return false
	}
	if bytes.ContainsAny(text, "([") || bytes.EqualFold(name, text) {
		return true
	}
	if bytes.IndexByte(text, '.') > 0 && len(bytes.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.")) == 0 {
		return true
	}
	return slices.Contains([]string{"none", "null", "nil", "true", "false", "undefined", "string", "str", "..."}, string(bytes.ToLower(text)))
}
