package arrival

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

const plainEvent = `{"source_app":"a","session_id":"s","hook_event_type":"Stop","payload":{}}`

func scan(body []byte) (*members, error) {
	var s members
	return &s, s.scan(body)
}

// eventWith returns plainEvent with the given members prepended.
func eventWith(members string) string { return "{" + members + "," + plainEvent[1:] }

func TestScan_KeepsForeignMembers(t *testing.T) {
	t.Parallel()
	s, err := scan([]byte(` {"source_app": "a\u0062" , "id":7, "uid":"x","humanInTheLoopStatus":{"status":"responded"},"requestSecret":"x",
		"session_id":"s","hook_event_type":"PreToolUse","payload" : {"a" : [1, 2 ] ,"b":"\u003c"},"tool_name":"Bash","summary":null,
		"timestamp":1734189234000.5,"idempotency_key":"k","chat":[{"role":"user"}],"x-new":{"deep":[true]}}  `))
	require.NoError(t, err)
	require.Equal(t, "ab", s.App)
	require.Equal(t, "Bash", s.Tool)
	require.Equal(t, "k", s.IdempotencyKey)
	require.Equal(t, int64(1734189234000), s.Timestamp)
	require.Equal(t, `{"a" : [1, 2 ] ,"b":"\u003c"}`, string(s.Payload), "the payload is unchanged")
	require.Equal(t, `[{"role":"user"}]`, string(s.Transcript))
	require.Equal(t, `"source_app":"a\u0062","session_id":"s","hook_event_type":"PreToolUse","tool_name":"Bash","x-new":{"deep":[true]}`, string(s.Envelope))
}

func TestScan_RejectsInvalidEvents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, body, field, detail string }{
		{"nothing", ``, "", "JSON object"},
		{"null", `null`, "", "JSON object"},
		{"an array", `[` + plainEvent + `]`, "", "JSON object"},
		{"cut off", plainEvent[:40], "", "incomplete"},
		{"trailing garbage", plainEvent + `x`, "", "after"},
		{"two objects", plainEvent + plainEvent, "", "after"},
		{"not JSON", `{source_app:"a"}`, "", "not valid JSON"},
		{"bad escape in the payload", strings.Replace(plainEvent, `{}`, `{"a":"\x"}`, 1), "", "not valid JSON"},
		{"invalid UTF-8", strings.Replace(plainEvent, `{}`, "{\"a\":\"\xff\"}", 1), "", "UTF-8"},
		{"no source_app", `{"session_id":"s","hook_event_type":"Stop","payload":{}}`, "source_app", "required"},
		{"empty session_id", strings.Replace(plainEvent, `"s"`, `""`, 1), "session_id", "non-empty"},
		{"number as type", strings.Replace(plainEvent, `"Stop"`, `7`, 1), "hook_event_type", "string"},
		{"array as payload", strings.Replace(plainEvent, `{}`, `[]`, 1), "payload", "object"},
		{"null as payload", strings.Replace(plainEvent, `{}`, `null`, 1), "payload", "required"},
		{"text as timestamp", eventWith(`"timestamp":"today"`), "timestamp", "number"},
		{"number as key", eventWith(`"idempotency_key":1`), "idempotency_key", "string"},
		{"text as boolean", eventWith(`"is_interrupt":"yes"`), "is_interrupt", "true or false"},
		{"a member twice", eventWith(`"payload":{"a":1}`), "payload", "twice"},
		{"an unknown member twice", eventWith(`"x":1,"x":2`), "x", "twice"},
		{"a member twice, once escaped", eventWith(`"s\u006furce_app":"b"`), "source_app", "twice"},
		{"misspelled question", eventWith(`"human_in_the_loop":{"question":"q","type":"permission"}`), "human_in_the_loop", "use humanInTheLoop"},
		{"misspelled question, escaped", eventWith(`"H\u0075manInTheLoop":{"question":"q","type":"permission"}`), "HumanInTheLoop", "use humanInTheLoop"},
		{"long name", eventWith(`"x":1`)[:len(eventWith(`"x":1`))-1] + `,"tool_name":3}`, "tool_name", "string"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := scan([]byte(c.body))
			var f *schema.FieldError
			require.ErrorAs(t, err, &f)
			require.ErrorIs(t, err, schema.ErrInvalid)
			require.Equal(t, c.field, f.Field)
			require.Contains(t, f.Detail, c.detail)
		})
	}
}

