package auth

import (
	"time"

	"github.com/hookback/hookback/schema"
)

// CanStillAnswer reports whether something that name decided at that time counts now: the
// account is the same and may answer. On a hub without accounts everything counts.
func (s *Service) CanStillAnswer(name string, at time.Time) bool {
	if s == nil {
		return true
	}
	created, known := s.CreatedAt(name)
	identity, _ := s.IdentityOf(name, "vote")
	return known && s.Check(schema.AccessDecide, identity) == nil && created.UnixMilli() <= at.UnixMilli()
}

// AllowsAnonymous reports whether callers without credentials may answer.
func (s *Service) AllowsAnonymous() bool { return s.Check(schema.AccessDecide, Identity{}) == nil }

// Approvers returns the names of all accounts that may answer.
func (s *Service) Approvers() (names []string) {
	if s == nil {
		return nil
	}
	for _, p := range s.current.Load().Persons {
		if p.Role == schema.Operator || p.Role == schema.Admin {
			names = append(names, p.Name)
		}
	}
	return names
}
