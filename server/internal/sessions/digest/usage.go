package digest

import (
	"cmp"
	"maps"
	"slices"

	"github.com/hookback/hookback/schema/history"
)

// Usage is the usage of requests to a model.
type Usage struct {
	Requests   int64          `json:"n,omitempty"`
	DurationMS int64          `json:"ms,omitempty"`
	Tokens     history.Tokens `json:"tokens,omitzero"`
	CostUSD    float64        `json:"usd,omitempty"`
}

func (a Usage) add(b Usage) Usage {
	return Usage{
		Requests: a.Requests + b.Requests, DurationMS: min(a.DurationMS+b.DurationMS, maxDurationMS),
		Tokens: *capTokens(addTokens(a.Tokens, b.Tokens, 1)), CostUSD: min(a.CostUSD+b.CostUSD, maxCost),
	}
}

// UsageByModel maps models to their usage. The empty model collects the usage beyond maxModels.
type UsageByModel map[string]Usage

func (s *UsageByModel) add(model string, usage Usage) {
	if *s == nil {
		*s = UsageByModel{}
	}
	if _, known := (*s)[model]; !known && len(*s) >= maxModels {
		model = ""
	}
	(*s)[model] = (*s)[model].add(usage)
}

// plus returns the sum of s and more, which may be either.
func (s UsageByModel) plus(more UsageByModel) UsageByModel {
	if len(s) == 0 {
		return more
	}
	sum := maps.Clone(s)
	for _, model := range slices.Sorted(maps.Keys(more)) {
		sum.add(model, more[model])
	}
	return sum
}

func (s UsageByModel) total() (total Usage) {
	for _, usage := range s {
		total = total.add(usage)
	}
	return total
}

// Counter is the highest value that was seen of a cumulative series.
type Counter struct {
	Key string `json:"key"`
	Usage
}

// addSeries adds a metric series. A cumulative series may arrive late or repeatedly, so only an
// increase over the highest value so far counts.
func (s *Session) addSeries(series MetricSeries) {
	if series.Key == "" {
		s.MeteredUsage.add(series.Model, series.Usage)
		return
	}
	i := slices.IndexFunc(s.Counters, func(c Counter) bool { return c.Key == series.Key })
	if i < 0 {
		s.Counters = append(makeRoom(s.Counters, maxSeries), Counter{Key: series.Key})
		i = len(s.Counters) - 1
	}
	previous, current := s.Counters[i].Usage, series.Usage
	current.Tokens = history.Tokens{
		Input: max(previous.Tokens.Input, current.Tokens.Input), Output: max(previous.Tokens.Output, current.Tokens.Output),
		CacheRead: max(previous.Tokens.CacheRead, current.Tokens.CacheRead), CacheWrite: max(previous.Tokens.CacheWrite, current.Tokens.CacheWrite),
	}
	current.CostUSD = max(previous.CostUSD, current.CostUSD)
	s.Counters[i].Usage = current
	s.MeteredUsage.add(series.Model, Usage{Tokens: addTokens(current.Tokens, previous.Tokens, -1), CostUSD: current.CostUSD - previous.CostUSD})
}

// updateUsage adds the event's tokens and cost and returns by how much the session's changed, by model.
// The package comment explains which source counts.
func (s *Session) updateUsage(f *EventFacts) (history.Tokens, float64, []ModelSpend) {
	if !f.hasUsage() {
		return history.Tokens{}, 0, nil
	}
	usageBefore, tokensBefore, costBefore := s.countedUsage(), history.Tokens{}, s.Sum.CostUSD
	if s.Sum.Tokens != nil {
		tokensBefore = *s.Sum.Tokens
	}
	series, startsTotal := len(s.Counters), s.ReportedCost == 0 && f.CostUSD > 0
	startsTotal = startsTotal || s.TranscriptUsage.total().CostUSD == 0 && f.ModelUsage.total().CostUSD > 0
	s.addEventUsage(f)
	startsTotal = startsTotal || len(s.Counters) > series
	if f.SessionTokens != nil {
		s.ReportedTokens = f.SessionTokens
	}
	if f.TranscriptTokens != nil && (s.TranscriptTokens[f.Agent] != history.Tokens{} || len(s.TranscriptTokens) < maxAgents) {
		if s.TranscriptTokens == nil {
			s.TranscriptTokens = map[string]history.Tokens{}
		}
		s.TranscriptTokens[f.Agent] = *f.TranscriptTokens
	}
	if f.CostUSD > 0 {
		s.ReportedCost = f.CostUSD
	}
	s.updateTranscriptUsage(f.ModelUsage)
	s.Sum.CostUSD = max(s.ReportedCost, s.TranscriptUsage.total().CostUSD,
		s.Import.total().CostUSD+max(s.LoggedUsage.total().CostUSD, s.MeteredUsage.total().CostUSD))
	s.CostHistory.add(f.At, costBefore, s.Sum.CostUSD, startsTotal)
	tokens := s.totalTokens()
	if tokens != (history.Tokens{}) {
		s.Sum.Tokens = &tokens
	}
	change := ModelSpend{cmp.Or(f.Model, s.Sum.Model), addTokens(tokens, tokensBefore, -1), s.Sum.CostUSD - costBefore}
	return change.Tokens, change.Cost, divideSpend(change, rises(usageBefore, s.countedUsage()))
}

// updateTranscriptUsage replaces the totals of the transcript, unless an older event has arrived late.
func (s *Session) updateTranscriptUsage(latest UsageByModel) {
	before, after := s.TranscriptUsage.total(), latest.total()
	isOlder := after.CostUSD < before.CostUSD || after.CostUSD == before.CostUSD && larger(after.Tokens, before.Tokens) != after.Tokens
	if latest != nil && !isOlder {
		s.TranscriptUsage = latest
	}
}

