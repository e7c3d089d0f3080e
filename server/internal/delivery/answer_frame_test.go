package delivery

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// answeredQuestion returns a question with a stored answer and receipt.
func answeredQuestion(protocol int, hasNonce bool) *store.Question {
	return &store.Question{
		Event: store.Event{
			ID: 7, UID: "0198f2a4-0000-7000-8000-000000000002", App: "app", Session: "s", Type: "Ask",
			Envelope: []byte(`"source_app":"app","session_id":"s","hook_event_type":"Ask"`), Payload: []byte(`{"agent_name":"a"}`),
			Question: []byte(`{"question":"?","type":"permission"}`), Status: []byte(`{"status":"responded"}`),
		},
		NewQuestion: store.NewQuestion{URL: "ws://127.0.0.1:5/x", Protocol: protocol, HasNonce: hasNonce},
		Answer:      []byte(`{"permission":true,"respondedAt":5,"answerId":"0198f2a4-0000-7000-8000-000000000003"}`),
		Delivery:    &store.Delivery{AnswerID: "0198f2a4-0000-7000-8000-000000000003"},
		Receipt:     []byte(`{"payloadType":"application/vnd.in-toto+json","payload":"e30=","signatures":[{"keyid":"k","sig":"AA=="}]}`),
	}
}

const (
	frameEvent = `,"hookEvent":{"id":7,"uid":"0198f2a4-0000-7000-8000-000000000002","timestamp":0,"source_app":"app","session_id":"s","hook_event_type":"Ask","payload":{"agent_name":"a"},`
	frameEnd   = `,"humanInTheLoopStatus":{"status":"responded"}}}`
)

// TestBuildFrame_IsUnchangedWithoutSeal compares whole frames: agents that did not ask for a seal
// get the same bytes as before there were any.
func TestBuildFrame_IsUnchangedWithoutSeal(t *testing.T) {
	t.Parallel()
	v1 := `{"permission":true,"respondedAt":5,"answerId":"0198f2a4-0000-7000-8000-000000000003"` + frameEvent +
		`"humanInTheLoop":{"question":"?","type":"permission","responseWebSocketUrl":"ws://127.0.0.1:5/x"}` + frameEnd
	v2 := `{"permission":true,"respondedAt":5,"answerId":"0198f2a4-0000-7000-8000-000000000003","attempt":3` + frameEvent +
		`"humanInTheLoop":{"question":"?","type":"permission"}` + frameEnd
	require.Equal(t, v1, string(buildFrame(answeredQuestion(1, false), 3)))
	require.Equal(t, v1, string(buildFrame(answeredQuestion(1, true), 3)), "version 1 has no seal")
	require.Equal(t, v2, string(buildFrame(answeredQuestion(2, false), 3)))
	old := answeredQuestion(2, true)
	old.Receipt = nil
	require.Equal(t, v2, string(buildFrame(old, 3)), "answered by an older hub")
}

func TestBuildFrame_AddsSeal(t *testing.T) {
	t.Parallel()
	q := answeredQuestion(2, true)
	require.Equal(t, `{"permission":true,"respondedAt":5,"answerId":"0198f2a4-0000-7000-8000-000000000003","attempt":3,"seal":`+string(q.Receipt)+frameEvent+
		`"humanInTheLoop":{"question":"?","type":"permission"}`+frameEnd, string(buildFrame(q, 3)))

	// The longest answer, with its copy in the statement, leaves room for the event's names.
	longest := schema.MaxFrame - 64<<10
	statement, err := json.Marshal(schema.Envelope{PayloadType: schema.StatementPayload, Payload: make([]byte, longest+8<<10)})
	require.NoError(t, err)
	q.Receipt = statement
	q.Answer = []byte(`{"comment":"` + strings.Repeat("x", longest-100) + `"}`)
	for _, payload := range []int{10, 100 << 10, 1 << 20} {
		q.Payload = []byte(`{"agent_name":"a","x":"` + strings.Repeat("x", payload) + `"}`)
		frame := buildFrame(q, 1)
		require.LessOrEqual(t, len(frame), schema.MaxSealedFrame)
		var a schema.Answer
		require.NoError(t, json.Unmarshal(frame, &a))
		require.NotNil(t, a.Seal)
		require.EqualValues(t, 7, a.HookEvent.ID)
		require.Equal(t, payload > 640<<10, a.HookEventTruncated)
	}
}
