package arrival

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/sessions/digest"
	"github.com/hookback/hookback/server/internal/store"
)

// members is a posted event split into its members. Its slices alias the body.
type members struct {
	store.EventDraft        // without what the hub adds
	agent            string // the coding agent whose hook sent it
	ask              []byte // humanInTheLoop

	appEnd int // of the value of source_app in Envelope
	appLen int
}

// hubMembers are set by the hub; those a client sends are dropped.
var hubMembers = map[string]bool{
	"id": true, "uid": true, "humanInTheLoopStatus": true, "requestSecret": true,
	"watching": true, "payloadTruncated": true, "payloadBytes": true, "questionTruncated": true,
	"tokenOwner": true,
}

// Members with a fixed type. stringMembers and boolMembers stay in the envelope.
var (
	stringMembers = stringSet("source_app", "session_id", "hook_event_type", "summary", "model_name", "agent", "tool_name",
		"tool_use_id", "agent_id", "agent_type", "parent_session_id", "error", "agent_transcript_path",
		"notification_type", "custom_instructions", "source", "reason", "os_user", "user_email")
	boolMembers  = stringSet("is_interrupt", "stop_hook_active")
	otherMembers = stringSet("payload", "chat", "timestamp", "humanInTheLoop", "idempotency_key", "permission_suggestions")
)

