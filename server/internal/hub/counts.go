package hub

import (
	"context"
	"sync"
	"time"

	"github.com/hookback/hookback/schema"
)

// mostCounts bounds what counts remembers: people look from one zone or two.
const mostCounts = 32

// counts remembers what was counted of decisions until more of them are told: that
// is seldom, and a page may ask at any time.
type counts struct {
	mu   sync.Mutex
	told int64 // how often there were more
	made map[counting]schema.Overview
}

// counting is what is counted: so many days in a zone.
type counting struct {
	from int64
	days int
	zone string
}

// counted is an overview that says nothing but how questions ended on the days.
func (h *Hub) counted(ctx context.Context, begins []time.Time) (schema.Overview, error) {
	key := counting{begins[0].UnixMilli(), len(begins), begins[0].Location().String()}
	made, known, told := h.counts.get(key)
	if known {
		return made, nil
	}
	if err := h.countDecisions(ctx, &made, begins); err != nil {
		return made, err
	}
	h.counts.put(key, made, told)
	return made, nil
}

func (c *counts) get(key counting) (made schema.Overview, known bool, told int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	made, known = c.made[key]
	return made, known, c.told
}

// put remembers what was counted when so much was told, unless it is more by now.
func (c *counts) put(key counting, made schema.Overview, told int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if told != c.told {
		return
	}
	if c.made == nil || len(c.made) == mostCounts {
		c.made = map[counting]schema.Overview{}
	}
	c.made[key] = made
}

// forget is for when more is told.
func (c *counts) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told++
	c.made = nil
}
