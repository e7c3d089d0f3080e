// Package object decodes JSON objects into structs by exact member names. encoding/json would accept a
// name in another case, take the last of two equal ones and ignore unknown ones, any of which may be
// the member that restricts an answer.
package object

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is the maximum nesting depth of arrays and objects in a message.
const MaxDepth = 200

// MaxExtra is the maximum number of unknown members in one object.
const MaxExtra = 256

// maxMembers limits the members of an object and maxElements the elements of a list. Both exceed
// the limits of every message. They are checked before decoding, which takes many times the memory
// of the text.
const (
	maxMembers  = 4 * MaxExtra
	maxElements = MaxExtra
)

// members maps the accepted wire names of a struct's fields to their canonical names.
type members map[string]string

var memberCache sync.Map // :: reflect.Type → members

// membersOf returns the wire names of struct type t: the canonical names and, if snake is set,
// their snake_case forms.
func membersOf(t reflect.Type, snake bool) members {
	if m, ok := memberCache.Load(t); ok {
		return m.(members)
	}
	m := members{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		m[name] = name
		if snake {
			twin := snakeCase(name)
			m[twin] = name
			// The Python model of version 1 spells it response_websocket_url.
			m[strings.ReplaceAll(twin, "web_socket", "websocket")] = name
		}
	}
	memberCache.Store(t, m)
	return m
}

func snakeCase(camel string) string {
	var b strings.Builder
	for _, r := range camel {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Decode decodes the JSON object b into the struct that into points to. Members without a
// field go to the field Extra; without an Extra they are ignored, except unsupported and misspelled
// ones, which are an error. null counts as absent. Names must match exactly
// (encoding/json would accept SOURCE_APP for source_app) and must be unique (encoding/json would
// take the last duplicate, where another parser takes the first). On error the struct is unchanged.
func Decode(b []byte, into any, snake bool) error {
	v, unknown, err := decodeMembers(b, into, snake)
	if err != nil {
		return err
	}
	if f := v.FieldByName("Extra"); f.IsValid() {
		f.Set(reflect.ValueOf(unknown))
	} else {
		if err := CheckSupported(unknown); err != nil {
			return err
		}
		if err := CheckSpelling(v.Type(), unknown); err != nil {
			return err
		}
	}
	reflect.ValueOf(into).Elem().Set(v)
	return nil
}

// DecodeStrict is like Decode for a message that decides something and that no version 1
// client sends: it rejects every unknown member.
func DecodeStrict(b []byte, into any) error {
	v, unknown, err := decodeMembers(b, into, true)
	if err == nil {
		err = CheckSpelling(v.Type(), unknown)
	}
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(unknown)) {
		return invalid(name, "is not a member of this message")
	}
	reflect.ValueOf(into).Elem().Set(v)
	return nil
}

// decodeMembers decodes the members of b that have a field in the struct that into points to. It
// returns a new struct and the unknown members.
func decodeMembers(b []byte, into any, snake bool) (v reflect.Value, unknown map[string]json.RawMessage, err error) {
	if !IsObject(b) {
		return v, nil, invalid("", "must be a JSON object")
	}
	depth, commas := Shape(b)
	if depth > MaxDepth {
		return v, nil, invalid("", fmt.Sprintf("nests deeper than %d levels", MaxDepth))
	}
	if commas >= maxMembers {
		return v, nil, invalid("", "has too many members")
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return v, nil, invalid("", "is not valid JSON")
	}
	if len(raw) > 0 && len(raw) != commas+1 {
		return v, nil, invalid(repeatedMember(b), "is given twice")
	}
	target := reflect.TypeOf(into).Elem()
	known, unknown, err := partitionMembers(raw, membersOf(target, snake))
	if err != nil {
		return v, nil, err
	}
	v = reflect.New(target).Elem()
	return v, unknown, decodeFields(v, known)
}

// partitionMembers separates members that have a field, by canonical name, from unknown ones.
func partitionMembers(raw map[string]json.RawMessage, names members) (known, extra map[string]json.RawMessage, err error) {
	known = make(map[string]json.RawMessage, len(raw))
	for name, value := range raw {
		canonical, ok := names[name]
		switch {
		case string(value) == "null":
		case !ok:
			if extra == nil {
				extra = map[string]json.RawMessage{}
			}
			extra[name] = value
		case known[canonical] != nil:
			return nil, nil, invalid(name, "is given twice, in both spellings")
		default:
			known[canonical] = value
		}
	}
	if len(extra) > MaxExtra {
		return nil, nil, invalid("", "has too many unknown members")
	}
	return known, extra, nil
}

// Shape returns the nesting depth of JSON text and the number of commas in its outermost array
// or object.
func Shape(b []byte) (deepest, commas int) {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		case ',':
			if depth == 1 {
				commas++
			}
		}
	}
	return deepest, commas
}

func decodeFields(v reflect.Value, known map[string]json.RawMessage) error {
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		value, ok := known[name]
		if !ok {
			continue
		}
		if _, commas := Shape(value); commas >= maxElements && isList(v.Field(i).Type()) {
			return invalid(name, "has too many elements")
		}
		err := json.Unmarshal(value, v.Field(i).Addr().Interface())
		if err == nil {
			continue
		}
		var typeError *json.UnmarshalTypeError
		if errors.As(err, &typeError) && typeError.Field == "" {
			typeError.Type = v.Field(i).Type() // report "an array of strings" for choices, not "a string"
		}
		return Wrap(name, err)
	}
	return nil
}

