package hub

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

func (b *bench) led(id schema.EventID) schema.QuestionContext {
	b.t.Helper()
	raw, err := b.Context(b.t.Context(), id)
	require.NoError(b.t, err)
	var led schema.QuestionContext
	require.NoError(b.t, json.Unmarshal(raw, &led), string(raw))
	return led
}

func (b *bench) decide(id schema.EventID, answer *schema.Response) {
	b.t.Helper()
	b.ResponseSent(id)
	_, err := b.Respond(b.t.Context(), id, answer, Caller{})
	require.NoError(b.t, err)
}

func inSession(session, more string) string {
	return fmt.Sprintf(`{"source_app":"a","session_id":%q,"hook_event_type":"PreToolUse","payload":{}%s}`, session, more)
}

func TestLedShowsTheSessionsLastEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var mine []schema.EventID
	for i := range 12 {
		mine = append(mine, b.post(inSession("s", "")).ID)
		b.post(inSession("another", ""))
		if i == 10 {
			b.post(`{"source_app":"another","session_id":"s","hook_event_type":"PreToolUse","payload":{}}`)
		}
	}
	id := b.post(questionIn(may, `{}`)).ID
	b.post(inSession("s", ""))
	led := b.led(id)
	var ids []schema.EventID
	for _, e := range led.Before {
		ids = append(ids, e.ID)
	}
	require.Equal(t, mine[4:], ids, "at most eight, the oldest first, none of another session and none behind the question")
	require.Equal(t, schema.EarlierOutcomes{}, led.Earlier)

	first := b.post(strings.Replace(questionIn(may, `{}`), `"session_id":"s"`, `"session_id":"new"`, 1)).ID
	raw, err := b.Context(t.Context(), first)
	require.NoError(t, err)
	require.JSONEq(t, `{"before":[],"earlier":{"approved":0,"denied":0,"other":0}}`, string(raw))
}

func TestLedLeavesBigPayloadsOut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	big := `{"tool_name":"Bash","tool_input":{"command":"` + strings.Repeat("x", schema.MaxListed) + `"}}`
	b.post(strings.Replace(inSession("s", ""), `"payload":{}`, `"payload":`+big, 1))
	earlier := b.post(questionIn(may, big)).ID
	b.decide(earlier, yes())
	led := b.led(b.post(questionIn(may, big)).ID)
	require.True(t, led.Before[0].PayloadTruncated)
	require.Equal(t, earlier, led.Earlier.Last.ID)
	require.True(t, led.Earlier.Last.PayloadTruncated)
}

func TestLedCountsHowTheSameCallEnded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ask := func(arguments string) schema.EventID {
		return b.post(questionIn(about(`{"name":"Bash","arguments":`+arguments+`}`, ""), `{}`)).ID
	}
	for _, answer := range []*schema.Response{yes(), yes(), no()} {
		b.decide(ask(`{"command":"make","n":1}`), answer)
	}
	cancelled := ask(`{"command":"make","n":1}`)
	b.ResponseSent(cancelled)
	_, err := b.Cancel(t.Context(), cancelled, schema.Cancel{}, Caller{})
	require.NoError(t, err)
	ask(`{"command":"make","n":1}`) // still pending

	for _, same := range []string{`{"command":"make","n":1}`, "{ \"n\" : 1,\n\t\"command\":\"make\" }", `{"n":1,"command":"\u006dake"}`} {
		led := b.led(ask(same))
		require.Equal(t, []int{2, 1, 1}, []int{led.Earlier.Approved, led.Earlier.Denied, led.Earlier.Other}, same)
		require.Equal(t, cancelled, led.Earlier.Last.ID, same)
		require.Equal(t, schema.Cancelled, led.Earlier.Last.HumanInTheLoopStatus.Outcome)
	}
	for _, another := range []string{`{"command":"make","n":2}`, `{"command":"make"}`, `{"command":"make","n":"1"}`, `{"command":"make","n":[1]}`} {
		require.Equal(t, schema.EarlierOutcomes{}, b.led(ask(another)).Earlier, another)
	}
	tool := b.post(questionIn(about(`{"name":"Other","arguments":{"command":"make","n":1}}`, ""), `{}`)).ID
	require.Equal(t, schema.EarlierOutcomes{}, b.led(tool).Earlier, "another tool")
	app := b.post(strings.Replace(questionIn(about(`{"name":"Bash","arguments":{"command":"make","n":1}}`, ""), `{}`), `"source_app":"a"`, `"source_app":"b"`, 1)).ID
	require.Equal(t, schema.EarlierOutcomes{}, b.led(app).Earlier, "another application")
	inPayload := b.post(questionIn(may, `{"tool_name":"Bash","tool_input":{"n":1,"command":"make"}}`)).ID
	require.Equal(t, 2, b.led(inPayload).Earlier.Approved, "the same call, told the way a hook does")
}

// Numbers beyond 2^53 that a browser takes for the same are not the same call.
func TestCallsAreToldApartExactly(t *testing.T) {
	t.Parallel()
	hash := func(arguments string) string {
		c := toolCall{name: "t", arguments: json.RawMessage(arguments)}
		return string(c.hash())
	}
	require.NotEqual(t, hash(`{"id":9007199254740993}`), hash(`{"id":9007199254740992}`))
	require.NotEqual(t, hash(`{"a":1,"a":2}`), hash(`{"a":2,"a":1}`), "which of two counts is anybody's guess")
	require.Equal(t, hash(`{"a":{"b":1,"c":[2, 3]}}`), hash(`{ "a":{"c":[2,3],"b":1} }`))
	require.NotEqual(t, hash(`{"a":[1,2]}`), hash(`{"a":[2,1]}`))
	require.Len(t, hash(`not JSON`), 16)
}

func TestLedOfWhatIsNoQuestion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.Context(t.Context(), 404)
	require.ErrorIs(t, err, schema.ErrNotFound)
	_, err = b.Context(t.Context(), b.post(inSession("s", "")).ID)
	require.ErrorIs(t, err, schema.ErrNoQuestion)
}

// TestTelemetryLedToNothing: records of requests don't push what happened out of sight.
func TestTelemetryLedToNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 10 {
		b.hook("app", "s", "PreToolUse", `{}`)
		b.hook("app", "s", "ApiRequest", `{}`)
	}
	saved := b.post(`{"source_app":"app","session_id":"s","hook_event_type":"Ask","payload":{},"humanInTheLoop":{"question":"?","type":"question"}}`)
	led := b.led(saved.ID)
	require.Len(t, led.Before, contextEvents)
	for _, e := range led.Before {
		require.Equal(t, "PreToolUse", e.HookEventType)
	}
	require.EqualValues(t, 19, led.Before[contextEvents-1].ID, "up to the newest")
}
