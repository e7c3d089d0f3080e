package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/grams"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

// buildIndex indexes all full blocks.
func buildIndex(t testing.TB, s *engine) {
	t.Helper()
	x := s.NewIndexer()
	for more := true; more; {
		var err error
		more, err = x.BuildNext(context.Background())
		require.NoError(t, err)
	}
}

// countBlocks returns the number of blocks in the index, and of their slices.
func (b *testStore) countBlocks(t testing.TB) (blocks, slices int) {
	t.Helper()
	require.NoError(t, b.readers.get(context.Background(), []any{&blocks, &slices},
		`SELECT (SELECT count(*) FROM search_blocks WHERE made <> ''), (SELECT count(*) FROM search_grams)`))
	return blocks, slices
}

func (b *testStore) requireBlocks(t testing.TB, n int, why ...any) {
	t.Helper()
	blocks, slices := b.countBlocks(t)
	require.Equal(t, n, blocks, why...)
	require.Equal(t, n*grams.SlicesPerBlock, slices, why...)
}

// find returns the events that a search finds.
func (b *testStore) find(t testing.TB, text string) []schema.EventID {
	t.Helper()
	all, _ := b.SearchAll(t, store.Search{Filter: conformance.MustParse(t, text)})
	return conformance.EventIDs(all)
}

// numberedWord returns an event whose word has its number.
func numberedWord(i int) *store.EventDraft {
	d := conformance.NewDraft("app", "s", "Stop", "")
	d.Payload = fmt.Appendf(nil, `{"text":"word%dx"}`, i+1)
	d.ReceivedAt = conformance.ClockStart.Add(time.Duration(i) * time.Second)
	return d
}

// The index limits a search to the segments that may match.
func TestTrigramIndex_NamesCandidateSegments(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, testConfig(t))
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
	b.requireBlocks(t, 3)
	tail := grams.Range{From: 3072, To: 3072} // not in a full block yet
	saturated := grams.Range{From: 2048, To: 2111}
	for text, want := range map[string][]grams.Range{
		"needle":                  {tail, saturated, {From: 1472, To: 1535}, {From: 640, To: 703}},
		"nowhere and far away":    {tail, saturated},
		"-needle":                 {{From: 1, To: 3072}},
		"/NEEDLE$/":               {tail, saturated, {From: 1472, To: 1535}, {From: 640, To: 703}},
		"ne":                      {{From: 1, To: 3072}},
		"needle -command:*needle": {tail, saturated, {From: 1472, To: 1535}, {From: 640, To: 703}},
	} {
		run, err := b.NewSearch(t.Context(), store.Search{Filter: conformance.MustParse(t, text)})
		require.NoError(t, err)
		from, to, _ := run.NextWindow()
		candidates, err := run.Candidates(t.Context(), from, to)
		require.NoError(t, err)
		require.Equal(t, want, slices.Collect(candidates.Ranges(from, to, false)), text)
	}
	require.Equal(t, []schema.EventID{700, 1500}, b.find(t, "needle"))
}

// Random searches find the same with and without the index.
func TestTrigramIndex_FindsWhatScanFinds(t *testing.T) {
	t.Parallel()
	const rows = 2*grams.BlockSize + 300
	with, without := newTestStore(t, testConfig(t)), newTestStore(t, testConfig(t))
	for _, b := range []*testStore{with, without} {
		r := rand.New(rand.NewPCG(5, 6)) // the same log
		b.AppendMany(t, rows, func(i int) *store.EventDraft { return randomText(r, i) })
	}
	buildIndex(t, with.engine)
	with.requireBlocks(t, 2)
	without.requireBlocks(t, 0)
	r := rand.New(rand.NewPCG(6, 7))
	matched := 0
	for range 60 {
		q := store.Search{Limit: 1 + r.IntN(400), Oldest: r.IntN(2) == 0, Before: schema.EventID(r.IntN(2 * rows))}
		text := randomWord(r)
		switch r.IntN(4) {
		case 0:
			text += " " + randomWord(r)
		case 1:
			text = "/" + text + "/"
		case 2:
			text = "text:*" + text + "*"
		}
		q.Filter = conformance.MustParse(t, text)
		got, _ := with.SearchAll(t, q)
		want, _ := without.SearchAll(t, q)
		require.Equal(t, conformance.EventIDs(want), conformance.EventIDs(got), "%s %+v", text, q)
		matched += len(got)
	}
	require.Greater(t, matched, 100)
}

// randomWord returns two of a few syllables: most words are rare, and their trigrams are not.
func randomWord(r *rand.Rand) string {
	syllables := []string{"ba", "ke", "Li", "mö", "nu", "日本", "ra", "sse", "ß", "ta", "\u0000", "vo"}
	word := ""
	for range 2 + r.IntN(2) {
		word += syllables[r.IntN(len(syllables)-2*r.IntN(2))]
	}
	return word
}

func randomText(r *rand.Rand, i int) *store.EventDraft {
	d := conformance.NewDraft("app "+randomWord(r), fmt.Sprint("s\xff", i/100), "Stop", "")
	if r.IntN(10) == 0 {
		d = conformance.NewQuestionDraft("s", time.Time{})
	}
	text := randomWord(r) + " " + randomWord(r)
	if r.IntN(50) == 0 {
		text += strings.Repeat(" x", schema.MaxListed/2) // lists omit it
	}
	d.Payload, _ = json.Marshal(map[string]string{"text": text}) // cannot fail
	return d
}

