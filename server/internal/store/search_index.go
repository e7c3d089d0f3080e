package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/hookback/hookback/server/internal/filter"
)

// indexer makes the index of texts, block by block, behind the log. A block is
// written in one transaction or not at all, and the newest one there tells how far
// the index has come: whatever stops it, it goes on where it was.
type indexer struct {
	*Store
	block *block // nil while there is nothing to do: it is 2 MiB
}

// RunIndexer keeps the index of texts up with the log until ctx ends. While writes queue
// it works a little only, and catches up later.
func (s *Store) RunIndexer(ctx context.Context) error {
	x := &indexer{Store: s}
	var last string
	err := x.outdate(ctx)
	for ctx.Err() == nil {
		more := false
		if err == nil {
			more, err = x.next(ctx)
		}
		switch {
		case more:
			last = ""
			continue
		case err != nil && ctx.Err() == nil && err.Error() != last:
			last = err.Error()
			s.log.Error("the search index can't be kept; searches take longer until it can", "err", err)
		}
		x.block = nil
		x.wait(ctx, err != nil)
		err = nil
	}
	return nil
}

// outdate marks the blocks that another version made of other texts.
func (x *indexer) outdate(ctx context.Context) error {
	return x.writer.do(ctx, &op{run: func(t *tx) error {
		_, err := t.exec(`UPDATE search_blocks SET made = '' WHERE stream_id = 1 AND made NOT IN ('', ?)`, filter.IndexVersion)
		return err
	}})
}

// retryAfter is how long the index rests after an error, such as a full disk.
const retryAfter = 10 * time.Second

// wait returns when there may be something to do.
func (x *indexer) wait(ctx context.Context, failed bool) {
	wake := (<-chan struct{})(x.grown)
	var retry <-chan time.Time
	if failed {
		timer := time.NewTimer(retryAfter)
		defer timer.Stop()
		wake, retry = nil, timer.C
	}
	select {
	case <-wake:
	case <-retry:
	case <-ctx.Done():
	}
}

// notifyIndex says that a block is full or that events are gone.
func (s *Store) notifyIndex() {
	select {
	case s.grown <- struct{}{}:
	default: // it is told already
	}
}

const (
	queryStaleBlock = `SELECT block FROM search_blocks INDEXED BY search_blocks_stale WHERE stream_id = 1 AND made = '' ORDER BY block LIMIT 1`
	queryLastBlock  = `SELECT block FROM search_blocks WHERE stream_id = 1 ORDER BY block DESC LIMIT 1`
	queryFirstEvent = `SELECT seq FROM events WHERE stream_id = 1 AND seq >= ? ORDER BY seq LIMIT 1`
)

