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
	builder *blockBuilder // nil while there is nothing to do: it is 2 MiB
}

// RunIndexer keeps the index of texts up with the log until ctx ends. While writes queue
// it works a little only, and catches up later.
func (s *Store) RunIndexer(ctx context.Context) error {
	x := &indexer{Store: s}
	var last string
	err := x.markStale(ctx)
	for ctx.Err() == nil {
		more := false
		if err == nil {
			more, err = x.buildNext(ctx)
		}
		switch {
		case more:
			last = ""
			continue
		case err != nil && ctx.Err() == nil && err.Error() != last:
			last = err.Error()
			s.log.Error("the search index can't be kept; searches take longer until it can", "err", err)
		}
		x.builder = nil
		x.wait(ctx, err != nil)
		err = nil
	}
	return nil
}

// markStale marks the blocks that another version made of other texts.
func (x *indexer) markStale(ctx context.Context) error {
	return x.writer.do(ctx, &op{run: func(t *tx) error {
		_, err := t.exec(`UPDATE search_blocks SET made = '' WHERE stream_id = 1 AND made NOT IN ('', ?)`, filter.IndexVersion)
		return err
	}})
}

// indexRetryDelay is how long the index rests after an error, such as a full disk.
const indexRetryDelay = 10 * time.Second

// wait returns when there may be something to do.
func (x *indexer) wait(ctx context.Context, failed bool) {
	wake := (<-chan struct{})(x.indexerWake)
	var retry <-chan time.Time
	if failed {
		timer := time.NewTimer(indexRetryDelay)
		defer timer.Stop()
		wake, retry = nil, timer.C
	}
	select {
	case <-wake:
	case <-retry:
	case <-ctx.Done():
	}
}

// notifyIndexer says that a block is full or that events are gone.
func (s *Store) notifyIndexer() {
	select {
	case s.indexerWake <- struct{}{}:
	default: // it is told already
	}
}

const (
	queryStaleBlock = `SELECT block FROM search_blocks INDEXED BY search_blocks_stale WHERE stream_id = 1 AND made = '' ORDER BY block LIMIT 1`
	queryLastBlock  = `SELECT block FROM search_blocks WHERE stream_id = 1 ORDER BY block DESC LIMIT 1`
	queryNextEvent  = `SELECT seq FROM events WHERE stream_id = 1 AND seq >= ? ORDER BY seq LIMIT 1`
)

