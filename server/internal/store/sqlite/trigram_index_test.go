package sqlite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/grams"
	"github.com/hookback/hookback/server/internal/store/tables"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

// The index limits a search to the segments that may match.
func TestTrigramIndex_NamesCandidateSegments(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	b.AppendMany(t, 3*grams.BlockSize, func(i int) *store.EventDraft {
		d := conformance.NewDraft("app", "s", "PreToolUse", "Bash")
		switch i + 1 {
		case 700, 1500:
			d.Payload = []byte(`{"tool_input":{"command":"find the NEEDLE"}}`)
		case 2100:
			r := rand.New(rand.NewPCG(1, 1))
			noise := make([]rune, 2*grams.MaxTrigrams)
			for i := range noise {
				noise[i] = rune(0x4e00 + r.IntN(20_000))
			}
			d.Envelope = fmt.Appendf(d.Envelope, `,"summary":%q`, string(noise))
		}
		return d
	})
	buildIndex(t, b.engine)
	require.Equal(t, 3, b.countBlocks(t))
	tail := grams.Range{From: 3072, To: 3072} // not in a full block yet
	saturated := grams.Range{From: 2048, To: 2111}
	for text, want := range map[string][]grams.Range{
		"needle":                  {tail, saturated, {From: 1472, To: 1535}, {From: 640, To: 703}},
		"command:*needle":         {tail, saturated, {From: 1472, To: 1535}, {From: 640, To: 703}},
		"nowhere":                 {tail, saturated},
		"command:nowhere":         {tail, saturated},
		"-needle":                 {{From: 1, To: 3072}},
		"/NEEDLE$/":               {tail, saturated, {From: 1472, To: 1535}, {From: 640, To: 703}},
		"/needle|x/":              {{From: 1, To: 3072}},
		"ne":                      {{From: 1, To: 3072}},
		"needle agent:app app":    {tail, saturated, {From: 1472, To: 1535}, {From: 640, To: 703}},
		"needle -command:*needle": {tail, saturated, {From: 1472, To: 1535}, {From: 640, To: 703}},
		"risk:nowhere":            nil, // there are no questions and no rated calls
	} {
		run, err := b.NewSearch(t.Context(), store.Search{Filter: conformance.MustParse(t, text)})
		require.NoError(t, err)
		from, to, _ := run.NextWindow()
		candidates, err := run.Candidates(t.Context(), from, to)
		require.NoError(t, err)
		require.Equal(t, want, slices.Collect(candidates.Ranges(from, to, false)), text)
	}
	all, calls := b.SearchAll(t, store.Search{Filter: conformance.MustParse(t, "needle"), Timeout: time.Hour})
	require.Equal(t, []schema.EventID{700, 1500}, conformance.EventIDs(all))
	require.Equal(t, 1, calls)
}

// The index drops pruned events, and the remaining ones are still found.
func TestTrigramIndex_FollowsRetention(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	b.AppendMany(t, 3*grams.BlockSize, func(i int) *store.EventDraft {
		d := conformance.NewDraft("app", fmt.Sprint("s", i/300), "PreToolUse", "Bash")
		if i == 100 {
			d = conformance.NewQuestionDraft("s", time.Time{})
		}
		d.Payload = fmt.Appendf(nil, `{"text":"word%dx"}`, i+1)
		d.ReceivedAt = conformance.ClockStart.Add(time.Duration(i) * time.Second)
		return d
	})
	buildIndex(t, b.engine)
	require.Equal(t, 3, b.countBlocks(t))
	_, err := b.Prune(t.Context(), store.RetentionPolicy{EventsBefore: conformance.ClockStart.Add(1500 * time.Second)})
	require.NoError(t, err)
	require.Equal(t, 1, b.countBlocks(t), "blocks with pruned events leave the index")
	require.Equal(t, 1*grams.SlicesPerBlock, b.countTrigramRows(t))
	find := func(word string) []schema.EventID {
		all, _ := b.SearchAll(t, store.Search{Filter: conformance.MustParse(t, word)})
		return conformance.EventIDs(all)
	}
	require.Equal(t, []schema.EventID{1600}, find("word1600x"), "found without the index")
	buildIndex(t, b.engine)
	require.Equal(t, 3, b.countBlocks(t))
	require.Empty(t, find("word1400x"))
	require.Equal(t, []schema.EventID{101}, find("word101x"), "questions stay")
	require.Equal(t, []schema.EventID{1600}, find("word1600x"))

	b.Answer(t, 101)
	require.NoError(t, b.Apply(t.Context(), store.Change{
		Event: &b.MustQuestion(t, 101).Event, Version: 2, State: schema.Responded, Status: []byte(`{}`), Delivery: &store.Delivery{ID: 101, State: schema.Acked},
	}))
	b.Clock.Advance(time.Hour)
	_, err = b.Prune(t.Context(), store.RetentionPolicy{
		EventsBefore: conformance.ClockStart.Add(9999 * time.Second), QuestionsBefore: b.Clock.Now().Add(time.Hour),
	})
	require.NoError(t, err)
	buildIndex(t, b.engine)
	require.Zero(t, b.countBlocks(t))
	require.Zero(t, b.countTrigramRows(t))
	b.AppendMany(t, 2*grams.BlockSize, func(int) *store.EventDraft { return conformance.NewDraft("app", "s", "Stop", "") })
	buildIndex(t, b.engine)
	require.Equal(t, 2, b.countBlocks(t), "the indexer continues with the next events")
}

