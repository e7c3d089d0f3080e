package tables

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unique"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/store"
)

const querySessionFacts = `SELECT facts FROM sessions WHERE app = $1 AND session = $2`

func (t *Tables) SessionFacts(ctx context.Context, app, session string) ([]byte, error) {
	return read[[]byte](ctx, t, querySessionFacts, app, session)
}

// maxSessionsWithID is how many sessions of one ID SessionsWithID returns: among the newest 1,000, the ones
// with the newest events.
const maxSessionsWithID = 16

const querySessionsWithID = `SELECT app, last FROM sessions /*!INDEXED BY sessions_by_id*/ WHERE session = $1 ORDER BY first DESC LIMIT 1000`

type lastOfSession struct {
	app  string
	last int64
}

func (t *Tables) SessionsWithID(ctx context.Context, session string) (keys []store.SessionKey, _ error) {
	found, err := collect(ctx, t, func(s *lastOfSession) []any { return []any{&s.app, &s.last} }, querySessionsWithID, session)
	slices.SortFunc(found, func(a, b lastOfSession) int { return cmp.Compare(b.last, a.last) })
	for _, s := range found[:min(len(found), maxSessionsWithID)] {
		keys = append(keys, store.SessionKey{App: s.app, Session: session})
	}
	return keys, err
}

// sessionScanLimit is how many sessions one call of a text search examines.
const sessionScanLimit = 20_000

// Queries of a page of sessions. A text search reads only their texts, until it has a page
// or has examined sessionScanLimit sessions.
const (
	querySessions         = `SELECT active, facts FROM sessions /*!INDEXED BY sessions_by_active*/ WHERE active < $1 ORDER BY active DESC LIMIT $2`
	querySessionsOf       = `SELECT active, facts FROM sessions /*!INDEXED BY sessions_by_app*/ WHERE app = $1 AND active < $2 ORDER BY active DESC LIMIT $3`
	querySessionsOfPerson = `SELECT active, facts FROM sessions WHERE (app, session) IN (
		SELECT app, session FROM sessions /*!INDEXED BY sessions_by_person*/
		WHERE person = $1 AND person <> '' AND ($2 = '' OR app = $2) AND active < $3 ORDER BY active DESC LIMIT $4
	) ORDER BY active DESC`
	querySessionTexts = `SELECT last, app, person, text FROM sessions /*!INDEXED BY sessions_by_last*/
		WHERE last < $1 ORDER BY last DESC LIMIT $2`
	querySessionByLast = `SELECT active, facts FROM sessions /*!INDEXED BY sessions_by_last*/ WHERE last = $1`
)

func (t *Tables) Sessions(ctx context.Context, f store.SessionFilter) (facts [][]byte, next int64, err error) {
	if f.Before <= 0 {
		f.Before = 1 << 62
	}
	if f.Text != "" {
		return t.searchSessions(ctx, f)
	}
	query, args := querySessions, []any{f.Before, f.Limit + 1}
	switch {
	case f.Person != "":
		query, args = querySessionsOfPerson, append([]any{f.Person, f.App}, args...)
	case f.App != "":
		query, args = querySessionsOf, append([]any{f.App}, args...)
	}
	rows, err := collect(ctx, t, sessionFields, query, args...)
	if len(rows) > f.Limit {
		rows = rows[:f.Limit]
		next = rows[f.Limit-1].active
	}
	return factsOf(rows), next, err
}

// sessionRow is a session in a page.
type sessionRow struct {
	active int64 // see activeKey
	facts  []byte
}

func sessionFields(s *sessionRow) []any { return []any{&s.active, &s.facts} }

func factsOf(rows []sessionRow) (facts [][]byte) {
	for _, r := range rows {
		facts = append(facts, r.facts)
	}
	return facts
}

