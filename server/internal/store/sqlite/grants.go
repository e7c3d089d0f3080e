package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

func (s *engine) HasGrants(app, session string) bool { return s.grants.Has(app, session) }

func (s *engine) ExpireGrants(ctx context.Context, now time.Time) (next time.Time, err error) {
	due, next := s.grants.Due(now)
	if len(due) == 0 {
		return next, nil
	}
	return next, s.writer.do(ctx, &op{essential: true, needsSavepoint: true, run: func(t *tx) error {
		for _, question := range due {
			if err := t.closeGrant(question, "grant.expired", 0); err != nil {
				return err
			}
			t.afterCommit(func() { s.grants.Remove(question) })
		}
		return nil
	}})
}

// grantedBy encodes the approvers of a grant for the column granted_by.
func grantedBy(names []string) (string, error) {
	text, err := json.Marshal(names)
	return string(text), err
}

// insertAppeal stores the call of an appeal, which a person may grant.
func (t *tx) insertAppeal(e *store.Event, digest []byte) error {
	if digest == nil {
		return nil
	}
	_, err := t.exec(`INSERT INTO grants (question, app, session, digest, granted_by, granted_at, expires_at, used_at, used_by)
		VALUES (?, ?, ?, ?, '', 0, 0, 0, 0)`, e.ID, e.App, e.Session, digest)
	return err
}

// endAppeal grants the call of an appeal, or removes it if the appeal ended without an approval.
func (t *tx) endAppeal(e *store.Event, g *store.GrantChange) error {
	if g == nil {
		return nil
	}
	if len(g.By) == 0 {
		_, err := t.exec(`DELETE FROM grants WHERE question = ? AND granted_at = 0`, e.ID)
		return err
	}
	by, err := grantedBy(g.By)
	if err != nil {
		return err
	}
	granted, err := t.exec(`UPDATE grants SET granted_by = ?, granted_at = ?, expires_at = ? WHERE question = ? AND granted_at = 0`,
		by, kit.Millis(g.GrantedAt), kit.Millis(g.ExpiresAt), e.ID)
	if err != nil || granted == 0 {
		return err
	}
	open := kit.OpenGrant{Session: store.SessionKey{App: e.App, Session: e.Session}, ExpiresAt: kit.Millis(g.ExpiresAt)}
	t.afterCommit(func() { t.w.store.grants.Put(e.ID, open) })
	return t.appendLedger(store.LedgerRecord{
		Action: "grant.made", Actor: strings.Join(g.By, ", "), QuestionID: e.ID, Data: kit.GrantData{ExpiresAt: schema.Millis(kit.Millis(g.ExpiresAt))},
	})
}

// useGrant adds the grant of the event's call, which works once.
func (t *tx) useGrant(d *control.Directive, e *store.Event, r *store.DirectiveRequest) error {
	if !r.Grant || r.StoredDigest == nil || d.Freeze != nil || !t.w.store.grants.Has(e.App, e.Session) {
		return nil
	}
	var g store.Grant
	var by string
	var grantedAt, expiresAt int64
	err := t.get([]any{&g.Question, &by, &grantedAt, &expiresAt}, `SELECT question, granted_by, granted_at, expires_at FROM grants
		WHERE app = ? AND session = ? AND digest = ? AND granted_at > 0 AND used_at = 0 AND expires_at > ? ORDER BY question LIMIT 1`,
		e.App, e.Session, r.StoredDigest, kit.Millis(t.now))
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(by), &g.By)
	}
	if err != nil {
		return fmt.Errorf("read a grant: %w", err)
	}
	g.GrantedAt, g.ExpiresAt = kit.Time(grantedAt), kit.Time(expiresAt)
	if r.IsValid != nil && !r.IsValid(&g) {
		return t.closeGrant(g.Question, "grant.revoked", 0)
	}
	if err := t.closeGrant(g.Question, "grant.used", e.ID); err != nil {
		return err
	}
	d.Grant = &control.Grant{Question: g.Question, Digest: r.Digest, By: strings.Join(g.By, ", ")}
	return t.addApproval(d.Grant)
}

// addApproval adds the signed approval of the appeal.
func (t *tx) addApproval(g *control.Grant) error {
	var receipt []byte
	err := t.get([]any{&receipt}, `SELECT receipt FROM questions WHERE seq = ?`, g.Question)
	if err != nil || receipt == nil {
		return ignoreNoRows(err)
	}
	return json.Unmarshal(receipt, &g.Approval)
}

// closeGrant ends a grant that is not used yet: by an event, or by usedBy 0 if it became invalid.
func (t *tx) closeGrant(question schema.EventID, action string, usedBy schema.EventID) error {
	closed, err := t.exec(`UPDATE grants SET used_at = ?, used_by = ? WHERE question = ? AND used_at = 0`, kit.Millis(t.now), usedBy, question)
	if err != nil || closed == 0 {
		return err
	}
	return t.appendLedger(store.LedgerRecord{Action: action, Actor: kit.ByHub, QuestionID: question, Data: kit.GrantData{Event: usedBy}})
}

// repeatGrant adds the grant that the event used.
func (t *tx) repeatGrant(d *control.Directive, e *store.Event, r *store.DirectiveRequest) error {
	if !r.Grant || r.StoredDigest == nil || d.Freeze != nil {
		return nil
	}
	var question schema.EventID
	var by string
	var isSame bool
	err := t.get([]any{&question, &by, &isSame}, `SELECT question, granted_by, digest = ? FROM grants WHERE used_by = ? AND used_by > 0`, r.StoredDigest, e.ID)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	var names []string
	if err == nil {
		err = json.Unmarshal([]byte(by), &names)
	}
	if err == nil && !isSame {
		err = schema.ErrKeyConflict
	}
	if err != nil {
		return err
	}
	d.Grant = &control.Grant{Question: question, Digest: r.Digest, By: strings.Join(names, ", ")}
	return t.addApproval(d.Grant)
}

const queryOpenGrants = `SELECT question, app, session, expires_at FROM grants WHERE granted_at > 0 AND (used_at = 0 OR expires_at > ?)`

func (s *engine) loadGrants(ctx context.Context, w *writer) error {
	rows, err := w.conn.QueryContext(ctx, queryOpenGrants, kit.Millis(s.clock()))
	return eachRow(rows, err, func(rows *sql.Rows) error {
		var question schema.EventID
		var g kit.OpenGrant
		err := rows.Scan(&question, &g.Session.App, &g.Session.Session, &g.ExpiresAt)
		s.grants.Put(question, g)
		return err
	})
}
