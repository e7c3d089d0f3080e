package postgres

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

// insertAwaiting stores the people that a question waits for. A question that everyone may
// answer has no rows: see pendingQuestion.isAddressed.
func (t *tx) insertAwaiting(id schema.EventID, app string, names []string) error {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = cleanText(name)
	}
	return t.exec(`INSERT INTO awaiting (person, seq, app) SELECT person, $1, $2 FROM unnest($3::text[]) AS person ON CONFLICT DO NOTHING`, id, app, list)
}

const (
	queryInbox = `SELECT seq FROM questions
		WHERE seq >= $1 AND seq < $2 ORDER BY seq DESC LIMIT $3`
	queryInboxStatus = `SELECT seq FROM questions
		WHERE inbox = $1 AND seq >= $2 AND seq < $3 ORDER BY seq DESC LIMIT $4`
	queryInboxAgent = `SELECT seq FROM questions
		WHERE app = $1 AND inbox = $2 AND inbox <> 'pending' AND seq >= $3 AND seq < $4 ORDER BY seq DESC LIMIT $5`
	queryInboxAwaiting = `SELECT seq FROM awaiting
		WHERE person = $1 AND seq >= $2 AND seq < $3 ORDER BY seq DESC LIMIT $4`
	queryInboxAwaitingAgent = `SELECT seq FROM awaiting
		WHERE person = $1 AND app = $2 AND seq >= $3 AND seq < $4 ORDER BY seq DESC LIMIT $5`

	queryCountStatus = `SELECT count(*) FROM questions
		WHERE inbox = $1 AND seq >= $2 AND seq < $3`
	queryCountAgent = `SELECT count(*) FROM questions
		WHERE app = $1 AND inbox = $2 AND inbox <> 'pending' AND seq >= $3 AND seq < $4`
	queryCountAwaiting = `SELECT count(*) FROM awaiting WHERE person = $1`

	queryRequesters = `WITH RECURSIVE askers AS (
			SELECT min(app) AS app FROM questions WHERE inbox <> 'pending'
			UNION ALL
			SELECT (SELECT min(q.app) FROM questions q WHERE q.inbox <> 'pending' AND q.app > askers.app) FROM askers WHERE askers.app IS NOT NULL)
		SELECT app FROM askers WHERE app IS NOT NULL`
)

var queryInboxRows = `SELECT ` + eventColumns + listedPayload + `q.question, q.status
	FROM questions q JOIN events e ON e.seq = q.seq WHERE q.seq = ANY($1) ORDER BY q.seq DESC`

// maxInboxBytes bounds the size of an inbox page.
const maxInboxBytes = 4 << 20

// indexRange is a query for one index range of a filter. The filter's matches are the
// union of its ranges and of pendingInbox.
type indexRange struct {
	query string
	args  []any
}

func (s *engine) Inbox(ctx context.Context, f store.InboxFilter) (questions []*store.Event, more bool, err error) {
	from, to, err := s.seqRange(ctx, kit.SeqBounds{Before: f.Before, From: f.From, To: f.To})
	if err != nil {
		return nil, false, err
	}
	to++ // exclusive from here on
	ids := s.pendingInbox(f, from, to)
	for _, r := range inboxIndexRanges(f) {
		rows, err := s.readers.query(ctx, r.query, append(r.args, from, to, f.Limit+1)...)
		found, err := scanIDs(rows, err)
		if err != nil {
			return nil, false, err
		}
		ids = append(ids, found...)
	}
	slices.SortFunc(ids, compareNewestFirst)
	ids = slices.Compact(ids)
	if more = len(ids) > f.Limit; more {
		ids = ids[:f.Limit]
	}
	rows, err := s.readers.query(ctx, queryInboxRows, idList(ids))
	questions, full, err := readEventsUpTo(maxInboxBytes, rows, err)
	return questions, more || full && len(questions) < len(ids), err
}

// pendingInbox returns the pending questions that f selects, the newest first, without the ones
// that inboxIndexRanges finds: it has no range for questions that everyone may answer, nor for
// the pending ones of an agent.
func (s *engine) pendingInbox(f store.InboxFilter, from, to int64) []schema.EventID {
	forEveryone := f.Everyone || f.Awaiting != ""
	if f.Status != "" && f.Status != inbox.HitlPending || !forEveryone && len(f.Agents) == 0 {
		return nil
	}
	ids := s.pending.IDs(func(id schema.EventID, q *kit.PendingQuestion[string]) bool {
		return !(forEveryone && q.IsAddressed) && int64(id) >= from && int64(id) < to && (len(f.Agents) == 0 || slices.Contains(f.Agents, q.App))
	})
	slices.Reverse(ids)
	return ids[:min(f.Limit+1, len(ids))]
}

func compareNewestFirst(a, b schema.EventID) int { return int(b - a) }

