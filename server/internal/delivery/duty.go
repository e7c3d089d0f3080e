package delivery

import (
	"slices"

	"github.com/hookback/hookback/server/internal/store"
)

// Several hubs can share a database. The owner of a question looks after its listener: it holds the
// request of the agent, and a loopback address means an agent on its machine. When the owner is gone,
// another hub of that machine does, or else the leader. Answers are sent by the hub that leases them.

// duty is which listeners this hub looks after.
type duty struct {
	self  store.Member
	alive []store.Member
	leads bool
}

func dutyOf(s store.Members) duty {
	t := duty{alive: s.Members(), leads: s.IsLeader()}
	id := s.Self()
	if i := slices.IndexFunc(t.alive, func(m store.Member) bool { return m.ID == id }); i >= 0 {
		t.self = t.alive[i]
	}
	t.self.ID = id
	return t
}

// includes reports whether this hub looks after the listener of a question.
func (t duty) includes(p store.Place) bool {
	if p.Owner == t.self.ID || slices.ContainsFunc(t.alive, func(m store.Member) bool { return m.ID == p.Owner }) {
		return p.Owner == t.self.ID
	}
	if p.Machine != "" {
		if i := slices.IndexFunc(t.alive, func(m store.Member) bool { return m.Machine == p.Machine }); i >= 0 {
			return t.alive[i].ID == t.self.ID
		}
	}
	return t.leads
}

// reaches reports whether the address of a listener means the same for this hub as for its agent.
func (t duty) reaches(p store.Place) bool { return p.Machine == "" || p.Machine == t.self.Machine }
