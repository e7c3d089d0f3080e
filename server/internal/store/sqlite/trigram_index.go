package sqlite

import (
	"context"
	"database/sql"

	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/grams"
	"github.com/hookback/hookback/server/internal/store/kit"
)

func (s *engine) RunIndexer(ctx context.Context) error {
	s.newIndexer().Run(ctx, index{s}.MarkStale(ctx))
	return nil
}

func (s *engine) newIndexer() *kit.Indexer {
	return &kit.Indexer{
		Storage: index{s}, Queries: kit.IndexQueries{LastBlock: queryLastBlock, StaleBlock: queryStaleBlock, NextEvent: queryNextEvent},
		Head: &s.head, Pruning: &s.pruning, Queued: func() int { return len(s.writer.queue) }, Lag: &s.indexed, Tail: &s.tail, Wake: s.indexerWake, Log: s.log,
	}
}

// notifyIndexer signals that a block is full or that events were pruned.
func (s *engine) notifyIndexer() {
	s.indexerWake.Wake()
}

// index implements kit.IndexStorage.
type index struct{ *engine }

// MarkStale marks the blocks that were built by another version of the index text.
func (x index) MarkStale(ctx context.Context) error {
	return x.writer.exec(ctx, false, `UPDATE search_blocks SET made = '' WHERE made NOT IN ('', ?)`, filter.IndexVersion)
}

const (
	queryStaleBlock = `SELECT block FROM search_blocks INDEXED BY search_blocks_stale WHERE made = '' ORDER BY block LIMIT 1`
	queryLastBlock  = `SELECT block FROM search_blocks ORDER BY block DESC LIMIT 1`
	queryNextEvent  = `SELECT seq FROM events WHERE seq >= ? ORDER BY seq LIMIT 1`
)

func (x index) First(ctx context.Context, query string, args ...any) (int64, error) {
	n := int64(-1)
	err := x.readers.get(ctx, []any{&n}, query, args...)
	return n, ignoreNoRows(err)
}

func (x index) ReadEvents(ctx context.Context, first, last int64) (events []*store.Event, full bool, err error) {
	rows, err := x.readers.query(ctx, queryLogEvents, first-1, last, last-first+1)
	return x.readEventsUpTo(ctx, kit.MaxSearchBatch, rows, err)
}

const queryCountBlockEvents = `SELECT count(*) FROM events INDEXED BY events_scan WHERE seq BETWEEN ? AND ?`

func (x index) WriteBlock(ctx context.Context, n int64, events int, b *grams.Builder) error {
	slices := b.Slices()
	return x.writer.do(ctx, &op{needsSavepoint: true, run: func(t *tx) error {
		var count int
		err := t.get([]any{&count}, queryCountBlockEvents, n<<grams.BlockBits, kit.LastRowOfBlock(n))
		if err != nil || count != events {
			return err
		}
		if err := t.deleteTrigrams(n); err != nil {
			return err
		}
		if events == 0 {
			_, err := t.exec(`DELETE FROM search_blocks WHERE block = ?`, n)
			return err
		}
		for i, grams := range slices {
			if _, err := t.exec(`INSERT INTO search_grams (place, grams) VALUES (?, ?)`, sliceKey(n, i), grams); err != nil {
				return err
			}
		}
		_, err = t.exec(`INSERT INTO search_blocks (block, made, crowded) VALUES (?1, ?2, ?3)
			ON CONFLICT DO UPDATE SET made = ?2, crowded = ?3`, n, filter.IndexVersion, b.Saturated)
		return err
	}})
}

func sliceKey(block int64, slice int) int64 { return block<<6 | int64(slice) }

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
		changed, err := t.exec(`UPDATE search_blocks SET made = '' WHERE block = ? AND made <> ''`, n)
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
	CROSS JOIN search_grams g ON g.place = (b.block << 6) + ?
	WHERE b.block BETWEEN ? AND ? AND b.made = ?`

// keepSegmentsWithText removes the segments that lack one of the trigrams. Segments that
// are not indexed stay.
func (run *searchRun) keepSegmentsWithText(ctx context.Context, set *grams.Set, r grams.Range) error {
	for _, g := range run.trigrams {
		for _, blocks := range set.BlockRanges(r, kit.MaxBlockRanges) {
			if err := run.keepSegmentsWithTrigram(ctx, g, set, blocks); err != nil {
				return err
			}
		}
	}
	return nil
}

func (run *searchRun) keepSegmentsWithTrigram(ctx context.Context, hash uint32, set *grams.Set, r grams.Range) error {
	rows, err := run.store.readers.query(ctx, queryTrigrams, grams.Slice(hash),
		r.From>>grams.BlockBits, r.To>>grams.BlockBits, filter.IndexVersion)
	return eachRow(rows, err, func(rows *sql.Rows) error {
		var block int64
		var saturated uint16
		var slice sql.RawBytes
		if err := rows.Scan(&block, &saturated, &slice); err != nil {
			return err
		}
		kit.KeepIndexed(set, block, grams.Lookup(slice, hash)|saturated)
		return nil
	})
}
