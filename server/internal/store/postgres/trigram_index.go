package postgres

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/grams"
	"github.com/hookback/hookback/server/internal/store/kit"
)

// RunIndexer runs on the hub that leads. If two hubs lead for a moment, both may build a block, and
// the one that is later stores nothing.
func (s *engine) RunIndexer(ctx context.Context) error {
	s.newIndexer().Run(ctx)
	return nil
}

func (s *engine) newIndexer() *kit.Indexer {
	return &kit.Indexer{Storage: index{s}, Lag: &s.indexed, Tail: &s.tail, Wake: s.indexerWake, Log: s.log}
}

// index implements kit.IndexStorage.
type index struct{ *engine }

func (x index) Queued() int { return len(x.writer.queue) }

func (x index) MarkStale(ctx context.Context) error {
	return x.writer.exec(ctx, `WITH stale AS (UPDATE search_blocks SET made = '' WHERE made NOT IN ('', $1) RETURNING block)
		DELETE FROM search_grams g USING stale WHERE g.block = stale.block`, filter.IndexVersion)
}

const (
	queryStaleBlock = `SELECT block FROM search_blocks WHERE made = '' ORDER BY block LIMIT 1`
	queryLastBlock  = `SELECT block FROM search_blocks ORDER BY block DESC LIMIT 1`
	queryNextEvent  = `SELECT seq FROM events WHERE seq >= $1 ORDER BY seq LIMIT 1`
)

func (x index) LastBlock(ctx context.Context) (int64, error) { return x.first(ctx, queryLastBlock) }

// StaleBlock waits for the end of a pruning, which would remove the same block from the index with
// every batch.
func (x index) StaleBlock(ctx context.Context) (int64, error) {
	if x.pruning.Load() > 0 {
		return -1, nil
	}
	return x.first(ctx, queryStaleBlock)
}

func (x index) NextEvent(ctx context.Context, seq int64) (int64, error) {
	return x.first(ctx, queryNextEvent, seq)
}

// first reads one number; -1: there is none.
func (x index) first(ctx context.Context, query string, args ...any) (int64, error) {
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
	err := x.writer.do(ctx, &op{explain: func(string) error { return errBlockChanged }, run: func(t *tx) error {
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

const staleBlocks = `WITH stale AS (UPDATE search_blocks SET made = '' WHERE block = ANY($1) AND made <> '' RETURNING block)
	DELETE FROM search_grams g USING stale WHERE g.block = stale.block`

// removeFromIndex removes the blocks of pruned events from the index. They will be
// rebuilt.
func (t *tx) removeFromIndex(seqs []int64) error {
	var blocks []int64
	for _, seq := range seqs {
		if n := seq >> grams.BlockBits; !slices.Contains(blocks, n) {
			blocks = append(blocks, n)
		}
	}
	return t.exec(staleBlocks, blocks)
}

const queryTrigrams = `SELECT b.block, b.crowded, g.slice, g.grams FROM search_blocks b JOIN search_grams g ON g.block = b.block AND g.slice = ANY($1)
	WHERE b.block BETWEEN $2 AND $3 AND b.made = $4`

// trigramsAtOnce is the number of trigrams that one query looks up.
const trigramsAtOnce = 6

// keepSegmentsWithText removes the segments that lack one of the trigrams. Segments that
// are not indexed stay.
func (run *searchRun) keepSegmentsWithText(ctx context.Context, set *grams.Set, r grams.Range) error {
	for hashes := range slices.Chunk(run.trigrams, trigramsAtOnce) {
		for _, blocks := range set.BlockRanges(r, kit.MaxBlockRanges) {
			if err := run.keepSegmentsWithTrigrams(ctx, hashes, set, blocks); err != nil {
				return err
			}
		}
	}
	return nil
}

func (run *searchRun) keepSegmentsWithTrigrams(ctx context.Context, hashes []uint32, set *grams.Set, r grams.Range) error {
	wanted := make([]int16, len(hashes))
	for i, hash := range hashes {
		wanted[i] = int16(grams.Slice(hash))
	}
	rows, err := run.store.readers.query(ctx, queryTrigrams, wanted, r.From>>grams.BlockBits, r.To>>grams.BlockBits, filter.IndexVersion)
	return eachRow(rows, err, func(rows pgx.Rows) error {
		var block int64
		var saturated int32
		var slice int16
		var encoded pgtype.DriverBytes // valid until the next row
		if err := rows.Scan(&block, &saturated, &slice, &encoded); err != nil {
			return err
		}
		for i, hash := range hashes {
			if wanted[i] == slice {
				kit.KeepIndexed(set, block, uint16(saturated), encoded, hash)
			}
		}
		return nil
	})
}