func (b *testStore) countTrigramRows(t testing.TB) (n int) {
	t.Helper()
	require.NoError(t, b.readRow(context.Background(), []any{&n}, `SELECT count(*) FROM search_grams`))
	return n
}

// A block is not stored if some of its events were pruned while it was built.
func TestTrigramIndex_DiscardsBlockOfPrunedEvents(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	b.AppendMany(t, grams.BlockSize, func(i int) *store.EventDraft {
		d := conformance.NewDraft("app", "s", "Stop", "")
		d.ReceivedAt = conformance.ClockStart.Add(time.Duration(i) * time.Second)
		return d
	})
	events, err := b.NewIndexer().ReadBlock(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, grams.BlockSize-1, events)
	_, err = b.Prune(t.Context(), store.RetentionPolicy{EventsBefore: conformance.ClockStart.Add(10 * time.Second)})
	require.NoError(t, err)
	require.NoError(t, b.NewIndexer().WriteBlock(t.Context(), 0, events, new(grams.Builder)))
	require.Zero(t, b.countBlocks(t))
	buildIndex(t, b.engine)
	require.Equal(t, 1, b.countBlocks(t))
}

// An index built from another version of the index text is not used, and is rebuilt.
func TestTrigramIndex_RebuildsOtherVersion(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	b.AppendMany(t, 2*grams.BlockSize, func(int) *store.EventDraft { return conformance.NewDraft("app", "s", "Stop", "") })
	buildIndex(t, b.engine)
	b.execSQL(t, `UPDATE search_blocks SET made = '0/old'`)
	b.execSQL(t, `UPDATE search_grams SET grams = x''`)
	all, _ := b.SearchAll(t, store.Search{Filter: conformance.MustParse(t, "command:*test*")})
	require.Len(t, all, 2*grams.BlockSize)
	require.NoError(t, b.MarkStale(t.Context()))
	buildIndex(t, b.engine)
	var made string
	require.NoError(t, b.readRow(t.Context(), []any{&made}, `SELECT min(made) FROM search_blocks`))
	require.Equal(t, filter.IndexVersion, made)
	all, _ = b.SearchAll(t, store.Search{Filter: conformance.MustParse(t, "command:*test*")})
	require.Len(t, all, 2*grams.BlockSize)
}

func (b *testStore) execSQL(t testing.TB, query string) {
	t.Helper()
	require.NoError(t, b.do(t, func(w *tables.Work) error { return w.Exec(query) }))
}

// The indexer follows the log, and resumes after a restart.
func TestIndexer_FollowsLog(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	stop := b.StartIndexer(t)
	grow := func() {
		b.AppendMany(t, grams.BlockSize, func(int) *store.EventDraft { return conformance.NewDraft("app", "s", "Stop", "") })
	}
	indexed := func(n int) func() bool {
		return func() bool {
			var have int
			err := b.readRow(context.Background(), []any{&have}, `SELECT count(*) FROM search_blocks`)
			return err == nil && have == n
		}
	}
	for n := range 2 {
		grow()
		require.Eventually(t, indexed(n+1), time.Minute, time.Millisecond)
	}
	stop()
	grow()
	b.Reopen(t)
	require.Equal(t, 2, b.countBlocks(t))
	stop = b.StartIndexer(t)
	require.Eventually(t, indexed(3), time.Minute, time.Millisecond)
	stop()
}

// Searches work even if the index can't be written, as on a full disk.
func TestIndexer_SurvivesWriteErrors(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	b.AppendMany(t, grams.BlockSize, func(int) *store.EventDraft { return conformance.NewDraft("app", "s", "Stop", "") })
	b.execSQL(t, `CREATE TRIGGER no BEFORE INSERT ON search_grams BEGIN SELECT RAISE(ABORT, 'no'); END`)
	more, err := b.NewIndexer().BuildNext(t.Context())
	require.ErrorContains(t, err, "no")
	require.False(t, more)
	stop := b.StartIndexer(t)
	all, _ := b.SearchAll(t, store.Search{Filter: conformance.MustParse(t, "stop")})
	require.Len(t, all, grams.BlockSize)
	stop()
	b.execSQL(t, `DROP TRIGGER no`)
	buildIndex(t, b.engine)
	require.Equal(t, 1, b.countBlocks(t))
}
