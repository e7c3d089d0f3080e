package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/store"
)

// NewRatedCall returns a call of high risk in session s of app. Only an open one may still change.
func NewRatedCall(id schema.EventID, outcome history.CallOutcome) store.RatedCall {
	return store.RatedCall{
		RiskyCall: history.RiskyCall{
			ID: id, SourceApp: "app", SessionID: "s", ToolName: "Bash", Risk: schema.HighRisk,
			Codes: []string{"a", "b"}, Decided: history.DecidedByAgent, Outcome: outcome,
		},
		UseID: "t1", Digest: "d1", Quarter: 100, Closed: outcome != history.CallOpen,
	}
}

// MustRate applies a batch of ratings, from the cursor and by default up to the head of the log.
func (b *Harness) MustRate(t testing.TB, d *store.RatingBatch) {
	t.Helper()
	var err error
	d.From, err = b.RatingCursor(context.Background())
	require.NoError(t, err)
	if d.To == 0 {
		d.To = b.Head()
	}
	require.NoError(t, b.ApplyRatings(context.Background(), d))
}

func (b *Harness) riskyCalls(t testing.TB, f store.RiskyCallFilter) []history.RiskyCall {
	t.Helper()
	calls, err := b.RiskyCalls(context.Background(), f)
	require.NoError(t, err)
	return calls
}

func (s suite) TestApplyRatings_IsAtomic(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	for range 3 {
		b.MustAppend(t, NewDraft("app", "s", "PreToolUse", "Bash"))
	}
	cursor, err := b.RatingCursor(ctx)
	require.NoError(t, err)
	require.Zero(t, cursor)
	key := store.CallKey{Quarter: 100, Decided: history.DecidedByAgent, Risk: schema.HighRisk, Outcome: history.CallOpen}
	d := &store.RatingBatch{
		From: 0, To: 2, Calls: []store.RatedCall{NewRatedCall(1, history.CallOpen), NewRatedCall(2, history.CallFailed)},
		Counts: map[store.CallKey]store.CallCount{key: {Calls: 2, Appealed: 1}},
	}
	require.NoError(t, b.ApplyRatings(ctx, d))
	require.ErrorIs(t, b.ApplyRatings(ctx, d), store.ErrConflict, "the cursor has advanced")
	b.Reopen(t)

	open, err := b.OpenCalls(ctx)
	require.NoError(t, err)
	require.Equal(t, []store.RatedCall{NewRatedCall(1, history.CallOpen)}, open)
	failed := NewRatedCall(2, history.CallFailed).RiskyCall
	require.Equal(t, []history.RiskyCall{open[0].RiskyCall, failed}, b.riskyCalls(t, store.RiskyCallFilter{}))

	ran := NewRatedCall(1, history.CallRan)
	counts := map[store.CallKey]store.CallCount{key: {Calls: -1, Appealed: -1}}
	key.Outcome = history.CallRan
	counts[key] = store.CallCount{Calls: 1, Appealed: 1}
	low := NewRatedCall(3, history.CallRan)
	low.Risk = schema.LowRisk
	b.MustRate(t, &store.RatingBatch{Calls: []store.RatedCall{ran, low}, Counts: counts})
	open, err = b.OpenCalls(ctx)
	require.NoError(t, err)
	require.Empty(t, open)
	require.Equal(t, []history.RiskyCall{ran.RiskyCall, failed}, b.riskyCalls(t, store.RiskyCallFilter{App: "app", Session: "s"}))
	require.Equal(t, []history.RiskyCall{failed}, b.riskyCalls(t, store.RiskyCallFilter{Limit: 1}))
	require.Equal(t, []history.RiskyCall{failed}, b.riskyCalls(t, store.RiskyCallFilter{After: 1}))
	require.Equal(t, []history.RiskyCall{ran.RiskyCall}, b.riskyCalls(t, store.RiskyCallFilter{Before: 2}))
	require.Empty(t, b.riskyCalls(t, store.RiskyCallFilter{App: "app", Session: "other"}))
	require.Len(t, b.riskyCalls(t, store.RiskyCallFilter{App: "app"}), 2)
	require.Empty(t, b.riskyCalls(t, store.RiskyCallFilter{App: "other"}))

	got, err := b.CallCounts(ctx, 100, 101)
	require.NoError(t, err)
	key.Quarter = 0
	require.Equal(t, store.CallCount{Calls: 1, Appealed: 1}, got[key])
	key.Outcome = history.CallOpen
	require.Equal(t, store.CallCount{Calls: 1}, got[key])
	got, err = b.CallCounts(ctx, 101, 102)
	require.NoError(t, err)
	require.Empty(t, got)
}

