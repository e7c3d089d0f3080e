package tables

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	queryInbox = `SELECT seq FROM questions
		WHERE seq >= $1 AND seq < $2 ORDER BY seq DESC LIMIT $3`
	queryinboxStatus = `SELECT seq FROM questions /*!INDEXED BY questions_by_inbox*/
		WHERE inbox = $1 AND seq >= $2 AND seq < $3 ORDER BY seq DESC LIMIT $4`
	queryInboxAgent = `SELECT seq FROM questions /*!INDEXED BY questions_by_agent*/
		WHERE app = $1 AND inbox = $2 AND inbox <> 'pending' AND seq >= $3 AND seq < $4 ORDER BY seq DESC LIMIT $5`

	queryCountStatus = `SELECT count(*) FROM questions /*!INDEXED BY questions_by_inbox*/
		WHERE inbox = $1 AND seq >= $2 AND seq < $3`
	queryCountAgent = `SELECT count(*) FROM questions /*!INDEXED BY questions_by_agent*/
		WHERE app = $1 AND inbox = $2 AND inbox <> 'pending' AND seq >= $3 AND seq < $4`

	queryRequesters = `WITH RECURSIVE askers (app) AS (
			SELECT min(app) FROM questions /*!INDEXED BY questions_by_agent*/ WHERE inbox <> 'pending'
			UNION ALL
			SELECT (SELECT min(q.app) FROM questions q /*!INDEXED BY questions_by_agent*/ WHERE q.inbox <> 'pending' AND q.app > askers.app)
				FROM askers WHERE askers.app IS NOT NULL)
		SELECT app FROM askers WHERE app IS NOT NULL`
)

var queryInboxRows = listedQuestions + `WHERE q.seq = ANY($1) ORDER BY q.seq DESC`

// maxInboxBytes bounds the size of an inbox page.
const maxInboxBytes = 4 << 20

