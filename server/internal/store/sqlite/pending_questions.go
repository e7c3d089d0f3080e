package sqlite

import (
	"cmp"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// pendingQuestions holds the facts about pending questions by which they are looked up. An
// index of the table for each would cost two pages per question. It has the state of the last
// commit.
type pendingQuestions struct {
	mu   sync.RWMutex
	rows map[schema.EventID]pendingQuestion
	same map[string][]schema.EventID // the questions with a duplicate key, oldest first
}

// pendingQuestion has the columns of a pending question. Times are Unix milliseconds; 0: none.
type pendingQuestion struct {
	app, session                 int64 // names.id
	deadline, heldUntil, timerAt int64
	lifeline                     store.Lifeline
	waiter                       schema.Waiter
	isAddressed                  bool           // only its recipients may answer: see the table awaiting
	same                         string         // duplicate key; empty: never grouped
	sameAs                       schema.EventID // leader of its duplicate group; 0: it is the leader
	joined                       int64          // the leader's revision from which it is counted
}

// update applies a change that leaves the question pending.
func (q *pendingQuestion) update(c *store.Change) (err error) {
	if !c.Deadline.IsZero() || c.NoDeadline {
		q.deadline = toMillis(c.Deadline)
	}
	if c.UndoWindow != nil {
		q.heldUntil = toMillis(c.UndoWindow.Until)
	}
	if c.Timers != nil {
		q.timerAt = toMillis(c.Timers.Next())
	}
	if c.Awaiting != nil {
		q.isAddressed = !slices.Contains(c.Awaiting, everyone)
	}
	q.waiter, err = waiterOf(c.Status)
	return err
}

// waiterOf returns the liveness of the agent from a status.
func waiterOf(status []byte) (schema.Waiter, error) {
	var st struct {
		Waiter schema.Waiter `json:"waiter"`
	}
	err := json.Unmarshal(status, &st)
	return st.Waiter, err
}

// pendingUpdate is a change of the pending questions by a transaction.
type pendingUpdate struct {
	id    schema.EventID
	row   pendingQuestion
	ended bool
}

// commit applies the updates of a transaction.
func (p *pendingQuestions) commit(updates []pendingUpdate) {
	if len(updates) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range updates {
		if u.ended {
			p.remove(u.id)
		} else {
			p.put(u.id, u.row)
		}
	}
}

func (p *pendingQuestions) put(id schema.EventID, row pendingQuestion) {
	if _, ok := p.rows[id]; !ok && row.same != "" {
		p.same[row.same] = append(p.same[row.same], id) // IDs grow
	}
	p.rows[id] = row
}

func (p *pendingQuestions) remove(id schema.EventID) {
	key := p.rows[id].same
	delete(p.rows, id)
	if i, ok := slices.BinarySearch(p.same[key], id); ok {
		p.same[key] = slices.Delete(p.same[key], i, i+1)
	}
	if len(p.same[key]) == 0 {
		delete(p.same, key)
	}
}

// group returns the questions with a duplicate key that leader leads, oldest first; the
// leaders themselves if leader is 0.
func (p *pendingQuestions) group(key string, leader schema.EventID) (members []store.GroupMember) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, id := range p.same[key] {
		if row := p.rows[id]; row.sameAs == leader {
			members = append(members, store.GroupMember{ID: id, Joined: row.joined})
		}
	}
	return members
}

func (p *pendingQuestions) get(id schema.EventID) (row pendingQuestion, ok bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	row, ok = p.rows[id]
	return row, ok
}

func (p *pendingQuestions) len() int64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return int64(len(p.rows))
}

// ids returns the questions that match, oldest first.
func (p *pendingQuestions) ids(match func(schema.EventID, *pendingQuestion) bool) (ids []schema.EventID) {
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

// due returns up to n questions whose time at is not after now, the earliest first, and the
// next time after now; zero: none.
func (p *pendingQuestions) due(now time.Time, n int, at func(*pendingQuestion) int64) (due []schema.EventID, next time.Time) {
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
		case ms <= toMillis(now):
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
	return due, fromMillis(nextMillis)
}

// countSessions returns the number of pending questions per session.
func (p *pendingQuestions) countSessions() map[nameIDs]int64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	counts := map[nameIDs]int64{}
	for _, row := range p.rows {
		counts[nameIDs{app: row.app, session: row.session}]++
	}
	return counts
}
