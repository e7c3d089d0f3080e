package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// requireField checks that err names field and wraps cause; "" means no error.
func requireField(t *testing.T, err error, field string, cause error) {
	t.Helper()
	if field == "" {
		require.NoError(t, err)
		return
	}
	var wrong *schema.FieldError
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, field, wrong.Field, wrong.Detail)
	require.ErrorIs(t, err, cause)
}

func TestEvent_Validate(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", schema.MaxName+1)
	for _, c := range []struct{ text, field string }{
		{`{"source_app":"a","session_id":"s","hook_event_type":"t","payload":{}}`, ""},
		{`{"session_id":"s","hook_event_type":"t","payload":{}}`, "source_app"},
		{`{"source_app":"","session_id":"s","hook_event_type":"t","payload":{}}`, "source_app"},
		{`{"source_app":"a","hook_event_type":"t","payload":{}}`, "session_id"},
		{`{"source_app":"a","session_id":"s","payload":{}}`, "hook_event_type"},
		{`{"source_app":"` + long + `","session_id":"s","hook_event_type":"t","payload":{}}`, "source_app"},
		{`{"source_app":"a","session_id":"` + long + `","hook_event_type":"t","payload":{}}`, "session_id"},
		{`{"source_app":"a","session_id":"s","hook_event_type":"` + long + `","payload":{}}`, "hook_event_type"},
		{`{"source_app":"a","session_id":"s","hook_event_type":"t"}`, "payload"},
		{`{"source_app":"a","session_id":"s","hook_event_type":"t","payload":null}`, "payload"},
		{`{"source_app":"a","session_id":"s","hook_event_type":"t","payload":[]}`, "payload"},
		{`{"source_app":"a","session_id":"s","hook_event_type":"t","payload":"{}"}`, "payload"},
		{`{"source_app":"a","session_id":"s","hook_event_type":"t","payload":{},"idempotency_key":"` + long + `"}`, "idempotency_key"},
		{`{"source_app":"a","session_id":"s","hook_event_type":"t","payload":{},"humanInTheLoop":{}}`, "humanInTheLoop.question"},
	} {
		var e schema.Event
		require.NoError(t, json.Unmarshal([]byte(c.text), &e), c.text)
		requireField(t, e.Validate(), c.field, schema.ErrInvalid)
	}
}

