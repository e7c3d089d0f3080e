package filter

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/sessions/digest"
)

// jsonValue is a JSON value as a browser parses it: the last of several members with one name
// wins, at the position of the first.
type jsonValue struct {
	kind     jsontext.Kind
	text     string      // of a scalar, in JavaScript's notation
	names    []string    // of an object's members
	children []jsonValue // members or elements
}

// decoderPool reuses decoders, because a decoder is larger than most events.
var decoderPool = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

// parseJSON parses stored JSON, which is known to be valid. It returns nil for no value.
func parseJSON(raw []byte) *jsonValue {
	if len(raw) == 0 {
		return nil
	}
	dec := decoderPool.Get().(*jsontext.Decoder)
	defer decoderPool.Put(dec)
	dec.Reset(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	v, err := readValue(dec, 0)
	if err != nil {
		return nil
	}
	return &v
}

// parseMembers is parseJSON for some members of an object: it skips the values of the others.
func parseMembers(raw []byte, wanted ...string) *jsonValue {
	dec := decoderPool.Get().(*jsontext.Decoder)
	defer decoderPool.Put(dec)
	dec.Reset(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	object := &jsonValue{kind: '{'}
	if _, err := dec.ReadToken(); err != nil || object.readMembers(dec, 0, wanted) != nil {
		return nil
	}
	return object
}

func readValue(dec *jsontext.Decoder, depth int) (v jsonValue, err error) {
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
		return v, v.readMembers(dec, depth, nil)
	case '[':
		for dec.PeekKind() != ']' && err == nil {
			var element jsonValue
			element, err = readValue(dec, depth+1)
			v.children = append(v.children, element)
		}
		if err == nil {
			_, err = dec.ReadToken()
		}
		return v, err
	case '0':
		v.text = jsNumber(token.String())
	default:
		v.text = token.String()
	}
	return v, nil
}

// usualMembers is the room for an object's members at first.
const usualMembers = 4

// maxLinearMembers is the number of members up to which a linear search is faster than a map.
const maxLinearMembers = 16

// readMembers reads the wanted members, or all if wanted is nil.
func (v *jsonValue) readMembers(dec *jsontext.Decoder, depth int, wanted []string) error {
	var indexes map[string]int
	for dec.PeekKind() != '}' {
		rawName, err := dec.ReadValue()
		if err != nil {
			return err
		}
		name := digest.Unquote(rawName)
		if wanted != nil && !slices.Contains(wanted, name) {
			if err := dec.SkipValue(); err != nil {
				return err
			}
			continue
		}
		member, err := readValue(dec, depth+1)
		if err != nil {
			return err
		}
		if len(v.names) == maxLinearMembers && indexes == nil {
			indexes = make(map[string]int, 2*maxLinearMembers)
			for i, known := range v.names {
				indexes[known] = i
			}
		}
		index, known := v.indexOf(indexes, name)
		if known {
			v.children[index] = member
			continue
		}
		if indexes != nil {
			indexes[name] = len(v.names)
		}
		if v.names == nil {
			v.names, v.children = make([]string, 0, usualMembers), make([]jsonValue, 0, usualMembers)
		}
		v.names, v.children = append(v.names, name), append(v.children, member)
	}
	_, err := dec.ReadToken()
	return err
}

func (v *jsonValue) indexOf(indexes map[string]int, name string) (int, bool) {
	if indexes != nil {
		at, known := indexes[name]
		return at, known
	}
	for i, known := range v.names {
		if known == name {
			return i, true
		}
	}
	return 0, false
}

// member returns the member with exactly this name, or nil.
func (v *jsonValue) member(name string) *jsonValue {
	if v == nil {
		return nil
	}
	if at, known := v.indexOf(nil, name); known {
		return &v.children[at]
	}
	return nil
}

// lookup follows a path of folded names. It returns nil for a missing member and for null.
func (v *jsonValue) lookup(path []string) *jsonValue {
	for _, name := range path {
		if v = v.memberFold(name); v == nil {
			return nil
		}
	}
	if v != nil && v.kind == 'n' {
		return nil
	}
	return v
}

func (v *jsonValue) memberFold(name string) *jsonValue {
	if v == nil {
		return nil
	}
	for i := range v.names {
		if Fold(v.names[i]) == name {
			return &v.children[i]
		}
	}
	return nil
}

// anyMatch reports whether fn is true for the text of v, or of a scalar inside it.
func (v *jsonValue) anyMatch(fn func(text string) bool) bool {
	switch {
	case v == nil, v.kind == 'n':
		return false
	case v.kind != '{' && v.kind != '[':
		return fn(v.text)
	}
	for i := range v.children {
		if v.children[i].anyMatch(fn) {
			return true
		}
	}
	return false
}

// stringValue returns the text of a JSON string, or "" for any other value.
func (v *jsonValue) stringValue() string {
	if v == nil || v.kind != '"' {
		return ""
	}
	return v.text
}

// jsNumber formats a JSON number as JavaScript does.
func jsNumber(text string) string {
	if len(text) < 16 && text[0] != '-' && strings.Trim(text, "0123456789") == "" {
		return text
	}
	f, _ := strconv.ParseFloat(text, 64) // out of range: infinite, as in a browser
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

// truncateUTF16 returns what JavaScript's text.slice(0, units) returns, and its length in UTF-16
// units.
func truncateUTF16(text string, units int) (string, int) {
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
