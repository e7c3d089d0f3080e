package filter

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hookback/hookback/schema"
)

// value is a piece of JSON as a browser reads it: of two members with one name the
// last counts, in the place of the first.
type value struct {
	kind  jsontext.Kind
	text  string   // of a scalar, as a browser writes it
	names []string // of an object's members
	inner []value  // members and elements
}

// decode reads stored JSON, which is known to be valid; nil is no value.
func decode(raw []byte) *value {
	if len(raw) == 0 {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	v, err := read(dec, 0)
	if err != nil {
		return nil
	}
	return &v
}

func read(dec *jsontext.Decoder, depth int) (v value, err error) {
	if depth > schema.MaxDepth {
		return v, dec.SkipValue()
	}
	token, err := dec.ReadToken()
	if err != nil {
		return v, err
	}
	v.kind = token.Kind()
	switch v.kind {
	case '{':
		return v, v.readMembers(dec, depth)
	case '[':
		for dec.PeekKind() != ']' && err == nil {
			var element value
			element, err = read(dec, depth+1)
			v.inner = append(v.inner, element)
		}
		if err == nil {
			_, err = dec.ReadToken()
		}
		return v, err
	case '0':
		v.text = number(token.String())
	default:
		v.text = token.String()
	}
	return v, nil
}

// fewMembers are found faster one by one than in a map.
const fewMembers = 16

func (v *value) readMembers(dec *jsontext.Decoder, depth int) error {
	var places map[string]int
	for dec.PeekKind() != '}' {
		token, err := dec.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		member, err := read(dec, depth+1)
		if err != nil {
			return err
		}
		if len(v.names) == fewMembers && places == nil {
			places = make(map[string]int, 2*fewMembers)
			for i, known := range v.names {
				places[known] = i
			}
		}
		at, known := v.place(places, name)
		if known {
			v.inner[at] = member
			continue
		}
		if places != nil {
			places[name] = len(v.names)
		}
		v.names, v.inner = append(v.names, name), append(v.inner, member)
	}
	_, err := dec.ReadToken()
	return err
}

func (v *value) place(places map[string]int, name string) (int, bool) {
	if places != nil {
		at, known := places[name]
		return at, known
	}
	for i, known := range v.names {
		if known == name {
			return i, true
		}
	}
	return 0, false
}

// member is the one with just this name, nil when v has none.
func (v *value) member(name string) *value {
	if v == nil {
		return nil
	}
	if at, known := v.place(nil, name); known {
		return &v.inner[at]
	}
	return nil
}

// dig follows a path of folded names. null is nothing.
func (v *value) dig(path []string) *value {
	for _, name := range path {
		if v = v.folded(name); v == nil {
			return nil
		}
	}
	if v != nil && v.kind == 'n' {
		return nil
	}
	return v
}

func (v *value) folded(name string) *value {
	if v == nil {
		return nil
	}
	for i := range v.names {
		if Fold(v.names[i]) == name {
			return &v.inner[i]
		}
	}
	return nil
}

// some reports whether fn holds for the text of v or of something in it.
func (v *value) some(fn func(text string) bool) bool {
	switch {
	case v == nil, v.kind == 'n':
		return false
	case v.kind != '{' && v.kind != '[':
		return fn(v.text)
	}
	for i := range v.inner {
		if v.inner[i].some(fn) {
			return true
		}
	}
	return false
}

// str is the text of a string, "" for anything else.
func (v *value) str() string {
	if v == nil || v.kind != '"' {
		return ""
	}
	return v.text
}

// joined is String(v) of JavaScript.
func (v *value) joined() string {
	switch v.kind {
	case '{':
		return "[object Object]"
	case '[':
		parts := make([]string, len(v.inner))
		for i := range v.inner {
			if v.inner[i].kind != 'n' {
				parts[i] = v.inner[i].joined()
			}
		}
		return strings.Join(parts, ",")
	default:
		return v.text
	}
}

// number is a JSON number as JavaScript writes it.
func number(text string) string {
	if len(text) < 16 && text[0] != '-' && strings.Trim(text, "0123456789") == "" {
		return text
	}
	f, _ := strconv.ParseFloat(text, 64) // beyond its range: infinite, as in a browser
	switch size := math.Abs(f); {
	case f == 0:
		return "0"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	case size >= 1e21 || size < 1e-6:
		return strings.Replace(strconv.FormatFloat(f, 'e', -1, 64), "e-0", "e-", 1)
	default:
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
}

// cut is text.slice(0, units) of JavaScript, and how many units that has.
func cut(text string, units int) (string, int) {
	if len(text) <= units && isASCII(text) {
		return text, len(text)
	}
	n := 0
	for i, r := range text {
		width := 1
		if r > 0xffff {
			width = 2
		}
		if n+width > units {
			return text[:i], units
		}
		n += width
	}
	return text, n
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
