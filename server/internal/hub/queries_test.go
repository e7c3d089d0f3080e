package hub

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/store"
)

func TestInitial_IncludesEveryPendingQuestion(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	old, _ := h.ask(callbackQuestion)
	h.appendEvents(schema.RecentLimit+10, `{}`)
	seq, raw, err := h.query.InitialMessage(t.Context())
	require.NoError(t, err)
	require.Equal(t, h.Store.Head(), seq)
	var events []schema.Event
	require.NoError(t, json.Unmarshal(raw, &events))
	require.Len(t, events, schema.RecentLimit)
	require.Equal(t, old, events[0].ID)
	require.Equal(t, schema.EventID(seq), events[len(events)-1].ID)
}

// TestInitial_IsSharedBetweenTabs: twenty tabs that connect and never read must not hold
// twenty copies of the initial message.
func TestInitial_IsSharedBetweenTabs(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.post(plainEvent)
	_, first, err := h.query.InitialMessage(t.Context())
	require.NoError(t, err)
	_, second, err := h.query.InitialMessage(t.Context())
	require.NoError(t, err)
	require.Same(t, &first[0], &second[0])

	h.post(plainEvent)
	seq, third, err := h.query.InitialMessage(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(2), seq)
	require.NotEqual(t, string(first), string(third))
}

func TestInitial_RespectsByteBudget(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id, _ := h.ask(callbackQuestion)
	h.appendEvents(80, `{"a":"`+strings.Repeat("x", schema.MaxListed-100)+`"}`)
	h.post(strings.Replace(plainEvent, `{}`, `{"a":"`+strings.Repeat("x", schema.MaxListed)+`"}`, 1))
	_, raw, err := h.query.InitialMessage(t.Context())
	require.NoError(t, err)
	require.LessOrEqual(t, len(raw), query.MaxPageBytes)
	first, last, _ := firstAndLast(t, raw)
	require.Equal(t, id, first.ID, "a pending question is always included")
	require.True(t, last.PayloadTruncated)
	require.Equal(t, `{}`, string(last.Payload))
	require.Greater(t, last.PayloadBytes, schema.MaxListed)
}

// TestInitial_ShortensQuestionsBeyondByteBudget: version 1 pages limit the size of a message.
func TestInitial_ShortensQuestionsBeyondByteBudget(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	const questions = 200
	long := strings.Repeat("é", 10<<10)
	var ids []schema.EventID
	for n := range questions {
		saved := h.post(fmt.Sprintf(`{"source_app":"a","session_id":"s%d","hook_event_type":"PermissionRequest","payload":{"p":%q},"more":%q,
			"humanInTheLoop":{"question":%q,"type":"choice","choices":["yes","no"],"timeout":0,"toolCall":{"name":"Bash","arguments":{"command":%q}}}}`, n, long, long, long, long))
		ids = append(ids, saved.ID)
	}
	_, raw, err := h.query.InitialMessage(t.Context())
	require.NoError(t, err)
	require.Less(t, len(raw), query.MaxPageBytes)
	first, last, n := firstAndLast(t, raw)
	require.Equal(t, questions, n, "no question is left out")
	require.Equal(t, ids[0], first.ID)
	require.Equal(t, "s0", first.SessionID)
	require.Equal(t, schema.Pending, first.HumanInTheLoopStatus.Status)
	q := first.HumanInTheLoop
	require.True(t, strings.HasPrefix(q.Question, "ééé") && strings.HasSuffix(q.Question, "[shortened]"), q.Question)
	require.Equal(t, []string{"yes", "no"}, q.Choices)
	require.Equal(t, "Bash", q.ToolCall.Name)
	require.JSONEq(t, `{}`, string(first.Payload))
	require.Contains(t, string(raw), `"questionTruncated":true`)
	require.Equal(t, long, last.HumanInTheLoop.Question, "the newest ones fit")

	whole, err := h.query.Event(t.Context(), ids[0])
	require.NoError(t, err)
	require.Equal(t, long, decodeEvent(t, whole).HumanInTheLoop.Question)
}

// firstAndLast decodes only two events of a list and returns their number in total. Under
// -race, decoding a list of several MB takes seconds.
func firstAndLast(t *testing.T, list []byte) (first, last schema.Event, n int) {
	t.Helper()
	var events []json.RawMessage
	require.NoError(t, json.Unmarshal(list, &events))
	n = len(events)
	require.NotZero(t, n)
	return decodeEvent(t, events[0]), decodeEvent(t, events[n-1]), n
}

func TestFramesAfter_CatchesUpBehindRing(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	const n = 1500 // the ring buffer holds 64 frames, a batch of the log 512
	h.appendEvents(n, `{}`)
	var seq int64
	for seq < n {
		frames, _, err := h.query.FramesAfter(t.Context(), seq)
		require.NoError(t, err)
		require.NotEmpty(t, frames)
		for _, f := range frames {
			require.Equal(t, seq+1, f.Seq)
			seq = f.Seq
		}
	}
	_, _, err := h.query.FramesAfter(t.Context(), n+5)
	require.ErrorIs(t, err, store.ErrLogRewound)
}
