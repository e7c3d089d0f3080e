package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/grams"
	"github.com/hookback/hookback/server/internal/store/kit"
)

// indexer builds the trigram index in the background, one block at a time. A block is
// written in one transaction, and the newest stored block is the indexer's position, so
// it can resume after any interruption.
type indexer struct {
	*engine
	builder *grams.Builder // nil while idle, because it takes 2 MiB
}

func (s *engine) RunIndexer(ctx context.Context) error {
	x := &indexer{engine: s}
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
			s.log.Error("search index update failed: searches are slower until it succeeds", "err", err)
		}
		x.builder = nil
		x.wait(ctx, err != nil)
		err = nil
	}
	return nil
}

// markStale marks the blocks that were built by another version of the index text.
func (x *indexer) markStale(ctx context.Context) error {
	return x.writer.exec(ctx, false, `UPDATE search_blocks SET made = '' WHERE stream_id = 1 AND made NOT IN ('', ?)`, filter.IndexVersion)
}

// indexRetryDelay is the pause after an error such as a full disk.
const indexRetryDelay = 10 * time.Second

// wait blocks until there may be work, or until the retry after a failure.
func (x *indexer) wait(ctx context.Context, failed bool) {
	if failed {
		feed.Sleep(ctx, indexRetryDelay)
		return
	}
	select {
	case <-x.indexerWake:
	case <-ctx.Done():
	}
}

// notifyIndexer signals that a block is full or that events were pruned.
func (s *engine) notifyIndexer() {
	s.indexerWake.Wake()
}

const (
	queryStaleBlock = `SELECT block FROM search_blocks INDEXED BY search_blocks_stale WHERE stream_id = 1 AND made = '' ORDER BY block LIMIT 1`
	queryLastBlock  = `SELECT block FROM search_blocks WHERE stream_id = 1 ORDER BY block DESC LIMIT 1`
	queryNextEvent  = `SELECT seq FROM events WHERE stream_id = 1 AND seq >= ? ORDER BY seq LIMIT 1`
)

// buildNext builds one block. It returns false if there is none to build.
func (x *indexer) buildNext(ctx context.Context) (more bool, err error) {
	n, err := x.nextBlock(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if x.builder == nil {
		x.builder = new(grams.Builder)
	}
	events, err := x.readBlock(ctx, n)
	if err == nil {
		err = x.writeBlock(ctx, n, events)
	}
	return err == nil, err
}

// nextBlock returns the next block to build: the next full one, or a stale one. It
// returns sql.ErrNoRows if there is none. Stale blocks wait for the end of a pruning, which would
// remove the same block from the index with every batch.
func (x *indexer) nextBlock(ctx context.Context) (n int64, err error) {
	last, head := int64(-1), x.head.Load()
	if err = x.readers.get(ctx, []any{&last}, queryLastBlock); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	x.indexed.Reach(last<<grams.BlockBits + grams.BlockSize - 1)
	if full := kit.LastFullBlock(head); (last+1)<<grams.BlockBits < full {
		var seq int64
		err = x.readers.get(ctx, []any{&seq}, queryNextEvent, (last+1)<<grams.BlockBits)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return 0, err
		}
		if n = seq >> grams.BlockBits; err == nil && n<<grams.BlockBits < full {
			return n, nil
		}
		x.indexed.Reach(full) // the rest of it was pruned
	}
	if x.pruning.Load() > 0 {
		return 0, sql.ErrNoRows
	}
	return n, x.readers.get(ctx, []any{&n}, queryStaleBlock)
}

// readBlock loads block n into the builder and returns its number of events.
func (x *indexer) readBlock(ctx context.Context, n int64) (events int, err error) {
	*x.builder = grams.Builder{}
	var text []byte
	for i := range grams.BlockSize >> grams.SegmentBits {
		start, head := time.Now(), x.head.Load()
		first := n<<grams.BlockBits + int64(i)<<grams.SegmentBits
		for last := first + 1<<grams.SegmentBits - 1; first <= last; {
			batch, upTo, err := x.readSegment(ctx, first, last)
			if err != nil {
				return 0, err
			}
			for _, e := range batch {
				listed := e.FilterEvent()
				if len(listed.Payload) > schema.MaxListed {
					listed.Payload = []byte("{}")
				}
				text = filter.IndexText(text[:0], listed)
				x.builder.Add(i, text)
			}
			events += len(batch)
			first = upTo + 1
		}
		if !feed.Sleep(ctx, min(x.backoff(time.Since(start), head), time.Second)) {
			return 0, ctx.Err()
		}
	}
	return events, nil
}

