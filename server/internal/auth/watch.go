package auth

import (
	"maps"
	"slices"
	"sync"
)

// watched are the connections that stay open for somebody, by the id of the sign-in or
// token that they came with.
type watched struct {
	mu   sync.Mutex
	open map[string]map[*func()]bool
}

// OnRevoked calls f once, when w's sign-in or token is revoked or has expired, unless
// stop is called before. f must be quick.
func (p *Service) OnRevoked(w Identity, f func()) (stop func()) {
	if p == nil || w.ID == "" {
		return func() {}
	}
	key := &f
	o := &p.watched
	o.mu.Lock()
	if o.open == nil {
		o.open = map[string]map[*func()]bool{}
	}
	if o.open[w.ID] == nil {
		o.open[w.ID] = map[*func()]bool{}
	}
	o.open[w.ID][key] = true
	o.mu.Unlock()
	if !p.valid(w.ID) { // between the request's first look and now
		o.revoke(w.ID)
	}
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if delete(o.open[w.ID], key); len(o.open[w.ID]) == 0 {
			delete(o.open, w.ID)
		}
	}
}

func (o *watched) revoke(id string) {
	o.mu.Lock()
	gone := o.open[id]
	delete(o.open, id)
	o.mu.Unlock()
	for f := range gone {
		(*f)()
	}
}

// valid reports whether the sign-in or token still counts.
func (p *Service) valid(id string) bool {
	now := p.now.Load()
	for i := range now.SignIns {
		if now.SignIns[i].ID == id {
			return !p.over(p.end(&now.SignIns[i]))
		}
	}
	for i := range now.Tokens {
		if now.Tokens[i].ID == id {
			return !p.over(now.Tokens[i].ExpiresAt)
		}
	}
	return false
}

// expire ends what is open for whoever is over by now.
func (p *Service) expire() {
	p.watched.mu.Lock()
	ids := slices.Collect(maps.Keys(p.watched.open))
	p.watched.mu.Unlock()
	for _, id := range ids {
		if !p.valid(id) {
			p.watched.revoke(id)
		}
	}
}
