package digest

import "github.com/hookback/hookback/schema"

// fromChat adds up a transcript: lines as Claude Code writes them, in an array. A
// model's message spans several lines, each with the usage of all of it, so every
// message id counts once.
func (f *EventFacts) fromChat(raw []byte) {
	if raw == nil {
		return
	}
	f.HasChat = true
	byID := map[string]schema.Tokens{}
	var sum schema.Tokens
	var model, branch string
	var cost float64
	elements(raw, func(line []byte) {
		var m EventFacts
		members(line, func(name string, value []byte) {
			switch name {
			case "message":
				m.fromMessage(value)
			case "gitBranch":
				set(&branch, value)
			case "totalCostUSD":
				cost = number(value, maxCost)
			}
		})
		if m.Model != "" && m.Model != "<synthetic>" {
			model = m.Model
		}
		if m.Used == nil {
			return
		}
		if m.MessageID != "" {
			sum = plus(sum, byID[m.MessageID], -1)
			byID[m.MessageID] = *m.Used
		}
		sum = plus(sum, *m.Used, 1)
	})
	if sum != (schema.Tokens{}) {
		f.InChat = capped(sum)
	}
	for _, t := range []struct {
		into *string
		text string
	}{{&f.Model, model}, {&f.Branch, branch}} {
		if *t.into == "" {
			*t.into = t.text
		}
	}
	if f.CostUSD == 0 {
		f.CostUSD = cost
	}
}

func plus(a, b schema.Tokens, times int64) schema.Tokens {
	return schema.Tokens{
		Input: a.Input + times*b.Input, Output: a.Output + times*b.Output,
		CacheRead: a.CacheRead + times*b.CacheRead, CacheWrite: a.CacheWrite + times*b.CacheWrite,
	}
}

func capped(t schema.Tokens) *schema.Tokens {
	return &schema.Tokens{
		Input: min(t.Input, maxTokens), Output: min(t.Output, maxTokens),
		CacheRead: min(t.CacheRead, maxTokens), CacheWrite: min(t.CacheWrite, maxTokens),
	}
}
