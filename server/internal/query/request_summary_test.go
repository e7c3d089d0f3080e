package query

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// aRequest returns a stored event with a question whose texts have that content.
func aRequest(t *testing.T, text string) *store.Event {
	t.Helper()
	encoded, err := json.Marshal(text)
	require.NoError(t, err)
	all := func(format string) []byte { return []byte(strings.ReplaceAll(format, "TEXT", string(encoded))) }
	return &store.Event{
		ID: 123_456_789, UID: "0193c5f8-6d0a-7c3e-9a41-5f2b8c7d6e11", Timestamp: 1_734_189_234_000, App: "shop-api", Session: "0193c5f8-6d0a-7c3e-9a41-5f2b8c7d6e12",
		Envelope: all(`"source_app":"shop-api","session_id":"0193c5f8-6d0a-7c3e-9a41-5f2b8c7d6e12","hook_event_type":"PermissionRequest","agent":"claude-code","tool_name":"Bash","tool_use_id":TEXT,"summary":TEXT,"model_name":TEXT,"agent_type":TEXT,"x":TEXT`),
		Payload:  all(`{"tool_name":"Bash","tool_input":{"command":TEXT,"description":TEXT}}`),
		Question: all(`{"question":TEXT,"type":"permission","choices":[TEXT],"toolCall":{"name":TEXT,"arguments":{"command":TEXT,"description":TEXT,"n":1,"deep":{"a":[TEXT]}}},
			"appeal":{"by":TEXT,"reason":TEXT},"context":{"why":TEXT,"userPrompt":TEXT},"suggestions":[{"a":TEXT}],"risk":"high"}`),
		Status: all(`{"status":"pending","revision":7,"expiresAt":1734189534000,"requiredApprovals":2,"recipients":["ada","grace","mara"],"awaiting":["ada","grace"],
			"votes":[{"user":"mara","choice":"approve","comment":TEXT,"at":1734189334000}],"waiter":"listening","waiters":3,"sameAs":12,"risk":"critical","class":"risky",
			"findings":[{"code":"recursive_delete","risk":"critical","text":TEXT,"excerpt":TEXT}],"intent":{"verb":"Run","object":TEXT,"change":TEXT},
			"held":{"until":1734189335000,"revision":6,"outcome":TEXT,"by":{"name":"ada","verified":true,"process":{"pid":1,"exe":TEXT}}},
			"edited":{"arguments":{"command":TEXT},"by":"ada","at":1,"revision":2},"notices":[{"error":TEXT}],"delivery":{"state":"none","attempts":0,"lastError":TEXT},"reason":TEXT}`),
	}
}

func decodeEvent(t *testing.T, e *store.Event) (decoded schema.Event, size int) {
	t.Helper()
	text := e.AppendJSON(nil, schema.MaxListed)
	require.True(t, utf8.Valid(text))
	require.NoError(t, json.Unmarshal(text, &decoded), string(text))
	return decoded, len(text)
}

func TestRequestSummary_IsSmall(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"2 kB":               strings.Repeat("go test ./... && ", 120),
		"1 MB":               strings.Repeat("x", 1<<20),
		"multibyte":          strings.Repeat("é", 300_000),
		"escaped":            strings.Repeat("\x01<&>\"\\\n", 6_000),
		"wide":               strings.Repeat("👩‍🚀", 4_000),
		"replacement":        strings.Repeat("\uFFFD", 20_000),
		"just too long":      strings.Repeat("y", 161),
		"one long and empty": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := aRequest(t, text)
			if text == "" {
				e.Payload = fmt.Appendf(nil, `{"p":%q}`, strings.Repeat("z", 4000))
			}
			before := string(e.AppendJSON(nil, -1))
			short := requestSummary(e)
			event, size := decodeEvent(t, short)
			require.LessOrEqual(t, size, MaxRequestSummary)
			require.True(t, event.QuestionTruncated, "no one answers a summary")
			require.True(t, event.PayloadTruncated)
			require.Equal(t, "shop-api", event.SourceApp)
			require.Equal(t, e.Session, event.SessionID)
			require.Equal(t, "PermissionRequest", event.HookEventType)
			status := event.HumanInTheLoopStatus
			require.Equal(t, schema.Pending, status.Status)
			require.EqualValues(t, 7, status.Revision)
			require.EqualValues(t, 1_734_189_534_000, status.ExpiresAt)
			require.Equal(t, schema.Listening, status.Waiter)
			require.Equal(t, 3, status.Waiters)
			require.EqualValues(t, 12, status.SameAs)
			require.Equal(t, schema.CriticalRisk, status.Risk)
			require.Equal(t, schema.ClassRisky, status.Class)
			require.Equal(t, []string{"ada", "grace"}, status.Awaiting)
			require.Equal(t, []schema.Vote{{User: "mara", Choice: "approve", At: 1_734_189_334_000}}, status.Votes)
			require.Equal(t, "Run", status.Intent.Verb)
			require.NotContains(t, string(short.Status), `"process"`)
			require.Empty(t, status.Findings)
			require.NotNil(t, event.HumanInTheLoop.Appeal, "the list marks it")
			require.Equal(t, schema.Permission, event.HumanInTheLoop.Type)
			require.Nil(t, event.HumanInTheLoop.Context)
			require.Equal(t, before, string(e.AppendJSON(nil, -1)), "the stored event is unchanged")
		})
	}
}

