package tables

import (
	"context"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// The columns after the JSON are newer than its members.
const ruleColumns = `SELECT rule, id, after, since, expires_at, revoked_at, revoked_by, uses, used_at FROM rules `

func ruleFields(r *store.Rule) []any {
	return []any{JSONBytes(&r.Rule), &r.ID, &r.After, &r.Since, &r.ExpiresAt, &r.RevokedAt, &r.RevokedBy, &r.Uses, &r.LastUseAt}
}

func (t *Tables) CreateRule(ctx context.Context, r schema.Rule) (store.Rule, error) {
	return write(ctx, t, Essential|Policy, func(w *Work) store.Rule {
		made := store.Rule{Rule: r, Since: r.CreatedAt, After: schema.EventID(w.Head)}
		made.ID = nextID(w, "rules")
		w.revokeAllowances(&made.Rule)
		w.do(`INSERT INTO rules (id, rule, created_by, after, since, scope, app, session, expires_at, revoked_at, revoked_by, uses, used_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, '', 0, 0)`,
			made.ID, JSONBytes(made.Rule), made.CreatedBy, made.After, int64(made.Since), made.Scope, made.SourceApp, made.SessionID,
			int64(made.ExpiresAt))
		data := ruleData{ID: made.ID, Text: made.Text}
		w.record(store.LedgerRecord{Action: "rule.made", Actor: made.CreatedBy, QuestionID: made.From, Data: data})
		return made
	})
}

// revokeAllowances revokes the active allowances of the session that r is a new one for.
func (w *Work) revokeAllowances(r *schema.Rule) {
	if r.Scope != schema.ScopeSession {
		return
	}
	for _, id := range collectIn(w, column[int64], `SELECT id FROM rules WHERE session = $1 AND app = $2 AND revoked_at = 0
		AND (expires_at = 0 OR expires_at > $3) AND scope = $4 ORDER BY id`, r.SessionID, r.SourceApp, int64(r.CreatedAt), schema.ScopeSession) {
		w.revokeRule(id, r.CreatedBy, int64(r.CreatedAt))
	}
}

// revokeRule revokes a rule that is not revoked.
func (w *Work) revokeRule(id int64, by string, at int64) {
	if w.count(`UPDATE rules SET revoked_at = $1, revoked_by = $2 WHERE id = $3 AND revoked_at = 0`, at, by, id) > 0 {
		w.record(store.LedgerRecord{Action: "rule.revoked", Actor: by, Data: ruleData{ID: id}})
	}
}

func (t *Tables) RevokeRule(ctx context.Context, id int64, by string, at time.Time) (store.Rule, error) {
	return write(ctx, t, Essential|Policy, func(w *Work) (r store.Rule) {
		w.revokeRule(id, by, Millis(at))
		w.require(w.find(ruleFields(&r), ruleColumns+`WHERE id = $1`, id), schema.ErrNotFound)
		return r
	})
}

func (t *Tables) EndRules(ctx context.Context, app, session string, at time.Time) error {
	return t.exec(ctx, Essential|Policy, `UPDATE rules SET expires_at = $1 WHERE session = $2 AND session <> '' AND app = $3
		AND (expires_at = 0 OR expires_at > $1)`, Millis(at), session, app)
}

func (t *Tables) ShiftRules(ctx context.Context, now time.Time, by time.Duration) error {
	return t.exec(ctx, Essential|Policy, `UPDATE rules SET expires_at = greatest(1, expires_at + $1), since = since + $1
		WHERE expires_at > $2 AND revoked_at = 0`, by.Milliseconds(), Millis(now.Add(-by)))
}

func (t *Tables) Rules(ctx context.Context, n int) ([]store.Rule, error) {
	return collect(ctx, t, ruleFields, ruleColumns+`ORDER BY id DESC LIMIT $1`, n)
}

func (t *Tables) LiveRules(ctx context.Context, now time.Time) ([]store.Rule, error) {
	return collect(ctx, t, ruleFields, ruleColumns+`WHERE revoked_at = 0 AND (expires_at = 0 OR expires_at > $1) ORDER BY id`, Millis(now))
}

// recordRuleUse counts a decision by a rule. The write fails with ErrRuleEnded if the rule was
// revoked in the meantime.
func (w *Work) recordRuleUse(id int64) {
	w.doGuarded(guardRule, `UPDATE rules SET uses = uses + 1, used_at = $1 WHERE id = $2 AND revoked_at = 0 RETURNING 1`, Millis(w.Now), id)
}
