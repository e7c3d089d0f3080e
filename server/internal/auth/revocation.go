package auth

import (
	"maps"
	"slices"
	"sync"

	"github.com/hookback/hookback/server/internal/store"
)

// revocationHooks are functions to call when a session or token ends, by its id. They
// close the connections that it opened.
type revocationHooks struct {
	mu    sync.Mutex
	hooks map[string]map[*func()]bool
}

// OnRevoked calls f once when the session or token of id is revoked or expires, unless
// stop is called before. f must not block.
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
	if !s.isCredentialValid(id.ID) { // it ended between authentication and registration of f
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

// isCredentialValid reports whether a session or token exists and has not expired.
func (s *Service) isCredentialValid(id string) bool {
	dir := s.current.Load()
	if i := slices.IndexFunc(dir.SignIns, func(o store.SignIn) bool { return o.ID == id }); i >= 0 {
		return !s.isExpired(s.sessionExpiry(&dir.SignIns[i]))
	}
	i := slices.IndexFunc(dir.Tokens, func(o store.Token) bool { return o.ID == id })
	return i >= 0 && !s.isExpired(dir.Tokens[i].ExpiresAt)
}

// fireExpired calls the hooks of all sessions and tokens that have expired.
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