// searchSessions returns a page of the sessions that f selects: by their texts, the newest ones in memory,
// and then by their transcripts.
func (t *Tables) searchSessions(ctx context.Context, f store.SessionFilter) (facts [][]byte, next int64, err error) {
	f.Text = strings.ToLower(f.Text)
	if before, ok := transcriptPosition(f.Before); ok {
		return t.searchTranscripts(ctx, f, before)
	}
	head, limit := t.State.Head.Load(), f.Limit
	oldest, err := t.State.Texts.Update(func(after schema.EventID, limit int) ([]sessionText, error) {
		return t.newSessionTexts(ctx, after, limit)
	})
	if err != nil {
		return nil, 0, err
	}
	found := t.State.Texts.Find(f)
	if len(found) == f.Limit {
		next = int64(found[len(found)-1])
	} else if oldest > 0 { // the table has older sessions
		var rest []schema.EventID
		f.Before, f.Limit = min(f.Before, int64(oldest)), f.Limit-len(found)
		if rest, next, err = t.olderSessions(ctx, f); err != nil {
			return nil, 0, err
		}
		found = append(found, rest...)
	}
	facts, err = t.sessionsByLast(ctx, found)
	if f.Limit = limit - len(found); err != nil || next != 0 || f.Limit == 0 {
		return facts, next, err
	}
	inTranscripts, next, err := t.searchTranscripts(ctx, f, head+1)
	return append(facts, inTranscripts...), next, err
}

const queryNewSessionTexts = `SELECT first, last, app, person, text FROM sessions /*!INDEXED BY sessions_by_last*/
	WHERE last > $1 ORDER BY last DESC LIMIT $2`

// newSessionTexts reads texts for sessionTexts.
func (t *Tables) newSessionTexts(ctx context.Context, after schema.EventID, limit int) (texts []sessionText, err error) {
	err = t.Read(ctx, func(rows Rows) error {
		var e sessionText
		var app, person string
		err := rows.Scan(&e.First, &e.Last, &app, &person, &e.Text)
		e.App, e.Person = unique.Make(app), unique.Make(person)
		texts = append(texts, e)
		return err
	}, queryNewSessionTexts, after, limit)
	return texts, err
}

// olderSessions returns the newest events of sessions that f selects. next is the position of the
// next page; 0: there is none.
func (t *Tables) olderSessions(ctx context.Context, f store.SessionFilter) (found []schema.EventID, next int64, err error) {
	scanned := 0
	err = t.readSome(ctx, func(rows Rows) error {
		var app, person, text string
		if err := rows.Scan(&next, &app, &person, &text); err != nil {
			return err
		}
		scanned++
		if f.App != "" && f.App != app || f.Person != "" && f.Person != person || !strings.Contains(text, f.Text) {
			return nil
		}
		if found = append(found, schema.EventID(next)); len(found) == f.Limit {
			return errEnough
		}
		return nil
	}, querySessionTexts, f.Before, sessionScanLimit)
	if scanned < sessionScanLimit && len(found) < f.Limit {
		next = 0
	}
	return found, next, err
}

