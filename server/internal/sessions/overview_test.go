package sessions

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/store"
)

func loadZone(t *testing.T, name string) *time.Location {
	t.Helper()
	at, err := time.LoadLocation(name)
	require.NoError(t, err)
	return at
}

// TestDayStarts: days have the length that the time zone gives them, and start on a quarter
// of an hour.
func TestDayStarts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		zone, now string
		days      int
		hours     []float64 // of each day
	}{
		{"UTC", "2026-11-21T12:00:00Z", 3, []float64{24, 24, 24}},
		{"Europe/Berlin", "2026-10-26T12:00:00Z", 3, []float64{24, 25, 24}},
		{"Europe/Berlin", "2026-03-29T22:30:00Z", 3, []float64{24, 23, 24}},
		{"Asia/Kathmandu", "2026-11-21T18:20:00Z", 2, []float64{24, 24}},
		{"America/Santiago", "2026-09-06T12:00:00Z", 3, []float64{24, 24, 23}}, // no midnight
		{"Africa/Cairo", "2026-04-24T12:00:00Z", 2, []float64{24, 23}},         // no midnight
		{"Australia/Lord_Howe", "2026-10-04T12:00:00Z", 2, []float64{24, 23.5}},
		{"Pacific/Apia", "2026-01-01T00:00:00Z", 1, []float64{24}},
	} {
		now, err := time.Parse(time.RFC3339, c.now)
		require.NoError(t, err)
		local := now.In(loadZone(t, c.zone))
		begins := query.DayStarts(local, c.days)
		require.Len(t, begins, c.days+1)
		require.Equal(t, local.Format(time.DateOnly), begins[c.days-1].Format(time.DateOnly), c.zone)
		for i, hours := range c.hours {
			require.InDelta(t, hours, begins[i+1].Sub(begins[i]).Hours(), 1e-9, "%s %s", c.zone, begins[i])
			require.Zero(t, begins[i].UnixMilli()%store.QuarterMS)
			day := begins[i].Add(time.Minute)
			require.Equal(t, begins[i].Format(time.DateOnly), day.Format(time.DateOnly))
			before := begins[i].Add(-time.Minute)
			require.NotEqual(t, begins[i].Format(time.DateOnly), before.Format(time.DateOnly))
		}
	}
}

// TestOverview_CountsByDayAndPerson answers at known times and reads the overview in time
// zones that assign them to different days.
func TestOverview_CountsByDayAndPerson(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 22, 40, 0, 0, time.UTC)
	h := newTestHub(t, func(c *Config) { c.Clock = func() time.Time { return now } })
	ask := func(question string, took time.Duration, r *schema.Response) {
		id, _ := h.ask(question)
		now = now.Add(took)
		if r != nil {
			_, err := h.hub.Respond(t.Context(), id, r, hub.Caller{})
			require.NoError(t, err)
			return
		}
		_, err := h.hub.Cancel(t.Context(), id, schema.Cancel{}, hub.Caller{})
		require.NoError(t, err)
	}
	text, label := "fine", "left"
	ask(pullQuestion, 500*time.Millisecond, approval())                                                     // 22:40 UTC
	ask(pullQuestion, 30*time.Minute, denial())                                                             // 23:10 UTC, the 21st in Berlin
	ask(`{"question":"q","type":"question"}`, 3*time.Second, &schema.Response{Response: &text})             // 23:10
	ask(`{"question":"q","type":"choice","choices":["left"]}`, time.Hour, &schema.Response{Choice: &label}) // 00:10 UTC, the 21st
	ask(pullQuestion, 4*time.Hour, nil)                                                                     // 04:10
	late, _ := h.ask(`{"question":"q","type":"permission","timeout":60}`)
	now = now.Add(2 * time.Minute)
	h.awaitTimeout(late)
	require.Equal(t, schema.TimedOut, h.status(late).Status)
	h.ask(pullQuestion)
	h.catchUp(h.newProjector())

	for at, want := range map[string][]history.DayCount{
		"UTC": {
			{Day: "2026-11-20", Approved: 1, Denied: 1, Answered: 1},
			{Day: "2026-11-21", Answered: 1, Timeout: 1, Cancelled: 1},
		},
		"Europe/Berlin": {
			{Day: "2026-11-20", Approved: 1},
			{Day: "2026-11-21", Denied: 1, Answered: 2, Timeout: 1, Cancelled: 1},
		},
		"Asia/Tokyo": {
			{Day: "2026-11-20"},
			{Day: "2026-11-21", Approved: 1, Denied: 1, Answered: 2, Timeout: 1, Cancelled: 1},
		},
	} {
		o, err := h.Overview(t.Context(), 2, loadZone(t, at))
		require.NoError(t, err)
		require.Equal(t, want, o.Days, at)
		require.EqualValues(t, 1, o.Pending)
	}
	o, err := h.Overview(t.Context(), 2, time.UTC)
	require.NoError(t, err)
	require.EqualValues(t, 4, o.Answered, "only answers of people")
	require.InDelta(t, 3000, o.MedianMS, 150)
	require.InDelta(t, time.Hour.Milliseconds(), o.P95MS, 0.05*float64(time.Hour.Milliseconds()))
	sum := int64(0)
	for i, bin := range o.Waits {
		sum += bin.Count
		require.Equal(t, waitBuckets[i], bin.BelowMS, "empty buckets are listed")
	}
	require.EqualValues(t, 4, sum)
	require.EqualValues(t, 1, o.Waits[0].Count, "half a second")
	require.Len(t, o.Agents, 1)
	waited := 30*time.Minute + 3*time.Second + 500*time.Millisecond + time.Hour + 4*time.Hour + 2*time.Minute
	require.Equal(t, waited.Milliseconds(), o.Agents[0].WaitedMS, "for every outcome")
	o, err = h.Overview(t.Context(), 1, loadZone(t, "Pacific/Kiritimati"))
	require.NoError(t, err)
	require.EqualValues(t, 4, o.Answered)
}

