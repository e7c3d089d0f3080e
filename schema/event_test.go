package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

func TestEvent_MemberNamesMatchExactly(t *testing.T) {
	t.Parallel()
	var e schema.Event
	require.NoError(t, json.Unmarshal([]byte(`{"SOURCE_APP":"a","Session_Id":"s","hook_event_type":"t","payload":{}}`), &e))
	require.Empty(t, e.SourceApp)
	require.Empty(t, e.SessionID)
	require.Len(t, e.Extra, 2)
	require.ErrorContains(t, e.Validate(), "source_app")
	// The top level accepts one spelling; only the question accepts two.
	require.NoError(t, json.Unmarshal([]byte(`{"human_in_the_loop":{"question":"?"},"sourceApp":"a"}`), &e))
	require.Nil(t, e.HumanInTheLoop)
	require.Empty(t, e.SourceApp)
}

func TestDecode_NullIsAbsent(t *testing.T) {
	t.Parallel()
	var e schema.Event
	require.NoError(t, json.Unmarshal([]byte(`{"source_app":"a","session_id":null,"humanInTheLoop":null,"timestamp":null,"is_interrupt":null,"else":null}`), &e))
	require.Equal(t, schema.Event{SourceApp: "a"}, e)

	var q schema.HumanInTheLoop
	require.NoError(t, json.Unmarshal([]byte(`{"question":"?","type":"permission","choices":null,"timeout":null,"requires_response":null,"requiresResponse":true}`), &q))
	require.Nil(t, q.Timeout)
	require.True(t, *q.RequiresResponse, "a null in the other spelling is not a duplicate")

	var r schema.Response
	require.NoError(t, json.Unmarshal([]byte(`{"permission":null,"choice":"a","remember":null}`), &r))
	require.Nil(t, r.Permission)
	require.Nil(t, r.Remember)
}

func TestHumanInTheLoop_AcceptsSnakeCase(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"responseWebSocketUrl", "response_websocket_url", "response_web_socket_url"} {
		var q schema.HumanInTheLoop
		require.NoError(t, json.Unmarshal([]byte(`{"`+name+`":"ws://localhost:1"}`), &q), name)
		require.Equal(t, "ws://localhost:1", q.ResponseWebSocketURL, name)
		require.Empty(t, q.Extra, name)
	}
	var q schema.HumanInTheLoop
	err := json.Unmarshal([]byte(`{"requiresResponse":true,"requires_response":false}`), &q)
	require.ErrorContains(t, err, "is given twice, in both spellings")
	require.ErrorIs(t, err, schema.ErrInvalid)
	err = json.Unmarshal([]byte(`{"x":{"n":1,"n":2},"question":"a","question":"b"}`), &q)
	require.ErrorContains(t, err, "question is given twice", "and n is in an unknown member")
}