// sessionsByLast returns the facts of the sessions with these newest events, latest active first.
func (t *Tables) sessionsByLast(ctx context.Context, found []schema.EventID) ([][]byte, error) {
	rows := make([]sessionRow, 0, len(found))
	for _, last := range found {
		var row sessionRow
		ok, err := t.ReadOne(ctx, sessionFields(&row), querySessionByLast, last)
		switch {
		case err != nil:
			return nil, err
		case !ok:
			t.State.Texts.Remove(last) // it was active just now and moved to an earlier page, or retention removed it
		default:
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(a, b sessionRow) int { return cmp.Compare(b.active, a.active) })
	return factsOf(rows), nil
}

// transcriptBatch is how many transcripts one statement of a search compares.
const transcriptBatch = 16

const (
	querySessionTranscripts = `SELECT t.seq, strpos(t.text, $3) > 0, e.app, e.session
		FROM (SELECT seq, text FROM transcript_texts WHERE seq < $1 ORDER BY seq DESC LIMIT $2) t
		/*!CROSS*/ JOIN events e ON e.seq = t.seq ORDER BY t.seq DESC`
	querySessionOfTranscript = `SELECT person, text, facts FROM sessions WHERE app = $1 AND session = $2`
)

type transcriptRow struct {
	seq     int64
	matches bool
	names   [2]int64 // of an engine with a dictionary
	key     store.SessionKey
}

// searchTranscripts returns the sessions that f selects by their newest transcript alone, and the
// position of the next page; 0: there is none.
func (t *Tables) searchTranscripts(ctx context.Context, f store.SessionFilter, before int64) (facts [][]byte, next int64, err error) {
	word, deadline := filter.Fold(f.Text), time.Now().Add(transcriptSearchTime)
	for {
		read, err := collect(ctx, t, func(r *transcriptRow) []any {
			return []any{&r.seq, &r.matches, t.NameColumn(&r.names[0], &r.key.App), t.NameColumn(&r.names[1], &r.key.Session)}
		}, querySessionTranscripts, before, transcriptBatch, word)
		if err != nil {
			return nil, 0, err
		}
		for i := range read {
			r := &read[i]
			before = r.seq
			if r.matches {
				found, err := t.sessionOfTranscript(ctx, r, &f)
				if err != nil {
					return nil, 0, err
				}
				facts = append(facts, found...)
			}
			if len(facts) == f.Limit {
				return facts, positionBefore(before), nil
			}
		}
		if len(read) < transcriptBatch {
			return facts, 0, nil
		}
		if time.Now().After(deadline) {
			return facts, positionBefore(before), nil
		}
	}
}

// sessionOfTranscript returns the facts of a session, unless f excludes it or its own text matches: then
// it was found already.
func (t *Tables) sessionOfTranscript(ctx context.Context, r *transcriptRow, f *store.SessionFilter) (facts [][]byte, err error) {
	if r.key.App, err = t.NameText(ctx, AppName, r.names[0], r.key.App); err != nil || f.App != "" && f.App != r.key.App {
		return nil, err
	}
	if r.key.Session, err = t.NameText(ctx, SessionName, r.names[1], r.key.Session); err != nil {
		return nil, err
	}
	var person, text string
	var raw []byte
	found, err := t.ReadOne(ctx, []any{&person, &text, &raw}, querySessionOfTranscript, r.key.App, r.key.Session)
	if err != nil || !found || f.Person != "" && f.Person != person || strings.Contains(text, f.Text) {
		return nil, err
	}
	return [][]byte{raw}, nil
}

const querySessionTools = `SELECT tool, bin, calls, failures, total FROM session_tools WHERE first = $1`

func (t *Tables) SessionTools(ctx context.Context, first schema.EventID) (map[store.ToolKey]store.ToolTime, error) {
	return collectMap(ctx, t, func(key *store.ToolKey, u *store.ToolTime) []any {
		return []any{&key.Tool, &key.Bucket, &u.Calls, &u.Failures, &u.TotalMS}
	}, querySessionTools, first)
}

const (
	queryCountSessions = `SELECT count(*) FROM sessions /*!INDEXED BY sessions_by_app*/ WHERE app = $1 AND active >= $2`
	queryLatestSession = `SELECT facts FROM sessions /*!INDEXED BY sessions_by_app*/ WHERE app = $1 ORDER BY active DESC LIMIT 1`
)

func (t *Tables) SessionsOf(ctx context.Context, app string, since time.Time) (active int64, latest []byte, err error) {
	if active, err = read[int64](ctx, t, queryCountSessions, app, activeSince(since)); err == nil {
		latest, err = read[[]byte](ctx, t, queryLatestSession, app)
	}
	return active, latest, err
}

func (t *Tables) PendingCounts(ctx context.Context) (map[store.SessionKey]int64, error) {
	return t.State.Pending.CountSessions(), ctx.Err()
}
