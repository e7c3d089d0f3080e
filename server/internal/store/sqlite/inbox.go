package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

// insertAwaiting stores the people that a question waits for. A question that everyone may
// answer has no rows: see pendingQuestion.isAddressed.
func (t *tx) insertAwaiting(id schema.EventID, app int64, names []string) error {
	if len(names) == 1 {
		_, err := t.exec(`INSERT OR IGNORE INTO awaiting (stream_id, person, seq, app) VALUES (1, ?, ?, ?)`, names[0], id, app)
		return err
	}
	list, err := json.Marshal(names)
	if err == nil {
		_, err = t.exec(`INSERT OR IGNORE INTO awaiting (stream_id, person, seq, app) SELECT 1, value, ?, ? FROM json_each(?)`, id, app, string(list))
	}
	return err
}

const (
	queryInbox = `SELECT seq FROM questions
		WHERE stream_id = 1 AND seq >= ? AND seq < ? ORDER BY seq DESC LIMIT ?`
	queryInboxStatus = `SELECT seq FROM questions INDEXED BY questions_by_inbox
		WHERE stream_id = 1 AND inbox = ? AND seq >= ? AND seq < ? ORDER BY seq DESC LIMIT ?`
	queryInboxAgent = `SELECT seq FROM questions INDEXED BY questions_by_agent
		WHERE stream_id = 1 AND app = ? AND inbox = ? AND inbox <> 'pending' AND seq >= ? AND seq < ? ORDER BY seq DESC LIMIT ?`
	queryInboxAwaiting = `SELECT seq FROM awaiting
		WHERE stream_id = 1 AND person = ? AND seq >= ? AND seq < ? ORDER BY seq DESC LIMIT ?`
	queryInboxAwaitingAgent = `SELECT seq FROM awaiting
		WHERE stream_id = 1 AND person = ? AND app = ? AND seq >= ? AND seq < ? ORDER BY seq DESC LIMIT ?`

	queryCountStatus = `SELECT count(*) FROM questions INDEXED BY questions_by_inbox
		WHERE stream_id = 1 AND inbox = ? AND seq >= ? AND seq < ?`
	queryCountAgent = `SELECT count(*) FROM questions INDEXED BY questions_by_agent
		WHERE stream_id = 1 AND app = ? AND inbox = ? AND inbox <> 'pending' AND seq >= ? AND seq < ?`
	queryCountAwaiting = `SELECT count(*) FROM awaiting WHERE stream_id = 1 AND person = ?`

	queryRequesters = `WITH RECURSIVE askers (app) AS (
			SELECT min(app) FROM questions INDEXED BY questions_by_agent WHERE stream_id = 1 AND inbox <> 'pending'
			UNION ALL
			SELECT (SELECT min(q.app) FROM questions q INDEXED BY questions_by_agent WHERE q.stream_id = 1 AND q.inbox <> 'pending' AND q.app > askers.app)
				FROM askers WHERE askers.app IS NOT NULL)
		SELECT n.name FROM askers CROSS JOIN names n ON n.stream_id = 1 AND n.kind = 1 AND n.id = askers.app WHERE askers.app IS NOT NULL`
)

var queryInboxRows = `SELECT ` + eventColumns + listedPayload + `q.question, q.status FROM json_each(?) j
		CROSS JOIN questions q ON q.stream_id = 1 AND q.seq = j.value
		CROSS JOIN events e ON e.stream_id = 1 AND e.seq = j.value`

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
	ranges, err := s.inboxIndexRanges(ctx, f)
	if err != nil {
		return nil, false, err
	}
	ids, err := s.pendingInbox(ctx, f, from, to)
	if err != nil {
		return nil, false, err
	}
	for _, r := range ranges {
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
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, false, err
	}
	rows, err := s.readers.query(ctx, queryInboxRows, string(list))
	questions, full, err := s.readEventsUpTo(ctx, maxInboxBytes, rows, err)
	return questions, more || full && len(questions) < len(ids), err
}

// pendingInbox returns the pending questions that f selects, the newest first, without the ones
// that inboxIndexRanges finds: it has no range for questions that everyone may answer, nor for
// the pending ones of an agent.
func (s *engine) pendingInbox(ctx context.Context, f store.InboxFilter, from, to int64) ([]schema.EventID, error) {
	forEveryone := f.Everyone || f.Awaiting != ""
	if f.Status != "" && f.Status != inbox.HitlPending || !forEveryone && len(f.Agents) == 0 {
		return nil, nil
	}
	apps, err := s.appIDs(ctx, f.Agents)
	if err != nil {
		return nil, err
	}
	ids := s.pending.IDs(func(id schema.EventID, q *kit.PendingQuestion[int64]) bool {
		return !(forEveryone && q.IsAddressed) && int64(id) >= from && int64(id) < to && (len(f.Agents) == 0 || slices.Contains(apps, q.App))
	})
	slices.Reverse(ids)
	return ids[:min(f.Limit+1, len(ids))], nil
}

