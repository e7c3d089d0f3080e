package kit

import (
	"context"
	"slices"
	"unicode/utf8"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// Bounds in log rows, for one step of a query and for all steps of a query without
// matches. Names are compared in a narrow index, about ten events per microsecond. Text
// is compared in the wide rows, about two microseconds per event.
const (
	nameScanStep  = 64 << 10
	nameScanLimit = 1 << 20
	textScanStep  = 16 << 10
	textScanLimit = 128 << 10
	// MaxTextBytes is the size up to which a text is searched for.
	MaxTextBytes = 1 << 10
)

// A name segment is a range of NameSegmentSize sequence numbers. The table zones is a zone
// map: it lists for every name the segments with events of that name, so a filter by a
// rare name skips the rest of the log.
const (
	NameSegmentBits = 9
	NameSegmentSize = 1 << NameSegmentBits
)

// FilterQuery is a store.Filter in terms of the log, without its names.
type FilterQuery struct {
	Status    string
	Patterns  []string // LIKE patterns of the text: as typed, and as JSON may escape it
	From, To  int64    // sequence numbers, both inclusive
	Limit     int
	Ascending bool
}

// FilterSource reads the matches of a FilterQuery.
type FilterSource interface {
	// HasNames reports whether matches have names. They are in name segments then.
	HasNames() bool
	// LastSegment returns the last of the next n segments that have all names, in the direction of the
	// query; ok is false if none is left.
	LastSegment(ctx context.Context, n int64) (segment int64, ok bool, err error)
	// ReadMatches returns up to limit matches in a range of sequence numbers, and reports whether it
	// stopped because they are big.
	ReadMatches(ctx context.Context, from, to int64, limit int) (events []*store.Event, full bool, err error)
}

// NewFilterQuery returns the query of a filter without its bounds.
func NewFilterQuery(f *store.Filter) (FilterQuery, error) {
	q := FilterQuery{Limit: f.Limit, Ascending: f.Oldest || f.After > 0, Status: f.Status}
	switch {
	case len(f.Text) > MaxTextBytes || !utf8.ValidString(f.Text):
		return q, &schema.FieldError{Field: "q", Detail: "must be UTF-8 text of at most 1024 bytes"}
	case f.Status != "" && !IsListedStatus(f.Status):
		return q, &schema.FieldError{Field: "status", Detail: "must be pending, responded, timeout, error or undelivered"}
	}
	if q.Limit <= 0 {
		q.Limit = schema.RecentLimit
	}
	q.Patterns = LikePatterns(f.Text)
	return q, nil
}

// IsListedStatus reports whether a filter may name the status.
func IsListedStatus(status string) bool {
	switch schema.State(status) {
	case schema.Pending, schema.Responded, schema.TimedOut, schema.Failed, store.Undelivered:
		return true
	default:
		return false
	}
}

// Order returns the direction of a query in SQL.
func Order(ascending bool) string {
	if ascending {
		return "ASC"
	}
	return "DESC"
}

// Find returns the matches in the order of the log. It scans step by step and
// stops after the first step with matches.
func (q *FilterQuery) Find(ctx context.Context, source FilterSource) ([]*store.Event, error) {
	events, err := q.collect(ctx, source)
	if !q.Ascending {
		slices.Reverse(events)
	}
	return events, err
}

// collect returns the matches in the order of the query.
func (q *FilterQuery) collect(ctx context.Context, source FilterSource) (events []*store.Event, err error) {
	step, limit := int64(nameScanStep), int64(nameScanLimit)
	if q.Patterns != nil {
		step, limit = textScanStep, textScanLimit
	}
	for scanned := int64(0); q.From <= q.To && len(events) < q.Limit && scanned < limit; scanned += step {
		if scanned > 0 && len(events) > 0 {
			break
		}
		from, to, ok, err := q.window(ctx, source, step)
		if err != nil || !ok {
			return events, err
		}
		found, full, err := source.ReadMatches(ctx, from, to, q.Limit-len(events))
		if err != nil {
			return nil, err
		}
		if events = append(events, found...); full {
			break
		}
		if q.Ascending {
			q.From = to + 1
		} else {
			q.To = from - 1
		}
	}
	return events, nil
}

// window returns the range for the next step, which compares about step events. It
// returns false if nothing is left.
func (q *FilterQuery) window(ctx context.Context, source FilterSource, step int64) (from, to int64, ok bool, err error) {
	hasNames := source.HasNames()
	switch {
	case q.Status != "" || !hasNames && q.Patterns == nil:
		return q.From, q.To, true, nil
	case !hasNames && q.Ascending:
		return q.From, min(q.To, q.From+step-1), true, nil
	case !hasNames:
		return max(q.From, q.To-step+1), q.To, true, nil
	}
	segment, ok, err := source.LastSegment(ctx, step>>NameSegmentBits)
	if q.Ascending {
		return q.From, min(q.To, segment<<NameSegmentBits+NameSegmentSize-1), ok, err
	}
	return max(q.From, segment<<NameSegmentBits), q.To, ok, err
}
