package call

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// Value is a JSON value with its position. Objects keep duplicate members.
type Value struct {
	kind    Kind
	offset  int64  // of its first byte in the text
	literal string // text of a string, digits of a number
	isTrue  bool
	members []Member
}

// Member is a member of an object, or an item of an array, whose name is its index.
type Member struct {
	Name   string
	Offset int64 // of the name
	*Value
}

// Kind is the type of a value, as named in messages.
type Kind string

// Kinds of values.
const (
	ObjectKind Kind = "an object"
	ArrayKind  Kind = "an array"
	TextKind   Kind = "a string"
	NumberKind Kind = "a number"
	BoolKind   Kind = "a boolean"
	NullKind   Kind = "null"
)

// NewText returns a string.
func NewText(text string) *Value { return &Value{kind: TextKind, literal: text} }

// Kind returns the type of the value.
func (v *Value) Kind() Kind { return v.kind }

// Offset returns the byte offset of the value in the text that was parsed.
func (v *Value) Offset() int64 { return v.offset }

// Literal returns the text of a string, the digits of a number, or true or false. Other values have none.
func (v *Value) Literal() string {
	if v.kind == BoolKind {
		return strconv.FormatBool(v.isTrue)
	}
	return v.literal
}

// Members returns the members of an object in their order, or the items of an array.
func (v *Value) Members() []Member { return v.members }

// IsNull reports whether the value is null.
func (v *Value) IsNull() bool { return v.kind == NullKind }

// Text returns the value of a string.
func (v *Value) Text() (text string, ok bool) {
	if v == nil || v.kind != TextKind {
		return "", false
	}
	return v.literal, true
}

// At returns the value at a path of member names, or nil if there is none. It is not known if a value
// on the path is not an object.
func (v *Value) At(path ...string) (value *Value, known bool) {
	for _, name := range path {
		if v == nil || v.kind != ObjectKind {
			return nil, false
		}
		i := slices.IndexFunc(v.members, func(m Member) bool { return m.Name == name })
		if i < 0 {
			return nil, true
		}
		v = v.members[i].Value
	}
	return v, true
}

// EveryText calls yield for every string in the value, member names included. It stops and returns false
// if yield returns false.
func (v *Value) EveryText(yield func(string) bool) bool {
	if v.kind == TextKind && !yield(v.literal) {
		return false
	}
	for _, m := range v.members {
		if v.kind == ObjectKind && !yield(m.Name) || !m.EveryText(yield) {
			return false
		}
	}
	return true
}

// HasAmbiguousNames reports whether an object in the value has duplicate names, or names
// that differ only in case. Programs disagree on which member counts.
func (v *Value) HasAmbiguousNames() bool {
	seen := make(map[string]bool, len(v.members))
	for _, m := range v.members {
		name := strings.ToLower(m.Name)
		if seen[name] || m.HasAmbiguousNames() {
			return true
		}
		seen[name] = true
	}
	return false
}

// SyntaxError is an error at a byte offset of a JSON text.
type SyntaxError struct {
	Offset int64
	err    error
}

func (e *SyntaxError) Error() string { return e.err.Error() }

var errTooDeep = errors.New("the value is nested too deeply")

// ParseValue parses one JSON value that nests at most maxDepth levels. An error is a *SyntaxError.
func ParseValue(text []byte, maxDepth int) (*Value, error) {
	if json.Valid(text) {
		p := jsonParser{text: text, maxDepth: maxDepth}
		return p.parseValue(0)
	}
	err := json.Unmarshal(text, new(json.RawMessage)) // returns the offset of the error
	if syntaxErr := (*json.SyntaxError)(nil); errors.As(err, &syntaxErr) {
		if at := syntaxErr.Offset - 1; at >= 0 && syntaxErr.Offset < int64(len(text)) {
			return nil, &SyntaxError{at, err}
		}
		return nil, &SyntaxError{int64(len(text)), err}
	}
	return nil, &SyntaxError{0, err}
}