func compareNewestFirst(a, b schema.EventID) int { return int(b - a) }

// inboxIndexRanges returns the index ranges of f, which do not include its times.
func (s *engine) inboxIndexRanges(ctx context.Context, f store.InboxFilter) (ranges []indexRange, err error) {
	apps, err := s.appIDs(ctx, f.Agents)
	if err != nil {
		return nil, err
	}
	byAgent := len(f.Agents) > 0
	if f.Everyone || f.Awaiting != "" {
		if f.Status != "" && f.Status != inbox.HitlPending {
			return nil, nil
		}
		if f.Awaiting == "" {
			return nil, nil
		}
		if !byAgent {
			ranges = append(ranges, indexRange{queryInboxAwaiting, []any{f.Awaiting}})
		}
		for _, app := range apps {
			ranges = append(ranges, indexRange{queryInboxAwaitingAgent, []any{f.Awaiting, app}})
		}
		return ranges, nil
	}
	statuses := inbox.HitlStatuses
	if f.Status != "" {
		statuses = []inbox.HitlStatus{f.Status}
	}
	switch {
	case byAgent:
		for _, app := range apps {
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
	return ranges, nil
}

// appIDs returns the IDs of the known names, without duplicates.
func (s *engine) appIDs(ctx context.Context, names []string) (ids []int64, err error) {
	for _, name := range names {
		id, ok, err := s.findNameID(ctx, appName, name)
		if err != nil {
			return nil, err
		}
		if ok && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func (s *engine) InboxDays(ctx context.Context, edges []time.Time, agents []string) ([]inbox.HitlCounts, error) {
	apps, err := s.appIDs(ctx, agents)
	if err != nil {
		return nil, err
	}
	tests, err := s.testAppID(ctx)
	if err != nil {
		return nil, err
	}
	starts := make([]int64, len(edges))
	for i, at := range edges {
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
				n, err := s.countOfApp(ctx, tests, status, starts[i], starts[i+1])
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
func (s *engine) countOfApp(ctx context.Context, app int64, status inbox.HitlStatus, from, to int64) (n int64, err error) {
	if status == inbox.HitlPending {
		return s.countPending(func(id schema.EventID, q *kit.PendingQuestion[int64]) bool {
			return q.App == app && int64(id) >= from && int64(id) < to
		}), nil
	}
	return n, s.readers.get(ctx, []any{&n}, queryCountAgent, app, string(status), from, to)
}

// testAppID returns the ID of the application of test requests, or one that no event has.
func (s *engine) testAppID(ctx context.Context) (int64, error) {
	id, ok, err := s.findNameID(ctx, appName, schema.TestApp)
	if !ok {
		id = -1
	}
	return id, err
}

func (s *engine) countPending(match func(schema.EventID, *kit.PendingQuestion[int64]) bool) int64 {
	return int64(len(s.pending.IDs(match)))
}

func (s *engine) InboxCounts(ctx context.Context, awaiting string) (st inbox.HitlStats, err error) {
	tests, err := s.testAppID(ctx)
	if err != nil {
		return st, err
	}
	decided, err := s.countOfApp(ctx, tests, inbox.HitlDecided, 0, math.MaxInt64)
	if err != nil {
		return st, err
	}
	st.ResponsesCount = s.decided.Load() - decided
	st.PendingCount = s.countPending(func(_ schema.EventID, q *kit.PendingQuestion[int64]) bool { return q.App != tests })
	st.ResolversCount = s.countPending(func(_ schema.EventID, q *kit.PendingQuestion[int64]) bool {
		return q.App != tests && q.Waiter == schema.Listening
	})
	st.WaitingOnMe = s.countPending(func(_ schema.EventID, q *kit.PendingQuestion[int64]) bool { return q.App != tests && !q.IsAddressed })
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
	for ids := range s.pending.CountSessions() {
		name, err := s.dictionary.nameText(ctx, &s.readers.statements, appName, ids.App)
		if err != nil {
			return st, err
		}
		st.Agents = append(st.Agents, name)
	}
	slices.Sort(st.Agents)
	st.Agents = slices.DeleteFunc(slices.Compact(st.Agents), kit.IsTestApp)
	return st, nil
}

// scanTexts returns an empty list rather than nil, which would encode to null.
func scanTexts(rows *sql.Rows, err error) ([]string, error) {
	list, err := collect(rows, err, scanColumn[string])
	return append([]string{}, list...), err
}