// buildNext makes one block; false when there is none to make.
func (x *indexer) buildNext(ctx context.Context) (more bool, err error) {
	n, err := x.nextBlock(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if x.builder == nil {
		x.builder = new(blockBuilder)
	}
	events, err := x.readBlock(ctx, n)
	if err == nil {
		err = x.writeBlock(ctx, n, events)
	}
	return err == nil, err
}

// nextBlock finds a block to make: one to make anew, or the next one that is full.
// sql.ErrNoRows: there is none.
func (x *indexer) nextBlock(ctx context.Context) (n int64, err error) {
	if err = x.readers.get(ctx, []any{&n}, queryStaleBlock); !errors.Is(err, sql.ErrNoRows) {
		return n, err
	}
	last := int64(-1)
	if err = x.readers.get(ctx, []any{&last}, queryLastBlock); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	var seq int64
	if err = x.readers.get(ctx, []any{&seq}, queryNextEvent, (last+1)<<blockBits); err != nil {
		return 0, err
	}
	if n = seq >> blockBits; x.head.Load() < n<<blockBits+blockSize-1 {
		return 0, sql.ErrNoRows // not full
	}
	return n, nil
}

// readBlock fills the block, and returns how many events are in it.
func (x *indexer) readBlock(ctx context.Context, n int64) (events int, err error) {
	*x.builder = blockBuilder{}
	var text []byte
	for i := range blockSize >> segmentBits {
		start, head := time.Now(), x.head.Load()
		x.builder.trigramCount = 0
		first := n<<blockBits + int64(i)<<segmentBits
		for last := first + 1<<segmentBits - 1; first <= last; {
			rows, err := x.readers.query(ctx, queryLogEvents, first-1, last, 1<<segmentBits)
			found, full, err := x.readEventsUpTo(ctx, batchBytes, rows, err)
			if err != nil {
				return 0, err
			}
			for _, e := range found {
				text = filter.IndexText(text[:0], e.toFilterEvent())
				x.builder.add(i, text)
			}
			if events += len(found); !full {
				break
			}
			first = int64(found[len(found)-1].ID) + 1
		}
		worked := time.Since(start)
		x.Throttle(ctx, worked)
		if err := sleep(ctx, x.backoff(worked, head)); err != nil {
			return 0, err
		}
	}
	return events, nil
}

// backoff is how long to leave the processor to others after some work: not at all
// while nothing comes in, and for long while writes queue. In a flood Throttle adds
// to that.
func (x *indexer) backoff(worked time.Duration, head int64) time.Duration {
	switch {
	case len(x.writer.queue) > 0:
		return 16 * worked
	case x.head.Load() != head:
		return 2 * worked
	default:
		return 0
	}
}

func sleep(ctx context.Context, d time.Duration) error {
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

const queryCountBlockEvents = `SELECT count(*) FROM events INDEXED BY events_scan WHERE stream_id = 1 AND seq BETWEEN ? AND ?`

// writeBlock stores the block, unless events of it have been removed since it was read:
// then it is due again.
func (x *indexer) writeBlock(ctx context.Context, n int64, events int) error {
	slices := make([][]byte, slicesPerBlock)
	for i := range slices {
		slices[i] = x.builder.encodeSlice(i, []byte{})
	}
	return x.writer.do(ctx, &op{needsSavepoint: true, run: func(t *tx) error {
		var count int
		err := t.get([]any{&count}, queryCountBlockEvents, n<<blockBits, n<<blockBits+blockSize-1)
		if err != nil || count != events {
			return err
		}
		if err := t.deleteTrigrams(n); err != nil {
			return err
		}
		if events == 0 {
			_, err := t.exec(`DELETE FROM search_blocks WHERE stream_id = 1 AND block = ?`, n)
			return err
		}
		for i, grams := range slices {
			if _, err := t.exec(`INSERT INTO search_grams (place, grams) VALUES (?, ?)`, sliceKey(n, i), grams); err != nil {
				return err
			}
		}
		_, err = t.exec(`INSERT INTO search_blocks (stream_id, block, made, crowded) VALUES (1, ?1, ?2, ?3)
			ON CONFLICT DO UPDATE SET made = ?2, crowded = ?3`, n, filter.IndexVersion, x.builder.saturated)
		return err
	}})
}

func sliceKey(block int64, slice int) int64 { return streamID<<48 | block<<6 | int64(slice) }

func (t *tx) deleteTrigrams(block int64) error {
	_, err := t.exec(`DELETE FROM search_grams WHERE place BETWEEN ? AND ?`, sliceKey(block, 0), sliceKey(block, slicesPerBlock-1))
	return err
}

// removeFromIndex takes out of the index what removed events had in it. Their blocks are
// made anew.
func (t *tx) removeFromIndex(pruned []prunedEvent) error {
	last := int64(-1)
	for _, g := range pruned {
		n := g.seq >> blockBits
		if n == last {
			continue
		}
		last = n
		changed, err := t.exec(`UPDATE search_blocks SET made = '' WHERE stream_id = 1 AND block = ? AND made <> ''`, n)
		if err == nil && changed > 0 {
			err = t.deleteTrigrams(n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const queryTrigrams = `SELECT b.block, b.crowded, g.grams FROM search_blocks b
	CROSS JOIN search_grams g ON g.place = (1 << 48) + (b.block << 6) + ?
	WHERE b.stream_id = 1 AND b.block BETWEEN ? AND ? AND b.made = ?`

// keepSegmentsWithText leaves the stretches that have all the grams. What is not in the index
// stays.
func (run *searchRun) keepSegmentsWithText(ctx context.Context, set *segmentSet, r seqRange) error {
	for _, g := range run.trigrams {
		if *set == (segmentSet{}) {
			return nil
		}
		if err := run.keepSegmentsWithTrigram(ctx, g, set, r); err != nil {
			return err
		}
	}
	return nil
}

func (run *searchRun) keepSegmentsWithTrigram(ctx context.Context, g uint32, set *segmentSet, r seqRange) error {
	rows, err := run.store.readers.query(ctx, queryTrigrams, g>>sliceShift, r.from>>blockBits, r.to>>blockBits, filter.IndexVersion)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var block int64
		var saturated uint16
		var slice sql.RawBytes
		if err := rows.Scan(&block, &saturated, &slice); err != nil {
			return err
		}
		mask := lookupTrigram(slice, g) | saturated
		const each = blockSize >> segmentBits
		for i := range int64(each) {
			at := (block*each + i) % segmentsPerWindow
			set[at] = set[at] && mask&(1<<i) != 0
		}
	}
	return rows.Err()
}