// maxArgumentDepth limits nesting. Deeper nesting is an attempt to overflow a parser's stack.
const maxArgumentDepth = 100

// parseArguments parses one JSON value. An empty text is null. The error completes the sentence
// "The arguments …".
func parseArguments(text []byte) (*Value, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return &Value{kind: NullKind}, nil
	}
	v, err := ParseValue(text, maxArgumentDepth)
	switch {
	case err == nil:
		return v, nil
	case errors.Is(err.(*SyntaxError).err, errTooDeep): //nolint:errorlint // always of this type
		return nil, errors.New("are nested too deeply")
	default:
		return nil, errors.New("are not valid JSON")
	}
}

// jsonParser parses text that is known to be valid JSON. The decoder of the standard
// library keeps neither positions nor duplicate members.
type jsonParser struct {
	text     []byte
	pos      int
	maxDepth int
}

// skipToToken skips separators and returns the first byte of the next token.
func (p *jsonParser) skipToToken() byte {
	for strings.IndexByte(" \t\r\n,:", p.text[p.pos]) >= 0 {
		p.pos++
	}
	return p.text[p.pos]
}

func (p *jsonParser) parseValue(depth int) (*Value, error) {
	first := p.skipToToken()
	node := &Value{offset: int64(p.pos)}
	switch first {
	case '{', '[':
		if depth == p.maxDepth {
			return nil, &SyntaxError{node.offset, errTooDeep}
		}
		p.pos++
		if first == '{' {
			node.kind = ObjectKind
		} else {
			node.kind = ArrayKind
		}
		return node, p.parseMembers(node, depth+1)
	case '"':
		node.kind, node.literal = TextKind, p.parseString()
	case 't', 'f':
		node.kind, node.isTrue = BoolKind, first == 't'
		p.pos += len(node.Literal())
	case 'n':
		node.kind = NullKind
		p.pos += len("null")
	default:
		for p.pos < len(p.text) && strings.IndexByte("+-.0123456789eE", p.text[p.pos]) >= 0 {
			p.pos++
		}
		node.kind, node.literal = NumberKind, string(p.text[node.offset:p.pos])
	}
	return node, nil
}

// parseMembers parses the rest of an object or an array.
func (p *jsonParser) parseMembers(node *Value, depth int) error {
	for {
		if c := p.skipToToken(); c == '}' || c == ']' {
			p.pos++
			return nil
		}
		m := Member{Name: strconv.Itoa(len(node.members)), Offset: int64(p.pos)}
		if node.kind == ObjectKind {
			m.Name = p.parseString()
		}
		var err error
		if m.Value, err = p.parseValue(depth); err != nil {
			return err
		}
		node.members = append(node.members, m)
	}
}

func (p *jsonParser) parseString() string {
	begin := p.pos
	plain := true
	for p.pos++; p.text[p.pos] != '"'; p.pos++ {
		switch c := p.text[p.pos]; {
		case c == '\\':
			plain = false
			p.pos++
		case c >= 0x80:
			plain = false
		}
	}
	p.pos++
	if plain {
		return string(p.text[begin+1 : p.pos-1])
	}
	var text string
	if json.Unmarshal(p.text[begin:p.pos], &text) != nil {
		return "" // impossible in valid JSON
	}
	return text
}

// textMark ends the part of a pointer that leads to a string, if the rest leads into JSON in it.
const textMark = "\x00"

// unwrap returns the object or array in a string, because some agents send arguments as JSON text, and
// its pointer. Any other value is returned unchanged.
func (v *Value) unwrap(at string) (*Value, string) {
	text := strings.TrimSpace(v.literal)
	if v.kind != TextKind || !strings.HasPrefix(text, `{"`) && !strings.HasPrefix(text, `["`) && !strings.HasPrefix(text, "[{") {
		return v, at
	}
	inner, err := parseArguments([]byte(text))
	if err != nil {
		return v, at
	}
	return inner, at + textMark
}

