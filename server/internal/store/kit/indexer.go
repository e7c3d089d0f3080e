package kit

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/grams"
)

// IndexStorage stores the search index of an engine, and reads the log for it.
type IndexStorage interface {
	// First returns the first number that a query selects; -1: none.
	First(ctx context.Context, query string, args ...any) (int64, error)
	// ReadEvents returns the events of a range, and reports whether it stopped because they are big.
	ReadEvents(ctx context.Context, first, last int64) (events []*store.Event, full bool, err error)
	// WriteBlock stores a block, or removes it if it has no events. A block that does not have this
	// number of events any more stays due.
	WriteBlock(ctx context.Context, n int64, events int, b *grams.Builder) error
}

// IndexQueries are the statements of an engine for IndexStorage.First.
type IndexQueries struct {
	LastBlock  string // the newest block of the index
	StaleBlock string // the first block to build again
	NextEvent  string // the first event from a number on
}

// Indexer builds the trigram index in the background, one block at a time. A block is
// written in one transaction, and the newest stored block is the indexer's position, so
// it can resume after any interruption.
type Indexer struct {
	Storage IndexStorage
	Queries IndexQueries
	Head    *atomic.Int64 // of the log
	Pruning *atomic.Int32 // runs of Prune in progress
	Queued  func() int    // number of writes that wait
	Lag     *LagMeter     // in full blocks
	Tail    *LogTail
	Wake    feed.Wakeup // wakes it when a block is full or events were pruned
	Log     *slog.Logger

	builder *grams.Builder // nil while idle, because it takes 2 MiB
}

// Run keeps the index up to date until ctx ends. err is an error of the engine's preparations; nil: none.
func (x *Indexer) Run(ctx context.Context, err error) {
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
			x.Log.Error("search index update failed: searches are slower until it succeeds", "err", err)
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
	case <-x.Wake:
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
		err = x.Storage.WriteBlock(ctx, n, events, x.builder)
	}
	return err == nil, err
}

// nextBlock returns the next block to build: the next full one, or a stale one. It
// returns -1 if there is none. Stale blocks wait for the end of a pruning, which would
// remove the same block from the index with every batch.
func (x *Indexer) nextBlock(ctx context.Context) (n int64, err error) {
	head := x.Head.Load()
	last, err := x.Storage.First(ctx, x.Queries.LastBlock)
	if err != nil {
		return 0, err
	}
	x.Lag.Reach(LastRowOfBlock(last))
	if full := LastFullBlock(head); (last+1)<<grams.BlockBits < full {
		seq, err := x.Storage.First(ctx, x.Queries.NextEvent, (last+1)<<grams.BlockBits)
		if err != nil {
			return 0, err
		}
		if n = seq >> grams.BlockBits; seq >= 0 && n<<grams.BlockBits < full {
			return n, nil
		}
		x.Lag.Reach(full) // the rest of it was pruned
	}
	if x.Pruning.Load() > 0 {
		return -1, nil
	}
	return x.Storage.First(ctx, x.Queries.StaleBlock)
}

// ReadBlock loads block n into the builder and returns its number of events.
func (x *Indexer) ReadBlock(ctx context.Context, n int64) (events int, err error) {
	if x.builder == nil {
		x.builder = new(grams.Builder)
	}
	*x.builder = grams.Builder{}
	var text []byte
	for i := range grams.BlockSize >> grams.SegmentBits {
		start, head := time.Now(), x.Head.Load()
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
	if entries, upTo, ok := x.Tail.Entries(TailIndexer, first-1, int(last-first+1)); ok {
		for i := range entries {
			if !entries[i].Ends {
				events = append(events, entries[i].Event)
			}
		}
		return events, upTo, nil
	}
	events, full, err := x.Storage.ReadEvents(ctx, first, last)
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
	case x.Lag.Lag(time.Now()).Rows > maxBacklog*grams.BlockSize:
		return 0
	case x.Queued() > 0:
		return 16 * worked
	case x.Head.Load() != head:
		return 2 * worked
	default:
		return 0
	}
}
