package kit

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// maxSessionsWithID is how many sessions of one ID SessionsWithID returns: among the sessions that an
// engine finds, the ones with the newest events.
const maxSessionsWithID = 16

// LastOfSession is the newest event of the session of an application.
type LastOfSession struct {
	App  string
	Last int64
}

// SessionsWithID returns the found sessions with an ID, the ones with the newest events first.
func SessionsWithID(session string, found []LastOfSession) (keys []store.SessionKey) {
	slices.SortFunc(found, func(a, b LastOfSession) int { return cmp.Compare(b.Last, a.Last) })
	for _, s := range found[:min(len(found), maxSessionsWithID)] {
		keys = append(keys, store.SessionKey{App: s.App, Session: session})
	}
	return keys
}

// SessionRow is a session in a page.
type SessionRow struct {
	Active int64 // see ActiveKey
	Facts  []byte
}

// SessionSource reads the table of sessions.
type SessionSource interface {
	// OlderSessions returns the newest events of sessions that f selects. next is the position of the
	// next page; 0: there is none.
	OlderSessions(ctx context.Context, f store.SessionFilter) (found []schema.EventID, next int64, err error)
	// SessionByLast returns the session with a newest event; without facts: there is none.
	SessionByLast(ctx context.Context, last schema.EventID) (SessionRow, error)
	// SearchTranscripts returns the sessions that f selects by their newest transcript alone, and the
	// position of the next page; 0: there is none.
	SearchTranscripts(ctx context.Context, f store.SessionFilter, before int64) (facts [][]byte, next int64, err error)
}

// Search returns a page of the sessions that f selects, in a log that ends at head: by their texts, the
// newest ones in memory, and then by their transcripts. read is the argument of Update.
func (c *SessionTexts) Search(
	ctx context.Context, source SessionSource, read func(after schema.EventID, limit int) ([]SessionText, error),
	head int64, f store.SessionFilter,
) (facts [][]byte, next int64, err error) {
	f.Text = strings.ToLower(f.Text)
	if before, ok := TranscriptPosition(f.Before); ok {
		return source.SearchTranscripts(ctx, f, before)
	}
	oldest, err := c.Update(read)
	if err != nil {
		return nil, 0, err
	}
	limit := f.Limit
	found := c.Find(f)
	if len(found) == f.Limit {
		next = int64(found[len(found)-1])
	} else if oldest > 0 { // the table has older sessions
		var rest []schema.EventID
		f.Before, f.Limit = min(f.Before, int64(oldest)), f.Limit-len(found)
		if rest, next, err = source.OlderSessions(ctx, f); err != nil {
			return nil, 0, err
		}
		found = append(found, rest...)
	}
	facts, err = c.sessionsByLast(ctx, source, found)
	if f.Limit = limit - len(found); err != nil || next != 0 || f.Limit == 0 {
		return facts, next, err
	}
	inTranscripts, next, err := source.SearchTranscripts(ctx, f, head+1)
	return append(facts, inTranscripts...), next, err
}

// sessionsByLast returns the facts of the sessions with these newest events, latest active first.
func (c *SessionTexts) sessionsByLast(ctx context.Context, source SessionSource, found []schema.EventID) ([][]byte, error) {
	rows := make([]SessionRow, 0, len(found))
	for _, last := range found {
		row, err := source.SessionByLast(ctx, last)
		switch {
		case err != nil:
			return nil, err
		case row.Facts == nil:
			c.Remove(last) // it was active just now and moved to an earlier page, or retention removed it
		default:
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(a, b SessionRow) int { return cmp.Compare(b.Active, a.Active) })
	facts := make([][]byte, len(rows))
	for i := range rows {
		facts[i] = rows[i].Facts
	}
	return facts, nil
}