// TestOverview_EmptyHubListsDays: every day is listed, and lists are empty, not null.
func TestOverview_EmptyHubListsDays(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	o, err := h.Overview(t.Context(), 90, time.UTC)
	require.NoError(t, err)
	require.Len(t, o.Days, 90)
	require.NotNil(t, o.Waits)
	require.NotNil(t, o.Agents)
	require.NotNil(t, o.Tools)
	require.Zero(t, o.Answered+o.MedianMS+o.P95MS+o.Pending+o.Undelivered)
}

// TestOverview_IncludesOldPendingQuestions: an agent with a pending question is listed even
// if it was inactive in the whole range.
func TestOverview_IncludesOldPendingQuestions(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	h := newTestHub(t, func(c *Config) { c.Clock = func() time.Time { return now } })
	h.ask(`{"question":"q","type":"permission","timeout":0}`)
	h.catchUp(h.newProjector())
	now = now.AddDate(0, 0, 20)
	o, err := h.Overview(t.Context(), 7, time.UTC)
	require.NoError(t, err)
	require.Len(t, o.Agents, 1)
	require.Equal(t, []int64{1, 0, 0}, []int64{o.Agents[0].Pending, o.Agents[0].Events, o.Agents[0].Sessions})
	require.NotZero(t, o.Agents[0].LastAt)
}

// TestOverview_ListsMostUsedTools: tools are ordered by calls and have durations.
func TestOverview_ListsMostUsedTools(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 23, 50, 0, 0, time.UTC)
	h := newTestHub(t, func(c *Config) { c.Clock = func() time.Time { return now } })
	tell := func(typ, tool, use string) {
		h.post(fmt.Sprintf(`{"source_app":"a","session_id":"s","hook_event_type":%q,"tool_name":%q,"tool_use_id":%q,"payload":{}}`, typ, tool, use))
	}
	for i := range maxOverviewTools + 5 {
		for n := range 1 + i%3 {
			use := fmt.Sprint(i, "-", n)
			tell("PreToolUse", fmt.Sprintf("tool%02d", i), use)
			now = now.Add(time.Duration(100*(n+1)) * time.Millisecond)
			tell("PostToolUse", fmt.Sprintf("tool%02d", i), use)
		}
	}
	tell("PostToolUse", "tool02", "never begun")
	h.catchUp(h.newProjector())
	o, err := h.Overview(t.Context(), 2, time.UTC)
	require.NoError(t, err)
	require.Len(t, o.Tools, maxOverviewTools)
	first := o.Tools[0]
	require.Equal(t, []any{"tool02", int64(4), int64(600)}, []any{first.Tool, first.Calls, first.TotalMS}, "a call without a start counts, but has no duration")
	require.InDelta(t, 200, first.MedianMS, 10)
	require.InDelta(t, 300, first.P95MS, 15)
	for i := range o.Tools[1:] {
		require.GreaterOrEqual(t, o.Tools[i].Calls, o.Tools[i+1].Calls)
	}
}