// TestScan_DecodesEscapedMemberNames: an escaped member name is the same name to a browser,
// so it must not be a way to forge an id or a status.
func TestScan_DecodesEscapedMemberNames(t *testing.T) {
	t.Parallel()
	s, err := scan([]byte(eventWith(`"\u0069d":999,"human\u0049nTheLoopStatus":{"status":"responded"}`)))
	require.NoError(t, err)
	require.NotContains(t, string(s.Envelope), "999")
	require.NotContains(t, string(s.Envelope), "responded")
}

func TestScan_TokenOwnerIsTheHubs(t *testing.T) {
	t.Parallel()
	s, err := scan([]byte(eventWith(`"tokenOwner":"mallory","token\u004fwner2":"kept","os_user":"root"`)))
	require.NoError(t, err)
	require.NotContains(t, string(s.Envelope), "mallory")
	require.Contains(t, string(s.Envelope), `"os_user":"root"`)
	s.setTokenOwner("")
	require.NotContains(t, string(s.Envelope), `"tokenOwner"`)
	s.setTokenOwner(`a"da`)
	var e schema.Event
	require.NoError(t, json.Unmarshal([]byte("{"+string(s.Envelope)+`,"payload":{}}`), &e))
	require.Equal(t, `a"da`, e.TokenOwner)
	_, err = scan([]byte(eventWith(`"os_user":7`)))
	require.ErrorContains(t, err, "must be a string")
}

func TestScan_LimitsDepth(t *testing.T) {
	t.Parallel()
	nest := func(n int) string {
		return strings.Replace(plainEvent, `{}`, `{"a":`+strings.Repeat("[", n)+strings.Repeat("]", n)+`}`, 1)
	}
	_, err := scan([]byte(nest(schema.MaxDepth - 2)))
	require.NoError(t, err)
	_, err = scan([]byte(nest(schema.MaxDepth)))
	require.ErrorContains(t, err, "deeper")
	_, err = scan([]byte(strings.Replace(plainEvent, `{}`, `{"a":"`+strings.Repeat("[{", 500)+`\""}`, 1)))
	require.NoError(t, err, "brackets inside a string do not nest")
	_, err = scan([]byte(nest(3_000_000)))
	require.ErrorContains(t, err, "deeper")
}

func TestScan_LimitsUnknownMembers(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range schema.MaxExtra + 1 {
		b.WriteString(`"k` + schema.EventID(i).String() + `":1,`)
	}
	_, err := scan([]byte("{" + b.String() + plainEvent[1:]))
	require.ErrorContains(t, err, "unknown members")
}

// FuzzScan compares scan with schema.Event: every body that scan accepts, schema
// accepts too, and both read the same values.
func FuzzScan(f *testing.F) {
	for _, s := range []string{
		plainEvent, eventWith(`"x":1`), eventWith(`"timestamp":null`), eventWith(`"id":3`), eventWith(`"\u0078":1`), eventWith(`"chat":[1]`), `{"payload":{}}`,
		eventWith(`"humanInTheLoop":{"question":"q","type":"permission"}`),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		s, err := scan(body)
		if err != nil {
			var field *schema.FieldError
			if !errors.As(err, &field) {
				t.Fatalf("not a FieldError: %v", err)
			}
			return
		}
		if s.ask != nil && new(schema.HumanInTheLoop).UnmarshalJSON(s.ask) != nil {
			return // Ingest validates the question separately
		}
		var e schema.Event
		if err := e.UnmarshalJSON(body); err != nil {
			t.Fatalf("scanEvent accepts an event that schema rejects: %v\n%s", err, body)
		}
		if e.SourceApp != s.App || e.SessionID != s.Session || e.HookEventType != s.Type || string(e.Payload) != string(s.Payload) {
			t.Fatalf("schema and scanEvent read different values: %+v and %+v", e, s)
		}
		if !json.Valid(append(append([]byte{'{'}, s.Envelope...), '}')) {
			t.Fatalf("the envelope is not JSON: %s", s.Envelope)
		}
	})
}