// isList reports whether a field of type t is decoded element by element. Raw JSON is a slice too,
// but is not decoded.
func isList(t reflect.Type) bool {
	return t.Kind() == reflect.Map || t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8
}

// Wrap turns an error of encoding/json into a FieldError that names the member.
func Wrap(name string, err error) error {
	var typeError *json.UnmarshalTypeError
	var inner *FieldError
	switch {
	case errors.As(err, &inner):
		return &FieldError{Field: joinField(name, inner.Field), Detail: inner.Detail}
	case errors.As(err, &typeError):
		return invalid(joinField(name, typeError.Field), "must be "+jsonType(typeError.Type)+", not "+typeError.Value)
	default:
		return invalid(name, "is not valid JSON")
	}
}

func joinField(outer, inner string) string {
	if inner == "" {
		return outer
	}
	return outer + "." + inner
}

func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.String {
			return "an array of strings"
		}
		return "an array"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Pointer:
		return jsonType(t.Elem())
	default:
		return "a number"
	}
}

// Encode encodes v, a struct, followed by the members of extra.
func Encode(v any, extra map[string]json.RawMessage) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil || len(extra) == 0 {
		return b, err
	}
	names := make([]string, 0, len(extra))
	for name := range extra {
		names = append(names, name)
	}
	slices.Sort(names)
	b = b[:len(b)-1]
	for _, name := range names {
		if len(b) > 1 {
			b = append(b, ',')
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, key...), ':'), extra[name]...)
	}
	return append(b, '}'), nil
}

// ErrInvalid is the error of a message that is not valid.
var ErrInvalid = errors.New("the message is not valid")

// FieldError is an ErrInvalid, or another error, that names the member at fault.
type FieldError struct {
	Field  string // dotted, such as humanInTheLoop.choices; empty for the whole message
	Detail string
	Cause  error // nil means ErrInvalid
}

func (e *FieldError) Error() string {
	if e.Field == "" {
		return "the message " + e.Detail
	}
	return e.Field + " " + e.Detail
}

// Unwrap returns Cause, or ErrInvalid if it is nil.
func (e *FieldError) Unwrap() error {
	if e.Cause == nil {
		return ErrInvalid
	}
	return e.Cause
}

func invalid(field, detail string) error { return &FieldError{Field: field, Detail: detail} }

// IsObject reports whether JSON text is an object, without parsing it.
func IsObject(raw []byte) bool {
	t := bytes.TrimLeft(raw, " \t\r\n")
	return len(t) > 0 && t[0] == '{'
}

// unsupportedMembers are members of other approval protocols that restrict an answer, or the time
// and the people it needs. A hub that ignored them would accept an answer that the requester
// excluded. The value is the supported alternative, if there is one.
var unsupportedMembers = map[string]string{
	FoldName("allowedDecisions"):      "use type and choices",
	FoldName("vetoChoices"):           "",
	FoldName("items"):                 "ask one question for each item, or use questions",
	FoldName("supersedes"):            "cancel the earlier question",
	FoldName("form"):                  "use questions",
	FoldName("halt"):                  "",
	FoldName("recipientDistribution"): "use recipients.mode",
	FoldName("timeoutSeconds"):        "use timeout",
}

// FoldName maps the spellings of a member name (camelCase, snake_case, kebab-case, any case) to
// one.
func FoldName(name string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r == '_' || r == '-' {
			return -1
		}
		return r
	}, name))
}

// similarMember returns the member of struct type t that name misspells, or "".
func similarMember(t reflect.Type, name string) string {
	folded := FoldName(name)
	for i := range t.NumField() {
		canonical, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if canonical != "" && canonical != "-" && FoldName(canonical) == folded {
			return canonical
		}
	}
	return ""
}

// CheckSpelling rejects unknown members of a struct of type t that misspell a known one. Ignoring
// RequiredApprovals, for example, would let one person decide.
func CheckSpelling(t reflect.Type, unknown map[string]json.RawMessage) error {
	for _, name := range slices.Sorted(maps.Keys(unknown)) {
		if similar := similarMember(t, name); similar != "" {
			return invalid(name, "is not a member of this message; use "+similar)
		}
	}
	return nil
}

// CheckSupported rejects unsupportedMembers in any spelling.
func CheckSupported(unknown map[string]json.RawMessage) error {
	for _, name := range slices.Sorted(maps.Keys(unknown)) {
		alternative, unsupported := unsupportedMembers[FoldName(name)]
		switch {
		case unsupported && alternative != "":
			return invalid(name, "is not supported; "+alternative)
		case unsupported:
			return invalid(name, "is not supported")
		}
	}
	return nil
}

// repeatedMember returns the first name that the valid object b has twice, without those of inner objects.
func repeatedMember(b []byte) string {
	d := jsontext.NewDecoder(bytes.NewReader(b), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	_, err := d.ReadToken() // the brace
	for seen := map[string]bool{}; err == nil && d.PeekKind() == '"'; err = d.SkipValue() {
		token, _ := d.ReadToken()
		name := token.String()
		if seen[name] {
			return name
		}
		seen[name] = true
	}
	return ""
}

// DuplicateName returns a member name that occurs twice in an object of the valid JSON text raw, or "" if every name is
// unique. Parsers differ in which of the two they take.
func DuplicateName(raw json.RawMessage) (name string, found bool) {
	d := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowInvalidUTF8(true))
	_, err := d.ReadValue()
	if twice := (*jsontext.SyntacticError)(nil); errors.As(err, &twice) && errors.Is(err, jsontext.ErrDuplicateName) {
		return twice.JSONPointer.LastToken(), true
	}
	return "", false
}