// A filter finds rated calls and questions by the same keys.
func (s suite) TestSearch_FindsRatedCalls(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	for range 4 {
		b.MustAppend(t, NewDraft("app", "s", "PreToolUse", "Bash"))
	}
	refused := NewRatedCall(3, history.CallRefused)
	refused.Risk, refused.Decided = "", history.DecidedByPolicy
	critical := NewRatedCall(4, history.CallRan)
	critical.Risk = schema.CriticalRisk
	b.MustRate(t, &store.RatingBatch{Calls: []store.RatedCall{NewRatedCall(2, history.CallRan), refused, critical}})
	for text, want := range map[string][]schema.EventID{
		"risk:high": {2}, "risk:>=high": {2, 4}, "risk:>high": {4}, "risk:<critical": {2}, "risk:>=medium outcome:ran": {2, 4},
		"decided:agent": {2, 4}, "decided:policy": {3}, "outcome:refused": {3}, "risk:nonsense": nil, "risk:>=": nil,
		"-decided:agent": {1, 3}, "tool:Bash -risk:high": {1, 3, 4}, "outcome:/^r/": {2, 3, 4}, "risk:high agent:other": nil,
	} {
		page, err := b.Search(context.Background(), store.Search{Filter: MustParse(t, text)})
		require.NoError(t, err)
		require.True(t, page.Complete, text)
		var ids []schema.EventID
		for _, e := range page.Events {
			ids = append(ids, e.ID)
		}
		require.Equal(t, want, ids, text)
	}
}

func (s suite) TestPrune_RemovesRatings(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	for range 2 {
		b.MustAppend(t, NewDraft("app", "s", "PreToolUse", "Bash"))
	}
	key := store.CallKey{Quarter: 100, Outcome: history.CallRan}
	b.MustRate(t, &store.RatingBatch{
		Calls:  []store.RatedCall{NewRatedCall(1, history.CallOpen)},
		Counts: map[store.CallKey]store.CallCount{key: {Calls: 1}},
	})
	b.Clock.Advance(time.Hour)
	b.MustAppend(t, NewDraft("app", "s", "PreToolUse", "Bash"))
	_, err := b.Prune(ctx, store.RetentionPolicy{EventsBefore: b.Clock.Now(), ProjectionsBefore: time.UnixMilli(101 * store.QuarterMS)})
	require.NoError(t, err)
	// Retention has overtaken the reader.
	b.MustRate(t, &store.RatingBatch{Calls: []store.RatedCall{NewRatedCall(2, history.CallOpen), NewRatedCall(3, history.CallOpen)}})
	open, err := b.OpenCalls(ctx)
	require.NoError(t, err)
	require.Equal(t, []store.RatedCall{NewRatedCall(3, history.CallOpen)}, open)
	require.Equal(t, []history.RiskyCall{open[0].RiskyCall}, b.riskyCalls(t, store.RiskyCallFilter{}))
	counts, err := b.CallCounts(ctx, 0, 1000)
	require.NoError(t, err)
	require.Empty(t, counts)
}

// The readers of the log do not share a position.
func (s suite) TestRatingEntries_ReadsLog(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	for range 5 {
		b.MustAppend(t, NewDraft("app", "s", "PreToolUse", "Bash"))
	}
	_, upTo, err := b.LogEntries(ctx, store.ProjectionReader, 0, 5)
	require.NoError(t, err)
	require.EqualValues(t, 5, upTo)
	_, _, err = b.LogEntries(ctx, store.ProjectionReader, 5, 5)
	require.NoError(t, err)
	for seq := int64(0); seq < 5; {
		entries, upTo, err := b.LogEntries(ctx, store.RatingReader, seq, 2)
		require.NoError(t, err)
		require.Equal(t, seq+1, entries[0].Seq)
		require.Equal(t, "Bash", entries[0].Event.Tool)
		seq = upTo
	}
}

func (s suite) TestRecount_CountsRange(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	none, err := b.Recount(ctx, ClockStart, ClockStart.Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, store.Recount{Rows: map[history.ReportKind]int64{
		history.ReportWaiting: 0, history.ReportExpired: 0, history.ReportRefused: 0, history.ReportUnasked: 0,
	}}, none)
	var calls []store.RatedCall
	for i, outcome := range []history.CallOutcome{history.CallRan, history.CallFailed, history.CallRefused, history.CallOpen, history.CallRan} {
		d := NewDraft("app", "s", "PreToolUse", "Bash")
		d.ReceivedAt = ClockStart.Add(time.Duration(i) * time.Minute)
		b.MustAppend(t, d)
		calls = append(calls, NewRatedCall(schema.EventID(i+1), outcome))
	}
	calls[4].Decided = history.DecidedByPolicy
	b.MustRate(t, &store.RatingBatch{Calls: calls})
	for _, app := range []string{"app", schema.TestApp} {
		d := NewQuestionDraft("", time.Time{})
		d.App = app
		b.MustAppend(t, d)
	}
	for since, want := range map[int][4]int64{0: {1, 0, 1, 2}, 1: {1, 0, 1, 1}, 3: {1, 0, 0, 0}} {
		got, err := b.Recount(ctx, ClockStart.Add(time.Duration(since)*time.Minute), ClockStart.Add(time.Hour))
		require.NoError(t, err)
		rows := got.Rows
		require.Equal(t, want, [4]int64{
			rows[history.ReportWaiting], rows[history.ReportExpired], rows[history.ReportRefused], rows[history.ReportUnasked],
		}, since)
	}
}