// Words returns the items of a list of strings and numbers.
func (v *Value) Words() (words []string, ok bool) {
	for _, item := range v.members {
		if item.kind != TextKind && item.kind != NumberKind {
			return nil, false
		}
		words = append(words, item.literal)
	}
	return words, v.kind == ArrayKind
}

// named returns the members of an object with one of the normalized names.
func (v *Value) named(names ...string) (found []Member) {
	for _, m := range v.members {
		for _, name := range names {
			if v.kind == ObjectKind && normalizeName(m.Name) == name {
				found = append(found, m)
			}
		}
	}
	return found
}

var (
	nameSeparators = strings.NewReplacer("_", "", "-", "", " ", "")
	pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")
)

// NormalizeName returns the name of a tool or an argument in lower case without separators, so that filePath,
// FilePath and file_path are equal.
func NormalizeName(name string) string { return normalizeName(name) }

// normalizeName returns a name in lower case without separators, so that filePath, FilePath and
// file_path are equal. It folds letters, because programs take ſ for s.
func normalizeName(name string) string {
	plain := make([]byte, 0, len(name))
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 0x80:
			return strings.ToLower(strings.ToUpper(nameSeparators.Replace(name)))
		case c == '_' || c == '-' || c == ' ':
		case c >= 'A' && c <= 'Z':
			plain = append(plain, c+'a'-'A')
		default:
			plain = append(plain, c)
		}
	}
	return string(plain)
}

// LongPointer replaces a JSON pointer of more than 512 bytes.
const LongPointer = "…"

// below returns the JSON pointer of a member.
func below(pointer, name string) string {
	if pointer == LongPointer || len(pointer)+len(name) > 512 {
		return LongPointer
	}
	return pointer + "/" + pointerEscapes.Replace(name)
}

func wholeSpan(v *Value, at string) Span { return Span{at, 0, len(v.literal)} }

// eachText calls text for a string or the strings of a list, and other for the objects in it.
func (v *Value) eachText(at string, text func(string, Span), other func(*Value, string)) {
	switch v.kind {
	case TextKind:
		text(v.literal, wholeSpan(v, at))
	case ArrayKind:
		for _, m := range v.members {
			m.eachText(below(at, m.Name), text, other)
		}
	case ObjectKind:
		other(v, at)
	}
}

// Text is a string in the arguments of a call.
type Text struct {
	Name string // of the member that holds it or its list, normalized: in lower case without separators
	Text string
	Span Span
}

// maxTexts bounds the strings of one call.
const maxTexts = 1 << 16

// EachText calls fn for every string in the arguments, in order. It returns false if it stopped early
// because there are too many.
func (c *Call) EachText(fn func(Text)) bool {
	left := maxTexts
	if c.arguments != nil {
		c.arguments.walk("", "", &left, func(name, at string, v *Value) {
			if v.kind == TextKind {
				fn(Text{name, v.literal, wholeSpan(v, at)})
			}
		})
	}
	return left >= 0
}

// EachObject calls fn for every object in the arguments with its pointer and the names of its members, in
// order.
func (c *Call) EachObject(fn func(pointer string, names []string)) {
	left := maxTexts
	if c.arguments == nil {
		return
	}
	c.arguments.walk("", "", &left, func(_, at string, v *Value) {
		if v.kind != ObjectKind {
			return
		}
		names := make([]string, len(v.members))
		for i, m := range v.members {
			names[i] = m.Name
		}
		fn(at, names)
	})
}

// walk calls fn for every value with the name of its member and its pointer, up to left values.
func (v *Value) walk(name, at string, left *int, fn func(name, at string, v *Value)) {
	if *left--; *left < 0 {
		return
	}
	fn(name, at, v)
	for _, m := range v.members {
		if v.kind == ObjectKind {
			name = normalizeName(m.Name)
		}
		m.walk(name, below(at, m.Name), left, fn)
	}
}
