package hub

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
)

func (h *testHub) questionContext(id schema.EventID) history.QuestionContext {
	h.t.Helper()
	raw, err := h.query.Context(h.t.Context(), id)
	require.NoError(h.t, err)
	var led history.QuestionContext
	require.NoError(h.t, json.Unmarshal(raw, &led), string(raw))
	return led
}

func (h *testHub) decide(id schema.EventID, answer *schema.Response) {
	h.t.Helper()
	h.ResponseSent(id)
	_, err := h.Respond(h.t.Context(), id, answer, Caller{})
	require.NoError(h.t, err)
}

func sessionEvent(session, more string) string {
	return fmt.Sprintf(`{"source_app":"a","session_id":%q,"hook_event_type":"PreToolUse","payload":{}%s}`, session, more)
}

func TestContext_ShowsLastSessionEvents(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	var mine []schema.EventID
	for i := range 12 {
		mine = append(mine, h.post(sessionEvent("s", "")).ID)
		h.post(sessionEvent("another", ""))
		if i == 10 {
			h.post(`{"source_app":"another","session_id":"s","hook_event_type":"PreToolUse","payload":{}}`)
		}
	}
	id := h.post(questionEvent(plainQuestion, `{}`)).ID
	h.post(sessionEvent("s", ""))
	led := h.questionContext(id)
	var ids []schema.EventID
	for _, e := range led.Before {
		ids = append(ids, e.ID)
	}
	require.Equal(t, mine[4:], ids, "at most eight, oldest first, only of this session and before the question")
	require.Equal(t, history.EarlierOutcomes{}, led.Earlier)

	first := h.post(strings.Replace(questionEvent(plainQuestion, `{}`), `"session_id":"s"`, `"session_id":"new"`, 1)).ID
	raw, err := h.query.Context(t.Context(), first)
	require.NoError(t, err)
	require.JSONEq(t, `{"before":[],"earlier":{"approved":0,"denied":0,"other":0}}`, string(raw))
}

func TestContext_OmitsBigPayloads(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	big := `{"tool_name":"Bash","tool_input":{"command":"` + strings.Repeat("x", schema.MaxListed) + `"}}`
	h.post(strings.Replace(sessionEvent("s", ""), `"payload":{}`, `"payload":`+big, 1))
	earlier := h.post(questionEvent(plainQuestion, big)).ID
	h.decide(earlier, approval())
	led := h.questionContext(h.post(questionEvent(plainQuestion, big)).ID)
	require.True(t, led.Before[0].PayloadTruncated)
	require.Equal(t, earlier, led.Earlier.Last.ID)
	require.True(t, led.Earlier.Last.PayloadTruncated)
}

func TestContext_CountsEarlierOutcomes(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ask := func(arguments string) schema.EventID {
		return h.post(questionEvent(questionAbout(`{"name":"Bash","arguments":`+arguments+`}`, ""), `{}`)).ID
	}
	for _, answer := range []*schema.Response{approval(), approval(), denial()} {
		h.decide(ask(`{"command":"make","n":1}`), answer)
	}
	cancelled := ask(`{"command":"make","n":1}`)
	h.ResponseSent(cancelled)
	_, err := h.Cancel(t.Context(), cancelled, schema.Cancel{}, Caller{})
	require.NoError(t, err)
	ask(`{"command":"make","n":1}`) // still pending

	for _, same := range []string{`{"command":"make","n":1}`, "{ \"n\" : 1,\n\t\"command\":\"make\" }", `{"n":1,"command":"\u006dake"}`} {
		led := h.questionContext(ask(same))
		require.Equal(t, []int{2, 1, 1}, []int{led.Earlier.Approved, led.Earlier.Denied, led.Earlier.Other}, same)
		require.Equal(t, cancelled, led.Earlier.Last.ID, same)
		require.Equal(t, schema.Cancelled, led.Earlier.Last.HumanInTheLoopStatus.Outcome)
	}
	for _, another := range []string{`{"command":"make","n":2}`, `{"command":"make"}`, `{"command":"make","n":"1"}`, `{"command":"make","n":[1]}`} {
		require.Equal(t, history.EarlierOutcomes{}, h.questionContext(ask(another)).Earlier, another)
	}
	tool := h.post(questionEvent(questionAbout(`{"name":"Other","arguments":{"command":"make","n":1}}`, ""), `{}`)).ID
	require.Equal(t, history.EarlierOutcomes{}, h.questionContext(tool).Earlier, "another tool")
	app := h.post(strings.Replace(questionEvent(questionAbout(`{"name":"Bash","arguments":{"command":"make","n":1}}`, ""), `{}`), `"source_app":"a"`, `"source_app":"b"`, 1)).ID
	require.Equal(t, history.EarlierOutcomes{}, h.questionContext(app).Earlier, "another application")
	inPayload := h.post(questionEvent(plainQuestion, `{"tool_name":"Bash","tool_input":{"n":1,"command":"make"}}`)).ID
	require.Equal(t, 2, h.questionContext(inPayload).Earlier.Approved, "the same call in the payload of a hook")
}

func TestContext_RequiresQuestion(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	_, err := h.query.Context(t.Context(), 404)
	require.ErrorIs(t, err, schema.ErrNotFound)
	_, err = h.query.Context(t.Context(), h.post(sessionEvent("s", "")).ID)
	require.ErrorIs(t, err, schema.ErrNoQuestion)
}

// TestContext_OmitsTelemetry: API request records do not push tool events out of the list.
func TestContext_OmitsTelemetry(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	for range 10 {
		h.post(`{"source_app":"app","session_id":"s","hook_event_type":"PreToolUse","payload":{}}`)
		h.post(`{"source_app":"app","session_id":"s","hook_event_type":"ApiRequest","payload":{}}`)
	}
	saved := h.post(`{"source_app":"app","session_id":"s","hook_event_type":"Ask","payload":{},"humanInTheLoop":{"question":"?","type":"question"}}`)
	led := h.questionContext(saved.ID)
	require.Len(t, led.Before, 8)
	for _, e := range led.Before {
		require.Equal(t, "PreToolUse", e.HookEventType)
	}
	require.EqualValues(t, 19, led.Before[7].ID, "up to the newest")
}
