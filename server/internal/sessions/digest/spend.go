package digest

import (
	"slices"

	"github.com/hookback/hookback/schema/history"
)

// ModelSpend is a change of the tokens and the cost of a session for one model. Both can fall: an
// agent's own sum may replace a larger one of tokens.
type ModelSpend struct {
	Model  string // empty: unknown
	Tokens history.Tokens
	Cost   float64
}

// divideSpend divides a change of a session's tokens and cost in proportion to the rises of the
// models, so that the parts add up to the change. Without rises it is that of the model of change.
func divideSpend(change ModelSpend, rises []ModelSpend) []ModelSpend {
	if change.Tokens == (history.Tokens{}) && change.Cost == 0 {
		return nil
	}
	if len(rises) == 0 {
		return []ModelSpend{change}
	}
	var total ModelSpend
	for _, rise := range rises {
		total.Tokens, total.Cost = total.Tokens.Add(rise.Tokens), total.Cost+rise.Cost
	}
	parts, rest := make([]ModelSpend, len(rises)), change
	for i, rise := range rises {
		t := history.Tokens{
			Input:      share(change.Tokens.Input, rise.Tokens.Input, total.Tokens.Input),
			Output:     share(change.Tokens.Output, rise.Tokens.Output, total.Tokens.Output),
			CacheRead:  share(change.Tokens.CacheRead, rise.Tokens.CacheRead, total.Tokens.CacheRead),
			CacheWrite: share(change.Tokens.CacheWrite, rise.Tokens.CacheWrite, total.Tokens.CacheWrite),
		}
		parts[i] = ModelSpend{Model: rise.Model, Tokens: t}
		if total.Cost > 0 {
			parts[i].Cost = change.Cost * rise.Cost / total.Cost
		}
		rest.Tokens = rest.Tokens.Add(history.Tokens{Input: -t.Input, Output: -t.Output, CacheRead: -t.CacheRead, CacheWrite: -t.CacheWrite})
		rest.Cost -= parts[i].Cost
	}
	parts[0].Tokens, parts[0].Cost = parts[0].Tokens.Add(rest.Tokens), parts[0].Cost+rest.Cost
	return parts
}

// share returns n*part/total, rounded down.
func share(n, part, total int64) int64 {
	switch {
	case total == n: // rounding would lose one
		return part
	case total <= 0:
		return 0
	}
	return int64(float64(n) * (float64(part) / float64(total)))
}

const (
	// riseMS is the resolution of CostHistory in ms.
	riseMS = 5 * 60 * 1000
	// maxRiseAge is how long a rise is kept after it, in ms.
	maxRiseAge = 24 * 60 * 60 * 1000
)

// CostHistory is when the cost of a session rose.
type CostHistory struct {
	HighestCost float64    `json:"peak,omitempty"`  // USD
	CostRises   []CostRise `json:"rises,omitempty"` // of the last day, oldest first
}

// CostRise is by how much a session's cost rose within riseMS.
type CostRise struct {
	At      int64   `json:"t"` // start, Unix ms; a multiple of riseMS
	CostUSD float64 `json:"usd"`
}

// add records the cost of a session after an event. Only a rise over the highest cost so far
// counts: an agent's total can fall, for example after its restart. If startsTotal is set, the event
// has the first value of a total, which may include earlier work: it is the value to rise from.
func (s *CostHistory) add(at int64, before, after float64, startsTotal bool) {
	highest := max(s.HighestCost, before) // sessions of older hubs have no HighestCost
	s.HighestCost = max(highest, after)
	rise := s.HighestCost - highest
	if rise <= 0 || startsTotal {
		return
	}
	start := at - at%riseMS
	if n := len(s.CostRises); n > 0 {
		switch last := &s.CostRises[n-1]; {
		case start >= last.At-riseMS && start <= last.At: // events of the same moment may be out of order
			last.CostUSD += rise
			return
		case start < last.At: // the clock was set back
			s.CostRises = nil
		}
	}
	s.CostRises = append(slices.DeleteFunc(s.CostRises, func(r CostRise) bool { return r.At < start-maxRiseAge }), CostRise{start, rise})
}

// SpentSince returns the cost since a time in Unix ms, at most a day ago. It omits up to the first
// five minutes, so it is never too high.
func (s *CostHistory) SpentSince(since int64) (usd float64) {
	for _, r := range s.CostRises {
		if r.At >= since {
			usd += r.CostUSD
		}
	}
	return usd
}
