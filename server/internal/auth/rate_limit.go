package auth

import (
	"fmt"
	"maps"
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

// rateLimiter counts what networks did within a window. The zero value has counted nothing.
type rateLimiter struct {
	mu     sync.Mutex
	counts map[countKey]windowCount
}

type countKey struct {
	netip.Prefix
	what string
}

// What is counted. An agent with a bad token repeats it with every event.
const (
	failedSignIns = "failed sign-in"
	refusedTokens = "refused token"
)

type windowCount struct {
	since time.Time
	n     int
}

// check returns schema.ErrTooMany while a network may not sign in.
func (l *rateLimiter) check(from netip.Addr, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if count := l.counts[countKey{networkOf(from), failedSignIns}]; count.n >= maxSignInFailures && count.isCurrent(now) {
		return &schema.HintError{Err: schema.ErrTooMany, Hint: fmt.Sprintf("%d sign-ins from your network failed. Try again in a minute.", maxSignInFailures)}
	}
	return nil
}

// count returns how often a network did something within the current window, this time included. If too
// many networks did, it forgets those whose window has ended, or else all.
func (l *rateLimiter) count(what string, from netip.Addr, now time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.counts) >= maxTrackedNetworks {
		maps.DeleteFunc(l.counts, func(_ countKey, c windowCount) bool { return !c.isCurrent(now) })
	}
	if l.counts == nil || len(l.counts) >= maxTrackedNetworks {
		l.counts = map[countKey]windowCount{}
	}
	key := countKey{networkOf(from), what}
	count := l.counts[key]
	if !count.isCurrent(now) {
		count = windowCount{since: now}
	}
	count.n++
	l.counts[key] = count
	return count.n
}

// isCurrent reports whether now is within the window. A window that starts in the future
// is not current, because the clock was set back.
func (c windowCount) isCurrent(now time.Time) bool {
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
