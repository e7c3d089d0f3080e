package sessions

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/sessions/digest"
	"github.com/hookback/hookback/server/internal/store"
)

// maxOverviewTools limits the tools listed in an overview.
const maxOverviewTools = 50

// Overview returns statistics of the last days, including today, in a time zone.
// Pending and Undelivered are current. The rest comes from projections, which it brings up to
// date first.
func (s *Service) Overview(ctx context.Context, days int, zone *time.Location) (history.Overview, error) {
	lagMS := s.catchUp(ctx)
	now := s.Clock()
	starts := query.DayStarts(now.In(zone), days)
	o, err := s.cachedOverview(ctx, starts)
	if err != nil {
		return o, err
	}
	o.LagMS = lagMS
	o.From, o.To = schema.Millis(starts[0].UnixMilli()), schema.Millis(now.UnixMilli())
	stats, err := s.Store.Stats(ctx)
	if err != nil {
		return o, err
	}
	o.Pending, o.Undelivered = stats.Pending, stats.Undelivered
	if o.Agents, err = s.agentStats(ctx, starts[0]); err != nil {
		return o, err
	}
	times, err := s.Store.ToolTimes(ctx, quarterHour(starts[0].UnixMilli()))
	o.Tools = toolStats(times)
	o.Tools = o.Tools[:min(len(o.Tools), maxOverviewTools)]
	if err != nil {
		return o, err
	}
	o.Unasked, err = s.unaskedCalls(ctx, starts)
	return o, err
}

// ratingDelay is how many rows the ratings may be behind the log while they are complete: they
// follow it within about a second.
const ratingDelay = 4096

// unaskedCalls counts the calls on the days that begin at starts about which no person was asked.
func (s *Service) unaskedCalls(ctx context.Context, starts []time.Time) (*history.UnaskedCalls, error) {
	counts, err := s.Store.CallCounts(ctx, quarterHour(starts[0].UnixMilli()), quarterHour(starts[len(starts)-1].UnixMilli()))
	if err != nil {
		return nil, err
	}
	cursor, err := s.Store.RatingCursor(ctx)
	if err != nil {
		return nil, err
	}
	sum := &history.UnaskedCalls{Complete: cursor+ratingDelay >= s.Store.Head()}
	for key, n := range counts {
		call := store.RatedCall{RiskyCall: history.RiskyCall{Risk: key.Risk}}
		switch {
		case key.Decided == history.DecidedByPolicy && key.Outcome == history.CallRefused:
			sum.Denied += n.Calls
		case key.Decided != history.DecidedByAgent:
		case key.Outcome == history.CallRefused:
			sum.Refused += n.Calls
			sum.Appealed += n.Appealed
		case key.Outcome == history.CallRan, key.Outcome == history.CallFailed:
			sum.Ran += n.Calls
			if call.IsListed() {
				sum.Risky += n.Calls
			}
		}
	}
	return sum, nil
}

// waitBuckets are the exclusive upper bounds of the buckets of Overview.Waits, in ms.
// 1<<53 stands for no bound.
var waitBuckets = []int64{
	1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000, 21_600_000, 86_400_000,
	schema.MaxTimeout.Milliseconds(), 1 << 53,
}

func (s *Service) countDecisions(ctx context.Context, o *history.Overview, starts []time.Time) error {
	edges := make([]int64, len(starts))
	for i, b := range starts {
		edges[i] = quarterHour(b.UnixMilli())
		if i+1 < len(starts) {
			o.Days = append(o.Days, history.DayCount{Day: b.Format(time.DateOnly)})
		}
	}
	decisions, err := s.Store.Decisions(ctx, edges[0], edges[len(edges)-1])
	if err != nil {
		return err
	}
	waits, counts := digest.Histogram{}, make([]int64, len(waitBuckets))
	for d, n := range decisions {
		day, _ := slices.BinarySearch(edges, d.Quarter+1)
		addOutcome(&o.Days[day-1], d.Outcome, n)
		if !d.Person {
			continue
		}
		o.Answered += n
		waits[d.Bucket] += n
		i, _ := slices.BinarySearch(waitBuckets, digest.BucketMidpoint(d.Bucket)+1)
		counts[min(i, len(counts)-1)] += n
	}
	o.MedianMS, o.P95MS = waits.Percentile(0.5), waits.Percentile(0.95)
	o.Waits = []history.LatencyBucket{}
	for i, n := range counts {
		if n > 0 {
			// Empty buckets in between are included: a chart without them would
			// mislead.
			for j := len(o.Waits); j < i; j++ {
				o.Waits = append(o.Waits, history.LatencyBucket{BelowMS: waitBuckets[j], Count: counts[j]})
			}
			o.Waits = append(o.Waits, history.LatencyBucket{BelowMS: waitBuckets[i], Count: n})
		}
	}
	return nil
}