// inboxIndexRanges returns the index ranges of f, which do not include its times.
func inboxIndexRanges(f store.InboxFilter) (ranges []indexRange) {
	byAgent := len(f.Agents) > 0
	if f.Everyone || f.Awaiting != "" {
		if f.Status != "" && f.Status != inbox.HitlPending {
			return nil
		}
		if f.Awaiting == "" {
			return nil
		}
		if !byAgent {
			ranges = append(ranges, indexRange{queryInboxAwaiting, []any{f.Awaiting}})
		}
		for _, app := range slices.Compact(slices.Sorted(slices.Values(f.Agents))) {
			ranges = append(ranges, indexRange{queryInboxAwaitingAgent, []any{f.Awaiting, app}})
		}
		return ranges
	}
	statuses := inbox.HitlStatuses
	if f.Status != "" {
		statuses = []inbox.HitlStatus{f.Status}
	}
	switch {
	case byAgent:
		for _, app := range slices.Compact(slices.Sorted(slices.Values(f.Agents))) {
			for _, status := range statuses {
				if status == inbox.HitlPending {
					continue // see pendingInbox
				}
				ranges = append(ranges, indexRange{queryInboxAgent, []any{app, string(status)}})
			}
		}
	case f.Status != "":
		ranges = append(ranges, indexRange{queryInboxStatus, []any{string(f.Status)}})
	default:
		ranges = append(ranges, indexRange{queryInbox, nil})
	}
	return ranges
}

func (s *engine) InboxDays(ctx context.Context, edges []time.Time, agents []string) ([]inbox.HitlCounts, error) {
	apps := slices.Compact(slices.Sorted(slices.Values(agents)))
	starts := make([]int64, len(edges))
	for i, at := range edges {
		var err error
		if starts[i], err = s.firstSeqSince(ctx, at); err != nil {
			return nil, err
		}
	}
	days := make([]inbox.HitlCounts, len(edges)-1)
	for i := range days {
		if starts[i] == starts[i+1] {
			continue // no questions in this interval
		}
		for status, into := range days[i].All() {
			if len(agents) == 0 {
				n, err := s.countOfApp(ctx, schema.TestApp, status, starts[i], starts[i+1])
				if err == nil {
					err = s.readers.get(ctx, []any{into}, queryCountStatus, string(status), starts[i], starts[i+1])
				}
				if err != nil {
					return nil, err
				}
				*into -= n
			}
			for _, app := range apps {
				n, err := s.countOfApp(ctx, app, status, starts[i], starts[i+1])
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
func (s *engine) countOfApp(ctx context.Context, app string, status inbox.HitlStatus, from, to int64) (n int64, err error) {
	if status == inbox.HitlPending {
		return s.countPending(func(id schema.EventID, q *kit.PendingQuestion[string]) bool {
			return q.App == app && int64(id) >= from && int64(id) < to
		}), nil
	}
	return n, s.readers.get(ctx, []any{&n}, queryCountAgent, app, string(status), from, to)
}

func (s *engine) countPending(match func(schema.EventID, *kit.PendingQuestion[string]) bool) int64 {
	return int64(len(s.pending.IDs(match)))
}

func (s *engine) InboxCounts(ctx context.Context, awaiting string) (st inbox.HitlStats, err error) {
	decided, err := s.countOfApp(ctx, schema.TestApp, inbox.HitlDecided, 0, math.MaxInt64)
	if err != nil {
		return st, err
	}
	st.ResponsesCount = s.decided.Load() - decided
	st.PendingCount = s.countPending(func(_ schema.EventID, q *kit.PendingQuestion[string]) bool { return q.App != schema.TestApp })
	st.ResolversCount = s.countPending(func(_ schema.EventID, q *kit.PendingQuestion[string]) bool {
		return q.App != schema.TestApp && q.Waiter == schema.Listening
	})
	st.WaitingOnMe = s.countPending(func(_ schema.EventID, q *kit.PendingQuestion[string]) bool {
		return q.App != schema.TestApp && !q.IsAddressed
	})
	if awaiting != "" {
		var n int64
		if err := s.readers.get(ctx, []any{&n}, queryCountAwaiting, awaiting); err != nil {
			return st, err
		}
		st.WaitingOnMe += n
	}
	rows, err := s.readers.query(ctx, queryRequesters)
	if st.Agents, err = scanTexts(rows, err); err != nil {
		return st, err
	}
	for key := range s.pending.CountSessions() {
		st.Agents = append(st.Agents, key.App)
	}
	slices.Sort(st.Agents)
	st.Agents = slices.DeleteFunc(slices.Compact(st.Agents), kit.IsTestApp)
	return st, nil
}

// scanTexts returns an empty list rather than nil, which would encode to null.
func scanTexts(rows pgx.Rows, err error) ([]string, error) {
	list, err := collect(rows, err, scanColumn[string])
	return append([]string{}, list...), err
}
