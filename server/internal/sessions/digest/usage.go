package digest

import (
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

// updateUsage adds the event's tokens and cost and returns by how much the session's changed.
// The package comment explains which source counts.
func (s *Session) updateUsage(f *EventFacts) (history.Tokens, float64) {
	series, startsTotal := len(s.Counters), s.ReportedCost == 0 && f.CostUSD > 0
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
	costBefore := s.Sum.CostUSD
	s.Sum.CostUSD = max(s.ReportedCost, s.Import.total().CostUSD+max(s.LoggedUsage.total().CostUSD, s.MeteredUsage.total().CostUSD))
	s.CostHistory.add(f.At, costBefore, s.Sum.CostUSD, startsTotal)
	var tokensBefore history.Tokens
	if s.Sum.Tokens != nil {
		tokensBefore = *s.Sum.Tokens
	}
	tokens := s.totalTokens()
	if tokens != (history.Tokens{}) {
		s.Sum.Tokens = &tokens
	}
	return addTokens(tokens, tokensBefore, -1), s.Sum.CostUSD - costBefore
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
	requests := larger(s.LoggedUsage.total().Tokens, s.MeteredUsage.total().Tokens)
	if requests == (history.Tokens{}) && chats == (history.Tokens{}) {
		requests = s.MessageTokens
	}
	return larger(*capTokens(addTokens(imported, requests, 1)), *capTokens(chats))
}

// larger returns the larger of two sums, or a if they are equal.
func larger(a, b history.Tokens) history.Tokens {
	count := func(t history.Tokens) int64 { return t.Input + t.Output + t.CacheRead + t.CacheWrite }
	if count(b) > count(a) {
		return b
	}
	return a
}

// Models returns the usage per model, the most expensive first, from the source that counted
// most. If the sources are equal it uses the log records, which also count requests.
func (s *Session) Models() []history.ModelUse {
	from, logged, metered := s.LoggedUsage, s.LoggedUsage.total(), s.MeteredUsage.total()
	if larger(logged.Tokens, metered.Tokens) != logged.Tokens || metered.CostUSD > 1.001*logged.CostUSD { // sums of fractions differ
		from = s.MeteredUsage
	}
	list := make([]history.ModelUse, 0, len(from))
	if len(from) == 0 {
		return s.Import.models()
	}
	for model, usage := range from {
		list = append(list, history.ModelUse{
			Model: model, Requests: usage.Requests, DurationMS: usage.DurationMS, Tokens: usage.Tokens, CostUSD: usage.CostUSD,
		})
	}
	slices.SortFunc(list, compareByCost)
	return list
}

// meteredOf returns the metered usage of the models that the metrics in f name.
func (s *Session) meteredOf(f *EventFacts) UsageByModel {
	if len(f.Series) == 0 {
		return nil
	}
	usage := UsageByModel{}
	for i := range f.Series {
		usage[f.Series[i].Model] = s.MeteredUsage[f.Series[i].Model]
	}
	return usage
}

// metricRises returns by how much the metered usage of these models rose, sorted by model.
func (s *Session) metricRises(before UsageByModel) (rises []ModelSpend) {
	for _, model := range slices.Sorted(maps.Keys(before)) {
		after := s.MeteredUsage[model]
		rises = append(rises, ModelSpend{model, addTokens(after.Tokens, before[model].Tokens, -1), after.CostUSD - before[model].CostUSD})
	}
	return rises
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

// models returns the usage of the transcript by model.
func (s *Import) models() []history.ModelUse {
	byModel := UsageByModel{}
	for _, u := range s.Usage {
		byModel.add(u.Model, Usage{Requests: u.Requests, Tokens: u.Tokens, CostUSD: u.CostUSD})
	}
	list := make([]history.ModelUse, 0, len(byModel))
	for _, model := range slices.Sorted(maps.Keys(byModel)) {
		u := byModel[model]
		list = append(list, history.ModelUse{Model: model, Requests: u.Requests, Tokens: u.Tokens, CostUSD: u.CostUSD})
	}
	slices.SortStableFunc(list, compareByCost)
	return list
}
