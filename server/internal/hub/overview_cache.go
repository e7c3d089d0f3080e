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
func (h *Hub) cachedOverview(ctx context.Context, begins []time.Time) (schema.Overview, error) {
	key := overviewKey{begins[0].UnixMilli(), len(begins), begins[0].Location().String()}
	made, known, told := h.overviews.get(key)
	if known {
		return made, nil
	}
	if err := h.countDecisions(ctx, &made, begins); err != nil {
		return made, err
	}
	h.overviews.put(key, made, told)
	return made, nil
}

func (c *overviewCache) get(key overviewKey) (made schema.Overview, known bool, told int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	made, known = c.entries[key]
	return made, known, c.version
}

// put remembers what was counted when so much was told, unless it is more by now.
func (c *overviewCache) put(key overviewKey, made schema.Overview, told int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if told != c.version {
		return
	}
	if c.entries == nil || len(c.entries) == maxCachedOverviews {
		c.entries = map[overviewKey]schema.Overview{}
	}
	c.entries[key] = made
}

// invalidate is for when more is told.
func (c *overviewCache) invalidate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	c.entries = nil
}
