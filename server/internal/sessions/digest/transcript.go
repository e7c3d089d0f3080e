package digest

import (
	"cmp"
	"github.com/hookback/hookback/schema/history"
)

// fromTranscript sums up a transcript, an array of the lines that Claude Code writes. A model's
// message spans several lines, each with the usage of the whole message, so every message id
// counts once.
func (f *EventFacts) fromTranscript(raw []byte) {
	if raw == nil {
		return
	}
	f.HasTranscript = true
	byID := map[string]history.Tokens{}
	var sum history.Tokens
	var model, branch string
	var cost float64
	eachElement(raw, func(line []byte) {
		var m EventFacts
		EachMember(line, func(name string, value []byte) {
			switch name {
			case "message":
				m.fromMessage(value)
			case "gitBranch":
				setIfString(&branch, value)
			case "totalCostUSD":
				cost = boundedNumber(value, maxCost)
			}
		})
		if m.Model != "" && m.Model != "<synthetic>" {
			model = m.Model
		}
		if m.Tokens == nil {
			return
		}
		if m.MessageID != "" {
			sum = addTokens(sum, byID[m.MessageID], -1)
			byID[m.MessageID] = *m.Tokens
		}
		sum = addTokens(sum, *m.Tokens, 1)
	})
	if sum != (history.Tokens{}) {
		f.TranscriptTokens = capTokens(sum)
	}
	for _, t := range []struct {
		into *string
		text string
	}{{&f.Model, model}, {&f.Branch, branch}} {
		if *t.into == "" {
			*t.into = t.text
		}
	}
	f.CostUSD = cmp.Or(f.CostUSD, cost)
}

func addTokens(a, b history.Tokens, times int64) history.Tokens {
	return history.Tokens{
		Input: a.Input + times*b.Input, Output: a.Output + times*b.Output,
		CacheRead: a.CacheRead + times*b.CacheRead, CacheWrite: a.CacheWrite + times*b.CacheWrite,
	}
}

func capTokens(t history.Tokens) *history.Tokens {
	return &history.Tokens{
		Input: min(t.Input, maxTokens), Output: min(t.Output, maxTokens),
		CacheRead: min(t.CacheRead, maxTokens), CacheWrite: min(t.CacheWrite, maxTokens),
	}
}
