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
	maxSignInFailures  = 10
	failureWindow      = time.Minute
	maxTrackedNetworks = 4096 // addresses that are kept in mind
)

// signInLimiter counts failed sign-ins by the address they came from.
type signInLimiter struct {
	mu       sync.Mutex
	failures map[netip.Prefix]failureCount

	refusedTokens map[netip.Prefix]time.Time // when a refused token from there went to the ledger
}

type failureCount struct {
	since time.Time
	n     int
}

func (l *signInLimiter) check(from netip.Addr, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if count := l.failures[networkOf(from)]; count.n >= maxSignInFailures && count.isCurrent(now) {
		return &schema.HintError{Err: schema.ErrTooMany, Hint: fmt.Sprintf("More than %d sign-ins failed from there. Try again in a minute.", maxSignInFailures)}
	}
	return nil
}

func (l *signInLimiter) recordFailure(from netip.Addr, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failures == nil || len(l.failures) >= maxTrackedNetworks {
		l.evict(now)
	}
	count := l.failures[networkOf(from)]
	if !count.isCurrent(now) {
		count = failureCount{since: now}
	}
	count.n++
	l.failures[networkOf(from)] = count
}

// firstRefusalInWindow reports whether a refused token from there is the first one for a minute: an
// agent tries its own again with every event.
func (l *signInLimiter) firstRefusalInWindow(from netip.Addr, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := networkOf(from)
	if now.Sub(l.refusedTokens[key]).Abs() < failureWindow {
		return false
	}
	if l.refusedTokens == nil || len(l.refusedTokens) >= maxTrackedNetworks {
		l.refusedTokens = map[netip.Prefix]time.Time{}
	}
	l.refusedTokens[key] = now
	return true
}

// evict forgets what is over, and everything when that is not enough.
func (l *signInLimiter) evict(now time.Time) {
	kept := map[netip.Prefix]failureCount{}
	for from, count := range l.failures {
		if count.isCurrent(now) {
			kept[from] = count
		}
	}
	if len(kept) >= maxTrackedNetworks {
		kept = map[netip.Prefix]failureCount{}
	}
	l.failures = kept
}

// isCurrent is false for a window that is over, and for one from the future: the clock was
// set back.
func (c failureCount) isCurrent(now time.Time) bool {
	return now.Sub(c.since) < failureWindow && !now.Before(c.since)
}

// networkOf is what one peer has: an IPv4 address, or a /64 of IPv6.
func networkOf(from netip.Addr) netip.Prefix {
	from = from.Unmap().WithZone("")
	bits := from.BitLen()
	if from.Is6() && !from.IsLoopback() {
		bits = 64
	}
	prefix, _ := from.Prefix(bits)
	return prefix
}