// next makes one block; false when there is none to make.
func (x *indexer) next(ctx context.Context) (more bool, err error) {
	n, err := x.due(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if x.block == nil {
		x.block = new(block)
	}
	events, err := x.read(ctx, n)
	if err == nil {
		err = x.write(ctx, n, events)
	}
	return err == nil, err
}

// due finds a block to make: one to make anew, or the next one that is full.
// sql.ErrNoRows: there is none.
func (x *indexer) due(ctx context.Context) (n int64, err error) {
	if err = x.reads.get(ctx, []any{&n}, queryStaleBlock); !errors.Is(err, sql.ErrNoRows) {
		return n, err
	}
	last := int64(-1)
	if err = x.reads.get(ctx, []any{&last}, queryLastBlock); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	var seq int64
	if err = x.reads.get(ctx, []any{&seq}, queryFirstEvent, (last+1)<<blockBits); err != nil {
		return 0, err
	}
	if n = seq >> blockBits; x.head.Load() < n<<blockBits+blockSize-1 {
		return 0, sql.ErrNoRows // not full
	}
	return n, nil
}

// read fills the block, and returns how many events are in it.
func (x *indexer) read(ctx context.Context, n int64) (events int, err error) {
	*x.block = block{}
	var text []byte
	for i := range blockSize >> stretchBits {
		start, head := time.Now(), x.head.Load()
		x.block.count = 0
		first := n<<blockBits + int64(i)<<stretchBits
		for last := first + 1<<stretchBits - 1; first <= last; {
			rows, err := x.reads.query(ctx, queryLogEvents, first-1, last, 1<<stretchBits)
			found, full, err := x.upTo(ctx, batchBytes, rows, err)
			if err != nil {
				return 0, err
			}
			for _, e := range found {
				text = filter.IndexText(text[:0], e.filterable())
				x.block.add(i, text)
			}
			if events += len(found); !full {
				break
			}
			first = int64(found[len(found)-1].ID) + 1
		}
		worked := time.Since(start)
		x.Throttle(ctx, worked)
		if err := pause(ctx, x.rest(worked, head)); err != nil {
			return 0, err
		}
	}
	return events, nil
}

// rest is how long to leave the processor to others after some work: not at all
// while nothing comes in, and for long while writes queue. In a flood Throttle adds
// to that.
func (x *indexer) rest(worked time.Duration, head int64) time.Duration {
	switch {
	case len(x.writer.queue) > 0:
		return 16 * worked
	case x.head.Load() != head:
		return 2 * worked
	default:
		return 0
	}
}

func pause(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(min(d, time.Second))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

const queryCountBlock = `SELECT count(*) FROM events INDEXED BY events_scan WHERE stream_id = 1 AND seq BETWEEN ? AND ?`

// write stores the block, unless events of it have been removed since it was read:
// then it is due again.
func (x *indexer) write(ctx context.Context, n int64, events int) error {
	slices := make([][]byte, slices64)
	for i := range slices {
		slices[i] = x.block.slice(i, []byte{})
	}
	return x.writer.do(ctx, &op{whole: true, run: func(t *tx) error {
		var now int
		err := t.get([]any{&now}, queryCountBlock, n<<blockBits, n<<blockBits+blockSize-1)
		if err != nil || now != events {
			return err
		}
		if err := t.dropGrams(n); err != nil {
			return err
		}
		if events == 0 {
			_, err := t.exec(`DELETE FROM search_blocks WHERE stream_id = 1 AND block = ?`, n)
			return err
		}
		for i, grams := range slices {
			if _, err := t.exec(`INSERT INTO search_grams (place, grams) VALUES (?, ?)`, placeOf(n, i), grams); err != nil {
				return err
			}
		}
		_, err = t.exec(`INSERT INTO search_blocks (stream_id, block, made, crowded) VALUES (1, ?1, ?2, ?3)
			ON CONFLICT DO UPDATE SET made = ?2, crowded = ?3`, n, filter.IndexVersion, x.block.crowded)
		return err
	}})
}

func placeOf(block int64, slice int) int64 { return streamID<<48 | block<<6 | int64(slice) }

func (t *tx) dropGrams(block int64) error {
	_, err := t.exec(`DELETE FROM search_grams WHERE place BETWEEN ? AND ?`, placeOf(block, 0), placeOf(block, slices64-1))
	return err
}

// unindex takes out of the index what removed events had in it. Their blocks are
// made anew.
func (t *tx) unindex(gone []goneEvent) error {
	last := int64(-1)
	for _, g := range gone {
		n := g.seq >> blockBits
		if n == last {
			continue
		}
		last = n
		changed, err := t.exec(`UPDATE search_blocks SET made = '' WHERE stream_id = 1 AND block = ? AND made <> ''`, n)
		if err == nil && changed > 0 {
			err = t.dropGrams(n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const queryGrams = `SELECT b.block, b.crowded, g.grams FROM search_blocks b
	CROSS JOIN search_grams g ON g.place = (1 << 48) + (b.block << 6) + ?
	WHERE b.stream_id = 1 AND b.block BETWEEN ? AND ? AND b.made = ?`

// textual leaves the stretches that have all the grams. What is not in the index
// stays.
func (w *walk) textual(ctx context.Context, set *stretchSet, r run) error {
	for _, g := range w.grams {
		if *set == (stretchSet{}) {
			return nil
		}
		if err := w.having(ctx, g, set, r); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) having(ctx context.Context, g uint32, set *stretchSet, r run) error {
	rows, err := w.store.reads.query(ctx, queryGrams, g>>sliceShift, r.from>>blockBits, r.to>>blockBits, filter.IndexVersion)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var n int64
		var crowded uint16
		var grams sql.RawBytes
		if err := rows.Scan(&n, &crowded, &grams); err != nil {
			return err
		}
		mask := stretchesOf(grams, g) | crowded
		const each = blockSize >> stretchBits
		for i := range int64(each) {
			at := (n*each + i) % stretches
			set[at] = set[at] && mask&(1<<i) != 0
		}
	}
	return rows.Err()
}
