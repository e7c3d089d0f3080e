package kit

import (
	"context"
	"math"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/server/internal/store"
)

// MaxInboxBytes bounds the size of an inbox page.
const MaxInboxBytes = 4 << 20

// InboxQueries are statements about questions. Each one ends with the arguments from and to, which is
// exclusive, except Awaiting. Lists begin with the newest, and have a limit as their last argument.
type InboxQueries struct {
	List, ListOfStatus        string // status
	ListOfApp                 string // app and status, which is not pending
	ListAwaiting              string // person
	ListAwaitingOfApp         string // person and app
	CountOfStatus, CountOfApp string // as the lists
	CountAwaiting             string // person
}

// InboxSource runs statements.
type InboxSource interface {
	IDs(ctx context.Context, query string, args ...any) ([]schema.EventID, error)
	Count(ctx context.Context, query string, args ...any) (int64, error)
	// Events returns the events of IDs, up to MaxInboxBytes, and reports whether it stopped there.
	Events(ctx context.Context, ids []schema.EventID) (events []*store.Event, full bool, err error)
}

// Inbox reads the inbox of an engine that stores names as N.
type Inbox[N comparable] struct {
	Pending *PendingQuestions[N]
	Source  InboxSource
	Queries InboxQueries
}

// Page returns the newest questions that f selects in [from, to). apps are the known ones of f.Agents.
func (x Inbox[N]) Page(
	ctx context.Context, f store.InboxFilter, apps []N, from, to int64,
) (questions []*store.Event, more bool, err error) {
	ids := x.pending(f, apps, from, to)
	for _, r := range x.ranges(f, apps) {
		found, err := x.Source.IDs(ctx, r.query, append(r.args, from, to, f.Limit+1)...)
		if err != nil {
			return nil, false, err
		}
		ids = append(ids, found...)
	}
	slices.SortFunc(ids, func(a, b schema.EventID) int { return int(b - a) })
	ids = slices.Compact(ids)
	if more = len(ids) > f.Limit; more {
		ids = ids[:f.Limit]
	}
	questions, full, err := x.Source.Events(ctx, ids)
	return questions, more || full && len(questions) < len(ids), err
}

// pending returns the pending questions that f selects, the newest first, without the ones
// that ranges finds: it has no range for questions that everyone may answer, nor for
// the pending ones of an agent.
func (x Inbox[N]) pending(f store.InboxFilter, apps []N, from, to int64) []schema.EventID {
	forEveryone := f.Everyone || f.Awaiting != ""
	if f.Status != "" && f.Status != inbox.HitlPending || !forEveryone && len(f.Agents) == 0 {
		return nil
	}
	ids := x.Pending.IDs(func(id schema.EventID, q *PendingQuestion[N]) bool {
		return !(forEveryone && q.IsAddressed) && int64(id) >= from &&
			int64(id) < to && (len(f.Agents) == 0 || slices.Contains(apps, q.App))
	})
	slices.Reverse(ids)
	return ids[:min(f.Limit+1, len(ids))]
}

// indexRange is a query for one index range of a filter. The filter's matches are the
// union of its ranges and of Inbox.pending.
type indexRange struct {
	query string
	args  []any
}

// ranges returns the index ranges of f, which do not include its times.
func (x Inbox[N]) ranges(f store.InboxFilter, apps []N) (ranges []indexRange) {
	byAgent := len(f.Agents) > 0
	if f.Everyone || f.Awaiting != "" {
		if f.Awaiting == "" || f.Status != "" && f.Status != inbox.HitlPending {
			return nil
		}
		if !byAgent {
			ranges = append(ranges, indexRange{x.Queries.ListAwaiting, []any{f.Awaiting}})
		}
		for _, app := range apps {
			ranges = append(ranges, indexRange{x.Queries.ListAwaitingOfApp, []any{f.Awaiting, app}})
		}
		return ranges
	}
	statuses := inbox.HitlStatuses
	if f.Status != "" {
		statuses = []inbox.HitlStatus{f.Status}
	}
	switch {
	case byAgent:
		for _, app := range apps {
			for _, status := range statuses {
				if status != inbox.HitlPending { // see pending
					ranges = append(ranges, indexRange{x.Queries.ListOfApp, []any{app, string(status)}})
				}
			}
		}
	case f.Status != "":
		ranges = append(ranges, indexRange{x.Queries.ListOfStatus, []any{string(f.Status)}})
	default:
		ranges = append(ranges, indexRange{x.Queries.List, nil})
	}
	return ranges
}

// Days counts the questions between two starts each, of some applications, or, with none set, of all
// but tests.
func (x Inbox[N]) Days(ctx context.Context, starts []int64, apps []N, ofApps bool, tests N) ([]inbox.HitlCounts, error) {
	days := make([]inbox.HitlCounts, len(starts)-1)
	for i := range days {
		if starts[i] == starts[i+1] {
			continue // no questions in this interval
		}
		for status, into := range days[i].All() {
			if !ofApps {
				n, err := x.countOfApp(ctx, tests, status, starts[i], starts[i+1])
				if err == nil {
					*into, err = x.Source.Count(ctx, x.Queries.CountOfStatus, string(status), starts[i], starts[i+1])
				}
				if err != nil {
					return nil, err
				}
				*into -= n
			}
			for _, app := range apps {
				n, err := x.countOfApp(ctx, app, status, starts[i], starts[i+1])
				if err != nil {
					return nil, err
				}
				*into += n
			}
		}
	}
	return days, nil
}

// countOfApp counts the questions of an application in [from, to).
func (x Inbox[N]) countOfApp(ctx context.Context, app N, status inbox.HitlStatus, from, to int64) (int64, error) {
	if status == inbox.HitlPending {
		return x.countPending(func(id schema.EventID, q *PendingQuestion[N]) bool {
			return q.App == app && int64(id) >= from && int64(id) < to
		}), nil
	}
	return x.Source.Count(ctx, x.Queries.CountOfApp, app, string(status), from, to)
}

func (x Inbox[N]) countPending(match func(schema.EventID, *PendingQuestion[N]) bool) int64 {
	return int64(len(x.Pending.IDs(match)))
}

// Counts returns the totals without tests, and without Agents. decided is the number of decided
// questions with tests; awaiting is the person that WaitingOnMe counts for.
func (x Inbox[N]) Counts(ctx context.Context, awaiting string, decided int64, tests N) (st inbox.HitlStats, err error) {
	ofTests, err := x.countOfApp(ctx, tests, inbox.HitlDecided, 0, math.MaxInt64)
	if err != nil {
		return st, err
	}
	st.ResponsesCount = decided - ofTests
	st.PendingCount = x.countPending(func(_ schema.EventID, q *PendingQuestion[N]) bool { return q.App != tests })
	st.ResolversCount = x.countPending(func(_ schema.EventID, q *PendingQuestion[N]) bool {
		return q.App != tests && q.Waiter == schema.Listening
	})
	st.WaitingOnMe = x.countPending(func(_ schema.EventID, q *PendingQuestion[N]) bool { return q.App != tests && !q.IsAddressed })
	if awaiting != "" {
		n, err := x.Source.Count(ctx, x.Queries.CountAwaiting, awaiting)
		if err != nil {
			return st, err
		}
		st.WaitingOnMe += n
	}
	return st, nil
}

// ListedAgents sorts the names of applications, and removes the one of tests.
func ListedAgents(names []string) []string {
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), IsTestApp)
}
