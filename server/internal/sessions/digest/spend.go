package digest

import (
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