func TestRequestSummary_KeepsBothEndsOfTheIntent(t *testing.T) {
	t.Parallel()
	e := aRequest(t, "first-"+strings.Repeat("x", 5000)+"-last")
	event, _ := decodeEvent(t, requestSummary(e))
	for _, text := range []string{event.HumanInTheLoopStatus.Intent.Object, event.HumanInTheLoop.Question} {
		require.True(t, strings.HasPrefix(text, "first-") && strings.HasSuffix(text, "-last") && strings.Contains(text, "…"), text)
	}
}

func TestRequestSummary_NeverCutsKeysAndPeople(t *testing.T) {
	t.Parallel()
	e := aRequest(t, strings.Repeat("x", 5000))
	name := strings.Repeat("n", schema.MaxName)
	e.App, e.Session = name, name
	e.Envelope = fmt.Appendf(nil, `"source_app":%q,"session_id":%q,"hook_event_type":%q`, name, name, name)
	event, size := decodeEvent(t, requestSummary(e))
	require.Equal(t, name, event.SourceApp)
	require.Equal(t, name, event.SessionID)
	require.Less(t, len(event.HookEventType), 100)
	require.LessOrEqual(t, size, MaxRequestSummary+2*len(name))
}

func TestRequestSummary_SmallEventsAreWhole(t *testing.T) {
	t.Parallel()
	small := &store.Event{ID: 1, App: "a", Session: "s", Envelope: []byte(`"source_app":"a","session_id":"s"`), Payload: []byte(`{}`), Question: []byte(`{"question":"?"}`), Status: []byte(`{"status":"pending"}`)}
	plain := &store.Event{ID: 2, App: "a", Session: "s", Envelope: []byte(`"source_app":"a"`), Payload: fmt.Appendf(nil, `{"p":%q}`, strings.Repeat("z", 9000))}
	require.Same(t, small, requestSummary(small))
	require.Same(t, plain, requestSummary(plain), "not a request")
	hidden := *small
	hidden.PayloadBytes = 100_000 // the store left it out
	event, _ := decodeEvent(t, requestSummary(&hidden))
	require.True(t, event.QuestionTruncated)
	require.Equal(t, 100_000, event.PayloadBytes)
	odd := *small
	odd.Payload, odd.Question, odd.Status = fmt.Appendf(nil, `{"p":%q}`, strings.Repeat("z", 9000)), []byte(`{"question":"?","toolCall":null}`), []byte(`{"status":"pending","intent":null,"votes":null,"held":null}`)
	event, _ = decodeEvent(t, requestSummary(&odd))
	require.Equal(t, "?", event.HumanInTheLoop.Question)
	require.Nil(t, event.HumanInTheLoop.ToolCall)
}

// A hostile call has thousands of arguments, and each list of pending requests shortens it.
func TestRequestSummary_ManyArgumentsAllocateLittle(t *testing.T) { //nolint:paralleltest // AllocsPerRun counts for the process
	of := func(arguments int) float64 {
		e := aRequest(t, "x")
		list := strings.Builder{}
		for i := range arguments {
			fmt.Fprintf(&list, `,"argument%d":"%s"`, i, strings.Repeat("y", 200))
		}
		e.Question = fmt.Appendf(nil, `{"question":"?","type":"permission","toolCall":{"name":"Bash","arguments":{%s}}}`, list.String()[1:])
		return testing.AllocsPerRun(3, func() { requestSummary(e) })
	}
	require.Less(t, (of(2100)-of(100))/2000, 10.0, "for each argument that has no room")
}