// readSegment reads the events from first to last, or up to an earlier row upTo.
func (x *indexer) readSegment(ctx context.Context, first, last int64) (events []*store.Event, upTo int64, err error) {
	if entries, upTo, ok := x.tail.Entries(kit.TailIndexer, first-1, int(last-first+1)); ok {
		for i := range entries {
			if !entries[i].Ends {
				events = append(events, entries[i].Event)
			}
		}
		return events, upTo, nil
	}
	rows, err := x.readers.query(ctx, queryLogEvents, first-1, last, last-first+1)
	events, full, err := x.readEventsUpTo(ctx, kit.MaxSearchBatch, rows, err)
	if err != nil || !full {
		return events, last, err
	}
	return events, int64(events[len(events)-1].ID), nil
}

// maxBacklog is the number of blocks that may be due before the indexer stops leaving the
// processor to others.
const maxBacklog = 2

// backoff returns how long to leave the processor to others after some work: zero while
// the log does not grow or blocks pile up, and long while writes are queued.
func (x *indexer) backoff(worked time.Duration, head int64) time.Duration {
	switch {
	case x.indexed.Lag(time.Now()).Rows > maxBacklog*grams.BlockSize:
		return 0
	case len(x.writer.queue) > 0:
		return 16 * worked
	case x.head.Load() != head:
		return 2 * worked
	default:
		return 0
	}
}

const queryCountBlockEvents = `SELECT count(*) FROM events INDEXED BY events_scan WHERE stream_id = 1 AND seq BETWEEN ? AND ?`

// writeBlock stores the built block, unless some of its events were pruned since they
// were read. Then the block stays due.
func (x *indexer) writeBlock(ctx context.Context, n int64, events int) error {
	slices := make([][]byte, grams.SlicesPerBlock)
	for i := range slices {
		slices[i] = x.builder.EncodeSlice(i, []byte{})
	}
	return x.writer.do(ctx, &op{needsSavepoint: true, run: func(t *tx) error {
		var count int
		err := t.get([]any{&count}, queryCountBlockEvents, n<<grams.BlockBits, n<<grams.BlockBits+grams.BlockSize-1)
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
			ON CONFLICT DO UPDATE SET made = ?2, crowded = ?3`, n, filter.IndexVersion, x.builder.Saturated)
		return err
	}})
}

func sliceKey(block int64, slice int) int64 { return streamID<<48 | block<<6 | int64(slice) }

func (t *tx) deleteTrigrams(block int64) error {
	_, err := t.exec(`DELETE FROM search_grams WHERE place BETWEEN ? AND ?`, sliceKey(block, 0), sliceKey(block, grams.SlicesPerBlock-1))
	return err
}

// removeFromIndex removes the blocks of pruned events from the index. They will be
// rebuilt.
func (t *tx) removeFromIndex(pruned []prunedEvent) error {
	last := int64(-1)
	for _, e := range pruned {
		n := e.seq >> grams.BlockBits
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

// keepSegmentsWithText removes the segments that lack one of the trigrams. Segments that
// are not indexed stay.
func (run *searchRun) keepSegmentsWithText(ctx context.Context, set *grams.Set, r grams.Range) error {
	for _, g := range run.trigrams {
		for _, blocks := range set.BlockRanges(r, maxBlockRanges) {
			if err := run.keepSegmentsWithTrigram(ctx, g, set, blocks); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxBlockRanges bounds the queries for a trigram in a window.
const maxBlockRanges = 8

func (run *searchRun) keepSegmentsWithTrigram(ctx context.Context, hash uint32, set *grams.Set, r grams.Range) error {
	rows, err := run.store.readers.query(ctx, queryTrigrams, grams.Slice(hash), r.From>>grams.BlockBits, r.To>>grams.BlockBits, filter.IndexVersion)
	return eachRow(rows, err, func(rows *sql.Rows) error {
		var block int64
		var saturated uint16
		var slice sql.RawBytes
		if err := rows.Scan(&block, &saturated, &slice); err != nil {
			return err
		}
		mask := grams.Lookup(slice, hash) | saturated
		const perBlock = grams.BlockSize >> grams.SegmentBits
		for i := range int64(perBlock) {
			at := (block*perBlock + i) % grams.SegmentsPerWindow
			set[at] = set[at] && mask&(1<<i) != 0
		}
		return nil
	})
}
