package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
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
		_, err := t.exec(`INSERT OR IGNORE INTO awaiting (person, seq, app) VALUES (?, ?, ?)`, names[0], id, app)
		return err
	}
	list, err := json.Marshal(names)
	if err == nil {
		_, err = t.exec(`INSERT OR IGNORE INTO awaiting (person, seq, app) SELECT value, ?, ? FROM json_each(?)`, id, app, string(list))
	}
	return err
}

const (
	queryInbox = `SELECT seq FROM questions
		WHERE seq >= ? AND seq < ? ORDER BY seq DESC LIMIT ?`
	queryInboxStatus = `SELECT seq FROM questions INDEXED BY questions_by_inbox
		WHERE inbox = ? AND seq >= ? AND seq < ? ORDER BY seq DESC LIMIT ?`
	queryInboxAgent = `SELECT seq FROM questions INDEXED BY questions_by_agent
		WHERE app = ? AND inbox = ? AND inbox <> 'pending' AND seq >= ? AND seq < ? ORDER BY seq DESC LIMIT ?`
	queryInboxAwaiting = `SELECT seq FROM awaiting
		WHERE person = ? AND seq >= ? AND seq < ? ORDER BY seq DESC LIMIT ?`
	queryInboxAwaitingAgent = `SELECT seq FROM awaiting
		WHERE person = ? AND app = ? AND seq >= ? AND seq < ? ORDER BY seq DESC LIMIT ?`

	queryCountStatus = `SELECT count(*) FROM questions INDEXED BY questions_by_inbox
		WHERE inbox = ? AND seq >= ? AND seq < ?`
	queryCountAgent = `SELECT count(*) FROM questions INDEXED BY questions_by_agent
		WHERE app = ? AND inbox = ? AND inbox <> 'pending' AND seq >= ? AND seq < ?`
	queryCountAwaiting = `SELECT count(*) FROM awaiting WHERE person = ?`

	queryRequesters = `WITH RECURSIVE askers (app) AS (
			SELECT min(app) FROM questions INDEXED BY questions_by_agent WHERE inbox <> 'pending'
			UNION ALL
			SELECT (SELECT min(q.app) FROM questions q INDEXED BY questions_by_agent WHERE q.inbox <> 'pending' AND q.app > askers.app)
				FROM askers WHERE askers.app IS NOT NULL)
		SELECT n.name FROM askers CROSS JOIN names n ON n.kind = 1 AND n.id = askers.app WHERE askers.app IS NOT NULL`
)

var queryInboxRows = `SELECT ` + eventColumns + listedPayload + `q.question, q.status FROM json_each(?) j
		CROSS JOIN questions q ON q.seq = j.value
		CROSS JOIN events e ON e.seq = j.value`

// inbox returns the reader of the inbox.
func (s *engine) inbox() kit.Inbox[int64] {
	return kit.Inbox[int64]{Pending: &s.pending, Source: inboxSource{s}, Queries: kit.InboxQueries{
		List: queryInbox, ListOfStatus: queryInboxStatus, ListOfApp: queryInboxAgent,
		ListAwaiting: queryInboxAwaiting, ListAwaitingOfApp: queryInboxAwaitingAgent,
		CountOfStatus: queryCountStatus, CountOfApp: queryCountAgent, CountAwaiting: queryCountAwaiting,
	}}
}

// inboxSource implements kit.InboxSource.
type inboxSource struct{ *engine }

func (s inboxSource) IDs(ctx context.Context, query string, args ...any) ([]schema.EventID, error) {
	rows, err := s.readers.query(ctx, query, args...)
	return scanIDs(rows, err)
}

func (s inboxSource) Count(ctx context.Context, query string, args ...any) (n int64, err error) {
	return n, s.readers.get(ctx, []any{&n}, query, args...)
}

func (s inboxSource) Events(ctx context.Context, ids []schema.EventID) ([]*store.Event, bool, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, false, err
	}
	rows, err := s.readers.query(ctx, queryInboxRows, string(list))
	return s.readEventsUpTo(ctx, kit.MaxInboxBytes, rows, err)
}

func (s *engine) Inbox(ctx context.Context, f store.InboxFilter) (questions []*store.Event, more bool, err error) {
	from, to, err := s.seqRange(ctx, kit.SeqBounds{Before: f.Before, From: f.From, To: f.To})
	if err != nil {
		return nil, false, err
	}
	apps, err := s.appIDs(ctx, f.Agents)
	if err != nil {
		return nil, false, err
	}
	return s.inbox().Page(ctx, f, apps, from, to+1)
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
	return s.inbox().Days(ctx, starts, apps, len(agents) > 0, tests)
}

// testAppID returns the ID of the application of test requests, or one that no event has.
func (s *engine) testAppID(ctx context.Context) (int64, error) {
	id, ok, err := s.findNameID(ctx, appName, schema.TestApp)
	if !ok {
		id = -1
	}
	return id, err
}

func (s *engine) InboxCounts(ctx context.Context, awaiting string) (st inbox.HitlStats, err error) {
	tests, err := s.testAppID(ctx)
	if err != nil {
		return st, err
	}
	if st, err = s.inbox().Counts(ctx, awaiting, s.decided.Load(), tests); err != nil {
		return st, err
	}
	rows, err := s.readers.query(ctx, queryRequesters)
	if st.Agents, err = scanTexts(rows, err); err != nil {
		return st, err
	}
	for key := range s.pending.CountSessions() {
		name, err := s.dictionary.nameText(ctx, &s.readers.statements, appName, key.App)
		if err != nil {
			return st, err
		}
		st.Agents = append(st.Agents, name)
	}
	st.Agents = kit.ListedAgents(st.Agents)
	return st, nil
}

// scanTexts returns an empty list rather than nil, which would encode to null.
func scanTexts(rows *sql.Rows, err error) ([]string, error) {
	list, err := collect(rows, err, scanColumn[string])
	return append([]string{}, list...), err
}
