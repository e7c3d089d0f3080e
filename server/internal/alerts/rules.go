package alerts

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

// Rules are the alert rules. Its methods are safe for concurrent use.
type Rules struct {
	store store.Alerts
	feed  *feed.Feed

	mu       sync.Mutex
	settings store.AlertSettings
}

// OpenRules reads the stored rules.
func OpenRules(ctx context.Context, s store.Alerts, f *feed.Feed) (*Rules, error) {
	r := &Rules{store: s, feed: f}
	return r, r.read(ctx)
}

// Reload reads the stored rules again, and wakes the follower if they have changed. See reload.Reloader.
func (r *Rules) Reload(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.settings
	if err := r.read(ctx); err != nil {
		return err
	}
	if !reflect.DeepEqual(before, r.settings) {
		r.feed.PublishFact(feed.Fact{Kinds: feed.AlertRules})
	}
	return nil
}

// read reads the stored rules. Later calls need mu.
func (r *Rules) read(ctx context.Context) error {
	settings, err := r.store.AlertSettings(ctx)
	if err != nil {
		return fmt.Errorf("read the alert rules: %w", err)
	}
	r.settings = settings
	return nil
}

// List returns the rules by id.
func (r *Rules) List() []control.AlertRule {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]control.AlertRule{}, r.settings.Rules...)
}

// Create adds a rule on behalf of a person.
func (r *Rules) Create(ctx context.Context, rule control.AlertRule, by string) error {
	if err := rule.Normalize(); err != nil {
		return err
	}
	return r.change(ctx, by, func(s *store.AlertSettings) error {
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
	return r.change(ctx, by, func(s *store.AlertSettings) error {
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
	return r.change(ctx, by, func(s *store.AlertSettings) error {
		i := indexOf(s.Rules, id)
		if i < 0 {
			return schema.ErrNotFound
		}
		s.Rules = slices.Delete(s.Rules, i, i+1)
		return nil
	})
}

// change stores changed rules and wakes the follower.
func (r *Rules) change(ctx context.Context, by string, edit func(*store.AlertSettings) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.read(ctx); err != nil { // another hub may have changed them
		return err
	}
	next := r.settings
	next.Rules = slices.Clone(next.Rules)
	if err := edit(&next); err != nil {
		return err
	}
	if err := r.store.SetAlertSettings(ctx, next, by); err != nil {
		return err
	}
	r.settings = next
	r.feed.PublishFact(feed.Fact{Kinds: feed.AlertRules})
	return nil
}

func indexOf(rules []control.AlertRule, id int64) int {
	return slices.IndexFunc(rules, func(r control.AlertRule) bool { return r.ID == id })
}
