package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hookback/hookback/schema"
)

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

const (
	ruleColumns    = `SELECT id, rule, after, since, expires_at, revoked_at, revoked_by, uses, used_at FROM rules WHERE stream_id = 1`
	queryRules     = ruleColumns + ` ORDER BY id DESC LIMIT ?`
	queryLiveRules = ruleColumns + ` AND revoked_at = 0 AND (expires_at = 0 OR expires_at > ?) ORDER BY id`
	queryRule      = ruleColumns + ` AND id = ?`
)

// ruleLedgerData is the part of a rule that the audit log stores.
type ruleLedgerData struct {
	ID   int64  `json:"rule"`
	Text string `json:"text,omitempty"`
}

// CreateRule stores a rule and returns it with its ID.
func (s *Store) CreateRule(ctx context.Context, r schema.Rule) (Rule, error) {
	made := Rule{Rule: r, Since: r.CreatedAt}
	err := s.writer.do(ctx, &op{essential: true, needsSavepoint: true, run: func(t *tx) error {
		var last sql.NullInt64
		if err := t.get([]any{&last}, `SELECT max(id) FROM rules WHERE stream_id = 1`); err != nil {
			return err
		}
		made.ID, made.After = last.Int64+1, schema.EventID(t.counters.head)
		text, err := json.Marshal(made.Rule)
		if err != nil {
			return fmt.Errorf("encode a rule: %w", err)
		}
		_, err = t.exec(`INSERT INTO rules (stream_id, id, rule, after, since, app, session, expires_at, revoked_at, revoked_by, uses, used_at)
			VALUES (1, ?, ?, ?, ?, ?, ?, ?, 0, '', 0, 0)`,
			made.ID, text, made.After, int64(made.Since), made.SourceApp, made.SessionID, int64(made.ExpiresAt))
		if err != nil {
			return err
		}
		return t.appendLedger(LedgerRecord{Action: "rule.made", Actor: made.CreatedBy, QuestionID: made.From, Data: ruleLedgerData{made.ID, made.Text}})
	}})
	return made, err
}

// RevokeRule revokes a rule and returns it. It fails with schema.ErrNotFound. A rule that
// was revoked before stays unchanged.
func (s *Store) RevokeRule(ctx context.Context, id int64, by string, at time.Time) (Rule, error) {
	err := s.writer.do(ctx, &op{essential: true, needsSavepoint: true, run: func(t *tx) error {
		revoked, err := t.exec(`UPDATE rules SET revoked_at = ?, revoked_by = ? WHERE stream_id = 1 AND id = ? AND revoked_at = 0`, toMillis(at), by, id)
		if err != nil || revoked == 0 {
			return err
		}
		return t.appendLedger(LedgerRecord{Action: "rule.revoked", Actor: by, Data: ruleLedgerData{ID: id}})
	}})
	if err != nil {
		return Rule{}, err
	}
	rows, err := s.readers.query(ctx, queryRule, id)
	list, err := scanRules(rows, err)
	if err == nil && len(list) == 0 {
		err = schema.ErrNotFound
	}
	if err != nil {
		return Rule{}, err
	}
	return list[0], nil
}

// EndRules ends the rules that were limited to a session that has ended.
func (s *Store) EndRules(ctx context.Context, app, session string, at time.Time) error {
	return s.writer.do(ctx, &op{essential: true, run: func(t *tx) error {
		_, err := t.exec(`UPDATE rules SET expires_at = ?1 WHERE stream_id = 1 AND session = ?2 AND session <> '' AND app = ?3
			AND (expires_at = 0 OR expires_at > ?1)`, toMillis(at), session, app)
		return err
	}})
}

// ShiftRules shifts the expiry of rules after the clock was stepped by the given duration
// to now.
func (s *Store) ShiftRules(ctx context.Context, now time.Time, by time.Duration) error {
	return s.writer.do(ctx, &op{essential: true, run: func(t *tx) error {
		_, err := t.exec(`UPDATE rules SET expires_at = max(1, expires_at + ?1), since = since + ?1 WHERE stream_id = 1 AND expires_at > ?2 AND revoked_at = 0`,
			by.Milliseconds(), toMillis(now.Add(-by)))
		return err
	}})
}

// Rules returns up to n rules, newest first, including ended ones.
func (s *Store) Rules(ctx context.Context, n int) ([]Rule, error) {
	rows, err := s.readers.query(ctx, queryRules, n)
	return scanRules(rows, err)
}

// LiveRules returns the rules that are active at now, oldest first.
func (s *Store) LiveRules(ctx context.Context, now time.Time) ([]Rule, error) {
	rows, err := s.readers.query(ctx, queryLiveRules, toMillis(now))
	return scanRules(rows, err)
}

func scanRules(rows *sql.Rows, err error) (list []Rule, _ error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var (
			r                                         Rule
			id, since, expires, revoked, uses, usedAt int64
			by                                        string
			text                                      []byte
		)
		if err := rows.Scan(&id, &text, &r.After, &since, &expires, &revoked, &by, &uses, &usedAt); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &r.Rule); err != nil {
			return nil, fmt.Errorf("decode rule %d: %w", id, err)
		}
		r.ID, r.ExpiresAt, r.RevokedAt, r.RevokedBy = id, schema.Millis(expires), schema.Millis(revoked), by
		r.Since = schema.Millis(since)
		r.Uses, r.LastUseAt = uses, schema.Millis(usedAt)
		list = append(list, r)
	}
	return list, rows.Err()
}

// recordRuleUse counts a decision by a rule. It fails with ErrRuleEnded if the rule was
// revoked in the meantime.
func (t *tx) recordRuleUse(id int64) error {
	used, err := t.exec(`UPDATE rules SET uses = uses + 1, used_at = ? WHERE stream_id = 1 AND id = ? AND revoked_at = 0`, toMillis(t.now), id)
	if err == nil && used == 0 {
		err = ErrRuleEnded
	}
	return err
}
