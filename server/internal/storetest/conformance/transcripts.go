package conformance

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// appendTranscript appends an event with a transcript and returns the row of its session.
func (b *Harness) appendTranscript(t testing.TB, session, text string) store.SessionRow {
	t.Helper()
	d := NewDraft("app", session, "Stop", "")
	d.Transcript = fmt.Appendf(nil, "[%q]", text)
	id := b.MustAppend(t, d).ID
	row := NewSessionRow(session, id, id)
	row.Active = ClockStart.UnixMilli()
	row.Transcript = &store.TranscriptText{Event: id, Text: text + "\n"}
	return row
}

// found returns the IDs of the events that match.
func (b *Harness) found(t testing.TB, q store.Search, filter string) (ids []schema.EventID) {
	t.Helper()
	q.Filter = MustParse(t, filter)
	all, _ := b.SearchAll(t, q)
	for _, e := range all {
		ids = append(ids, e.ID)
	}
	return ids
}

// allPages returns the facts of all pages of sessions.
func (b *Harness) allPages(t testing.TB, f store.SessionFilter) (list []string) {
	t.Helper()
	for pages := 1; ; pages++ {
		require.Less(t, pages, 100)
		facts, next, err := b.Sessions(context.Background(), f)
		require.NoError(t, err)
		require.LessOrEqual(t, len(facts), f.Limit)
		for _, raw := range facts {
			list = append(list, string(raw))
		}
		if f.Before = next; next == 0 {
			return list
		}
	}
}

// A search finds the newest transcript of each session only.
func (s suite) TestSearch_FindsNewestTranscripts(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	first := b.appendTranscript(t, "a", "the zebra crosses")
	b.MustAppend(t, NewDraft("app", "a", "PreToolUse", "Bash"))
	other := b.appendTranscript(t, "b", "a lion sleeps")
	b.MustProject(t, &store.ProjectionBatch{Sessions: []store.SessionRow{first, other}})
	require.Equal(t, []schema.EventID{1}, b.found(t, store.Search{}, "chat:zebra"))

	again := b.appendTranscript(t, "a", "the zebra crosses again")
	again.First = first.First
	b.MustProject(t, &store.ProjectionBatch{From: 3, Sessions: []store.SessionRow{again}})
	b.Reopen(t)
	for filter, want := range map[string][]schema.EventID{
		"chat:zebra": {4}, "chat:again": {4}, "chat:sleeps": {3}, "chat:nothing": nil, "chat:*": {3, 4}, "-chat:zebra": {1, 2, 3}, "chat:zebra chat:crosses": {4},
		"chat:zebra agent:app session:a": {4}, "chat:zebra session:b": nil, "chat:/a.?lion/ type:Stop": {3}, "chat:zebra status:pending": nil, "zebra": nil, "chat:* id:3": {3},
	} {
		require.Equal(t, want, b.found(t, store.Search{}, filter), filter)
		require.Equal(t, want, b.found(t, store.Search{Oldest: true, Limit: 1}, filter), filter)
		require.Equal(t, want, b.found(t, store.Search{Timeout: time.Nanosecond, Limit: 1}, filter), "%s: a search without time makes progress", filter)
	}
	lost := b.appendTranscript(t, "a", "")
	lost.First, lost.Transcript.Text = first.First, ""
	b.MustProject(t, &store.ProjectionBatch{From: 4, Sessions: []store.SessionRow{lost}})
	require.Equal(t, []schema.EventID{3}, b.found(t, store.Search{}, "chat:*"), "the newest transcript has no text")
}

// Retention removes the text of a transcript with the transcript.
func (s suite) TestPrune_RemovesTranscriptTexts(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	old := b.appendTranscript(t, "a", "the zebra crosses")
	b.Clock.Advance(time.Hour)
	young := b.appendTranscript(t, "b", "another zebra")
	b.MustProject(t, &store.ProjectionBatch{Sessions: []store.SessionRow{old, young}})
	require.Equal(t, []schema.EventID{1, 2}, b.found(t, store.Search{}, "chat:zebra"))
	_, err := b.Prune(ctx, store.RetentionPolicy{EventsBefore: ClockStart.Add(time.Minute)})
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{2}, b.found(t, store.Search{}, "chat:zebra"))
	facts := b.allPages(t, store.SessionFilter{Text: "zebra", Limit: 5})
	require.Len(t, facts, 1)

	// Retention may overtake the projector.
	late := b.appendTranscript(t, "c", "a late zebra")
	b.Clock.Advance(time.Hour)
	_, err = b.Prune(ctx, store.RetentionPolicy{EventsBefore: b.Clock.Now()})
	require.NoError(t, err)
	b.MustProject(t, &store.ProjectionBatch{From: 2, Sessions: []store.SessionRow{late}})
	require.Empty(t, b.found(t, store.Search{}, "chat:zebra"))
	facts = b.allPages(t, store.SessionFilter{Text: "zebra", Limit: 5})
	require.Empty(t, facts)
}

// The sessions whose own text matches come first, then the sessions whose transcript matches. Each is listed once.
func (s suite) TestSessions_SearchContinuesInTranscripts(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	var rows []store.SessionRow
	for i := range 12 {
		text := "a lion"
		if i%2 == 0 {
			text = "one zebra of many"
		}
		rows = append(rows, b.appendTranscript(t, fmt.Sprint("s", i), text))
	}
	rows[0].Text, rows[1].Text = "about a zebra", "another zebra" // the transcript of one of them matches, too
	rows[2].Person = "ada"
	rows[4].Facts = []byte(`{"other":4}`)
	b.MustProject(t, &store.ProjectionBatch{Sessions: rows})
	want := []string{`{"last":2}`, `{"last":1}`, `{"last":11}`, `{"last":9}`, `{"last":7}`, `{"other":4}`, `{"last":3}`}
	for _, limit := range []int{1, 2, 3, 4, 7, 20} {
		for _, text := range []string{"zebra", "ZEBRA"} {
			facts := b.allPages(t, store.SessionFilter{Text: text, Limit: limit})
			require.Equal(t, want, facts, "%d", limit)
		}
	}
	for _, f := range []store.SessionFilter{{Text: "zebra", Person: "ada"}, {Text: "zebra of", Person: "ada", App: "app"}} {
		f.Limit = 2
		facts := b.allPages(t, f)
		require.Equal(t, []string{`{"last":3}`}, facts)
	}
	for _, f := range []store.SessionFilter{{Text: "zebra", App: "nobody"}, {Text: "zebra", Person: "eve"}, {Text: "zebra%"}, {Text: "type"}} {
		f.Limit = 2
		facts := b.allPages(t, f)
		require.Empty(t, facts, "%+v", f)
	}
}

// A search in many large transcripts ends each call soon, and reports that it is not complete.
func (s suite) TestSessions_SearchInTranscriptsIsBounded(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	var rows []store.SessionRow
	for i := range 300 {
		rows = append(rows, b.appendTranscript(t, fmt.Sprint("s", i), strings.Repeat("some text of a long session ", 2000)+fmt.Sprint("end", i, ".")))
	}
	b.MustProject(t, &store.ProjectionBatch{Sessions: rows})
	facts := b.allPages(t, store.SessionFilter{Text: "end7.", Limit: 3})
	require.Equal(t, []string{`{"last":8}`}, facts)
	require.Equal(t, []schema.EventID{8}, b.found(t, store.Search{Timeout: time.Nanosecond}, "chat:end7."))
}
