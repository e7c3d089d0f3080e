package tables

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// PendingQuestions holds the facts about pending questions by which they are looked up. An
// index of the table for each would cost writes for every question. It has the state of the last
// commit.
type PendingQuestions struct {
	mu       sync.RWMutex
	rows     map[schema.EventID]*pendingQuestion // never changed in place
	same     questionsBy[string]                 // those with a duplicate key
	sessions questionsBy[store.SessionKey]
}

// questionsBy has the questions with the same key, oldest first.
type questionsBy[K comparable] map[K][]schema.EventID

func (m questionsBy[K]) remove(key K, id schema.EventID) {
	if i, ok := slices.BinarySearch(m[key], id); ok {
		m[key] = slices.Delete(m[key], i, i+1)
	}
	if len(m[key]) == 0 {
		delete(m, key)
	}
}

// pendingQuestion has the columns of a pending question. Times are Unix milliseconds; 0: none.
type pendingQuestion struct {
	App, Session                 string
	Deadline, HeldUntil, TimerAt int64
	Lifeline                     store.Lifeline
	Waiter                       schema.Waiter
	Awaiting                     []string       // its recipients who have not voted; nil: everyone may answer
	Same                         string         // duplicate key; empty: never grouped
	SameAs                       schema.EventID // leader of its duplicate group; 0: it is the leader
	Joined                       int64          // the leader's revision from which it is counted
}

func (q *pendingQuestion) session() store.SessionKey {
	return store.SessionKey{App: q.App, Session: q.Session}
}

// update applies a change that leaves the question pending.
func (q *pendingQuestion) update(c *store.Change) error {
	if !c.Deadline.IsZero() || c.NoDeadline {
		q.Deadline = Millis(c.Deadline)
	}
	if c.UndoWindow != nil {
		q.HeldUntil = Millis(c.UndoWindow.Until)
	}
	if c.Timers != nil {
		q.TimerAt = Millis(c.Timers.Next())
	}
	return q.setStatus(c.Status)
}

// setStatus reads the liveness of the agent and the people who have not voted from a status.
func (q *pendingQuestion) setStatus(status []byte) error {
	var st struct {
		Waiter     schema.Waiter `json:"waiter"`
		Recipients []string      `json:"recipients"`
		Awaiting   []string      `json:"awaiting"`
	}
	err := json.Unmarshal(status, &st)
	q.Waiter, q.Awaiting = st.Waiter, nil
	if st.Recipients != nil {
		q.Awaiting = append([]string{}, st.Awaiting...)
	}
	return err
}

// awaits reports whether the question waits for a person; with no name, whether for everyone.
func (q *pendingQuestion) awaits(person string) bool {
	return q.Awaiting == nil || slices.Contains(q.Awaiting, person)
}

// PendingUpdate is a change of the pending questions by a transaction.
type PendingUpdate struct {
	ID    schema.EventID
	Row   pendingQuestion
	Ended bool
}

// The columns that pendingRow scans.
const (
	PendingColumns = `seq, inbox <> 'pending', app, session, deadline, held_until, next_at, lifeline, status,
		same, same_as, joined`
	QueryPendingQuestions = `SELECT ` + PendingColumns + ` FROM questions /*!INDEXED BY questions_by_inbox*/
		WHERE inbox = 'pending' ORDER BY seq`
)

type pendingRow struct {
	PendingUpdate
	names        [2]int64 // of an engine with a dictionary
	status, same []byte
}

func (r *pendingRow) dest(names Names) []any {
	q := &r.Row
	return []any{
		&r.ID, &r.Ended, names.NameColumn(&r.names[0], &q.App), names.NameColumn(&r.names[1], &q.Session), &q.Deadline, &q.HeldUntil,
		&q.TimerAt, &q.Lifeline, &r.status, &r.same, &q.SameAs, &q.Joined,
	}
}

// ReadPending reads questions with PendingColumns.
func (t *Tables) ReadPending(ctx context.Context, query Query, text string, args ...any) ([]PendingUpdate, error) {
	var rows []pendingRow
	err := query(appendTo(&rows, func(r *pendingRow) []any { return r.dest(t) }), text, args...)
	updates := make([]PendingUpdate, len(rows))
	for i := range rows {
		r, q := &rows[i], &rows[i].Row
		if err == nil {
			err = nameTexts(ctx, t, r.names[:], &q.App, &q.Session)
		}
		if err == nil {
			err = q.setStatus(r.status)
		}
		q.Same = string(r.same)
		updates[i] = r.PendingUpdate
	}
	return updates, err
}

