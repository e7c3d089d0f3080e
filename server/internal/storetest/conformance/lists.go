package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// TestFind_MatchesNaiveLoop compares random filters with a linear search.
func (s suite) TestFind_MatchesNaiveLoop(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	pick := func(of string, n int) string { return fmt.Sprint(of, min(rnd.IntN(n), rnd.IntN(n))) }
	b.AppendMany(t, 1500, func(i int) *store.EventDraft {
		d := NewDraft(pick("app", 4), fmt.Sprint("s", i/100+rnd.IntN(5)), pick("type", 4), pick("tool", 9))
		if rnd.IntN(10) == 0 {
			names := d.Event
			d = NewQuestionDraft("", time.Time{})
			d.App, d.Session, d.Type, d.Tool = names.App, names.Session, names.Type, names.Tool
		}
		d.Payload = fmt.Appendf(nil, `{"n":"%d"}`, rnd.IntN(50))
		d.ReceivedAt = ClockStart.Add(time.Duration(i) * time.Second)
		return d
	})
	pending, err := b.Pending(context.Background())
	require.NoError(t, err)
	for i, e := range pending {
		if i%3 == 0 {
			b.Answer(t, e.ID)
		}
	}
	all := b.allEvents(t)
	require.Len(t, all, 1500)
	matches := 0
	for range 150 {
		f := store.Filter{Limit: 1 + rnd.IntN(60)}
		maybe := func(set func()) {
			if rnd.IntN(3) == 0 {
				set()
			}
		}
		maybe(func() { f.App = pick("app", 4) })
		maybe(func() { f.Session = fmt.Sprint("s", rnd.IntN(20)) })
		maybe(func() { f.Type = pick("type", 4) })
		maybe(func() { f.Tool = pick("tool", 10) })
		maybe(func() {
			f.Status = []string{"pending", "responded", "timeout", store.Undelivered}[rnd.IntN(4)]
		})
		maybe(func() { f.Text = fmt.Sprintf(`"%d"`, rnd.IntN(50)) })
		maybe(func() { f.From = ClockStart.Add(time.Duration(rnd.IntN(1500)) * time.Second) })
		maybe(func() { f.To = ClockStart.Add(time.Duration(rnd.IntN(1500))*time.Second + time.Millisecond) })
		maybe(func() { f.Before = schema.EventID(1 + rnd.IntN(1700)) })
		maybe(func() { f.After = schema.EventID(1 + rnd.IntN(1700)) })
		maybe(func() { f.Oldest = true })
		got, err := b.Find(context.Background(), f)
		require.NoError(t, err)
		want := naiveFind(all, f)
		require.Equal(t, EventIDs(want), EventIDs(got), "%+v", f)
		matches += len(got)
	}
	require.Greater(t, matches, 150)
}

// allEvents reads all events through the log.
func (b *Harness) allEvents(t testing.TB) (all []*store.Event) {
	t.Helper()
	for seq := int64(0); seq < b.Head(); {
		rows, err := b.After(context.Background(), seq, 1000)
		require.NoError(t, err)
		for _, r := range rows {
			seq = r.Seq
			if r.Change {
				i := slices.IndexFunc(all, func(e *store.Event) bool { return e.ID == r.Event.ID })
				all[i].Status = r.Event.Status
				continue
			}
			all = append(all, r.Event)
		}
	}
	return all
}

// naiveFind is Find as a loop. Every answered question counts as undelivered.
func naiveFind(all []*store.Event, f store.Filter) []*store.Event {
	found := []*store.Event{}
	for _, e := range all {
		responded := strings.Contains(string(e.Status), "responded")
		status := f.Status == "" || e.Question != nil &&
			(f.Status == "pending" && !responded || (f.Status == "responded" || f.Status == store.Undelivered) && responded)
		switch {
		case f.App != "" && f.App != e.App, f.Session != "" && f.Session != e.Session:
		case f.Type != "" && f.Type != e.Type, f.Tool != "" && f.Tool != e.Tool:
		case !status, !strings.Contains(string(e.Payload), f.Text):
		case !f.From.IsZero() && e.ReceivedAt.Before(f.From), !f.To.IsZero() && !e.ReceivedAt.Before(f.To):
		case f.Before > 0 && e.ID >= f.Before, e.ID <= f.After:
		default:
			found = append(found, e)
		}
	}
	if f.Oldest || f.After > 0 {
		return found[:min(f.Limit, len(found))]
	}
	return found[max(0, len(found)-f.Limit):]
}