func TestHumanInTheLoop_Validate(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return strings.Repeat("x", n+1) }
	labels := make([]string, schema.MaxChoices+1)
	for i := range labels {
		labels[i] = fmt.Sprintf("%q", fmt.Sprint("label ", i))
	}
	tooMany := "[" + strings.Join(labels, ",") + "]"
	questions := "[" + strings.TrimSuffix(strings.Repeat(`{"id":"a","question":"?"},`, schema.MaxQuestions+1), ",") + "]"
	// Each row changes a valid question, and the error must name the field of the row.
	for _, c := range []struct{ members, field string }{
		{`"type":"permission"`, ""},
		{`"type":"question"`, ""},
		{`"type":"choice","choices":["a","b"]`, ""},
		{`"type":"choice","choices":["____","__a","a__"]`, ""},
		{`"type":"permission","question":" \n"`, "question"},
		{`"type":"permission","question":"` + long(schema.MaxQuestionBytes) + `"`, "question"},
		{`"type":"confirm"`, "type"},
		{`"type":""`, "type"},
		{`"type":"choice"`, "choices"},
		{`"type":"choice","choices":[]`, "choices"},
		{`"type":"choice","choices":["a","a"]`, "choices"},
		{`"type":"choice","choices":["a"," "]`, "choices"},
		{`"type":"choice","choices":["a","__timeout__"]`, "choices"},
		{`"type":"choice","choices":["a","__anything__"]`, "choices"},
		{`"type":"choice","choices":` + tooMany, "choices"},
		{`"type":"permission","timeout":0`, ""},
		{`"type":"permission","timeout":0.5`, ""},
		{`"type":"permission","timeout":2592000`, ""},
		{`"type":"permission","timeout":-1`, "timeout"},
		{`"type":"permission","timeout":1e-10`, "timeout"},
		{`"type":"permission","timeout":2592001`, "timeout"},
		{`"type":"permission","responseWebSocketUrl":"wss://example.com/x"`, ""},
		{`"type":"permission","responseWebSocketUrl":"http://localhost:1"`, "responseWebSocketUrl"},
		{`"type":"permission","responseWebSocketUrl":"localhost:1"`, "responseWebSocketUrl"},
		{`"type":"permission","responseWebSocketUrl":"ws://"`, "responseWebSocketUrl"},
		{`"type":"permission","responseWebSocketUrl":"ws://%zz"`, "responseWebSocketUrl"},
		{`"type":"permission","responseWebSocketUrl":"ws://h/` + long(schema.MaxURL) + `"`, "responseWebSocketUrl"},
		{`"type":"permission","listenerKey":"` + long(schema.MaxName) + `"`, "listenerKey"},
		{`"type":"permission","requiredApprovals":-1`, "requiredApprovals"},
		{`"type":"permission","requiredApprovals":2`, ""},
		{`"type":"permission","requiredApprovals":101`, "requiredApprovals"},
		{`"type":"choice","choices":["a","b"],"requiredApprovals":3`, ""},
		{`"type":"choice","choices":["a","b"],"allowOther":true,"requiredApprovals":1`, ""},
		{`"type":"choice","choices":["a","b"],"allowOther":true,"requiredApprovals":2`, "requiredApprovals"},
		{`"type":"question","requiredApprovals":1`, ""},
		{`"type":"question","requiredApprovals":2`, "requiredApprovals"},
		{`"type":"permission","recipients":{"mode":"selected_members","members":["a"]}`, ""},
		{`"type":"permission","recipients":{"mode":"selected_members"}`, "recipients.members"},
		{`"type":"permission","recipients":{"mode":"selected_members","members":["` + strings.Repeat(`a","`, schema.MaxRecipients) + `a"]}`, "recipients.members"},
		{`"type":"permission","requiredApprovals":2,"recipients":{"mode":"selected_members","members":["a"]}`, "requiredApprovals"},
		{`"type":"permission","requiredApprovals":2,"recipients":{"mode":"selected_members","members":["a","b"]}`, ""},
		{`"type":"permission","recipients":{"mode":"owner"}`, ""},
		{`"type":"permission","recipients":{"mode":"everybody"}`, "recipients.mode"},
		{`"type":"permission","risk":"critical","onTimeout":"fail_run","reasonRequired":"always"`, ""},
		{`"type":"permission","risk":"huge"`, "risk"},
		{`"type":"permission","onTimeout":"approve"`, "onTimeout"},
		{`"type":"permission","reasonRequired":"maybe"`, "reasonRequired"},
		{`"type":"permission","reminderIntervalSeconds":30,"reminderMaxCount":20`, ""},
		{`"type":"permission","reminderIntervalSeconds":29,"reminderMaxCount":1`, "reminderIntervalSeconds"},
		{`"type":"permission","reminderIntervalSeconds":30`, "reminderMaxCount"},
		{`"type":"permission","reminderIntervalSeconds":30,"reminderMaxCount":21`, "reminderMaxCount"},
		{`"type":"permission","timeout":0,"reminderIntervalSeconds":30,"reminderMaxCount":1`, "reminderIntervalSeconds"},
		{`"type":"permission","reminderIntervalSeconds":1e18,"reminderMaxCount":1`, "reminderIntervalSeconds"},
		{`"type":"permission","escalateAfterSeconds":60,"escalateTo":{"mode":"owner_admins"}`, ""},
		{`"type":"permission","timeout":0,"escalateAfterSeconds":60,"escalateTo":{"mode":"selected_members","members":["ada"]}`, ""},
		{`"type":"permission","escalateAfterSeconds":60`, "escalateTo"},
		{`"type":"permission","escalateTo":{"mode":"owner"}`, "escalateAfterSeconds"},
		{`"type":"permission","escalateAfterSeconds":0.5,"escalateTo":{"mode":"owner"}`, "escalateAfterSeconds"},
		{`"type":"permission","escalateAfterSeconds":300,"escalateTo":{"mode":"owner"}`, "escalateAfterSeconds"},
		{`"type":"permission","escalateAfterSeconds":60,"escalateTo":{"mode":"anyone"}`, "escalateTo.mode"},
		{`"type":"permission","escalateAfterSeconds":60,"escalateTo":{}`, "escalateTo.mode"},
		{`"type":"permission","escalateAfterSeconds":60,"escalateTo":{"mode":"selected_members"}`, "escalateTo.members"},
		{`"type":"permission","toolCall":{"name":"Bash"}`, ""},
		{`"type":"permission","toolCall":{"arguments":{}}`, "toolCall.name"},
		{`"type":"permission","toolCall":{"name":"Bash","editable":true}`, "toolCall.arguments"},
		{`"type":"permission","toolCall":{"name":"Bash","editable":true,"arguments":"ls"}`, "toolCall.arguments"},
		{`"type":"question","questions":[{"id":"a","question":"?"},{"id":"b","question":"?","options":[{"label":"x"}]}]`, ""},
		{`"type":"permission","questions":[{"id":"a","question":"?"}]`, "questions"},
		{`"type":"question","questions":` + questions, "questions"},
		{`"type":"question","questions":[{"question":"?"}]`, "questions.0.id"},
		{`"type":"question","questions":[{"id":"a","question":"?"},{"id":"a","question":"?"}]`, "questions.1.id"},
		{`"type":"question","questions":[{"id":"a","question":" "}]`, "questions.0.question"},
		{`"type":"question","questions":[{"id":"a","question":"` + long(schema.MaxQuestionBytes) + `"}]`, "questions.0.question"},
		{`"type":"question","questions":[{"id":"a","question":"?","options":[{"label":"x"},{"label":"x"}]}]`, "questions.0.options"},
		{`"type":"question","questions":[{"id":"a","question":"?","options":[{"label":"__no__"}]}]`, "questions.0.options"},
	} {
		members := map[string]json.RawMessage{"question": json.RawMessage(`"Go on?"`)}
		require.NoError(t, json.Unmarshal([]byte(`{`+c.members+`}`), &members), c.members)
		text, err := json.Marshal(members)
		require.NoError(t, err)
		var q schema.HumanInTheLoop
		require.NoError(t, json.Unmarshal(text, &q), c.members)
		want := c.field
		if want != "" {
			want = "humanInTheLoop." + want
		}
		requireField(t, q.Validate(), want, schema.ErrInvalid)
	}
}

