package tables

import (
	"context"
	"time"

	"github.com/hookback/hookback/schema"
)

// The table time_marks has the first event of each quarter-hour. The days of every time zone begin with one,
// so the first event of a day is usually one lookup in a small table, and any other time is between two marks.
const (
	queryMarkSince  = `SELECT seq, previous FROM time_marks WHERE received_at >= $1 ORDER BY received_at LIMIT 1`
	queryMarkBefore = `SELECT seq FROM time_marks WHERE received_at < $1 ORDER BY received_at DESC LIMIT 1`
	queryReceived   = `SELECT seq, received_at FROM events WHERE seq >= $1 ORDER BY seq LIMIT 1`
)

// firstSeqSince returns the number of the first event received at a time or later, or the
// head plus one. The time of events does not decrease, so without an index a binary search
// between two time marks finds the event.
func (t *Tables) firstSeqSince(ctx context.Context, at time.Time) (int64, error) {
	low, high, err := t.seqBounds(ctx, at.UnixMilli())
	if err != nil {
		return 0, err
	}
	for low < high {
		mid := low + (high-low)/2
		var seq, received int64
		_, err := t.ReadOne(ctx, []any{&seq, &received}, queryReceived, mid)
		switch {
		case err != nil:
			return 0, err
		case seq == 0 || received >= at.UnixMilli():
			high = mid
		default:
			low = seq + 1
		}
	}
	return low, nil
}

// seqBounds returns the lowest and the highest possible result of firstSeqSince, from the
// marks next to ms.
func (t *Tables) seqBounds(ctx context.Context, ms int64) (low, high int64, err error) {
	low, high = 1, t.Head()+1
	var since, previous, before int64
	found, err := t.ReadOne(ctx, []any{&since, &previous}, queryMarkSince, ms)
	if err != nil {
		return 0, 0, err
	}
	if found {
		high = min(high, since)
		if previous < ms {
			return high, high, nil
		}
	}
	if found, err = t.ReadOne(ctx, []any{&before}, queryMarkBefore, ms); found {
		low = min(before+1, high)
	}
	return low, high, err
}

// seqFilter is the part of a filter that bounds sequence numbers.
type seqFilter struct {
	after, before schema.EventID // exclusive; 0: none
	from, to      time.Time      // to is exclusive; zero: none
}

// seqRange returns the range of sequence numbers, both inclusive.
func (t *Tables) seqRange(ctx context.Context, f seqFilter) (from, to int64, err error) {
	first, end := int64(1), t.Head()+1
	if f.before > 0 {
		end = min(end, int64(f.before))
	}
	if !f.from.IsZero() {
		first, err = t.firstSeqSince(ctx, f.from)
	}
	if err == nil && !f.to.IsZero() {
		var next int64
		next, err = t.firstSeqSince(ctx, f.to)
		end = min(end, next)
	}
	return max(int64(f.after)+1, first), end - 1, err
}
