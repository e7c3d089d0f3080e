package kit

import (
	"context"
	"time"

	"github.com/hookback/hookback/schema"
)

// TimeMarks reads the table time_marks, which has the first event of each quarter-hour. The days of
// every time zone begin with one, so the first event of a day is usually one lookup in a small table,
// and any other time is between two marks. Times are Unix milliseconds. A result of 0 means none.
type TimeMarks interface {
	// Since returns the event of the first mark at ms or later, and the time of the event before it.
	Since(ctx context.Context, ms int64) (seq, previous int64, err error)
	// Before returns the event of the last mark before ms.
	Before(ctx context.Context, ms int64) (seq int64, err error)
	// Received returns the first event from seq on, and its time.
	Received(ctx context.Context, seq int64) (found, at int64, err error)
}

// FirstSeqSince returns the number of the first event received at t or later, or the
// head plus one. The time of events does not decrease, so without an index a binary search
// between two time marks finds the event.
func FirstSeqSince(ctx context.Context, marks TimeMarks, head int64, t time.Time) (int64, error) {
	low, high, err := seqBounds(ctx, marks, head, t.UnixMilli())
	if err != nil {
		return 0, err
	}
	for low < high {
		mid := low + (high-low)/2
		seq, at, err := marks.Received(ctx, mid)
		switch {
		case err != nil:
			return 0, err
		case seq == 0 || at >= t.UnixMilli():
			high = mid
		default:
			low = seq + 1
		}
	}
	return low, nil
}

// seqBounds returns the lowest and the highest possible result of FirstSeqSince, from the
// marks next to ms.
func seqBounds(ctx context.Context, marks TimeMarks, head, ms int64) (low, high int64, err error) {
	low, high = 1, head+1
	since, previous, err := marks.Since(ctx, ms)
	if err != nil {
		return 0, 0, err
	}
	if since != 0 {
		high = min(high, since)
		if previous < ms {
			return high, high, nil
		}
	}
	before, err := marks.Before(ctx, ms)
	if before != 0 {
		low = min(before+1, high)
	}
	return low, high, err
}

// SeqBounds is the part of a filter that bounds sequence numbers.
type SeqBounds struct {
	After, Before schema.EventID // exclusive; 0: none
	From, To      time.Time      // To is exclusive; zero: none
}

// Range returns the range of sequence numbers, both inclusive.
func (b SeqBounds) Range(ctx context.Context, marks TimeMarks, head int64) (from, to int64, err error) {
	from, to = int64(b.After)+1, head
	if b.Before > 0 {
		to = min(to, int64(b.Before)-1)
	}
	if !b.From.IsZero() {
		first, err := FirstSeqSince(ctx, marks, head, b.From)
		if err != nil {
			return 0, 0, err
		}
		from = max(from, first)
	}
	if !b.To.IsZero() {
		first, err := FirstSeqSince(ctx, marks, head, b.To)
		if err != nil {
			return 0, 0, err
		}
		to = min(to, first-1)
	}
	return from, to, nil
}