func TestHumanInTheLoop_Deadline(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	seconds := func(s float64) *float64 { return &s }
	for _, c := range []struct {
		timeout *float64
		want    time.Time
	}{
		{nil, asked.Add(300 * time.Second)},
		{seconds(1.5), asked.Add(1500 * time.Millisecond)},
		{seconds(0), time.Time{}},
	} {
		q := schema.HumanInTheLoop{Timeout: c.timeout}
		require.Equal(t, c.want, q.Deadline(asked))
	}
}

func TestHumanInTheLoop_Acknowledges(t *testing.T) {
	t.Parallel()
	for version, want := range map[int]bool{0: false, 1: false, 2: true, 3: true} {
		q := schema.HumanInTheLoop{ProtocolVersion: version}
		require.Equal(t, want, q.Acknowledges())
	}
}

func TestDeliveryState_Final(t *testing.T) {
	t.Parallel()
	for _, s := range []schema.DeliveryState{schema.Queued, schema.Sending} {
		require.False(t, s.IsFinal(), s)
	}
	for _, s := range []schema.DeliveryState{
		schema.NoDelivery, schema.Delivered, schema.Acked, schema.Pulled, schema.Fetched, schema.Unconfirmed, schema.Refused,
		schema.Unreachable, schema.TooLate, schema.Blocked,
	} {
		require.True(t, s.IsFinal(), s)
	}
}

func TestShorten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "äöü": "äöü", "äöüß": "äö…", "abc": "abc", "abcdef": "ab…"} {
		require.Equal(t, want, schema.Shorten(text, 3), text)
	}
	for text, want := range map[string]string{"": "", "abc": "abc", "abcd": "abc", "aä": "aä", "abä": "ab", "😀": ""} {
		require.Equal(t, want, schema.Clip(text, 3), text)
	}
}
