package call

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// value is a JSON value. Objects keep duplicate members.
type value struct {
	kind    valueKind
	text    string   // of a string, and the digits of a number
	members []member // of an object, and the items of an array with their index as name
}

type member struct {
	name string
	*value
}

type valueKind int

const (
	nullValue valueKind = iota
	boolValue
	numberValue
	stringValue
	arrayValue
	objectValue
)

// maxValueDepth limits nesting. Deeper nesting is an attempt to overflow a parser's stack.
const maxValueDepth = 100

// parseValue parses one JSON value. An empty text is null. The error completes the sentence
// "The arguments …".
func parseValue(text []byte) (*value, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return &value{}, nil
	}
	if !json.Valid(text) {
		return nil, errors.New("are not valid JSON")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return decodeValue(d, 0)
}

// decodeValue decodes the next value by its tokens, because json.Unmarshal drops duplicate members.
func decodeValue(d *json.Decoder, depth int) (*value, error) {
	token, err := d.Token()
	if err != nil || depth > maxValueDepth {
		return nil, errors.New("are nested too deeply")
	}
	switch t := token.(type) {
	case string:
		return &value{kind: stringValue, text: t}, nil
	case json.Number:
		return &value{kind: numberValue, text: t.String()}, nil
	case bool:
		return &value{kind: boolValue}, nil
	case json.Delim:
		v := &value{kind: objectValue}
		if t == '[' {
			v.kind = arrayValue
		}
		for d.More() {
			name := strconv.Itoa(len(v.members))
			if t == '{' {
				key, _ := d.Token()
				name, _ = key.(string)
			}
			inner, err := decodeValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			v.members = append(v.members, member{name, inner})
		}
		_, err = d.Token() // the closing bracket
		return v, err
	default:
		return &value{}, nil
	}
}

// textMark ends the part of a pointer that leads to a string, if the rest leads into JSON in it.
const textMark = "\x00"

// unwrap returns the object or array in a string, because some agents send arguments as JSON text, and
// its pointer. Any other value is returned unchanged.
func (v *value) unwrap(at string) (*value, string) {
	text := strings.TrimSpace(v.text)
	if v.kind != stringValue || !strings.HasPrefix(text, `{"`) && !strings.HasPrefix(text, `["`) && !strings.HasPrefix(text, "[{") {
		return v, at
	}
	inner, err := parseValue([]byte(text))
	if err != nil {
		return v, at
	}
	return inner, at + textMark
}

// words returns the items of a list of strings and numbers.
func (v *value) words() (words []string, ok bool) {
	for _, item := range v.members {
		if item.kind != stringValue && item.kind != numberValue {
			return nil, false
		}
		words = append(words, item.text)
	}
	return words, v.kind == arrayValue
}

// named returns the members of an object with one of the normalized names.
func (v *value) named(names ...string) (found []member) {
	for _, m := range v.members {
		for _, name := range names {
			if v.kind == objectValue && normalizeName(m.name) == name {
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

func wholeSpan(v *value, at string) Span { return Span{at, 0, len(v.text)} }

// eachText calls text for a string or the strings of a list, and other for the objects in it.
func (v *value) eachText(at string, text func(string, Span), other func(*value, string)) {
	switch v.kind {
	case stringValue:
		text(v.text, wholeSpan(v, at))
	case arrayValue:
		for _, m := range v.members {
			m.eachText(below(at, m.name), text, other)
		}
	case objectValue:
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
		c.arguments.walk("", "", &left, func(name, at string, v *value) {
			if v.kind == stringValue {
				fn(Text{name, v.text, wholeSpan(v, at)})
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
	c.arguments.walk("", "", &left, func(_, at string, v *value) {
		if v.kind != objectValue {
			return
		}
		names := make([]string, len(v.members))
		for i, m := range v.members {
			names[i] = m.name
		}
		fn(at, names)
	})
}

// walk calls fn for every value with the name of its member and its pointer, up to left values.
func (v *value) walk(name, at string, left *int, fn func(name, at string, v *value)) {
	if *left--; *left < 0 {
		return
	}
	fn(name, at, v)
	for _, m := range v.members {
		if v.kind == objectValue {
			name = normalizeName(m.name)
		}
		m.walk(name, below(at, m.name), left, fn)
	}
}