// The index drops pruned events, and the remaining ones are still found.
func TestTrigramIndex_FollowsPruning(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, testConfig(t))
	b.AppendMany(t, 3*grams.BlockSize, func(i int) *store.EventDraft {
		d := numberedWord(i)
		if i == 100 {
			q := conformance.NewQuestionDraft("s", time.Time{})
			q.Payload, q.ReceivedAt = d.Payload, d.ReceivedAt
			return q
		}
		return d
	})
	buildIndex(t, b.engine)
	b.requireBlocks(t, 3)
	_, err := b.Prune(t.Context(), store.RetentionPolicy{EventsBefore: conformance.ClockStart.Add(1500 * time.Second)})
	require.NoError(t, err)
	b.requireBlocks(t, 1, "blocks with pruned events leave the index")
	require.Equal(t, []schema.EventID{1600}, b.find(t, "word1600x"), "found without the index")
	buildIndex(t, b.engine)
	b.requireBlocks(t, 3)
	require.Empty(t, b.find(t, "word1400x"))
	require.Equal(t, []schema.EventID{101}, b.find(t, "word101x"), "questions stay")
	require.Equal(t, []schema.EventID{1600}, b.find(t, "word1600x"))

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
	b.requireBlocks(t, 0)
	b.AppendMany(t, 2*grams.BlockSize, func(int) *store.EventDraft { return conformance.NewDraft("app", "s", "Stop", "") })
	buildIndex(t, b.engine)
	b.requireBlocks(t, 2, "the indexer continues with the next events")
}

// A block is not stored if some of its events were pruned while it was built, or another hub stored it.
func TestTrigramIndex_DiscardsBlockThatChanged(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, testConfig(t))
	b.AppendMany(t, grams.BlockSize, numberedWord)
	write := func(events int) {
		require.NoError(t, b.NewIndexer().WriteBlock(t.Context(), 0, events, new(grams.Builder)))
	}
	events, err := b.NewIndexer().ReadBlock(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, grams.BlockSize-1, events)
	_, err = b.Prune(t.Context(), store.RetentionPolicy{EventsBefore: conformance.ClockStart.Add(10 * time.Second)})
	require.NoError(t, err)
	write(events)
	b.requireBlocks(t, 0)
	buildIndex(t, b.engine)
	b.requireBlocks(t, 1)
	write(events - 10) // an empty one
	require.Equal(t, []schema.EventID{900}, b.find(t, "word900x"))
}

// An index built from another version of the index text is not used, and is rebuilt.
func TestTrigramIndex_RebuildsOtherVersion(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, testConfig(t))
	b.AppendMany(t, 2*grams.BlockSize, numberedWord)
	buildIndex(t, b.engine)
	require.NoError(t, b.exec(t, `UPDATE search_blocks SET made = '0/old'`))
	require.NoError(t, b.exec(t, `UPDATE search_grams SET grams = ''`))
	require.Equal(t, []schema.EventID{1600}, b.find(t, "word1600x"))
	require.NoError(t, b.MarkStale(t.Context()))
	blocks, _ := b.countBlocks(t)
	require.Zero(t, blocks)
	buildIndex(t, b.engine)
	b.requireBlocks(t, 2)
	var made string
	require.NoError(t, b.readers.get(t.Context(), []any{&made}, `SELECT min(made) FROM search_blocks`))
	require.Equal(t, filter.IndexVersion, made)
	require.Equal(t, []schema.EventID{1600}, b.find(t, "word1600x"))
}

// The index grows with the events of all hubs, and every hub knows how far it is behind. Two hubs that
// build it at the same time do no harm.
func TestIndexer_FollowsLogOfSeveralHubs(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	hubs := []*testStore{newTestStore(t, cfg), newTestStore(t, cfg)}
	lag := func(b *testStore) int64 {
		stats, err := b.Stats(t.Context())
		require.NoError(t, err)
		return stats.SearchIndex.Rows
	}
	hubs[0].AppendMany(t, grams.BlockSize, numberedWord)
	for _, b := range hubs {
		require.Eventually(t, func() bool { return lag(b) == grams.BlockSize-1 }, time.Minute, time.Millisecond)
	}
	stops := []func(){hubs[0].StartIndexer(t), hubs[1].StartIndexer(t)}
	for n := range 3 {
		if n > 0 {
			hubs[n%2].AppendMany(t, grams.BlockSize, func(i int) *store.EventDraft { return numberedWord(n*grams.BlockSize + i) })
		}
		require.Eventually(t, func() bool { blocks, _ := hubs[0].countBlocks(t); return blocks == n+1 }, time.Minute, time.Millisecond)
		for _, b := range hubs {
			awaitRows(t, b, int64(n+1)*grams.BlockSize)
			require.Eventually(t, func() bool { return lag(b) == 0 }, time.Minute, time.Millisecond)
		}
	}
	for _, stop := range stops {
		stop()
	}
	hubs[0].requireBlocks(t, 3)
	for _, b := range hubs {
		require.Equal(t, []schema.EventID{2500}, b.find(t, "word2500x"))
	}
}

// Searches work even if the index can't be written.
func TestIndexer_SurvivesWriteErrors(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, testConfig(t))
	b.AppendMany(t, grams.BlockSize, numberedWord)
	require.NoError(t, b.exec(t, `ALTER TABLE search_grams ADD CONSTRAINT no CHECK (place < 0)`))
	more, err := b.NewIndexer().BuildNext(t.Context())
	require.Error(t, err)
	require.False(t, more)
	stop := b.StartIndexer(t)
	require.Len(t, b.find(t, "stop"), grams.BlockSize)
	stop()
	require.NoError(t, b.exec(t, `ALTER TABLE search_grams DROP CONSTRAINT no`))
	buildIndex(t, b.engine)
	b.requireBlocks(t, 1)
}
