package hub

import (
	"context"
	"sync"
	"time"

	"github.com/hookback/hookback/schema"
)

// maxCachedOverviews limits the cache. Viewers are usually in one or two time zones.
const maxCachedOverviews = 32

// overviewCache caches the counts of decisions until more decisions are projected.
// Decisions are rare, and dashboards poll.
type overviewCache struct {
	mu      sync.Mutex
	version int64 // incremented by invalidate
	entries map[overviewKey]schema.Overview
}

// overviewKey identifies a range of days in a time zone.
type overviewKey struct {
	from int64
	days int
	zone string
}

// cachedOverview returns an overview that has only the counts of decisions on the days
// that begin at starts.
func (h *Hub) cachedOverview(ctx context.Context, starts []time.Time) (schema.Overview, error) {
	key := overviewKey{starts[0].UnixMilli(), len(starts), starts[0].Location().String()}
	overview, ok, version := h.overviews.get(key)
	if ok {
		return overview, nil
	}
	if err := h.countDecisions(ctx, &overview, starts); err != nil {
		return overview, err
	}
	h.overviews.put(key, overview, version)
	return overview, nil
}

func (c *overviewCache) get(key overviewKey) (overview schema.Overview, ok bool, version int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	overview, ok = c.entries[key]
	return overview, ok, c.version
}

// put caches an overview unless decisions were projected since version was read.
func (c *overviewCache) put(key overviewKey, overview schema.Overview, version int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version != c.version {
		return
	}
	if c.entries == nil || len(c.entries) == maxCachedOverviews {
		c.entries = map[overviewKey]schema.Overview{}
	}
	c.entries[key] = overview
}

// invalidate drops all entries after decisions were projected.
func (c *overviewCache) invalidate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	c.entries = nil
}
