package digest

import "slices"

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