func (t *Tables) Inbox(ctx context.Context, f store.InboxFilter) (questions []*store.Event, more bool, err error) {
	from, to, err := t.seqRange(ctx, seqFilter{before: f.Before, from: f.From, to: f.To})
	if err != nil {
		return nil, false, err
	}
	to++ // exclusive
	apps := slices.Compact(slices.Sorted(slices.Values(f.Agents)))
	ids := t.pendingInbox(f, apps, from, to)
	for _, r := range inboxRanges(f, apps) {
		found, err := collect(ctx, t, column[schema.EventID], r.query, append(r.args, from, to, f.Limit+1)...)
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
	questions, full, err := t.readEventsUpTo(ctx, maxInboxBytes, queryInboxRows, ids)
	return questions, more || full && len(questions) < len(ids), err
}

// isByPerson reports whether f selects pending questions by the people that they wait for.
func isByPerson(f store.InboxFilter) bool { return f.Everyone || f.Awaiting != "" }

// pendingInbox returns the pending questions that f selects in [from, to), the newest first, without the ones
// that inboxRanges finds: it has no range for questions that wait for a person, nor for the pending ones of an
// agent.
func (t *Tables) pendingInbox(f store.InboxFilter, apps []string, from, to int64) []schema.EventID {
	byPerson := isByPerson(f)
	if f.Status != "" && f.Status != inbox.HitlPending || !byPerson && len(f.Agents) == 0 {
		return nil
	}
	ids := t.State.Pending.IDs(func(id schema.EventID, q *pendingQuestion) bool {
		return (!byPerson || q.awaits(f.Awaiting)) && int64(id) >= from &&
			int64(id) < to && (len(f.Agents) == 0 || slices.Contains(apps, q.App))
	})
	slices.Reverse(ids)
	return ids[:min(f.Limit+1, len(ids))]
}

// indexRange is a query for one index range of a filter. The filter's matches are the
// union of its ranges and of pendingInbox.
type indexRange struct {
	query string
	args  []any
}

// inboxRanges returns the index ranges of f, which do not include its times.
func inboxRanges(f store.InboxFilter, apps []string) (ranges []indexRange) {
	if isByPerson(f) {
		return nil
	}
	statuses := inbox.HitlStatuses
	if f.Status != "" {
		statuses = []inbox.HitlStatus{f.Status}
	}
	switch {
	case len(f.Agents) > 0:
		for _, app := range apps {
			for _, status := range statuses {
				if status != inbox.HitlPending { // see pendingInbox
					ranges = append(ranges, indexRange{queryInboxAgent, []any{Name{AppName, app}, string(status)}})
				}
			}
		}
	case f.Status != "":
		ranges = append(ranges, indexRange{queryinboxStatus, []any{string(f.Status)}})
	default:
		ranges = append(ranges, indexRange{queryInbox, nil})
	}
	return ranges
}

func (t *Tables) InboxDays(ctx context.Context, edges []time.Time, agents []string) ([]inbox.HitlCounts, error) {
	starts := make([]int64, len(edges))
	for i, at := range edges {
		var err error
		if starts[i], err = t.firstSeqSince(ctx, at); err != nil {
			return nil, err
		}
	}
	apps := slices.Compact(slices.Sorted(slices.Values(agents)))
	days := make([]inbox.HitlCounts, len(starts)-1)
	for i := range days {
		if starts[i] == starts[i+1] {
			continue // no questions in this interval
		}
		for status, into := range days[i].All() {
			var err error
			if *into, err = t.countInbox(ctx, apps, status, starts[i], starts[i+1]); err != nil {
				return nil, err
			}
		}
	}
	return days, nil
}

// countInbox counts the questions of a status in [from, to) of some applications, or, with none set, of all
// but tests.
func (t *Tables) countInbox(ctx context.Context, apps []string, status inbox.HitlStatus, from, to int64) (sum int64, err error) {
	if len(apps) == 0 {
		var tests int64
		if tests, err = t.countOfApp(ctx, schema.TestApp, status, from, to); err == nil {
			_, err = t.ReadOne(ctx, []any{&sum}, queryCountStatus, string(status), from, to)
		}
		return sum - tests, err
	}
	for _, app := range apps {
		n, err := t.countOfApp(ctx, app, status, from, to)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// countOfApp counts the questions of an application in [from, to).
func (t *Tables) countOfApp(ctx context.Context, app string, status inbox.HitlStatus, from, to int64) (n int64, err error) {
	if status == inbox.HitlPending {
		return t.countPending(func(id schema.EventID, q *pendingQuestion) bool {
			return q.App == app && int64(id) >= from && int64(id) < to
		}), nil
	}
	return read[int64](ctx, t, queryCountAgent, Name{AppName, app}, string(status), from, to)
}

func (t *Tables) countPending(match func(schema.EventID, *pendingQuestion) bool) int64 {
	return int64(len(t.State.Pending.IDs(match)))
}

func (t *Tables) InboxCounts(ctx context.Context, awaiting string) (st inbox.HitlStats, err error) {
	decidedTests, err := t.countOfApp(ctx, schema.TestApp, inbox.HitlDecided, 0, math.MaxInt64)
	if err != nil {
		return st, err
	}
	st.ResponsesCount = t.State.Decided.Load() - decidedTests
	st.PendingCount = t.countPending(func(_ schema.EventID, q *pendingQuestion) bool { return q.App != schema.TestApp })
	st.ResolversCount = t.countPending(func(_ schema.EventID, q *pendingQuestion) bool {
		return q.App != schema.TestApp && q.Waiter == schema.Listening
	})
	st.WaitingOnMe = t.countPending(func(_ schema.EventID, q *pendingQuestion) bool {
		return q.App != schema.TestApp && q.awaits(awaiting)
	})
	st.Agents, err = t.requesters(ctx)
	return st, err
}

// requesters returns the applications that have asked, without the one of tests; an empty list rather than nil, which
// would encode to null.
func (t *Tables) requesters(ctx context.Context) ([]string, error) {
	type name struct {
		numbers [1]int64
		text    string
	}
	found, err := collect(ctx, t, func(n *name) []any { return []any{t.NameColumn(&n.numbers[0], &n.text)} }, queryRequesters)
	apps := make([]string, 0, len(found))
	for _, app := range found {
		if err == nil {
			err = nameTexts(ctx, t, app.numbers[:], &app.text)
		}
		apps = append(apps, app.text)
	}
	for key := range t.State.Pending.CountSessions() {
		apps = append(apps, key.App)
	}
	slices.Sort(apps)
	return slices.DeleteFunc(slices.Compact(apps), isTestApp), err
}