// TestFind_TimesMatchNaiveLoop compares time limits with a linear search, before and after the
// oldest events are removed. Some quarter-hours have no event and some many.
func (s suite) TestFind_TimesMatchNaiveLoop(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	rnd := rand.New(rand.NewPCG(3, 4))
	at := ClockStart
	b.AppendMany(t, 600, func(int) *store.EventDraft {
		at = at.Add([]time.Duration{0, time.Millisecond, 20 * time.Second, 7 * time.Minute, 5 * time.Hour}[rnd.IntN(5)])
		d := NewDraft("app", "s", "Stop", "")
		d.ReceivedAt = at
		return d
	})
	check := func() {
		t.Helper()
		all, err := b.Find(ctx, store.Filter{Limit: 1000})
		require.NoError(t, err)
		for range 200 {
			from := at.Add(-time.Duration(rnd.Int64N(int64(at.Sub(ClockStart)) + int64(time.Hour))))
			switch rnd.IntN(3) {
			case 0:
				from = from.Truncate(store.QuarterMS * time.Millisecond)
			case 1:
				from = all[rnd.IntN(len(all))].ReceivedAt
			}
			want := slices.DeleteFunc(EventIDs(all), func(id schema.EventID) bool {
				i := slices.IndexFunc(all, func(e *store.Event) bool { return e.ID == id })
				return all[i].ReceivedAt.Before(from)
			})
			found, err := b.Find(ctx, store.Filter{From: from, Limit: 1000})
			require.NoError(t, err)
			require.Equal(t, want, EventIDs(found), "from %s", from)
		}
	}
	check()
	_, err := b.Prune(ctx, store.RetentionPolicy{EventsBefore: ClockStart.Add(at.Sub(ClockStart) / 2)})
	require.NoError(t, err)
	b.Reopen(t)
	check()
}

func (s suite) TestFind_FindsRareEventFarBack(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	b.AppendMany(t, 5*512, func(i int) *store.EventDraft {
		if i == 700 {
			return NewDraft("rare", "s", "Stop", "")
		}
		return NewDraft("app", "s", "PreToolUse", "Bash")
	})
	for _, f := range []store.Filter{{App: "rare"}, {Type: "Stop"}, {App: "rare", Session: "s"}, {App: "rare", After: 5}, {App: "rare", Oldest: true}, {Text: "RARE"}} {
		got, err := b.Find(context.Background(), f)
		require.NoError(t, err)
		require.Equal(t, []schema.EventID{701}, EventIDs(got), "%+v", f)
	}
	got, err := b.Find(context.Background(), store.Filter{App: "rare", Tool: "Bash"})
	require.NoError(t, err)
	require.Empty(t, got)
}

func (s suite) TestFind_RejectsInvalidFilter(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	for _, f := range []store.Filter{{Status: "open"}, {Text: strings.Repeat("x", 1<<10+1)}, {Text: "\xff"}} {
		_, err := b.Find(context.Background(), f)
		require.ErrorIs(t, err, schema.ErrInvalid)
	}
}

func (s suite) TestEventLists_OmitBigPayloads(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	d := NewQuestionDraft("s", time.Time{})
	d.Payload = fmt.Appendf(nil, `{"big":%q}`, strings.Repeat("x", schema.MaxListed))
	id := b.MustAppend(t, d).ID
	cut := func(events []*store.Event, err error) {
		t.Helper()
		require.NoError(t, err)
		require.Equal(t, "{}", string(events[0].Payload))
		require.Equal(t, len(d.Payload), events[0].PayloadBytes)
		require.Contains(t, string(events[0].AppendJSON(nil, -1)), `"payload":{},"payloadTruncated":true,"payloadBytes":65546`)
	}
	cut(b.Find(ctx, store.Filter{Limit: 1}))
	cut(b.Pending(ctx))
	cut(b.Find(ctx, store.Filter{}))
	cut(b.allEvents(t), nil)
	require.Equal(t, d.Payload, b.MustQuestion(t, id).Payload)
	e, _, err := b.Event(ctx, id)
	require.NoError(t, err)
	require.Equal(t, d.Payload, e.Payload)
	require.Zero(t, e.PayloadBytes)
}

