package usage

import (
	"cmp"
	"maps"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
)

// Of returns the usage of a session, without that of the sessions it was copied from. The totals that Claude
// Code states are complete. Messages show when their tokens were used; the rest has the time of the last
// request before the total. Messages that no total counts, such as those of a session that runs, have no cost.
func (b *Books) Of(id string) []history.ImportedUsage {
	s := b.sessions[id]
	if s == nil {
		return nil
	}
	own := map[string]history.ImportedUsage{}
	for key, r := range s.requests {
		if b.owner(key, s) == s {
			own[key] = r
		}
	}
	var list []history.ImportedUsage
	for _, start := range s.starts() {
		list = append(list, b.settle(s, start, own)...)
	}
	for _, r := range own {
		list = append(list, r)
	}
	cost := 0.0
	for _, u := range list {
		cost += u.CostUSD
	}
	if rest := s.stated - cost; rest > 1e-9 && len(s.totals) == 0 {
		list = append(list, history.ImportedUsage{At: schema.Millis(s.statedAt), Model: s.model, CostUSD: rest})
	}
	slices.SortFunc(list, compare)
	return list
}

// compare is a total order, so that equal files have equal results.
func compare(x, y history.ImportedUsage) int {
	a, b := x.Tokens, y.Tokens
	return cmp.Or(cmp.Compare(x.At, y.At), cmp.Compare(x.Model, y.Model), cmp.Compare(x.CostUSD, y.CostUSD),
		cmp.Compare(x.Requests, y.Requests), cmp.Compare(a.Input, b.Input), cmp.Compare(a.Output, b.Output),
		cmp.Compare(a.CacheRead, b.CacheRead), cmp.Compare(a.CacheWrite, b.CacheWrite))
}

// starts returns the starts of the session's totals. A process that does not continue them begins at 0.
func (s *session) starts() []float64 {
	starts := map[float64]bool{}
	for i := range s.totals {
		starts[s.totals[i].start] = true
	}
	return slices.Sorted(maps.Keys(starts))
}

// totalsSince returns the totals with that start, the earliest first: they only grow.
func (s *session) totalsSince(start float64) (totals []total) {
	for _, t := range s.totals {
		if t.start == start {
			totals = append(totals, t)
		}
	}
	slices.SortStableFunc(totals, func(x, y total) int { return x.compare(&y) })
	return totals
}

// compare reports which total is larger.
func (t *total) compare(o *total) int {
	a, b := t.sum(), o.sum()
	return cmp.Or(cmp.Compare(a.CostUSD, b.CostUSD), cmp.Compare(a.Tokens.Input+a.Tokens.Output, b.Tokens.Input+b.Tokens.Output))
}

func (t *total) sum() (sum history.ImportedUsage) {
	for _, model := range slices.Sorted(maps.Keys(t.byModel)) {
		u := t.byModel[model]
		sum.CostUSD, sum.Tokens = sum.CostUSD+u.CostUSD, sum.Tokens.Add(u.Tokens)
	}
	return sum
}

// settle returns the usage that the totals since start state, and removes the requests that they count.
func (b *Books) settle(s *session, start float64, own map[string]history.ImportedUsage) (list []history.ImportedUsage) {
	last, before := total{}, b.inherited(s, start)
	rest := map[string]history.ImportedUsage{}
	for _, t := range s.totalsSince(start) {
		for model, u := range t.byModel {
			more := history.ImportedUsage{At: schema.Millis(t.at), Model: model, CostUSD: max(0, u.CostUSD-before[model].CostUSD)}
			if more.CostUSD > 0 {
				list = append(list, more)
			}
			sum := rest[model]
			sum.Tokens = sum.Tokens.Add(rise(before[model].Tokens, u.Tokens))
			rest[model] = sum
		}
		last, before = t, t.byModel
	}
	byModel := map[string][]history.ImportedUsage{}
	for key, r := range own {
		if float64(r.At) >= start && (last.until == 0 || int64(r.At) < last.until) || r.At == 0 {
			delete(own, key)
			byModel[r.Model] = append(byModel[r.Model], r)
		}
	}
	for model, sum := range rest {
		var messages history.ImportedUsage
		for _, u := range byModel[model] {
			messages.Requests, messages.Tokens = messages.Requests+1, messages.Tokens.Add(u.Tokens)
		}
		u := history.ImportedUsage{At: schema.Millis(last.at), Model: model, Tokens: rise(messages.Tokens, sum.Tokens)}
		if messages.Tokens.Add(u.Tokens) == sum.Tokens {
			list = append(list, byModel[model]...)
		} else { // the messages have more than their total, which is right
			u.Tokens, u.Requests = sum.Tokens, messages.Requests
		}
		if u.Tokens != (history.Tokens{}) {
			list = append(list, u)
		}
	}
	return list
}

// rise returns by how much each count is higher in b.
func rise(a, b history.Tokens) history.Tokens {
	return history.Tokens{
		Input: max(0, b.Input-a.Input), Output: max(0, b.Output-a.Output),
		CacheRead: max(0, b.CacheRead-a.CacheRead), CacheWrite: max(0, b.CacheWrite-a.CacheWrite),
	}
}

// inherited returns the totals of another session that those of s since start continue: a copy begins with
// the totals of its original. These are the latest ones whose newest request s has as a copy.
func (b *Books) inherited(s *session, start float64) (byModel map[string]history.ImportedUsage) {
	var latest total
	for _, original := range b.started[start] {
		for _, t := range original.totalsSince(start) {
			_, has := s.requests[t.newest]
			if original != s && has && b.owner(t.newest, s) != s && t.compare(&latest) >= 0 {
				latest = t
			}
		}
	}
	return latest.byModel
}
