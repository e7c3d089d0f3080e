package auth

import (
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/hookback/hookback/schema"
)

// An address may fail to sign in so often in a minute.
const (
	maxTries  = 10
	tryWindow = time.Minute
	maxFrom   = 4096 // addresses that are kept in mind
)

// tries counts failed sign-ins by the address they came from.
type tries struct {
	mu   sync.Mutex
	from map[netip.Prefix]attempts

	told map[netip.Prefix]time.Time // when a refused token from there went to the ledger
}

type attempts struct {
	since time.Time
	n     int
}

func (t *tries) allowed(from netip.Addr, now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.from[network(from)]; a.n >= maxTries && a.fresh(now) {
		return &schema.HintError{Err: schema.ErrTooMany, Hint: fmt.Sprintf("More than %d sign-ins failed from there. Try again in a minute.", maxTries)}
	}
	return nil
}

func (t *tries) failed(from netip.Addr, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.from == nil || len(t.from) >= maxFrom {
		t.clear(now)
	}
	a := t.from[network(from)]
	if !a.fresh(now) {
		a = attempts{since: now}
	}
	a.n++
	t.from[network(from)] = a
}

// first reports whether a refused token from there is the first one for a minute: an
// agent tries its own again with every event.
func (t *tries) first(from netip.Addr, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := network(from)
	if now.Sub(t.told[at]).Abs() < tryWindow {
		return false
	}
	if t.told == nil || len(t.told) >= maxFrom {
		t.told = map[netip.Prefix]time.Time{}
	}
	t.told[at] = now
	return true
}

// clear forgets what is over, and everything when that is not enough.
func (t *tries) clear(now time.Time) {
	kept := map[netip.Prefix]attempts{}
	for from, a := range t.from {
		if a.fresh(now) {
			kept[from] = a
		}
	}
	if len(kept) >= maxFrom {
		kept = map[netip.Prefix]attempts{}
	}
	t.from = kept
}

// fresh is false for a window that is over, and for one from the future: the clock was
// set back.
func (a attempts) fresh(now time.Time) bool {
	return now.Sub(a.since) < tryWindow && !now.Before(a.since)
}

// network is what one peer has: an IPv4 address, or a /64 of IPv6.
func network(from netip.Addr) netip.Prefix {
	from = from.Unmap().WithZone("")
	bits := from.BitLen()
	if from.Is6() && !from.IsLoopback() {
		bits = 64
	}
	p, _ := from.Prefix(bits)
	return p
}
