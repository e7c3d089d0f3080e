package store

import (
	"context"
	"errors"
	"time"

	"github.com/hookback/hookback/schema"
)

// Rules are the stored rules.
type Rules interface {
	// CreateRule stores a rule and returns it with its ID. A rule of the scope session replaces
	// that of the same session, which it revokes in the name of its author.
	CreateRule(ctx context.Context, r schema.Rule) (Rule, error)

	// RevokeRule revokes a rule and returns it. It fails with schema.ErrNotFound. A rule that
	// was revoked before stays unchanged.
	RevokeRule(ctx context.Context, id int64, by string, at time.Time) (Rule, error)

	// EndRules ends the rules that were limited to a session that has ended.
	EndRules(ctx context.Context, app, session string, at time.Time) error

	// ShiftRules shifts the expiry of rules after the clock was stepped by the given duration
	// to now.
	ShiftRules(ctx context.Context, now time.Time, by time.Duration) error

	// Rules returns up to n rules, newest first, including ended ones.
	Rules(ctx context.Context, n int) ([]Rule, error)

	// LiveRules returns the rules that are active at now, oldest first.
	LiveRules(ctx context.Context, now time.Time) ([]Rule, error)
}

// ErrRuleEnded is returned by Apply if the deciding rule was revoked or expired before
// the decision was stored.
var ErrRuleEnded = errors.New("the rule has ended")

// Rule is a stored rule.
type Rule struct {
	schema.Rule
	After schema.EventID // the log's head when the rule was created
	// Since is the creation time on the current clock: CreatedAt, adjusted by later clock
	// steps.
	Since schema.Millis
}
