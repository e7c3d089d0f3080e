package tables

import (
	"cmp"
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
type PendingQuestions[N comparable] struct {
	mu   sync.RWMutex
	rows map[schema.EventID]PendingQuestion[N]
	same map[string][]schema.EventID // the questions with a duplicate key, oldest first
}

// PendingQuestion has the columns of a pending question. Times are Unix milliseconds; 0: none.
type PendingQuestion[N comparable] struct {
	App, Session                 N // as the engine stores names
	Deadline, HeldUntil, TimerAt int64
	Lifeline                     store.Lifeline
	Waiter                       schema.Waiter
	IsAddressed                  bool           // only its recipients may answer: see the table awaiting
	Same                         string         // duplicate key; empty: never grouped
	SameAs                       schema.EventID // leader of its duplicate group; 0: it is the leader
	Joined                       int64          // the leader's revision from which it is counted
}

// Update applies a change that leaves the question pending.
func (q *PendingQuestion[N]) Update(c *store.Change) (err error) {
	if !c.Deadline.IsZero() || c.NoDeadline {
		q.Deadline = Millis(c.Deadline)
	}
	if c.UndoWindow != nil {
		q.HeldUntil = Millis(c.UndoWindow.Until)
	}
	if c.Timers != nil {
		q.TimerAt = Millis(c.Timers.Next())
	}
	if c.Awaiting != nil {
		q.IsAddressed = !slices.Contains(c.Awaiting, Everyone)
	}
	q.Waiter, err = WaiterOf(c.Status)
	return err
}

// WaiterOf returns the liveness of the agent from a status.
func WaiterOf(status []byte) (schema.Waiter, error) {
	var st struct {
		Waiter schema.Waiter `json:"waiter"`
	}
	err := json.Unmarshal(status, &st)
	return st.Waiter, err
}

// SessionOf identifies a session by names as the engine stores them.
type SessionOf[N comparable] struct{ App, Session N }

// PendingUpdate is a change of the pending questions by a transaction.
type PendingUpdate[N comparable] struct {
	ID    schema.EventID
	Row   PendingQuestion[N]
	Ended bool
}

// Load replaces the questions by the stored ones.
func (p *PendingQuestions[N]) Load(stored []PendingUpdate[N]) {
	p.mu.Lock()
	p.rows, p.same = map[schema.EventID]PendingQuestion[N]{}, map[string][]schema.EventID{}
	p.mu.Unlock()
	p.Commit(stored)
}

// Commit applies the updates of a transaction.
func (p *PendingQuestions[N]) Commit(updates []PendingUpdate[N]) {
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

func (p *PendingQuestions[N]) putLocked(id schema.EventID, row PendingQuestion[N]) {
	if _, ok := p.rows[id]; !ok && row.Same != "" {
		p.same[row.Same] = append(p.same[row.Same], id) // IDs grow
	}
	p.rows[id] = row
}

func (p *PendingQuestions[N]) removeLocked(id schema.EventID) {
	key := p.rows[id].Same
	delete(p.rows, id)
	if i, ok := slices.BinarySearch(p.same[key], id); ok {
		p.same[key] = slices.Delete(p.same[key], i, i+1)
	}
	if len(p.same[key]) == 0 {
		delete(p.same, key)
	}
}

// Group returns the questions with a duplicate key that leader leads, oldest first; the
// leaders themselves if leader is 0.
func (p *PendingQuestions[N]) Group(key string, leader schema.EventID) (members []store.GroupMember) {
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
func (p *PendingQuestions[N]) Get(id schema.EventID) (row PendingQuestion[N], ok bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	row, ok = p.rows[id]
	return row, ok
}

// Len returns the number of pending questions.
func (p *PendingQuestions[N]) Len() int64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return int64(len(p.rows))
}

// IDs returns the questions that match, oldest first.
func (p *PendingQuestions[N]) IDs(match func(schema.EventID, *PendingQuestion[N]) bool) (ids []schema.EventID) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for id, row := range p.rows {
		if match(id, &row) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Due returns up to n questions whose time at is not after now, the earliest first, and the
// next time after now; zero: none.
func (p *PendingQuestions[N]) Due(now time.Time, n int, at func(*PendingQuestion[N]) int64) (due []schema.EventID, next time.Time) {
	type dueQuestion struct {
		at int64
		id schema.EventID
	}
	var found []dueQuestion
	var nextMillis int64
	p.mu.RLock()
	for id, row := range p.rows {
		switch ms := at(&row); {
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
func (p *PendingQuestions[N]) CountSessions() map[SessionOf[N]]int64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	counts := map[SessionOf[N]]int64{}
	for _, row := range p.rows {
		counts[SessionOf[N]{App: row.App, Session: row.Session}]++
	}
	return counts
}
