package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/store"
)

// LedgerEntries reads the whole audit log and requires an intact hash chain.
func (b *Harness) LedgerEntries(t testing.TB) (entries []sign.LedgerEntry) {
	t.Helper()
	lines, err := b.Ledger(context.Background(), store.LedgerPage{Oldest: true, Limit: 1000})
	require.NoError(t, err)
	var check sign.LedgerCheck
	for _, line := range lines {
		require.NoError(t, check.Next(line))
		var e sign.LedgerEntry
		require.NoError(t, json.Unmarshal(line, &e))
		entries = append(entries, e)
	}
	return entries
}

func (s suite) TestLedger_ChainSurvivesRestart(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			_ = b.AppendLedger(ctx, store.LedgerRecord{Action: "rule.made", Actor: "ada", Data: map[string]any{"n": i, "text": "<b> & \u2028"}})
		})
	}
	all.Wait()
	b.Reopen(t)
	q := b.MustQuestion(t, b.MustAppend(t, NewQuestionDraft("s", time.Time{})).ID)
	c := AnswerChange(q)
	c.Ledger = []store.LedgerRecord{{Action: "question.voted", Actor: "ada", QuestionID: q.ID}, {Action: "question.ended", Actor: "ada", QuestionID: q.ID}}
	require.NoError(t, b.Apply(ctx, c))
	b.Reopen(t)
	require.NoError(t, b.AppendLedger(ctx, store.LedgerRecord{Action: "person.made", Actor: "ada"}))
	entries := b.LedgerEntries(t)
	require.Len(t, entries, 23)
	require.Equal(t, schema.Millis(ClockStart.UnixMilli()), entries[0].At)
	require.JSONEq(t, fmt.Sprintf(`{"n":%d,"text":"<b> & \u2028"}`, parseN(t, entries[7].Data)), string(entries[7].Data))
	require.Equal(t, []string{"question.voted", "question.ended", "person.made"},
		[]string{entries[20].Action, entries[21].Action, entries[22].Action})
	require.Len(t, b.Published(), 2, "audit log records are not rows of the log")
}

func parseN(t testing.TB, data []byte) int {
	var d struct{ N int }
	require.NoError(t, json.Unmarshal(data, &d))
	return d.N
}

// A rejected change leaves no entry and no gap in the audit log.
func (s suite) TestLedger_OmitsRejectedChanges(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	q := b.MustQuestion(t, b.MustAppend(t, NewQuestionDraft("s", time.Time{})).ID)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			c := AnswerChange(q)
			c.Ledger = []store.LedgerRecord{{Action: "question.ended", Actor: fmt.Sprint("p", i), QuestionID: q.ID}}
			_ = b.Apply(ctx, c)
			_ = b.AppendLedger(ctx, store.LedgerRecord{Action: "hub.locked", Actor: "ada", Data: func() {}}) // not encodable
		})
	}
	all.Wait()
	require.Error(t, b.AppendLedger(ctx, store.LedgerRecord{Action: "hub.locked", Actor: "ada", Data: func() {}}))
	require.Len(t, b.LedgerEntries(t), 1)
	require.NoError(t, b.AppendLedger(ctx, store.LedgerRecord{Action: "hub.locked", Actor: "ada"}))
	require.Len(t, b.LedgerEntries(t), 2)
}

func (s suite) TestLedger_PagesBothWays(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	for i := range 9 {
		require.NoError(t, b.AppendLedger(ctx, store.LedgerRecord{Action: "x.y", Actor: "ada", QuestionID: schema.EventID(i % 3)}))
	}
	for _, tc := range []struct {
		page store.LedgerPage
		want []int64
	}{
		{store.LedgerPage{Limit: 3}, []int64{7, 8, 9}},
		{store.LedgerPage{Limit: 3, Oldest: true}, []int64{1, 2, 3}},
		{store.LedgerPage{Limit: 3, Oldest: true, After: 7}, []int64{8, 9}},
		{store.LedgerPage{Limit: 2, Before: 5}, []int64{3, 4}},
		{store.LedgerPage{Limit: 9, QuestionID: 2}, []int64{3, 6, 9}},
		{store.LedgerPage{Limit: 1, QuestionID: 2}, []int64{9}},
		{store.LedgerPage{Limit: 1, QuestionID: 2, After: 3, Oldest: true}, []int64{6}},
	} {
		lines, err := b.Ledger(ctx, tc.page)
		require.NoError(t, err)
		var got []int64
		for _, line := range lines {
			got = append(got, int64(parseN(t, line)))
		}
		require.Equal(t, tc.want, got, "%+v", tc.page)
	}
}

// Retention removes questions but not their audit log entries.
func (s suite) TestLedger_OutlivesPrunedQuestions(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	q := b.MustQuestion(t, b.MustAppend(t, NewQuestionDraft("s", time.Time{})).ID)
	c := AnswerChange(q)
	c.Delivery.State = schema.Acked
	c.Ledger = []store.LedgerRecord{{Action: "question.ended", Actor: "ada", QuestionID: q.ID}}
	require.NoError(t, b.Apply(ctx, c))
	b.Clock.Advance(1000 * time.Hour)
	b.MustAppend(t, NewDraft("app", "s", "Stop", ""))
	gone, err := b.Prune(ctx, store.RetentionPolicy{EventsBefore: b.Clock.Now(), QuestionsBefore: b.Clock.Now()})
	require.NoError(t, err)
	require.EqualValues(t, 1, gone.Questions)
	require.Len(t, b.LedgerEntries(t), 1)
}
