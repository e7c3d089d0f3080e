package digest

import (
	"slices"

	"github.com/hookback/hookback/schema"
)

// Usage is what requests to a model took.
type Usage struct {
	Requests int64         `json:"n,omitempty"`
	TookMS   int64         `json:"ms,omitempty"`
	Tokens   schema.Tokens `json:"tokens,omitzero"`
	CostUSD  float64       `json:"usd,omitempty"`
}

func (a Usage) plus(b Usage) Usage {
	return Usage{
		Requests: a.Requests + b.Requests, TookMS: min(a.TookMS+b.TookMS, maxTook),
		Tokens: *capped(plus(a.Tokens, b.Tokens, 1)), CostUSD: min(a.CostUSD+b.CostUSD, maxCost),
	}
}

// UsageByModel is by model. The model without a name is those that are too many.
type UsageByModel map[string]Usage

func (s *UsageByModel) add(model string, spent Usage) {
	if *s == nil {
		*s = UsageByModel{}
	}
	if _, known := (*s)[model]; !known && len(*s) >= maxModels {
		model = ""
	}
	(*s)[model] = (*s)[model].plus(spent)
}

func (s UsageByModel) sum() (all Usage) {
	for _, spent := range s {
		all = all.plus(spent)
	}
	return all
}

// Counter is a cumulative series as far as it was seen.
type Counter struct {
	Key string `json:"key"`
	Usage
}

// meter adds what a series says. Cumulative ones may come late or twice: each counts
// as far as it has ever been.
func (s *Session) meter(one MetricSeries) {
	if one.Key == "" {
		s.Metered.add(one.Model, one.Usage)
		return
	}
	i := slices.IndexFunc(s.Series, func(c Counter) bool { return c.Key == one.Key })
	if i < 0 {
		s.Series = append(last(s.Series, maxSeries), Counter{Key: one.Key})
		i = len(s.Series) - 1
	}
	seen, now := s.Series[i].Usage, one.Usage
	now.Tokens = schema.Tokens{
		Input: max(seen.Tokens.Input, now.Tokens.Input), Output: max(seen.Tokens.Output, now.Tokens.Output),
		CacheRead: max(seen.Tokens.CacheRead, now.Tokens.CacheRead), CacheWrite: max(seen.Tokens.CacheWrite, now.Tokens.CacheWrite),
	}
	now.CostUSD = max(seen.CostUSD, now.CostUSD)
	s.Series[i].Usage = now
	s.Metered.add(one.Model, Usage{Tokens: plus(now.Tokens, seen.Tokens, -1), CostUSD: now.CostUSD - seen.CostUSD})
}

// spend keeps tokens and costs, and returns by how much they changed. The package's
// comment says what counts.
func (s *Session) spend(f *EventFacts) (schema.Tokens, float64) {
	s.add(f)
	if f.Total != nil {
		s.Total = f.Total
	}
	if f.InChat != nil && (s.Chats[f.Agent] != schema.Tokens{} || len(s.Chats) < maxAgents) {
		if s.Chats == nil {
			s.Chats = map[string]schema.Tokens{}
		}
		s.Chats[f.Agent] = *f.InChat
	}
	if f.CostUSD > 0 {
		s.Own = f.CostUSD
	}
	was := s.Sum.CostUSD
	s.Sum.CostUSD = max(s.Own, s.Logged.sum().CostUSD, s.Metered.sum().CostUSD)
	var before schema.Tokens
	if s.Sum.Tokens != nil {
		before = *s.Sum.Tokens
	}
	now := s.tokens()
	if now != (schema.Tokens{}) {
		s.Sum.Tokens = &now
	}
	return plus(now, before, -1), s.Sum.CostUSD - was
}

// add counts what one event used; of a message only the last word.
func (s *Session) add(f *EventFacts) {
	for _, one := range f.Metered {
		s.meter(one)
	}
	used := f.Used
	switch {
	case f.Kind == Requested:
		spent := Usage{Requests: 1, TookMS: f.DurationMS, CostUSD: f.Request.CostUSD}
		if used != nil {
			spent.Tokens = *used
		}
		s.Logged.add(f.Model, spent)
		s.charge(f.Agent, spent)
	case used == nil || f.Kind.telemetry():
	case f.CostUSD > 0: // the result of a run: its usage is the sum of what came before
		s.Total = used
	default:
		s.message(f.MessageID, *used)
	}
}

func (s *Session) message(id string, used schema.Tokens) {
	if id != "" {
		i := slices.IndexFunc(s.Messages, func(m Message) bool { return m.ID == id })
		if i >= 0 {
			s.Used = plus(s.Used, s.Messages[i].Used, -1)
			s.Messages = slices.Delete(s.Messages, i, i+1)
		}
		s.Messages = append(last(s.Messages, maxMessages), Message{id, used})
	}
	s.Used = *capped(plus(s.Used, used, 1))
}

func (s *Session) tokens() schema.Tokens {
	if s.Total != nil {
		return *s.Total
	}
	var chats schema.Tokens
	for _, t := range s.Chats {
		chats = plus(chats, t, 1)
	}
	most := schema.Tokens{}
	for _, t := range []schema.Tokens{s.Logged.sum().Tokens, s.Metered.sum().Tokens, *capped(chats)} {
		most = more(most, t)
	}
	if most == (schema.Tokens{}) {
		return s.Used
	}
	return most
}

// more is the greater of two sums, the first of equals.
func more(a, b schema.Tokens) schema.Tokens {
	count := func(t schema.Tokens) int64 { return t.Input + t.Output + t.CacheRead + t.CacheWrite }
	if count(b) > count(a) {
		return b
	}
	return a
}

// Models is what each model took, the dearest first, as the source that counted most
// has it. Of equals that is log records, which count the requests, too.
func (s *Session) Models() []schema.ModelUse {
	from, logged, metered := s.Logged, s.Logged.sum(), s.Metered.sum()
	if more(logged.Tokens, metered.Tokens) != logged.Tokens || metered.CostUSD > 1.001*logged.CostUSD { // sums of fractions differ
		from = s.Metered
	}
	list := make([]schema.ModelUse, 0, len(from))
	for model, spent := range from {
		list = append(list, schema.ModelUse{
			Model: model, Requests: spent.Requests, DurationMS: spent.TookMS, Tokens: spent.Tokens, CostUSD: spent.CostUSD,
		})
	}
	slices.SortFunc(list, byCost)
	return list
}
