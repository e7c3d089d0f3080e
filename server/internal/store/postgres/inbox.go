package postgres

import (
	"context"
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

// inbox returns the reader of the inbox.
func (s *engine) inbox() kit.Inbox[string] {
	return kit.Inbox[string]{Pending: &s.pending, Source: inboxSource{s}, Queries: kit.InboxQueries{
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
	rows, err := s.readers.query(ctx, queryInboxRows, idList(ids))
	return readEventsUpTo(kit.MaxInboxBytes, rows, err)
}

func (s *engine) Inbox(ctx context.Context, f store.InboxFilter) (questions []*store.Event, more bool, err error) {
	from, to, err := s.seqRange(ctx, kit.SeqBounds{Before: f.Before, From: f.From, To: f.To})
	if err != nil {
		return nil, false, err
	}
	return s.inbox().Page(ctx, f, slices.Compact(slices.Sorted(slices.Values(f.Agents))), from, to+1)
}

func (s *engine) InboxDays(ctx context.Context, edges []time.Time, agents []string) ([]inbox.HitlCounts, error) {
	starts := make([]int64, len(edges))
	for i, at := range edges {
		var err error
		if starts[i], err = s.firstSeqSince(ctx, at); err != nil {
			return nil, err
		}
	}
	return s.inbox().Days(ctx, starts, slices.Compact(slices.Sorted(slices.Values(agents))), len(agents) > 0, schema.TestApp)
}

func (s *engine) InboxCounts(ctx context.Context, awaiting string) (st inbox.HitlStats, err error) {
	if st, err = s.inbox().Counts(ctx, awaiting, s.decided.Load(), schema.TestApp); err != nil {
		return st, err
	}
	rows, err := s.readers.query(ctx, queryRequesters)
	if st.Agents, err = scanTexts(rows, err); err != nil {
		return st, err
	}
	for key := range s.pending.CountSessions() {
		st.Agents = append(st.Agents, key.App)
	}
	st.Agents = kit.ListedAgents(st.Agents)
	return st, nil
}

// scanTexts returns an empty list rather than nil, which would encode to null.
func scanTexts(rows pgx.Rows, err error) ([]string, error) {
	list, err := collect(rows, err, scanColumn[string])
	return append([]string{}, list...), err
}
