package hub

import (
	"context"
	"sync"
	"time"

	"github.com/hookback/hookback/schema"
)

// maxCachedOverviews bounds what counts remembers: people look from one zone or two.
const maxCachedOverviews = 32

// overviewCache remembers what was counted of decisions until more of them are told: that
// is seldom, and a page may ask at any time.
type overviewCache struct {
	mu      sync.Mutex
	version int64 // how often there were more
	entries map[overviewKey]schema.Overview
}

// overviewKey is what is counted: so many days in a zone.
type overviewKey struct {
	from int64
	days int
	zone string
}

// cachedOverview is an overview that says nothing but how questions ended on the days.
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

// put remembers what was counted when so much was told, unless it is more by now.
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

// invalidate is for when more is told.
func (c *overviewCache) invalidate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	c.entries = nil
}
