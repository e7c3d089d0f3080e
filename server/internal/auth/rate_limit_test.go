package auth

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

func TestRateLimiter_ForgetsAfterWindow(t *testing.T) {
	t.Parallel()
	var limiter rateLimiter
	now := time.UnixMilli(1795262400000)
	addr := netip.MustParseAddr("2001:db8::1")
	for range maxSignInFailures {
		require.NoError(t, limiter.check(addr, now))
		limiter.count(failedSignIns, addr, now)
	}
	require.ErrorIs(t, limiter.check(addr, now), schema.ErrTooMany)
	require.ErrorIs(t, limiter.check(netip.MustParseAddr("2001:db8::ffff"), now), schema.ErrTooMany, "the limit applies to the whole /64")
	require.NoError(t, limiter.check(netip.MustParseAddr("2001:db8:1::1"), now))
	require.NoError(t, limiter.check(addr, now.Add(time.Minute)))
	require.NoError(t, limiter.check(addr, now.Add(-time.Hour)), "the clock was set back")
	for i := range 2 * maxTrackedNetworks {
		limiter.count(failedSignIns, netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), now)
	}
	require.LessOrEqual(t, len(limiter.counts), maxTrackedNetworks)
}
