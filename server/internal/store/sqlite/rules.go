package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

const (
	ruleColumns    = `SELECT id, rule, after, since, expires_at, revoked_at, revoked_by, uses, used_at FROM rules`
	queryRules     = ruleColumns + ` ORDER BY id DESC LIMIT ?`
	queryLiveRules = ruleColumns + ` WHERE revoked_at = 0 AND (expires_at = 0 OR expires_at > ?) ORDER BY id`
	queryRule      = ruleColumns + ` WHERE id = ?`

	queryAllowances = `SELECT id FROM rules WHERE session = ? AND app = ? AND revoked_at = 0
		AND (expires_at = 0 OR expires_at > ?) AND scope = ? ORDER BY id`
)

func (s *engine) CreateRule(ctx context.Context, r schema.Rule) (store.Rule, error) {
	made := store.Rule{Rule: r, Since: r.CreatedAt}
	err := s.writer.do(ctx, &op{essential: true, needsSavepoint: true, run: func(t *tx) error {
		var last sql.NullInt64
		if err := t.get([]any{&last}, `SELECT max(id) FROM rules`); err != nil {
			return err
		}
		if err := t.revokeAllowances(&made.Rule); err != nil {
			return err
		}
		made.ID, made.After = last.Int64+1, schema.EventID(t.counters.head)
		text, err := json.Marshal(made.Rule)
		if err != nil {
			return fmt.Errorf("encode a rule: %w", err)
		}
		_, err = t.exec(`INSERT INTO rules (id, rule, created_by, after, since, scope, app, session, expires_at, revoked_at, revoked_by, uses, used_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, '', 0, 0)`,
			made.ID, text, made.CreatedBy, made.After, int64(made.Since), made.Scope, made.SourceApp, made.SessionID, int64(made.ExpiresAt))
		if err != nil {
			return err
		}
		return t.appendLedger(store.LedgerRecord{Action: "rule.made", Actor: made.CreatedBy, QuestionID: made.From, Data: kit.RuleData{ID: made.ID, Text: made.Text}})
	}})
	return made, err
}

// revokeAllowances revokes the active allowances of the session that r is a new one for.
func (t *tx) revokeAllowances(r *schema.Rule) error {
	if r.Scope != schema.ScopeSession {
		return nil
	}
	rows, err := t.query(queryAllowances, r.SessionID, r.SourceApp, int64(r.CreatedAt), schema.ScopeSession)
	ids, err := collect(rows, err, scanColumn[int64])
	for _, id := range ids {
		if err == nil {
			err = t.revokeRule(id, r.CreatedBy, int64(r.CreatedAt))
		}
	}
	return err
}

// revokeRule revokes a rule that is not revoked.
func (t *tx) revokeRule(id int64, by string, at int64) error {
	revoked, err := t.exec(`UPDATE rules SET revoked_at = ?, revoked_by = ? WHERE id = ? AND revoked_at = 0`, at, by, id)
	if err != nil || revoked == 0 {
		return err
	}
	return t.appendLedger(store.LedgerRecord{Action: "rule.revoked", Actor: by, Data: kit.RuleData{ID: id}})
}

func (s *engine) RevokeRule(ctx context.Context, id int64, by string, at time.Time) (store.Rule, error) {
	err := s.writer.do(ctx, &op{essential: true, needsSavepoint: true, run: func(t *tx) error { return t.revokeRule(id, by, kit.Millis(at)) }})
	if err != nil {
		return store.Rule{}, err
	}
	rows, err := s.readers.query(ctx, queryRule, id)
	list, err := scanRules(rows, err)
	if err == nil && len(list) == 0 {
		err = schema.ErrNotFound
	}
	if err != nil {
		return store.Rule{}, err
	}
	return list[0], nil
}

func (s *engine) EndRules(ctx context.Context, app, session string, at time.Time) error {
	return s.writer.exec(ctx, true, `UPDATE rules SET expires_at = ?1 WHERE session = ?2 AND session <> '' AND app = ?3
		AND (expires_at = 0 OR expires_at > ?1)`, kit.Millis(at), session, app)
}

func (s *engine) ShiftRules(ctx context.Context, now time.Time, by time.Duration) error {
	return s.writer.exec(ctx, true, `UPDATE rules SET expires_at = max(1, expires_at + ?1), since = since + ?1 WHERE expires_at > ?2 AND revoked_at = 0`,
		by.Milliseconds(), kit.Millis(now.Add(-by)))
}

func (s *engine) Rules(ctx context.Context, n int) ([]store.Rule, error) {
	rows, err := s.readers.query(ctx, queryRules, n)
	return scanRules(rows, err)
}

func (s *engine) LiveRules(ctx context.Context, now time.Time) ([]store.Rule, error) {
	rows, err := s.readers.query(ctx, queryLiveRules, kit.Millis(now))
	return scanRules(rows, err)
}

func scanRules(rows *sql.Rows, err error) ([]store.Rule, error) {
	return collect(rows, err, func(rows *sql.Rows, r *store.Rule) error {
		// The columns are newer than the same members of the JSON.
		var id, since, expires, revoked, uses, usedAt int64
		var by string
		var text []byte
		if err := rows.Scan(&id, &text, &r.After, &since, &expires, &revoked, &by, &uses, &usedAt); err != nil {
			return err
		}
		if err := json.Unmarshal(text, &r.Rule); err != nil {
			return fmt.Errorf("decode rule %d: %w", id, err)
		}
		r.ID, r.ExpiresAt, r.RevokedAt, r.RevokedBy = id, schema.Millis(expires), schema.Millis(revoked), by
		r.Since = schema.Millis(since)
		r.Uses, r.LastUseAt = uses, schema.Millis(usedAt)
		return nil
	})
}

// recordRuleUse counts a decision by a rule. It fails with ErrRuleEnded if the rule was
// revoked in the meantime.
func (t *tx) recordRuleUse(id int64) error {
	used, err := t.exec(`UPDATE rules SET uses = uses + 1, used_at = ? WHERE id = ? AND revoked_at = 0`, kit.Millis(t.now), id)
	if err == nil && used == 0 {
		err = store.ErrRuleEnded
	}
	return err
}