// addEventUsage adds the usage of one event. A later usage of the same message replaces the
// earlier one.
func (s *Session) addEventUsage(f *EventFacts) {
	for _, series := range f.Series {
		s.addSeries(series)
	}
	used := f.Tokens
	switch {
	case f.Kind == ModelRequest:
		usage := Usage{Requests: 1, DurationMS: f.DurationMS, CostUSD: f.RequestUsage.CostUSD}
		if used != nil {
			usage.Tokens = *used
		}
		s.LoggedUsage.add(f.Model, usage)
		s.addUsage(f.Agent, usage)
	case used == nil || f.Kind.isTelemetry():
	case f.CostUSD > 0: // the result of a run, whose usage is the sum of the earlier events
		s.ReportedTokens = used
	default:
		s.addMessage(f.MessageID, *used)
	}
}

func (s *Session) addMessage(id string, used history.Tokens) {
	if id != "" {
		i := slices.IndexFunc(s.Messages, func(m Message) bool { return m.ID == id })
		if i >= 0 {
			s.MessageTokens = addTokens(s.MessageTokens, s.Messages[i].Tokens, -1)
			s.Messages = slices.Delete(s.Messages, i, i+1)
		}
		s.Messages = append(makeRoom(s.Messages, maxMessages), Message{id, used})
	}
	s.MessageTokens = *capTokens(addTokens(s.MessageTokens, used, 1))
}

func (s *Session) totalTokens() history.Tokens {
	imported := s.Import.total().Tokens
	if s.ReportedTokens != nil {
		return larger(*s.ReportedTokens, imported)
	}
	var chats history.Tokens
	for _, t := range s.TranscriptTokens {
		chats = addTokens(chats, t, 1)
	}
	requests, transcript := larger(s.LoggedUsage.total().Tokens, s.MeteredUsage.total().Tokens), s.TranscriptUsage.total().Tokens
	if requests == (history.Tokens{}) && chats == (history.Tokens{}) && transcript == (history.Tokens{}) {
		requests = s.MessageTokens
	}
	return larger(larger(*capTokens(addTokens(imported, requests, 1)), *capTokens(chats)), transcript)
}

// larger returns the larger of two sums, or a if they are equal.
func larger(a, b history.Tokens) history.Tokens {
	count := func(t history.Tokens) int64 { return t.Input + t.Output + t.CacheRead + t.CacheWrite }
	if count(b) > count(a) {
		return b
	}
	return a
}

// countedUsage returns the usage per model, its tokens and its cost each from the source that counts most. If
// sources are equal it prefers log records, which also count requests.
func (s *Session) countedUsage() UsageByModel {
	imported := s.Import.byModel()
	tokens := imported.plus(s.LoggedUsage)
	cost := tokens
	for _, from := range []UsageByModel{imported.plus(s.MeteredUsage), s.TranscriptUsage} {
		total := from.total()
		if larger(tokens.total().Tokens, total.Tokens) != tokens.total().Tokens {
			tokens = from
		}
		if total.CostUSD > cost.total().CostUSD+1e-9 { // sums of fractions differ
			cost = from
		}
	}
	counted := UsageByModel{}
	for model, u := range tokens {
		u.CostUSD = 0
		counted[model] = u
	}
	for model, u := range cost {
		sum := counted[model]
		sum.CostUSD = u.CostUSD
		counted[model] = sum
	}
	return counted
}

// Models returns the usage per model, the most expensive first.
func (s *Session) Models() []history.ModelUse {
	counted := s.countedUsage()
	list := make([]history.ModelUse, 0, len(counted))
	for model, u := range counted {
		list = append(list, history.ModelUse{Model: model, Requests: u.Requests, DurationMS: u.DurationMS, Tokens: u.Tokens, CostUSD: u.CostUSD})
	}
	slices.SortFunc(list, compareByCost)
	return list
}

// rises returns by how much the usage of models rose, sorted by model.
func rises(before, after UsageByModel) (list []ModelSpend) {
	for _, model := range slices.Sorted(maps.Keys(after)) {
		b, a := before[model], after[model]
		rise := ModelSpend{model, history.Tokens{
			Input: max(0, a.Tokens.Input-b.Tokens.Input), Output: max(0, a.Tokens.Output-b.Tokens.Output),
			CacheRead: max(0, a.Tokens.CacheRead-b.Tokens.CacheRead), CacheWrite: max(0, a.Tokens.CacheWrite-b.Tokens.CacheWrite),
		}, max(0, a.CostUSD-b.CostUSD)}
		if rise.Tokens != (history.Tokens{}) || rise.Cost > 0 {
			list = append(list, rise)
		}
	}
	return list
}

// Import is the usage and the tools of an imported transcript. Telemetry and hooks add to it if the session
// continues.
type Import struct {
	Usage []history.ImportedUsage `json:"usage,omitempty"`
	Tools []history.ImportedTool  `json:"tools,omitempty"`
}

// total returns the usage of the transcript.
func (s *Import) total() (sum Usage) {
	for _, u := range s.Usage {
		sum = sum.add(Usage{Requests: u.Requests, Tokens: u.Tokens, CostUSD: u.CostUSD})
	}
	return sum
}

// byModel returns the usage of the transcript by model.
func (s *Import) byModel() (sum UsageByModel) {
	for _, u := range s.Usage {
		sum.add(u.Model, Usage{Requests: u.Requests, Tokens: u.Tokens, CostUSD: u.CostUSD})
	}
	return sum
}
