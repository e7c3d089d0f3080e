package auth

import (
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/hookback/hookback/schema"
)

// Rate limit: after maxSignInFailures failed sign-ins within signInWindow a network is
// refused until the window ends. Each hub counts the attempts that reach it.
const (
	maxSignInFailures  = 10
	signInWindow       = time.Minute
	maxTrackedNetworks = 4096 // bounds the memory of the limiter
)

// rateLimiter is the rate limiter of sign-ins. It counts failures per network. The zero value has counted none.
type rateLimiter struct {
	mu       sync.Mutex
	failures map[netip.Prefix]failureCount

	refusedTokens map[netip.Prefix]time.Time // when a refused token was last written to the audit log
}

type failureCount struct {
	since time.Time
	n     int
}

// check returns schema.ErrTooMany while a network is refused.
func (l *rateLimiter) check(from netip.Addr, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if count := l.failures[networkOf(from)]; count.n >= maxSignInFailures && count.isCurrent(now) {
		return &schema.HintError{Err: schema.ErrTooMany, Hint: fmt.Sprintf("%d sign-ins from your network failed. Try again in a minute.", maxSignInFailures)}
	}
	return nil
}

// recordFailure counts a failed sign-in.
func (l *rateLimiter) recordFailure(from netip.Addr, now time.Time) {
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

// isFirstRefusal reports whether no token from that network was refused within the
// last signInWindow. An agent with a bad token repeats it with every event, and the audit
// log records only the first.
func (l *rateLimiter) isFirstRefusal(from netip.Addr, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := networkOf(from)
	if now.Sub(l.refusedTokens[key]).Abs() < signInWindow {
		return false
	}
	if l.refusedTokens == nil || len(l.refusedTokens) >= maxTrackedNetworks {
		l.refusedTokens = map[netip.Prefix]time.Time{}
	}
	l.refusedTokens[key] = now
	return true
}

// evict drops failure counts whose window has ended, and all of them if that is not
// enough.
func (l *rateLimiter) evict(now time.Time) {
	current := map[netip.Prefix]failureCount{}
	for from, count := range l.failures {
		if count.isCurrent(now) {
			current[from] = count
		}
	}
	if len(current) >= maxTrackedNetworks {
		current = map[netip.Prefix]failureCount{}
	}
	l.failures = current
}

// isCurrent reports whether now is within the window. A window that starts in the future
// is not current, because the clock was set back.
func (c failureCount) isCurrent(now time.Time) bool {
	return now.Sub(c.since) < signInWindow && !now.Before(c.since)
}

// networkOf returns the network that one peer controls: an IPv4 address or an IPv6 /64.
func networkOf(from netip.Addr) netip.Prefix {
	from = from.Unmap().WithZone("")
	bits := from.BitLen()
	if from.Is6() && !from.IsLoopback() {
		bits = 64
	}
	prefix, _ := from.Prefix(bits)
	return prefix
}