// LoadPending reads the pending questions into memory.
func (t *Tables) LoadPending(ctx context.Context, query Query) error {
	stored, err := t.ReadPending(ctx, query, QueryPendingQuestions)
	if err == nil {
		t.State.Pending.Load(stored)
	}
	return err
}

// Load replaces the questions by the stored ones.
func (p *PendingQuestions) Load(stored []PendingUpdate) {
	p.mu.Lock()
	p.rows, p.same, p.sessions = map[schema.EventID]*pendingQuestion{}, questionsBy[string]{}, questionsBy[store.SessionKey]{}
	p.mu.Unlock()
	p.Commit(stored)
}

// Commit applies the updates of a transaction.
func (p *PendingQuestions) Commit(updates []PendingUpdate) {
	if len(updates) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range updates {
		if u.Ended {
			p.removeLocked(u.ID)
		} else {
			p.putLocked(u.ID, u.Row)
		}
	}
}

func (p *PendingQuestions) putLocked(id schema.EventID, row pendingQuestion) {
	if _, ok := p.rows[id]; !ok { // IDs grow
		p.sessions[row.session()] = append(p.sessions[row.session()], id)
		if row.Same != "" {
			p.same[row.Same] = append(p.same[row.Same], id)
		}
	}
	p.rows[id] = &row
}

func (p *PendingQuestions) removeLocked(id schema.EventID) {
	row, ok := p.rows[id]
	if !ok {
		return
	}
	delete(p.rows, id)
	p.same.remove(row.Same, id)
	p.sessions.remove(row.session(), id)
}

// Group returns the questions with a duplicate key that leader leads, oldest first; the
// leaders themselves if leader is 0.
func (p *PendingQuestions) Group(key string, leader schema.EventID) (members []store.GroupMember) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, id := range p.same[key] {
		if row := p.rows[id]; row.SameAs == leader {
			members = append(members, store.GroupMember{ID: id, Joined: row.Joined})
		}
	}
	return members
}

// Get returns a pending question.
func (p *PendingQuestions) Get(id schema.EventID) (row pendingQuestion, ok bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if q, found := p.rows[id]; found {
		return *q, true
	}
	return row, false
}

// Len returns the number of pending questions.
func (p *PendingQuestions) Len() int64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return int64(len(p.rows))
}

// IDs returns the questions that match, oldest first.
func (p *PendingQuestions) IDs(match func(schema.EventID, *pendingQuestion) bool) (ids []schema.EventID) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for id, row := range p.rows {
		if match(id, row) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Due returns up to n questions whose time at is not after now, the earliest first, and the
// next time after now; zero: none.
func (p *PendingQuestions) Due(now time.Time, n int, at func(*pendingQuestion) int64) (due []schema.EventID, next time.Time) {
	type dueQuestion struct {
		at int64
		id schema.EventID
	}
	var found []dueQuestion
	var nextMillis int64
	p.mu.RLock()
	for id, row := range p.rows {
		switch ms := at(row); {
		case ms == 0:
		case ms <= Millis(now):
			found = append(found, dueQuestion{ms, id})
		case nextMillis == 0 || ms < nextMillis:
			nextMillis = ms
		}
	}
	p.mu.RUnlock()
	slices.SortFunc(found, func(a, b dueQuestion) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id)) })
	for _, q := range found[:min(n, len(found))] {
		due = append(due, q.id)
	}
	return due, Time(nextMillis)
}

// CountSessions returns the number of pending questions per session.
func (p *PendingQuestions) CountSessions() map[store.SessionKey]int64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	counts := map[store.SessionKey]int64{}
	for key, ids := range p.sessions {
		counts[key] = int64(len(ids))
	}
	return counts
}

// InSession returns the questions of a session, oldest first.
func (p *PendingQuestions) InSession(key store.SessionKey) []schema.EventID {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.Clone(p.sessions[key])
}
