package store

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// A stretch is 64 numbers of the log, the finest that an index tells apart.
const (
	stretchBits = 6
	stretches   = maxSpan >> stretchBits
)

// stretchSet are the stretches of a span.
type stretchSet [stretches]bool

func (c *stretchSet) fill() *stretchSet {
	for i := range c {
		c[i] = true
	}
	return c
}

// run is a part of a span, both ends included.
type run struct{ from, to int64 }

// runs are the pieces of from to to that the set has, in the walk's direction.
func (c *stretchSet) runs(from, to int64, up bool) iter.Seq[run] {
	base := from &^ (maxSpan - 1)
	first, last := (from-base)>>stretchBits, (to-base)>>stretchBits
	step := int64(1)
	if !up {
		first, last, step = last, first, -1
	}
	return func(yield func(run) bool) {
		for i := first; i != last+step; i += step {
			if !c[i] {
				continue
			}
			begin := i
			for i != last && c[i+step] {
				i += step
			}
			low, high := min(begin, i), max(begin, i)
			if !yield(run{max(from, base+low<<stretchBits), min(to, base+(high+1)<<stretchBits-1)}) {
				return
			}
		}
	}
}

// candidates are the stretches of a span that may have a match.
func (w *walk) candidates(ctx context.Context, from, to int64) (*stretchSet, error) {
	set := new(stretchSet).fill()
	if w.asks { // its index is narrow enough
		return set, nil
	}
	for _, n := range w.names {
		if err := w.zonesOf(ctx, n, set, run{from, to}); err != nil {
			return nil, err
		}
	}
	return set, w.textual(ctx, set, run{from, to})
}

// zonesOf leaves the stretches of zones that have one of the names.
func (w *walk) zonesOf(ctx context.Context, n nameSet, set *stretchSet, r run) error {
	if n.not || n.column == "tool" {
		return nil
	}
	rows, err := w.store.reads.db.QueryContext(ctx, zonesSQL(n), r.from>>zoneBits, r.to>>zoneBits)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	var has stretchSet
	for rows.Next() {
		var zone int64
		if err := rows.Scan(&zone); err != nil {
			return err
		}
		const each = zoneSize >> stretchBits
		for i := range int64(each) {
			has[(zone*each+i)%stretches] = true
		}
	}
	for i := range set {
		set[i] = set[i] && has[i]
	}
	return rows.Err()
}

// zonesSQL finds the zones of the names one by one, each in its index.
func zonesSQL(n nameSet) string {
	ids := make([]string, len(n.ids))
	for i, id := range n.ids {
		ids[i] = strconv.FormatInt(id, 10)
	}
	return fmt.Sprintf(`SELECT zone FROM zones WHERE stream_id = 1 AND name IN (%s) AND zone BETWEEN ? AND ?`, strings.Join(ids, ", "))
}
