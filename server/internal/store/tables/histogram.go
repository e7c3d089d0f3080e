package tables

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hookback/hookback/server/internal/store"
)

// quartersPerDay is the number of quarter-hours in a UTC day.
const quartersPerDay = 96

// bucketRange is a part of a period that is covered by buckets of one unit, in quarters.
type bucketRange struct{ Unit, From, To int64 }

// bucketRanges covers all time since quarter from: in quarters until the end of that UTC
// day, then in days.
func bucketRanges(from int64) []bucketRange {
	tomorrow := (from + quartersPerDay - 1) / quartersPerDay
	return []bucketRange{{1, from, tomorrow * quartersPerDay}, {quartersPerDay, tomorrow, 1 << 40}}
}

// Histogram has the uses of a tool by duration bucket.
type Histogram map[int64]store.ToolTime

// Add adds the column bins of tool_histograms.
func (h Histogram) Add(bins []byte) error {
	for len(bins) > 0 {
		var numbers [4]int64
		for i := range numbers {
			n, rest, ok := cutNumber(bins)
			if !ok {
				return fmt.Errorf("read a histogram of tool uses at %q", bins)
			}
			numbers[i], bins = n, rest
		}
		h[numbers[0]] = h[numbers[0]].Add(store.ToolTime{Calls: numbers[1], Failures: numbers[2], TotalMS: numbers[3]})
	}
	return nil
}

// cutNumber returns the number before the first separator, and the text after it.
func cutNumber(text []byte) (n int64, rest []byte, ok bool) {
	sign := int64(1)
	for i, c := range text {
		switch {
		case c >= '0' && c <= '9':
			n, ok = 10*n+int64(c-'0'), true
		case c == '-' && i == 0:
			sign = -1
		default:
			return sign * n, text[i+1:], ok && (c == ' ' || c == ';')
		}
	}
	return sign * n, nil, ok
}

// Encode returns the column bins of tool_histograms.
func (h Histogram) Encode() string {
	var b []byte
	for _, bucket := range slices.Sorted(maps.Keys(h)) {
		u := h[bucket]
		if b != nil {
			b = append(b, ';')
		}
		b = fmt.Appendf(b, "%d %d %d %d", bucket, u.Calls, u.Failures, u.TotalMS)
	}
	return string(b)
}