func addOutcome(day *history.DayCount, outcome string, n int64) {
	total := &day.Other
	switch outcome {
	case classApproved:
		total = &day.Approved
	case classDenied:
		total = &day.Denied
	case classAnswered:
		total = &day.Answered
	case classTimedOut:
		total = &day.Timeout
	case classCanceled:
		total = &day.Cancelled
	case classDismissed:
		total = &day.Dismissed
	case classGone:
		total = &day.Gone
	}
	*total += n
}

// agentStats returns the applications that were active since a time or have pending
// questions.
func (s *Service) agentStats(ctx context.Context, since time.Time) ([]history.AgentStat, error) {
	activity, err := s.Store.Activity(ctx, quarterHour(since.UnixMilli()))
	if err != nil {
		return nil, err
	}
	pending, err := s.Store.PendingCounts(ctx)
	if err != nil {
		return nil, err
	}
	waiting := map[string]int64{}
	for key, n := range pending {
		waiting[key.App] += n
		activity[key.App] = activity[key.App].Add(store.Activity{})
	}
	agents := make([]history.AgentStat, 0, len(activity))
	for app, a := range activity {
		if a.Events == 0 && waiting[app] == 0 {
			continue // only telemetry, which was moved to another application
		}
		stat := history.AgentStat{
			SourceApp: app, Events: a.Events, Tools: a.Tools, Failures: a.Failures, Questions: a.Questions,
			Pending: waiting[app], WaitedMS: a.WaitedMS, CostUSD: max(0, a.CostUSD),
		}
		if a.Tokens != (history.Tokens{}) {
			stat.Tokens = &a.Tokens
		}
		var latest []byte
		if stat.Sessions, latest, err = s.Store.SessionsOf(ctx, app, since); err != nil {
			return nil, err
		}
		var session digest.HumanWait
		if latest != nil {
			if err := json.Unmarshal(latest, &session); err != nil {
				return nil, err
			}
		}
		stat.LastAt, stat.Ended = session.Sum.LastAt, session.Sum.Ended
		agents = append(agents, stat)
	}
	slices.SortFunc(agents, func(a, b history.AgentStat) int { return cmp.Compare(a.SourceApp, b.SourceApp) })
	return agents, nil
}

const (
	// maxCachedOverviews limits the cache. Viewers are usually in one or two time zones.
	maxCachedOverviews = 32
	// maxOverviewAge is the longest time that an overview is kept.
	maxOverviewAge = time.Minute
)

// overviewKey identifies a range of days in a time zone.
type overviewKey struct {
	from int64
	days int
	zone string
}

// cachedOverview returns an overview that has only the counts of decisions on the days
// that begin at starts. Decisions are rare, and dashboards poll.
func (s *Service) cachedOverview(ctx context.Context, starts []time.Time) (history.Overview, error) {
	version := s.decided.Load()
	if !s.progress.isRunning() { // another hub projects, without a notification
		cursor, err := s.Store.ProjectionCursor(ctx)
		if err != nil {
			return history.Overview{}, err
		}
		version = -cursor
	}
	key := overviewKey{starts[0].UnixMilli(), len(starts), starts[0].Location().String()}
	return s.overviews.Get(version, key, func() (o history.Overview, err error) {
		err = s.countDecisions(context.WithoutCancel(ctx), &o, starts)
		return o, err
	})
}
