package sessions

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/redact"
	"github.com/hookback/hookback/server/internal/store"
)

// foundBy returns the ids of the events that a filter finds.
func (h *testHub) foundBy(text string) (ids []schema.EventID) {
	h.t.Helper()
	f, err := filter.Parse(text)
	require.NoError(h.t, err)
	raw, err := h.Search(h.t.Context(), store.Search{Filter: f})
	require.NoError(h.t, err)
	var result history.SearchResult
	require.NoError(h.t, json.Unmarshal(raw, &result))
	require.True(h.t, result.Complete)
	for i := range result.Events {
		ids = append(ids, result.Events[i].ID)
	}
	return ids
}

func (h *testHub) postChat(session, chat string) {
	h.t.Helper()
	h.post(fmt.Sprintf(`{"source_app":"shop","session_id":%q,"hook_event_type":"Stop","payload":{},"chat":%s}`, session, chat))
}

func TestSearch_Transcripts(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	p := h.newProjector()
	h.postChat("a", `[{"type":"user","message":{"content":"Paint the Zebra"}}]`)
	h.postChat("b", `"plain text about a lion"`)
	h.post(`{"source_app":"shop","session_id":"a","hook_event_type":"Stop","payload":{"prompt":"zebra"}}`)
	h.catchUp(p)
	require.Equal(t, []schema.EventID{1}, h.foundBy("chat:zebra"))
	require.Equal(t, []schema.EventID{2}, h.foundBy("chat:lion"))
	require.Equal(t, []schema.EventID{3}, h.foundBy("zebra"), "words are not searched for in transcripts")
	require.Equal(t, []string{"a"}, h.listed(store.SessionFilter{Text: "paint the", Limit: 5}))

	h.postChat("a", `[{"type":"user","message":{"content":"Paint the Zebra"}},{"type":"assistant","message":{"content":[{"type":"text","text":"Done, with stripes."}]}}]`)
	h.postChat("a", `[{"type":"user","message":{"content":"Paint it black"}}]`)
	h.catchUp(p)
	require.Empty(t, h.foundBy("chat:zebra"), "a newer transcript has replaced it")
	require.Equal(t, []schema.EventID{5}, h.foundBy("chat:black"))
	require.Equal(t, []string{"a"}, h.listed(store.SessionFilter{Text: "black", Limit: 5}))
	require.Empty(t, h.listed(store.SessionFilter{Text: "stripes", Limit: 5}))
}

// A transcript is found wherever its session is: also after it moved to another application.
func TestSearch_TranscriptOfImportAndOfMovedSession(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.postLogs(apiRequestRecord("s1", "", "opus", 1)) // of the application claude-code
	h.postChat("s1", `["the zebra"]`)
	h.post(`{"source_app":"shop","session_id":"imported","hook_event_type":"SessionImported","payload":{"hash":"h"},"chat":["an imported zebra"]}`)
	h.catchUp(h.newProjector())
	require.Len(t, h.foundBy("chat:zebra"), 2)
	require.ElementsMatch(t, []string{"s1", "imported"}, h.listed(store.SessionFilter{Text: "zebra", Limit: 1}))
	require.Equal(t, []string{"imported"}, h.listed(store.SessionFilter{Text: "an imported", App: "shop", Limit: 5}))
	require.Empty(t, h.listed(store.SessionFilter{Text: "zebra", App: "claude-code", Limit: 5}))
}

// Searches read the stored transcript, which has no secrets.
func TestSearch_TranscriptIsRedacted(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.hub.Redactor = redact.New()
	secret := "ghp_" + strings.Repeat("a1B2", 9)
	_, err := h.hub.Ingest(t.Context(), []byte(`{"source_app":"shop","session_id":"a","hook_event_type":"Stop","payload":{},"chat":[{"message":{"content":"the token is `+secret+` for the zebra"}}]}`), hub.Caller{})
	require.NoError(t, err)
	h.catchUp(h.newProjector())
	require.Equal(t, []schema.EventID{1}, h.foundBy("chat:zebra"))
	require.Empty(t, h.foundBy("chat:"+secret))
	require.Empty(t, h.listed(store.SessionFilter{Text: secret, Limit: 5}))
}

func TestSearch_LongTranscriptKeepsItsEnd(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	var chat strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&chat, `"line%d. %s",`, i, strings.Repeat("x", 500))
	}
	h.postChat("a", "["+chat.String()+`"the end"]`)
	h.catchUp(h.newProjector())
	require.Equal(t, []schema.EventID{1}, h.foundBy(`chat:"the end"`))
	require.Equal(t, []schema.EventID{1}, h.foundBy("chat:line3999."))
	require.Empty(t, h.foundBy("chat:line7."))
}
