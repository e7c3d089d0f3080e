package kit

import (
	"context"
	"errors"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// EntrySource reads the log for ReadEntries.
type EntrySource interface {
	// EntryEvents returns the events after seq up to upTo, and reports whether it stopped earlier because
	// they are big. An entry has no event if it was pruned during the read.
	EntryEvents(ctx context.Context, seq, upTo int64) (entries []store.LogEntry, full bool, err error)
	// EntryEnds returns the resolutions after seq up to upTo. Their events have the ID and the status only.
	EntryEnds(ctx context.Context, seq, upTo int64) ([]store.LogEntry, error)
	Event(ctx context.Context, id schema.EventID) (*store.Event, []byte, error)
}

// ReadEntries is LogTail.Entries from the database, for a log that ends at head.
func ReadEntries(ctx context.Context, source EntrySource, head, seq int64, limit int) (entries []store.LogEntry, upTo int64, err error) {
	upTo = min(head, seq+int64(limit))
	if upTo <= seq {
		return nil, seq, nil
	}
	events, full, err := source.EntryEvents(ctx, seq, upTo)
	if err != nil {
		return nil, seq, err
	}
	if full {
		upTo = events[len(events)-1].Seq
	}
	ends, err := readEnds(ctx, source, seq, upTo)
	if err != nil {
		return nil, seq, err
	}
	for _, e := range events {
		for len(ends) > 0 && ends[0].Seq < e.Seq {
			entries, ends = append(entries, ends[0]), ends[1:]
		}
		if e.Event != nil {
			entries = append(entries, e)
		}
	}
	return append(entries, ends...), upTo, nil
}

// readEnds reads the resolutions of questions, each with its event.
func readEnds(ctx context.Context, source EntrySource, seq, upTo int64) ([]store.LogEntry, error) {
	found, err := source.EntryEnds(ctx, seq, upTo)
	if err != nil {
		return nil, err
	}
	ends := found[:0]
	for _, end := range found {
		e, _, err := source.Event(ctx, end.Event.ID)
		if errors.Is(err, schema.ErrNotFound) {
			continue // pruned during the read
		}
		if err != nil {
			return nil, err
		}
		e.Status = end.Event.Status
		ends = append(ends, store.LogEntry{Seq: end.Seq, Event: e, Ends: true})
	}
	return ends, nil
}
