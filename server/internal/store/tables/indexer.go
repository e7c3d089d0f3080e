package tables

import (
	"context"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/grams"
)

// Indexer builds the trigram index in the background, one block at a time. A block is
// written in one transaction, and the newest stored block is the indexer's position, so
// it can resume after any interruption.
type Indexer struct {
	*Tables
	builder *grams.Builder // nil while idle, because it takes 2 MiB
}

func (t *Tables) NewIndexer() *Indexer { return &Indexer{Tables: t} }

// RunIndexer runs on the hub that leads. If two hubs lead for a moment, both may build a block, and
// the one that is later stores nothing.
func (t *Tables) RunIndexer(ctx context.Context) error {
	t.NewIndexer().run(ctx, t.MarkStale(ctx))
	return nil
}

// MarkStale marks the blocks that were built by another version of the index text.
func (t *Tables) MarkStale(ctx context.Context) error {
	return t.exec(ctx, Plain, `UPDATE search_blocks SET made = '' WHERE made NOT IN ('', $1)`, filter.IndexVersion)
}

// run keeps the index up to date until ctx ends. err is an error of the preparations; nil: none.
func (x *Indexer) run(ctx context.Context, err error) {
	var last string
	for ctx.Err() == nil {
		more := false
		if err == nil {
			more, err = x.BuildNext(ctx)
		}
		switch {
		case more:
			last = ""
			continue
		case err != nil && ctx.Err() == nil && err.Error() != last:
			last = err.Error()
			x.State.Log.Error("search index update failed: searches are slower until it succeeds", "err", err)
		}
		x.builder = nil
		x.wait(ctx, err != nil)
		err = nil
	}
}

// indexRetryDelay is the pause after an error such as a full disk.
const indexRetryDelay = 10 * time.Second

// wait blocks until there may be work, or until the retry after a failure.
func (x *Indexer) wait(ctx context.Context, failed bool) {
	if failed {
		feed.Sleep(ctx, indexRetryDelay)
		return
	}
	select {
	case <-x.State.IndexerWake:
	case <-ctx.Done():
	}
}

// BuildNext builds one block. It returns false if there is none to build.
func (x *Indexer) BuildNext(ctx context.Context) (more bool, err error) {
	n, err := x.nextBlock(ctx)
	if err != nil || n < 0 {
		return false, err
	}
	events, err := x.ReadBlock(ctx, n)
	if err == nil {
		err = x.WriteBlock(ctx, n, events, x.builder)
	}
	return err == nil, err
}

// nextBlock returns the next block to build: the next full one, or a stale one. It
// returns -1 if there is none. Stale blocks wait for the end of a pruning, which would
// remove the same block from the index with every batch.
func (x *Indexer) nextBlock(ctx context.Context) (n int64, err error) {
	head := x.Head()
	last, err := x.first(ctx, queryLastBlock)
	if err != nil {
		return 0, err
	}
	x.State.Indexed.Reach(LastRowOfBlock(last))
	if full := lastFullBlock(head); (last+1)<<grams.BlockBits < full {
		seq, err := x.first(ctx, queryNextEvent, (last+1)<<grams.BlockBits)
		if err != nil {
			return 0, err
		}
		if n = seq >> grams.BlockBits; seq >= 0 && n<<grams.BlockBits < full {
			return n, nil
		}
		x.State.Indexed.Reach(full) // the rest of it was pruned
	}
	if x.State.Pruning.Load() > 0 {
		return -1, nil
	}
	return x.first(ctx, queryStaleBlock)
}