// TestEvent_TypeErrorNamesMember checks that the error contains the path of the member.
func TestEvent_TypeErrorNamesMember(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"source_app":7}`:                                                          "source_app must be a string, not number",
		`{"is_interrupt":"no"}`:                                                     "is_interrupt must be true or false, not string",
		`{"timestamp":"now"}`:                                                       "timestamp must be a number, not string",
		`{"timestamp":1e30}`:                                                        "timestamp must be Unix time in milliseconds",
		`{"timestamp":-1e17}`:                                                       "timestamp must be Unix time in milliseconds",
		`{"humanInTheLoop":[]}`:                                                     "humanInTheLoop must be a JSON object",
		`{"humanInTheLoop":{"choices":"a"}}`:                                        "humanInTheLoop.choices must be an array of strings, not string",
		`{"humanInTheLoop":{"choices":["a",1]}}`:                                    "humanInTheLoop.choices must be an array of strings, not number",
		`{"humanInTheLoop":{"timeout":"5m"}}`:                                       "humanInTheLoop.timeout must be a number, not string",
		`{"humanInTheLoop":{"toolCall":{"editable":1}}}`:                            "humanInTheLoop.toolCall.editable must be true or false, not number",
		`{"humanInTheLoop":{"toolCall":[]}}`:                                        "humanInTheLoop.toolCall must be a JSON object",
		`{"humanInTheLoop":{"questions":{}}}`:                                       "humanInTheLoop.questions must be an array, not object",
		`{"humanInTheLoop":{"questions":[{"id":1}]}}`:                               "humanInTheLoop.questions.id must be a string, not number",
		`{"humanInTheLoop":{"questions":[{"options":[{"label":1}]}]}}`:              "humanInTheLoop.questions.options.label must be a string, not number",
		`{"humanInTheLoop":{"context":{"links":"x"}}}`:                              "humanInTheLoop.context.links must be an array of strings, not string",
		`{"humanInTheLoop":{"questions":[{"allow_other":true,"allowOther":true}]}}`: "is given twice, in both spellings",
	} {
		var e schema.Event
		err := json.Unmarshal([]byte(text), &e)
		require.ErrorContains(t, err, want, text)
		require.ErrorIs(t, err, schema.ErrInvalid, text)
		var field *schema.FieldError
		require.ErrorAs(t, err, &field, text)
		require.True(t, strings.HasPrefix(field.Error(), field.Field), text)
	}
}

func TestDecode_RejectsNonObject(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`null`, `[]`, `"{}"`, `1`, ` `, ``, `{`, `{"a":}`, `{} {}`, `{"source_app":"a"}x`} {
		var e schema.Event
		var r schema.Response
		require.ErrorIs(t, e.UnmarshalJSON([]byte(text)), schema.ErrInvalid, text)
		require.ErrorIs(t, r.UnmarshalJSON([]byte(text)), schema.ErrInvalid, text)
	}
}

func TestDecode_RejectsDuplicateMembers(t *testing.T) {
	t.Parallel()
	for text, field := range map[string]string{
		`{"source_app":"a","source_app":"b"}`:                                        "source_app",
		`{"source_app":"a","source\u005fapp":"b"}`:                                   "source_app",
		`{"extra":{"a":[1,2]},"extra":1}`:                                            "extra",
		`{"humanInTheLoop":{"question":"Delete a?","type":"x","question":"b"}}`:      "humanInTheLoop.question",
		`{"humanInTheLoop":{"context":{"cwd":"/a","cwd":"/b"}}}`:                     "humanInTheLoop.context.cwd",
		`{"humanInTheLoop":{"questions":[{"question":"a","id":"1","question":""}]}}`: "humanInTheLoop.questions.question",
	} {
		var e schema.Event
		err := json.Unmarshal([]byte(text), &e)
		var wrong *schema.FieldError
		require.ErrorAs(t, err, &wrong, text)
		require.Equal(t, field, wrong.Field)
	}
	var r schema.Response
	require.ErrorIs(t, json.Unmarshal([]byte(`{"permission":false,"permission":true}`), &r), schema.ErrWrongAnswer)
	// The contents of a payload are not checked.
	var e schema.Event
	require.NoError(t, json.Unmarshal([]byte(`{"payload":{"a":1,"a":2},"source_app":"a,b"}`), &e))
}

func TestEvent_LimitsNesting(t *testing.T) {
	t.Parallel()
	nested := func(depth int) []byte {
		return []byte(`{"payload":` + strings.Repeat(`{"a":[`, depth/2) + `"]}\"]}"` + strings.Repeat(`]}`, depth/2) + `}`)
	}
	var e schema.Event
	require.NoError(t, json.Unmarshal(nested(schema.MaxDepth-2), &e))
	err := json.Unmarshal(nested(schema.MaxDepth), &e)
	require.ErrorContains(t, err, "nests deeper than 200 levels")
	require.ErrorIs(t, err, schema.ErrInvalid)
}

func TestEvent_RejectsDeepNestingWithoutAllocating(t *testing.T) { // not parallel: it counts allocations
	var e schema.Event
	var err error
	flood := []byte(strings.Repeat(`{"a":`, 1<<20))
	require.Less(t, testing.AllocsPerRun(1, func() { err = e.UnmarshalJSON(flood) }), 10.0)
	require.ErrorContains(t, err, "nests deeper")
}

func TestEvent_KeepsUnknownMembers(t *testing.T) {
	t.Parallel()
	var e schema.Event
	text := `{"b":[1, 2],"a":"x","source_app":"s","session_id":"s","hook_event_type":"t","payload":{"k":1},"humanInTheLoop":{"question":"?","type":"permission","mood":{"x":null}}}`
	require.NoError(t, json.Unmarshal([]byte(text), &e))
	out, err := json.Marshal(e)
	require.NoError(t, err)
	require.JSONEq(t, text, string(out))

	var many strings.Builder
	for i := range schema.MaxExtra + 1 {
		fmt.Fprintf(&many, `,"x%d":1`, i)
	}
	err = json.Unmarshal([]byte(`{"source_app":"s"`+many.String()+`}`), &e)
	require.ErrorContains(t, err, "too many unknown members")
}

func TestMillis_UnmarshalJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]schema.Millis{
		"0": 0, "1734189234000": 1734189234000, "1734189234000.75": 1734189234000, "1.7341892e12": 1734189200000, "-5": -5,
		"8640000000000000": 8640000000000000,
	} {
		var m schema.Millis
		require.NoError(t, json.Unmarshal([]byte(text), &m), text)
		require.Equal(t, want, m, text)
	}
}

func TestEvent_Truncate(t *testing.T) {
	t.Parallel()
	e := schema.Event{Payload: json.RawMessage(`{"a":"0123456789"}`)}
	e.Truncate(len(e.Payload))
	require.False(t, e.PayloadTruncated)
	e.Truncate(len(e.Payload) - 1)
	require.True(t, e.PayloadTruncated)
	require.Equal(t, 18, e.PayloadBytes)
	require.JSONEq(t, `{}`, string(e.Payload))
}

func TestEvent_StringOmitsPrivateData(t *testing.T) {
	t.Parallel()
	e := schema.Event{
		ID: 7, SourceApp: "app", SessionID: "s", HookEventType: "Stop", Payload: json.RawMessage(`{"token":"hunter2"}`), RequestSecret: "hunter2",
		HumanInTheLoop: &schema.HumanInTheLoop{Question: "hunter2?", ResponseWebSocketURL: "ws://localhost/hunter2"},
	}
	require.Equal(t, "event 7 app/s Stop", e.String())
}

func TestHumanInTheLoop_RedactedOmitsSecrets(t *testing.T) {
	t.Parallel()
	q := schema.HumanInTheLoop{Question: "?", Type: schema.Permission, ResponseWebSocketURL: "ws://localhost/secret", ListenerKey: "key"}
	shown, err := json.Marshal(q.Redacted())
	require.NoError(t, err)
	require.JSONEq(t, `{"question":"?","type":"permission"}`, string(shown))
	require.Equal(t, "key", q.ListenerKey, "the original keeps them")
}

func TestHumanInTheLoop_RedactedOmitsMisspelledSecrets(t *testing.T) {
	t.Parallel()
	var q schema.HumanInTheLoop
	require.NoError(t, json.Unmarshal([]byte(`{"question":"?","type":"permission","ResponseWebSocketURL":"ws://localhost/secret",
		"RESPONSE-websocket_url":"ws://localhost/secret","Listener_Key":"key","listenerPort":1}`), &q))
	shown, err := json.Marshal(q.Redacted())
	require.NoError(t, err)
	require.JSONEq(t, `{"question":"?","type":"permission","listenerPort":1}`, string(shown))
	require.Len(t, q.Extra, 4, "the original keeps them")
}

func TestListenerProof(t *testing.T) {
	t.Parallel()
	// From openssl: printf challenge | openssl dgst -sha256 -hmac key -binary | base64, in the URL
	// alphabet.
	require.Equal(t, "_pSWP7rGsIbPhx1COvS7X3o9wOYdN-THjRIqbMdRs-g", schema.ListenerProof("key", "challenge"))
}
