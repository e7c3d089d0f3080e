package query

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/store"
)

// maxRulesListed limits the rules in a list.
const maxRulesListed = 1000

// Rules returns the newest rules as a JSON array of schema.Rule.
func (s *Service) Rules(ctx context.Context) ([]byte, error) {
	stored, err := s.Store.Rules(ctx, maxRulesListed)
	if err != nil {
		return nil, err
	}
	result := make([]schema.Rule, len(stored))
	for i := range stored {
		result[i] = stored[i].Rule
	}
	return json.Marshal(result)
}

// Limits of a page of automatic answers.
const (
	automaticTime = 500 * time.Millisecond
	automaticPage = 250 // questions per read
)

// Automatic returns the answers of rules to questions before an id, newest first: up to limit, or fewer
// if they are far apart.
func (s *Service) Automatic(ctx context.Context, before schema.EventID, limit int) (history.AutomaticPage, error) {
	page := history.AutomaticPage{Answers: []history.AutomaticAnswer{}}
	rules, err := s.Store.Rules(ctx, maxRulesListed)
	if err != nil {
		return page, err
	}
	byID := make(map[int64]*schema.Rule, len(rules))
	for i := range rules {
		byID[rules[i].ID] = &rules[i].Rule
	}
	if before == 0 {
		before = math.MaxInt64
	}
	now := schema.Millis(s.Clock().UnixMilli())
	for deadline := time.Now().Add(automaticTime); ; {
		questions, err := s.Store.Questions(ctx, before, automaticPage)
		if err != nil || len(questions) == 0 {
			return page, err
		}
		for _, e := range questions {
			before = e.ID
			if answer, ok := automaticAnswer(e, byID, now); ok {
				page.Answers = append(page.Answers, answer)
			}
			if len(page.Answers) == limit {
				page.Next = before
				return page, nil
			}
		}
		if time.Now().After(deadline) {
			page.Next = before
			return page, nil
		}
	}
}

// automaticAnswer returns the answer of a rule to a question, or false if no rule answered it.
func automaticAnswer(e *store.Event, rules map[int64]*schema.Rule, now schema.Millis) (a history.AutomaticAnswer, ok bool) {
	var q schema.HumanInTheLoop
	var st schema.Status
	if json.Unmarshal(e.Status, &st) != nil || st.Source != schema.ByRule || st.Rule == nil || json.Unmarshal(e.Question, &q) != nil {
		return a, false
	}
	call := question.CallOf(e, &q)
	a = history.AutomaticAnswer{
		Event: e.ID, SourceApp: e.App, SessionID: e.Session, Tool: call.Name, Title: st.Intent.Title(), Risk: st.Risk,
		Rule: *st.Rule, Then: schema.ThenDeny, At: st.RespondedAt,
	}
	if st.Outcome == schema.Approve {
		a.Then = schema.ThenAllow
	}
	if rule := rules[st.Rule.ID]; rule != nil {
		a.Author, a.Active = rule.CreatedBy, rule.RevokedAt == 0 && (rule.ExpiresAt == 0 || now < rule.ExpiresAt)
	}
	return a, true
}