// ReadBlock loads block n into the builder and returns its number of events.
func (x *Indexer) ReadBlock(ctx context.Context, n int64) (events int, err error) {
	if x.builder == nil {
		x.builder = new(grams.Builder)
	}
	*x.builder = grams.Builder{}
	var text []byte
	for i := range grams.BlockSize >> grams.SegmentBits {
		start, head := time.Now(), x.Head()
		first := n<<grams.BlockBits + int64(i)<<grams.SegmentBits
		for last := first + 1<<grams.SegmentBits - 1; first <= last; {
			batch, upTo, err := x.readSegment(ctx, first, last)
			if err != nil {
				return 0, err
			}
			for _, e := range batch {
				text = indexText(text[:0], e)
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

// indexText appends the text of an event that searches see.
func indexText(dst []byte, e *store.Event) []byte {
	listed := e.FilterEvent()
	if len(listed.Payload) > schema.MaxListed {
		listed.Payload = []byte("{}")
	}
	return filter.IndexText(dst, listed)
}

// readSegment reads the events from first to last, or up to an earlier row upTo.
func (x *Indexer) readSegment(ctx context.Context, first, last int64) (events []*store.Event, upTo int64, err error) {
	if entries, upTo, ok := x.State.Tail.Entries(store.IndexReader, first-1, int(last-first+1)); ok {
		for i := range entries {
			if !entries[i].Ends {
				events = append(events, entries[i].Event)
			}
		}
		return events, upTo, nil
	}
	events, full, err := x.readEventsUpTo(ctx, maxSearchBatch, queryLogEvents, first-1, last, last-first+1)
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
func (x *Indexer) backoff(worked time.Duration, head int64) time.Duration {
	switch {
	case x.State.Indexed.Lag(time.Now()).Rows > maxBacklog*grams.BlockSize:
		return 0
	case x.Queue.Len() > 0:
		return 16 * worked
	case x.Head() != head:
		return 2 * worked
	default:
		return 0
	}
}

const (
	queryStaleBlock = `SELECT block FROM search_blocks /*!INDEXED BY search_blocks_stale*/ WHERE made = '' ORDER BY block LIMIT 1`
	queryLastBlock  = `SELECT block FROM search_blocks ORDER BY block DESC LIMIT 1`
	queryNextEvent  = `SELECT seq FROM events WHERE seq >= $1 ORDER BY seq LIMIT 1`
	// queryBlockEvents returns no row if another hub has stored the block.
	queryBlockEvents = `SELECT count(*) FROM events /*!INDEXED BY events_scan*/ WHERE seq BETWEEN $1 AND $2
		HAVING NOT EXISTS (SELECT 1 FROM search_blocks WHERE block = $3 AND made = $4)`
)

// first returns the first number that a query selects; -1: none.
func (x *Indexer) first(ctx context.Context, query string, args ...any) (int64, error) {
	n := int64(-1)
	_, err := x.ReadOne(ctx, []any{&n}, query, args...)
	return n, err
}

// WriteBlock stores a block, or removes it if it has no events. A block that does not have this
// number of events any more stays due.
func (x *Indexer) WriteBlock(ctx context.Context, n int64, events int, b *grams.Builder) error {
	encoded := b.Slices()
	return x.change(ctx, Plain, func(w *Work) {
		var count int
		if !w.find([]any{&count}, queryBlockEvents, n<<grams.BlockBits, LastRowOfBlock(n), n, filter.IndexVersion) || count != events {
			return
		}
		w.deleteSlices(n)
		if events == 0 {
			w.do(`DELETE FROM search_blocks WHERE block = $1`, n)
			return
		}
		for i, slice := range encoded {
			w.do(`INSERT INTO search_grams (place, grams) VALUES ($1, $2)`, slicePlace(n, i), slice)
		}
		w.do(`INSERT INTO search_blocks (block, made, crowded) VALUES ($1, $2, $3)
			ON CONFLICT (block) DO UPDATE SET made = excluded.made, crowded = excluded.crowded`, n, filter.IndexVersion, int64(b.Saturated))
	})
}

func (w *Work) deleteSlices(block int64) {
	w.do(`DELETE FROM search_grams WHERE place BETWEEN $1 AND $2`, slicePlace(block, 0), slicePlace(block, grams.SlicesPerBlock-1))
}

// removeFromIndex removes the blocks of pruned events from the index. They will be
// rebuilt.
func (w *Work) removeFromIndex(seqs []int64) {
	last := int64(-1)
	for _, seq := range seqs {
		block := seq >> grams.BlockBits
		if block == last {
			continue
		}
		last = block
		w.do(`UPDATE search_blocks SET made = '' WHERE block = $1 AND made <> ''`, block)
		w.deleteSlices(block)
	}
}
