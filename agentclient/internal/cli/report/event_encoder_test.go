package report

import (
	"bytes"
	"encoding/json"
	"net"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

func joinParts(body net.Buffers) []byte { return bytes.Join(body, nil) }

func TestEncodeEvent(t *testing.T) {
	t.Parallel()
	payload := `{ "html": "<b>&amp;</b>",` + "\n" + `"n": 1e400}`
	e := schema.Event{
		SourceApp: `"payload":{}`, SessionID: "s", HookEventType: "x", Payload: raw(payload), Summary: "a\n\x00\x7f\u2028\"\\ä😀",
		Extra: map[string]json.RawMessage{"custom": raw(`{"payload":{}}`), "bad": raw(`{`)},
	}
	body, err := EncodeEvent(&e)
	require.NoError(t, err)
	var back schema.Event
	require.NoError(t, json.Unmarshal(joinParts(body), &back))
	require.Equal(t, payload, string(back.Payload), "byte for byte")
	require.Equal(t, e.SourceApp, back.SourceApp)
	require.Equal(t, e.Summary, back.Summary)
	require.Equal(t, map[string]json.RawMessage{"custom": raw(`{"payload":{}}`)}, back.Extra)

	e.Payload = raw(`{},"humanInTheLoop":{}`)
	_, err = EncodeEvent(&e)
	require.ErrorContains(t, err, "payload is not valid JSON")
	e.Payload, e.HumanInTheLoop = raw(`{}`), &schema.HumanInTheLoop{}
	_, err = EncodeEvent(&e)
	require.ErrorContains(t, err, "event has a question")
}

// A field that is added to schema.Event and missing in EncodeEvent fails here.
func TestEncodeEvent_EncodesEveryField(t *testing.T) {
	t.Parallel()
	excluded := map[string]bool{ // set by the hub, or part of a question
		"ID": true, "UID": true, "HumanInTheLoop": true, "HumanInTheLoopStatus": true, "PayloadTruncated": true, "PayloadBytes": true,
		"QuestionTruncated": true,
		"RequestSecret":     true, "Watching": true, "TokenOwner": true,
	}
	var e schema.Event
	v := reflect.ValueOf(&e).Elem()
	for i := range v.NumField() {
		name, f := v.Type().Field(i).Name, v.Field(i)
		switch {
		case excluded[name]:
		case f.Kind() == reflect.String:
			f.SetString("text of " + name)
		case f.Type() == reflect.TypeFor[json.RawMessage]():
			f.Set(reflect.ValueOf(raw(`{"of":"` + name + `"}`)))
		case f.Type() == reflect.TypeFor[*bool]():
			yes := i%2 == 0
			f.Set(reflect.ValueOf(&yes))
		case f.CanInt():
			f.SetInt(int64(1000 + i))
		case f.Kind() == reflect.Bool:
			f.SetBool(true)
		case name == "ModelUsage":
			f.Set(reflect.ValueOf([]schema.ModelUsage{{Model: "opus", Tokens: schema.Tokens{Input: 1, CacheRead: 2}, CostUSD: 0.5}, {}}))
		case name == "Extra":
			f.Set(reflect.ValueOf(map[string]json.RawMessage{"more": raw("1")}))
		default:
			t.Fatalf("add a value for the new field %s", name)
		}
	}
	body, err := EncodeEvent(&e)
	require.NoError(t, err)
	var back schema.Event
	require.NoError(t, json.Unmarshal(joinParts(body), &back))
	require.Equal(t, e, back)
}

func FuzzAppendString(f *testing.F) {
	f.Add("\x00\u2028\xff\"\\")
	f.Fuzz(func(t *testing.T, s string) {
		b := appendString(nil, s)
		require.True(t, utf8.Valid(b))
		var back string
		require.NoError(t, json.Unmarshal(b, &back))
		require.Equal(t, string([]rune(s)), back)
	})
}

func raw(text string) json.RawMessage { return json.RawMessage(text) }
