package auth

import (
	"maps"
	"slices"
	"sync"
)

// revocationHooks are the connections that stay open for somebody, by the id of the sign-in or
// token that they came with.
type revocationHooks struct {
	mu    sync.Mutex
	hooks map[string]map[*func()]bool
}

// OnRevoked calls f once, when w's sign-in or token is revoked or has expired, unless
// stop is called before. f must be quick.
func (s *Service) OnRevoked(id Identity, f func()) (stop func()) {
	if s == nil || id.ID == "" {
		return func() {}
	}
	key := &f
	hooks := &s.revocations
	hooks.mu.Lock()
	if hooks.hooks == nil {
		hooks.hooks = map[string]map[*func()]bool{}
	}
	if hooks.hooks[id.ID] == nil {
		hooks.hooks[id.ID] = map[*func()]bool{}
	}
	hooks.hooks[id.ID][key] = true
	hooks.mu.Unlock()
	if !s.isCredentialValid(id.ID) { // between the request's first look and now
		hooks.fire(id.ID)
	}
	return func() {
		hooks.mu.Lock()
		defer hooks.mu.Unlock()
		if delete(hooks.hooks[id.ID], key); len(hooks.hooks[id.ID]) == 0 {
			delete(hooks.hooks, id.ID)
		}
	}
}

func (r *revocationHooks) fire(id string) {
	r.mu.Lock()
	hooks := r.hooks[id]
	delete(r.hooks, id)
	r.mu.Unlock()
	for f := range hooks {
		(*f)()
	}
}

// isCredentialValid reports whether the sign-in or token still counts.
func (s *Service) isCredentialValid(id string) bool {
	now := s.current.Load()
	for i := range now.SignIns {
		if now.SignIns[i].ID == id {
			return !s.isExpired(s.sessionExpiry(&now.SignIns[i]))
		}
	}
	for i := range now.Tokens {
		if now.Tokens[i].ID == id {
			return !s.isExpired(now.Tokens[i].ExpiresAt)
		}
	}
	return false
}

// fireExpired ends what is open for whoever is over by now.
func (s *Service) fireExpired() {
	s.revocations.mu.Lock()
	ids := slices.Collect(maps.Keys(s.revocations.hooks))
	s.revocations.mu.Unlock()
	for _, id := range ids {
		if !s.isCredentialValid(id) {
			s.revocations.fire(id)
		}
	}
}
