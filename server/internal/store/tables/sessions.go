package tables

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
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
	if err := nameTexts(ctx, t, r.names[:], &r.key.App, &r.key.Session); err != nil || f.App != "" && f.App != r.key.App {
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

// activeKey returns the order of a session in the lists: a key that grows with the time of the last
// activity, in Unix ms, and is unique by the lowest bits of its newest event.
func activeKey(at int64, last schema.EventID) int64 {
	return at<<activeShift | int64(last)&(1<<activeShift-1)
}

// activeSince returns the lowest activeKey of sessions that were active since a time.
func activeSince(t time.Time) int64 { return t.UnixMilli() << activeShift }

// activeShift leaves the keys of all times below 1<<53.
const activeShift = 11

// A search for sessions continues in the transcripts, newest first, after the last session whose text
// matches. firstTranscriptPosition is added to positions there, and positions of sessions are smaller.
const firstTranscriptPosition = 1 << 52

// positionBefore returns the position of a search that continues before an event with a transcript.
func positionBefore(event int64) int64 { return firstTranscriptPosition + event }

// transcriptPosition returns the event before which a search continues in the transcripts.
func transcriptPosition(before int64) (event int64, ok bool) {
	return before - firstTranscriptPosition, before >= firstTranscriptPosition && before < 2*firstTranscriptPosition
}

// transcriptSearchTime limits a search in the transcripts. The transcript in progress is finished.
const transcriptSearchTime = 40 * time.Millisecond

// sessionTexts holds the texts of the newest sessions, because reading one from its row in
// the table takes longer than comparing thirty. A text changes only with a new event of the
// session, so the sessions to read again are those after the newest one in memory.
type sessionTexts struct {
	mu       sync.Mutex
	Limit    int                    // of entries that are not outdated
	entries  []sessionText          // by last; an outdated one has no text
	outdated int                    // number of outdated entries
	byFirst  map[schema.EventID]int // index in entries by the session's first event
	oldest   schema.EventID         // older sessions are only in the table; 0: there are none
}

// sessionText is the text of one session.
type sessionText struct {
	First, Last schema.EventID
	App, Person unique.Handle[string]
	Text        string
}

// maxSessionTexts bounds the memory of sessionTexts to about 15 MB.
const maxSessionTexts = 50_000

// Update adds the sessions that were active since the last update. read returns those whose newest
// event is after the given one, the latest first. Update returns oldest.
func (c *sessionTexts) Update(read func(after schema.EventID, limit int) ([]sessionText, error)) (schema.EventID, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	newest := schema.EventID(0)
	if len(c.entries) > 0 {
		newest = c.entries[len(c.entries)-1].Last
	}
	active, err := read(newest, c.Limit)
	if err != nil {
		return 0, err
	}
	if len(active) == c.Limit { // there may be more that are not in memory
		c.entries, c.outdated, c.byFirst = nil, 0, nil
		c.oldest = active[len(active)-1].Last
	}
	if c.byFirst == nil {
		c.byFirst = make(map[schema.EventID]int, len(active))
	}
	for _, e := range slices.Backward(active) {
		if i, ok := c.byFirst[e.First]; ok {
			c.removeLocked(i)
		}
		c.byFirst[e.First] = len(c.entries)
		c.entries = append(c.entries, e)
	}
	if len(c.entries) > 2*c.Limit || c.outdated > len(c.entries)/2 {
		c.compactLocked()
	}
	return c.oldest, nil
}

func (c *sessionTexts) removeLocked(i int) {
	if c.entries[i].Text != "" {
		delete(c.byFirst, c.entries[i].First)
		c.entries[i].Text = ""
		c.outdated++
	}
}

// compactLocked removes the outdated entries, and the oldest ones beyond limit.
func (c *sessionTexts) compactLocked() {
	c.entries = slices.DeleteFunc(c.entries, func(e sessionText) bool { return e.Text == "" })
	if more := len(c.entries) - c.Limit; more > 0 {
		c.entries = slices.Clone(c.entries[more:])
		c.oldest = c.entries[0].Last
	}
	c.outdated = 0
	clear(c.byFirst)
	for i := range c.entries {
		c.byFirst[c.entries[i].First] = i
	}
}

// Remove removes the session whose newest event was last.
func (c *sessionTexts) Remove(last schema.EventID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i, ok := c.search(last); ok {
		c.removeLocked(i)
	}
}

// search returns the index of the entry with that newest event, or where it would be.
func (c *sessionTexts) search(last schema.EventID) (int, bool) {
	return slices.BinarySearchFunc(c.entries, last, func(e sessionText, last schema.EventID) int { return cmp.Compare(e.Last, last) })
}

// Find returns the newest events of the sessions that f selects, latest first.
func (c *sessionTexts) Find(f store.SessionFilter) (found []schema.EventID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	app, person := unique.Make(f.App), unique.Make(f.Person)
	before, _ := c.search(schema.EventID(f.Before))
	for _, e := range slices.Backward(c.entries[:before]) {
		if len(found) == f.Limit {
			break
		}
		if (f.App == "" || e.App == app) && (f.Person == "" || e.Person == person) && e.Text != "" && strings.Contains(e.Text, f.Text) {
			found = append(found, e.Last)
		}
	}
	return found
}
