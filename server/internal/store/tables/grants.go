package tables

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
)

// openGrant is a grant that has not expired, whether used or not: the repeat of an event gets the grant that the
// event used.
type openGrant struct {
	Question  schema.EventID // the appeal
	Session   store.SessionKey
	ExpiresAt int64
}

func (t *Tables) HasGrants(app, session string) bool {
	return slices.ContainsFunc(t.grants.all(), func(g openGrant) bool { return g.Session == store.SessionKey{App: app, Session: session} })
}

func (t *Tables) ExpireGrants(ctx context.Context, now time.Time) (next time.Time, err error) {
	var due []schema.EventID
	for _, g := range t.grants.all() {
		if at := Time(g.ExpiresAt); !at.After(now) {
			due = append(due, g.Question)
		} else if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	if len(due) == 0 {
		return next, nil
	}
	return next, t.Write(ctx, Essential, func(w *Work) error {
		for _, question := range due {
			if err := w.closeGrant(question, "grant.expired", 0); err != nil {
				return err
			}
			w.afterCommit(func() { t.grants.remove(func(g openGrant) bool { return g.Question == question }) })
		}
		return nil
	})
}

// insertAppeal stores the call of an appeal, which a person may grant.
func (w *Work) insertAppeal(e *store.Event, digest []byte) error {
	if digest == nil {
		return nil
	}
	return w.Exec(`INSERT INTO grants (question, app, session, digest, granted_by, granted_at, expires_at, used_at, used_by)
		VALUES ($1, $2, $3, $4, '', 0, 0, 0, 0)`, e.ID, e.App, e.Session, digest)
}

// endAppeal grants the call of an appeal, or removes it if the appeal ended without an approval.
func (w *Work) endAppeal(e *store.Event, g *store.GrantChange) error {
	if g == nil {
		return nil
	}
	if len(g.By) == 0 {
		return w.Exec(`DELETE FROM grants WHERE question = $1 AND granted_at = 0`, e.ID)
	}
	granted, err := w.ExecCount(`UPDATE grants SET granted_by = $1, granted_at = $2, expires_at = $3 WHERE question = $4 AND granted_at = 0`,
		JSON(g.By), Millis(g.GrantedAt), Millis(g.ExpiresAt), e.ID)
	if err != nil || granted == 0 {
		return err
	}
	open := openGrant{Question: e.ID, Session: store.SessionKey{App: e.App, Session: e.Session}, ExpiresAt: Millis(g.ExpiresAt)}
	w.afterCommit(func() { w.t.grants.add(open) })
	return w.AppendLedger(store.LedgerRecord{
		Action: "grant.made", Actor: strings.Join(g.By, ", "), QuestionID: e.ID, Data: grantData{ExpiresAt: schema.Millis(Millis(g.ExpiresAt))},
	})
}

// useGrant adds the grant of the event's call, which works once.
func (w *Work) useGrant(d *control.Directive, e *store.Event, r *store.DirectiveRequest) error {
	if !r.Grant || r.StoredDigest == nil || d.Freeze != nil || !w.t.HasGrants(e.App, e.Session) {
		return nil
	}
	var g store.Grant
	found, err := w.Get([]any{&g.Question, JSON(&g.By), ScanTime(&g.GrantedAt), ScanTime(&g.ExpiresAt)},
		`SELECT question, granted_by, granted_at, expires_at FROM grants WHERE app = $1 AND session = $2 AND digest = $3
			AND granted_at > 0 AND used_at = 0 AND expires_at > $4 ORDER BY question LIMIT 1`,
		e.App, e.Session, r.StoredDigest, Millis(w.Now))
	if err != nil {
		return fmt.Errorf("read a grant: %w", err)
	}
	if !found {
		return nil
	}
	if r.IsValid != nil && !r.IsValid(&g) {
		return w.closeGrant(g.Question, "grant.revoked", 0)
	}
	if err := w.closeGrant(g.Question, "grant.used", e.ID); err != nil {
		return err
	}
	return w.addGrant(d, g.Question, g.By, r)
}

// addGrant adds a grant and the signed approval of the appeal.
func (w *Work) addGrant(d *control.Directive, question schema.EventID, by []string, r *store.DirectiveRequest) error {
	d.Grant = &control.Grant{Question: question, Digest: r.Digest, By: strings.Join(by, ", ")}
	var receipt []byte
	_, err := w.Get([]any{&receipt}, `SELECT receipt FROM questions WHERE seq = $1`, question)
	if err != nil || receipt == nil {
		return err
	}
	return json.Unmarshal(receipt, &d.Grant.Approval)
}

// closeGrant ends a grant that is not used yet: by an event, or by usedBy 0 if it became invalid.
func (w *Work) closeGrant(question schema.EventID, action string, usedBy schema.EventID) error {
	closed, err := w.ExecCount(`UPDATE grants SET used_at = $1, used_by = $2 WHERE question = $3 AND used_at = 0`, Millis(w.Now), usedBy, question)
	if err != nil || closed == 0 {
		return err
	}
	return w.AppendLedger(store.LedgerRecord{Action: action, Actor: ByHub, QuestionID: question, Data: grantData{Event: usedBy}})
}

// repeatGrant adds the grant that the event used.
func (w *Work) repeatGrant(d *control.Directive, e *store.Event, r *store.DirectiveRequest) error {
	if !r.Grant || r.StoredDigest == nil || d.Freeze != nil {
		return nil
	}
	var question schema.EventID
	var by []string
	var isSame bool
	found, err := w.Get([]any{&question, JSON(&by), &isSame},
		`SELECT question, granted_by, digest = $1 FROM grants WHERE used_by = $2 AND used_by > 0`, r.StoredDigest, e.ID)
	switch {
	case err != nil || !found:
		return err
	case !isSame:
		return schema.ErrKeyConflict
	default:
		return w.addGrant(d, question, by, r)
	}
}
