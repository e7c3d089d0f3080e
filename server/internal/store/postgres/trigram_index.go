package postgres

import (
	"context"
	"errors"

	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/grams"
	"github.com/hookback/hookback/server/internal/store/kit"
	"github.com/hookback/hookback/server/internal/store/tables"
)

// RunIndexer runs on the hub that leads. If two hubs lead for a moment, both may build a block, and
// the one that is later stores nothing.
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

// index implements kit.IndexStorage.
type index struct{ *engine }

// MarkStale marks the blocks that were built by another version of the index text.
func (x index) MarkStale(ctx context.Context) error {
	return x.writer.exec(ctx, `WITH stale AS (UPDATE search_blocks SET made = '' WHERE made NOT IN ('', $1) RETURNING block)
		DELETE FROM search_grams g USING stale WHERE g.block = stale.block`, filter.IndexVersion)
}

const (
	queryStaleBlock = `SELECT block FROM search_blocks WHERE made = '' ORDER BY block LIMIT 1`
	queryLastBlock  = `SELECT block FROM search_blocks ORDER BY block DESC LIMIT 1`
	queryNextEvent  = `SELECT seq FROM events WHERE seq >= $1 ORDER BY seq LIMIT 1`
)

func (x index) First(ctx context.Context, query string, args ...any) (int64, error) {
	n := int64(-1)
	err := x.readers.get(ctx, []any{&n}, query, args...)
	return n, ignoreNoRows(err)
}

func (x index) ReadEvents(ctx context.Context, first, last int64) (events []*store.Event, full bool, err error) {
	rows, err := x.readers.query(ctx, queryLogEvents, first-1, last, last-first+1)
	return readEventsUpTo(kit.MaxSearchBatch, rows, err)
}

const (
	// requireBlock fails if another hub has stored the block, or if some of its events were pruned.
	requireBlock = `SELECT expect((SELECT count(*) FROM events WHERE seq BETWEEN $1 AND $2 AND NOT EXISTS (SELECT FROM search_blocks WHERE block = $3 AND made = $4)), $5, 'block')`
	upsertBlock  = `INSERT INTO search_blocks (block, made, crowded) VALUES ($1, $2, $3)
		ON CONFLICT (block) DO UPDATE SET made = excluded.made, crowded = excluded.crowded`
	insertTrigrams = `INSERT INTO search_grams (block, slice, grams) SELECT $1, n - 1, grams FROM unnest($2::bytea[]) WITH ORDINALITY AS s (grams, n)`
)

// errBlockChanged means that a block is not to be stored as it was built.
var errBlockChanged = errors.New("the block was stored by another hub or has changed")

func (x index) WriteBlock(ctx context.Context, n int64, events int, b *grams.Builder) error {
	encoded := b.Slices()
	err := x.writer.do(ctx, &op{explain: func(tables.Guard) error { return errBlockChanged }, run: func(t *tx) error {
		if events == 0 {
			return t.exec(`DELETE FROM search_blocks WHERE block = $1 AND made = '' AND NOT EXISTS (SELECT FROM events WHERE seq BETWEEN $2 AND $3)`,
				n, n<<grams.BlockBits, kit.LastRowOfBlock(n))
		}
		err := t.exec(requireBlock, n<<grams.BlockBits, kit.LastRowOfBlock(n), n, filter.IndexVersion, events)
		if err == nil {
			err = t.exec(`DELETE FROM search_grams WHERE block = $1`, n)
		}
		if err == nil {
			err = t.exec(insertTrigrams, n, encoded)
		}
		if err == nil {
			err = t.exec(upsertBlock, n, filter.IndexVersion, int32(b.Saturated))
		}
		return err
	}})
	if errors.Is(err, errBlockChanged) {
		return nil
	}
	return err
}