func (s suite) TestFind_LimitsPageSize(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	for range 3 {
		d := NewDraft("app", "s", "Stop", "")
		d.Envelope = append(d.Envelope, `,"big":"`+strings.Repeat("x", store.MaxPageBytes/2)+`"`...)
		b.MustAppend(t, d)
	}
	for _, f := range []store.Filter{{}, {App: "app"}} {
		got, err := b.Find(context.Background(), f)
		require.NoError(t, err)
		require.Equal(t, []schema.EventID{2, 3}, EventIDs(got), "the next page is before 2")
	}
}

func (s suite) TestFilterOptions_ListsDistinctValues(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	o, err := b.FilterOptions(context.Background())
	require.NoError(t, err)
	require.Equal(t, schema.FilterOptions{SourceApps: []string{}, SessionIDs: []string{}, HookEventTypes: []string{}, ToolNames: []string{}}, o)
	for i := range 300 + 50 {
		b.MustAppend(t, NewDraft(fmt.Sprint("app", i%3), fmt.Sprint("s", i), "Stop", ""))
	}
	o, err = b.FilterOptions(context.Background())
	require.NoError(t, err)
	require.Equal(t, []string{"app0", "app1", "app2"}, o.SourceApps)
	require.Equal(t, []string{"Stop"}, o.HookEventTypes)
	require.Empty(t, o.ToolNames)
	require.Len(t, o.SessionIDs, 300)
	require.Equal(t, "s349", o.SessionIDs[0])
}

// A text is found however the client's JSON library escaped it.
func (s suite) TestFind_MatchesEveryJSONSpelling(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	for i, payload := range []string{
		`{"a":"Zoë said \"<hi>\" 100%_\\ 🙂"}`,
		`{"a":"Zo\u00eb said \"<hi>\" 100%_\\ \ud83d\ude42"}`,
		`{"a":"Zoë said \"\u003chi\u003e\" 100%_\\ 🙂"}`,
		`{"a":"something else"}`,
	} {
		d := NewDraft("app", "s", "Stop", "")
		d.Payload = []byte(payload)
		require.EqualValues(t, i+1, b.MustAppend(t, d).ID)
	}
	for _, text := range []string{`Zoë`, `zoë SAID "`, `🙂`, `100%_\`} {
		got, err := b.Find(context.Background(), store.Filter{Text: text})
		require.NoError(t, err)
		require.Equal(t, []schema.EventID{1, 2, 3}, EventIDs(got), text)
	}
	got, err := b.Find(context.Background(), store.Filter{Text: `"<hi>"`})
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{1, 2, 3}, EventIDs(got))
	got, err = b.Find(context.Background(), store.Filter{Text: "\x00"})
	require.NoError(t, err)
	require.Empty(t, got)
}

// QuestionsSince reads the questions that were asked and the changes of questions, and reaches what both lists reach.
func (s suite) TestQuestionsSince_ReachesWhatBothListsReach(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	ask := func() schema.EventID { return b.MustAppend(t, NewQuestionDraft("s", time.Time{})).ID }
	b.Answer(t, ask()) // 1, changed by 2
	third := ask()
	b.Answer(t, third) // changed by 4
	fifth := ask()
	since := func(seq int64, limit int) ([]schema.EventID, int64) {
		ids, upTo, err := b.QuestionsSince(t.Context(), seq, limit)
		require.NoError(t, err)
		return ids, upTo
	}
	ids, upTo := since(0, 9)
	require.Equal(t, []schema.EventID{1, third, fifth}, ids)
	require.EqualValues(t, fifth, upTo)
	ids, upTo = since(0, 2)
	require.Equal(t, []schema.EventID{1, third}, ids)
	require.EqualValues(t, third, upTo, "the change 4 is read again")
	ids, upTo = since(upTo, 2)
	require.Equal(t, []schema.EventID{fifth, third}, ids)
	require.EqualValues(t, fifth, upTo)
}
