package alerts

import (
	"context"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

// Rules are the alert rules. Its methods are safe for concurrent use.
type Rules struct {
	*store.Settings[store.AlertSettings]
}

// OpenRules reads the stored rules. Each change wakes the follower.
func OpenRules(ctx context.Context, s store.Documents, f *feed.Feed) (*Rules, error) {
	settings, err := store.OpenSettings(ctx, s, store.AlertRules,
		func(store.AlertSettings) { f.PublishFact(feed.Fact{Kinds: feed.AlertRules}) })
	return &Rules{settings}, err
}

// List returns the rules by id.
func (r *Rules) List() []control.AlertRule { return append([]control.AlertRule{}, r.Read().Rules...) }

// Create adds a rule on behalf of a person.
func (r *Rules) Create(ctx context.Context, rule control.AlertRule, by string) error {
	if err := rule.Normalize(); err != nil {
		return err
	}
	return r.Change(ctx, by, func(s *store.AlertSettings) error {
		if len(s.Rules) >= control.MaxAlertRules {
			return schema.ErrTooMany
		}
		s.LastID++
		rule.ID = s.LastID
		s.Rules = append(s.Rules, rule)
		return nil
	})
}

// Replace changes the rule with that id on behalf of a person.
func (r *Rules) Replace(ctx context.Context, id int64, rule control.AlertRule, by string) error {
	if err := rule.Normalize(); err != nil {
		return err
	}
	return r.Change(ctx, by, func(s *store.AlertSettings) error {
		i := indexOf(s.Rules, id)
		if i < 0 {
			return schema.ErrNotFound
		}
		rule.ID = id
		s.Rules[i] = rule
		return nil
	})
}

// Remove removes the rule with that id on behalf of a person. Its alerts close.
func (r *Rules) Remove(ctx context.Context, id int64, by string) error {
	return r.Change(ctx, by, func(s *store.AlertSettings) error {
		i := indexOf(s.Rules, id)
		if i < 0 {
			return schema.ErrNotFound
		}
		s.Rules = slices.Delete(s.Rules, i, i+1)
		return nil
	})
}

func indexOf(rules []control.AlertRule, id int64) int {
	return slices.IndexFunc(rules, func(r control.AlertRule) bool { return r.ID == id })
}