func stringSet(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

func invalidField(field, format string, args ...any) error {
	return &schema.FieldError{Field: field, Detail: fmt.Sprintf(format, args...)}
}

// scan splits an event into its members without decoding those it only stores. It
// accepts the same events as schema.Event (a fuzz test compares the two).
//
// Names are compared unescaped. Otherwise a client could send "\u0069d" past the hub,
// and every browser would read it as id.
func (s *members) scan(body []byte) error {
	if !utf8.Valid(body) {
		return invalidField("", "is not valid UTF-8")
	}
	if isTooDeep(body) {
		return invalidField("", "nests deeper than %d", schema.MaxDepth)
	}
	*s = members{}
	s.Envelope = make([]byte, 0, len(body))
	var unknown []string
	var seen uint64
	if err := digest.Members(body, func(name string, raw, value []byte) error {
		if err := checkUnique(name, &seen, &unknown); err != nil {
			return err
		}
		return s.addMember(name, raw, value)
	}); err != nil {
		return err
	}
	for _, f := range []struct{ name, value string }{
		{"source_app", s.App}, {"session_id", s.Session}, {"hook_event_type", s.Type},
	} {
		if err := schema.ValidateName(f.name, f.value); err != nil {
			return err
		}
	}
	if len(s.IdempotencyKey) > schema.MaxName {
		return invalidField("idempotency_key", "is longer than %d bytes", schema.MaxName)
	}
	if s.Payload == nil || s.Payload[0] != '{' {
		return invalidField("payload", "is required and must be an object")
	}
	return nil
}

// memberBits assigns a bit to each known member, for the set of members seen.
var memberBits = func() map[string]uint {
	bits := map[string]uint{}
	for _, names := range []map[string]bool{hubMembers, stringMembers, boolMembers, otherMembers} {
		for name := range names {
			bits[name] = uint(len(bits))
		}
	}
	return bits
}()

// checkUnique rejects duplicate names: which value counts would depend on the parser.
func checkUnique(name string, seen *uint64, unknown *[]string) error {
	bit, known := memberBits[name]
	if !known {
		for _, seenName := range *unknown {
			if seenName == name {
				return invalidField(name, "is given twice")
			}
		}
		if *unknown = append(*unknown, name); len(*unknown) > schema.MaxExtra {
			return invalidField("", "has more than %d unknown members", schema.MaxExtra)
		}
		return nil
	}
	if *seen&(1<<bit) != 0 {
		return invalidField(name, "is given twice")
	}
	*seen |= 1 << bit
	return nil
}

// addMember stores one member of the event.
func (s *members) addMember(name string, raw, value []byte) error {
	if hubMembers[name] || string(value) == "null" {
		return nil
	}
	switch name {
	case "payload":
		s.Payload = value
		return nil
	case "chat":
		s.Transcript = value
		return nil
	case "humanInTheLoop":
		s.ask = value
		return nil
	case "timestamp":
		var ms schema.Millis
		if ms.UnmarshalJSON(value) != nil {
			return invalidField(name, "must be a number, Unix time in ms")
		}
		s.Timestamp = int64(ms)
		return nil
	case "idempotency_key":
		if value[0] != '"' {
			return invalidField(name, "must be a string")
		}
		s.IdempotencyKey = digest.Unquote(value)
		return nil
	}
	if stringMembers[name] && value[0] != '"' {
		return invalidField(name, "must be a string")
	}
	if boolMembers[name] && value[0] != 't' && value[0] != 'f' {
		return invalidField(name, "must be true or false")
	}
	if err := schema.CheckEventMember(name); err != nil {
		return err
	}
	s.setIndexed(name, value)
	s.appendEnvelope(raw, value)
	if name == "source_app" {
		s.appEnd, s.appLen = len(s.Envelope), len(value)
	}
	return nil
}

// setIndexed copies the members that are indexed in the database.
func (s *members) setIndexed(name string, value []byte) {
	switch name {
	case "source_app":
		s.App = digest.Unquote(value)
	case "session_id":
		s.Session = digest.Unquote(value)
	case "hook_event_type":
		s.Type = digest.Unquote(value)
	case "tool_name":
		s.Tool = digest.Unquote(value)
	case "agent":
		s.agent = digest.Unquote(value)
	}
}

// SetApp replaces the application.
func (s *members) SetApp(name string) {
	if value, err := jsontext.AppendQuote(nil, name); err == nil && name != s.App {
		s.App = name
		s.Envelope = slices.Concat(s.Envelope[:s.appEnd-s.appLen], value, s.Envelope[s.appEnd:])
	}
}

// setTokenOwner adds the owner of the token that sent the event, unless name is empty.
func (s *members) setTokenOwner(name string) {
	if value, err := jsontext.AppendQuote(nil, name); err == nil && name != "" {
		s.appendEnvelope([]byte(`"tokenOwner"`), value)
	}
}

// setSanitized adds that the hub changed the payload.
func (s *members) setSanitized() {
	if name := []byte(`"payloadSanitized"`); !bytes.Contains(s.Envelope, name) {
		s.appendEnvelope(name, []byte("true"))
	}
}

func (s *members) appendEnvelope(raw, value []byte) {
	if len(s.Envelope) > 0 {
		s.Envelope = append(s.Envelope, ',')
	}
	s.Envelope = append(s.Envelope, raw...)
	s.Envelope = append(s.Envelope, ':')
	s.Envelope = append(s.Envelope, value...)
}

// isTooDeep reports whether body nests deeper than schema.MaxDepth. Most bodies have
// fewer brackets than that in total, so counting them is enough.
func isTooDeep(body []byte) bool {
	return bytes.Count(body, []byte{'['})+bytes.Count(body, []byte{'{'}) > schema.MaxDepth && schema.Depth(body) > schema.MaxDepth
}

// Split splits a JSON array of events into its elements, which alias body. It returns
// *schema.FieldError.
func Split(body []byte) ([][]byte, error) {
	if isTooDeep(body) {
		return nil, invalidField("", "nests deeper than %d", schema.MaxDepth)
	}
	if !utf8.Valid(body) {
		return nil, invalidField("", "is not valid UTF-8")
	}
	var events [][]byte
	err := digest.Elements(body, func(event []byte) error {
		if events = append(events, event); len(events) > schema.MaxBatch {
			return invalidField("", "has more than %d events", schema.MaxBatch)
		}
		return nil
	})
	return events, err
}
