package httpapi

import (
	"fmt"
	"net/url"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// Programs cut texts in the middle of an emoji. Strict readers, and encodeURIComponent in a browser, refuse half
// of one, so the hub stores none, whichever way it comes.
func TestHalfCharacters_AreReplacedOnEveryWay(t *testing.T) {
	t.Parallel()
	const half = `cut \ud83d`
	r := setup(t, fastHooks)
	named := `{"source_app":"` + half + `","session_id":"` + half + `","hook_event_type":"` + half + `","summary":"` + half + `","payload":{"a":"` + half + `"}}`
	send := func(path, body string, headers ...string) string {
		resp, b := r.do("POST", path, body, headers...)
		require.Contains(t, []int{200, 202}, resp.StatusCode, "%s: %s", path, b)
		return string(b)
	}
	send(schema.PathEvents, named)
	send(schema.PathBatch, "["+named+"]")
	hook := `{"session_id":"` + half + `","hook_event_name":"Stop","cwd":"/home/dev/` + half + `","last_assistant_message":"` + half + `"}`
	send(schema.PathClaudeCode, hook)
	send(schema.PathClaudeCode+"?app=cut%20%ED%A0%BD", hook)
	question := `{"source_app":"` + half + `","question":"` + half + `?","type":"permission","payload":{"a":"` + half + `"}}`
	send(schema.PathAsk, question, "Prefer", "wait=0")
	resp, _ := r.do("POST", schema.PathAsk, question, schema.IdempotencyHeader, "cut \xed\xa0\xbd")
	require.Equal(t, 400, resp.StatusCode, "a header is ASCII")
	resp, _ = r.do("POST", schema.PathAsk, `{"question":"\xed\xa0\xbd"}`)
	require.Equal(t, 400, resp.StatusCode, "half a character in UTF-8")
	asked := r.post(`{"source_app":"a","session_id":"s","hook_event_type":"X","payload":{},"humanInTheLoop":{"question":"` + half + `","type":"permission",
		"toolCall":{"name":"` + half + `","arguments":{"command":"` + half + `"},"editable":true}}}`)
	send(schema.At(schema.PathRespond, asked.ID), `{"permission":true,"reason":"`+half+`","modifiedArguments":{"command":"`+half+`!"}}`)
	send(schema.At(schema.PathExecution, asked.ID), `{"state":"failed","error":"`+half+`","requestSecret":"`+asked.RequestSecret+`"}`)
	for _, path := range []string{schema.PathRecent, schema.PathFilterOptions, schema.PathSessions, "/events/1", fmt.Sprintf("/events/%d", asked.ID)} {
		resp, b := r.do("GET", path, "")
		require.Equal(t, 200, resp.StatusCode, path)
		_, changed := schema.ReplaceHalfSurrogates(b)
		require.False(t, changed, "%s: %s", path, b)
		require.True(t, utf8.Valid(b), path)
	}
	for id := range asked.ID {
		e := r.event(id + 1)
		require.NotContains(t, url.PathEscape(e.SourceApp+e.SessionID), "%ED", "event %d", id+1)
	}
	require.Equal(t, "cut \ufffd", r.event(1).SourceApp)
	require.JSONEq(t, `{"command":"cut \ufffd!"}`, string(r.event(asked.ID).HumanInTheLoopStatus.Response.ModifiedArguments))
}