// TestOverview_IgnoresChoiceLabels: a choice label such as "approve" is not an outcome class.
func TestOverview_IgnoresChoiceLabels(t *testing.T) {
	t.Parallel()
	permission := true
	require.Equal(t, classGone, outcomeClass(&schema.Status{Status: schema.Failed, Outcome: schema.Cancelled, Source: schema.BySessionEnd}))
	for want, st := range map[string]schema.Status{
		classDismissed: {Status: schema.Failed, Outcome: schema.Cancelled, Source: schema.ByDismissal},
		classGone:      {Status: schema.Failed, Outcome: schema.Cancelled, Source: schema.ByOrphaned},
		classApproved:  {Status: schema.Responded, Outcome: schema.Approve, Response: &schema.Answer{Permission: &permission}},
		classAnswered:  {Status: schema.Responded, Outcome: schema.Approve, Response: &schema.Answer{}}, // a choice with that label
		classTimedOut:  {Status: schema.TimedOut, Outcome: schema.Timeout},
		classCanceled:  {Status: schema.Failed, Outcome: schema.Withdrawn},
		classOther:     {Status: schema.Failed, Outcome: schema.NoQuorum},
	} {
		require.Equal(t, want, outcomeClass(&st))
	}
}

// decisionReads counts the reads of decisions. Without a Store, there are none.
type decisionReads struct {
	store.Store
	n      int
	during func()
}

func (s *decisionReads) Decisions(ctx context.Context, from, to int64) (counts map[store.Decision]int64, err error) {
	s.n++
	if s.Store != nil {
		counts, err = s.Store.Decisions(ctx, from, to)
	}
	if s.during != nil {
		s.during()
	}
	return counts, err
}

func (s *decisionReads) ProjectionCursor(ctx context.Context) (int64, error) {
	if s.Store == nil {
		return 1, nil
	}
	return s.Store.ProjectionCursor(ctx)
}

// TestOverviewCache_InvalidatedByDecision: overviews are cached per zone and range until a
// decision is projected. An overview that was computed while one was projected is not
// cached.
func TestOverviewCache_InvalidatedByDecision(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 22, 40, 0, 0, time.UTC)
	h := newTestHub(t, func(c *Config) { c.Clock = func() time.Time { return now } })
	reads := &decisionReads{Store: h.Store}
	h.Service.Store = reads
	f := h.newProjector()
	defer h.progress.start()()
	project := func() {
		h.progress.hurry()
		h.catchUp(f)
	}
	decide := func() {
		id, _ := h.ask(pullQuestion)
		_, err := h.hub.Respond(t.Context(), id, approval(), hub.Caller{})
		require.NoError(t, err)
	}
	approved := func(at *time.Location, days int) (list []int64) {
		h.progress.reach(h.Store.Head()) // the projector is stepped by the test, so nothing waits for it
		o, err := h.Overview(t.Context(), days, at)
		require.NoError(t, err)
		for _, d := range o.Days {
			list = append(list, d.Approved)
		}
		return list
	}
	berlin := loadZone(t, "Europe/Berlin")
	for n := range int64(3) {
		decide()
		require.Equal(t, []int64{0, n}, approved(time.UTC, 2), "not projected yet")
		project()
		before := reads.n
		for range 2 {
			require.Equal(t, []int64{0, n + 1}, approved(time.UTC, 2))
			require.Equal(t, []int64{0, n + 1}, approved(berlin, 2))
			require.Equal(t, []int64{n + 1}, approved(berlin, 1))
		}
		require.Equal(t, before+3, reads.n)
	}
	before := reads.n
	h.post(plainEvent)
	project()
	approved(time.UTC, 2)
	require.Equal(t, before, reads.n, "an event does not invalidate the cache")
	now = now.Add(2 * time.Hour)
	require.Equal(t, []int64{3, 0}, approved(time.UTC, 2), "another day")
	before = reads.n
	for range 2 {
		for days := range 40 {
			approved(time.UTC, days+1)
		}
	}
	require.GreaterOrEqual(t, reads.n-before, 2*40-maxCachedOverviews)

	decide()
	project()
	decide()
	reads.during = project
	require.Equal(t, []int64{3, 1}, approved(time.UTC, 2))
	reads.during = nil
	require.Equal(t, []int64{3, 2}, approved(time.UTC, 2), "it may miss decisions that were projected in the meantime")
}

// Another hub may project, and this one does not learn of it.
func TestOverview_CacheExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reads := &decisionReads{}
		s := New(Config{Store: reads})
		for want := range 2 {
			for range 2 {
				_, err := s.cachedOverview(t.Context(), query.DayStarts(s.Clock().UTC(), 2))
				require.NoError(t, err)
				require.Equal(t, want+1, reads.n)
			}
			<-time.After(maxOverviewAge + time.Second) // fake clock
		}
	})
}
