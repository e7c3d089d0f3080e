package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

var linkToS1 = &store.Share{Session: store.SessionKey{App: "demo", Session: "s1"}}

func TestReduce_ForeignEventsAreRefused(t *testing.T) {
	t.Parallel()
	const own = `{"id":1,"source_app":"demo","session_id":"s1"}`
	for name, foreign := range map[string]string{
		"other session": `{"id":2,"source_app":"demo","session_id":"s2"}`,
		"other app":     `{"id":2,"source_app":"bank","session_id":"s1"}`,
		"other case":    `{"id":2,"source_app":"DEMO","session_id":"s1"}`,
		"no session":    `{"id":2,"source_app":"demo"}`,
		"wrong type":    `{"id":2,"source_app":["demo"],"session_id":"s1"}`,
		"null":          `{"id":2,"source_app":null,"session_id":null}`,
		"repeated":      `{"id":2,"source_app":"demo","session_id":"s1","session_id":"s2"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := reduceEvent([]byte(foreign), linkToS1)
			require.ErrorIs(t, err, schema.ErrForbidden)
			_, err = reduceEvents([]byte("["+own+","+foreign+"]"), linkToS1)
			require.ErrorIs(t, err, schema.ErrForbidden, "one foreign event refuses the list")
		})
	}
	body, err := reduceEvents([]byte("["+own+"]"), linkToS1)
	require.NoError(t, err)
	require.JSONEq(t, "["+own+"]", string(body))
	for _, broken := range []string{"", "7", `"x"`, "{", `[{"id":1}`} {
		_, err := reduceEvents([]byte(broken), linkToS1)
		require.Error(t, err)
		_, err = reduceSession([]byte(broken), linkToS1)
		require.Error(t, err)
	}
}

func TestReduce_KeepsNamedMembersOnly(t *testing.T) {
	t.Parallel()
	const event = `{"id":1,"source_app":"demo","session_id":"s1","payload":{"a":1},"uid":"u","chat":["c"],"user_email":"m@x","requestSecret":"r","new_member":1,
		"humanInTheLoop":{"question":"?","type":"permission","recipients":{"members":["grace"]},"responseWebSocketUrl":"ws://x","new_member":1},
		"humanInTheLoopStatus":{"status":"responded","votes":[{"user":"grace"}],"awaiting":["grace"],"notices":[{}],"new_member":1,
			"respondedBy":{"name":"ada","process":{"pid":1},"via":"session"},"response":{"permission":true,"votes":[],"respondedBy":{"name":"ada"},"seal":{},"hookEvent":{}}}}`
	const shown = `{"id":1,"source_app":"demo","session_id":"s1","payload":{"a":1},"uid":"u",
		"humanInTheLoop":{"question":"?","type":"permission"},
		"humanInTheLoopStatus":{"status":"responded","respondedBy":{"name":"ada"},"response":{"permission":true}}}`
	body, err := reduceEvent([]byte(event), linkToS1)
	require.NoError(t, err)
	require.JSONEq(t, shown, string(body))

	withTranscript := *linkToS1
	withTranscript.Transcript = true
	body, err = reduceEvent([]byte(event), &withTranscript)
	require.NoError(t, err)
	require.JSONEq(t, shown[:len(shown)-1]+`,"chat":["c"]}`, string(body))
}
