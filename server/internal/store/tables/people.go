package tables

import (
	"context"
	"math"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

var persons = newTable("people", "name",
	"name, role, owner, email, handles, subject, created_at, seen_at, signed_in, reset_at, reset_by, promoted_at, promoted_by",
	func(p *store.Person) []any {
		return []any{
			&p.Name, &p.Role, &p.Owner, &p.Email, &p.Handles, &p.Subject, ScanTime(&p.CreatedAt), ScanTime(&p.LastSeenAt),
			&p.SignedIn, ScanTime(&p.ResetAt), &p.ResetBy, ScanTime(&p.PromotedAt), &p.PromotedBy,
		}
	})

var signIns = newTable("sign_ins", "id", "id, person, way, user_agent, cookie, page_key, confirmed, created_at, seen_at",
	func(i *store.SignIn) []any {
		return []any{
			&i.ID, &i.Person, &i.Method, &i.UserAgent, &i.Cookie, &i.Key,
			&i.Confirmed, ScanTime(&i.CreatedAt), ScanTime(&i.LastSeenAt),
		}
	})

var tokens = newTable("tokens", "id", "id, name, prefix, hash, person, apps, created_at, used_at, expires_at",
	func(o *store.Token) []any {
		return []any{
			&o.ID, &o.Name, &o.Prefix, &o.Hash, &o.Person, JSON(&o.Apps),
			ScanTime(&o.CreatedAt), ScanTime(&o.LastUsedAt), ScanTime(&o.ExpiresAt),
		}
	})

var codes = newTable("sign_in_codes", "hash", "hash, person, way, confirmed, created_at, expires_at", func(c *store.Code) []any {
	return []any{&c.Hash, &c.Person, &c.Method, &c.Confirmed, ScanTime(&c.CreatedAt), ScanTime(&c.ExpiresAt)}
})

var passkeys = newTable("passkeys", "id",
	"id, person, name, rp_id, credential, public_key, sign_count, flags, transports, created_at, used_at",
	func(k *store.Passkey) []any {
		return []any{
			&k.ID, &k.Person, &k.Name, &k.RPID, &k.Credential, &k.PublicKey, &k.SignCount, &k.Flags, JSON(&k.Transports),
			ScanTime(&k.CreatedAt), ScanTime(&k.LastUsedAt),
		}
	})

func (t *Tables) People(ctx context.Context) (*store.People, error) {
	var p store.People
	// The version is read first: if a change comes between the reads, the next one is refused.
	_, err := t.ReadOne(ctx, []any{&p.Version, &p.Locked}, `SELECT people_version, locked FROM hub`)
	if err == nil {
		p.Persons, err = persons.list(ctx, t, `ORDER BY name`)
	}
	if err == nil {
		p.SignIns, err = signIns.list(ctx, t, `ORDER BY id`)
	}
	if err == nil {
		p.Tokens, err = tokens.list(ctx, t, `ORDER BY id`)
	}
	if err == nil {
		p.Codes, err = codes.list(ctx, t, `ORDER BY hash`)
	}
	if err == nil {
		p.Passkeys, err = passkeys.list(ctx, t, `ORDER BY id`)
	}
	return &p, err
}

func (t *Tables) PeopleVersion(ctx context.Context) (int64, error) {
	return read[int64](ctx, t, `SELECT people_version FROM hub`)
}

func (t *Tables) RecordUse(ctx context.Context, u *store.Uses) error {
	return t.Write(ctx, Plain, func(w *Work) error {
		for query, uses := range map[string]map[string]time.Time{
			`UPDATE sign_ins SET seen_at = greatest(seen_at, $1) WHERE id = $2`: u.SignIns,
			`UPDATE tokens SET used_at = greatest(used_at, $1) WHERE id = $2`:   u.Tokens,
		} {
			for id, at := range uses {
				if err := w.Exec(query, Millis(at), id); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// changesPasskeysOnly reports whether a change adds passkeys or records their use. Other hubs read them
// with the version of the accounts when necessary.
func changesPasskeysOnly(c *store.PeopleChange) bool {
	return len(c.Passkeys) > 0 && !c.SetLocked && len(c.Persons)+len(c.SignIns)+len(c.Tokens)+len(c.Codes)+
		len(c.RemovedPeople)+len(c.RemovedSignIns)+len(c.RemovedTokens)+len(c.RemovedCodes)+len(c.RemovedPasskeys) == 0
}

func (t *Tables) ChangePeople(ctx context.Context, c *store.PeopleChange) (removed store.AnonymousRemoval, err error) {
	kind := Essential | Policy
	if changesPasskeysOnly(c) {
		kind = Essential
	}
	err = t.Write(ctx, kind, func(w *Work) (err error) {
		if err := w.changePeople(c); err != nil || !c.SetLocked {
			return err
		}
		if err := w.Exec(`UPDATE hub SET locked = $1`, c.Locked); err != nil {
			return err
		}
		if c.Locked {
			if removed, err = w.removeAnonymous(); err != nil {
				return err
			}
		}
		return w.SignLedgerHead()
	})
	return removed, err
}

func (w *Work) changePeople(c *store.PeopleChange) error {
	n, err := w.ExecCount(`UPDATE hub SET people_version = people_version + 1 WHERE $1::bigint IN (0, people_version)`, c.Version)
	switch {
	case err != nil:
		return err
	case n == 0:
		return store.ErrPeopleChanged
	}
	if err = w.AppendLedger(c.LedgerRecords...); err != nil {
		return err
	}
	for _, name := range c.RemovedPeople {
		// A later account of that name must not inherit the others.
		if err = w.execAll([]string{
			`DELETE FROM browsers WHERE person = $1`, `DELETE FROM notice_settings WHERE person = $1`, `DELETE FROM shares WHERE person = $1`,
		}, name); err != nil {
			return err
		}
	}
	for i := range c.Persons {
		if err = w.endShares(&c.Persons[i]); err != nil {
			return err
		}
	}
	if err = replace(w, persons, c.RemovedPeople, c.Persons); err != nil {
		return err
	}
	if err = replace(w, signIns, c.RemovedSignIns, c.SignIns); err != nil {
		return err
	}
	if err = replace(w, tokens, c.RemovedTokens, c.Tokens); err != nil {
		return err
	}
	if err = replace(w, codes, c.RemovedCodes, c.Codes); err != nil {
		return err
	}
	return replace(w, passkeys, c.RemovedPasskeys, c.Passkeys)
}

// endShares removes the links of a person who may no longer share, or those of before a reset.
func (w *Work) endShares(p *store.Person) error {
	before := Millis(p.ResetAt)
	if p.Role == schema.Viewer {
		before = math.MaxInt64
	}
	return w.Exec(`DELETE FROM shares WHERE person = $1 AND created_at <= $2`, p.Name, before)
}

// replace removes rows by their keys and stores others.
func replace[T, K any](tx Tx, t *table[T], removed []K, rows []T) error {
	for _, key := range removed {
		if err := tx.Exec(`DELETE FROM `+t.name+` WHERE `+t.key+` = $1`, key); err != nil {
			return err
		}
	}
	for i := range rows {
		if err := t.upsert(tx, &rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// removeAnonymous removes the channels, push subscriptions, notification settings and rules of
// callers without credentials, each with a record in the audit log: they would outlive the
// lock. Rules are revoked, because answers refer to them.
func (w *Work) removeAnonymous() (removed store.AnonymousRemoval, err error) {
	list, err := w.channelsWhere(`created_by = $1`, store.LocalName)
	if err != nil {
		return removed, err
	}
	for _, c := range list {
		questions, err := w.removeChannel(c, ByHub)
		if err != nil {
			return removed, err
		}
		removed.Channels, removed.Questions = append(removed.Channels, c.ID), append(removed.Questions, questions...)
	}
	rules, err := collectIn(w, column[int64], `SELECT id FROM rules WHERE revoked_at = 0 AND created_by = $1 ORDER BY id`, store.LocalName)
	for _, id := range rules {
		if err == nil {
			err = w.revokeRule(id, ByHub, Millis(w.Now))
		}
	}
	if err != nil {
		return removed, err
	}
	browsers, err := w.ExecCount(`DELETE FROM browsers WHERE person = ''`)
	for range browsers {
		if err == nil {
			err = w.AppendLedger(store.LedgerRecord{Action: "push.removed", Actor: ByHub})
		}
	}
	if err != nil {
		return removed, err
	}
	return removed, w.Exec(`DELETE FROM notice_settings WHERE person = ''`)
}

var flows = newTable("flows", "id", "id, kind, data, expires_at", func(f *store.Flow) []any {
	return []any{&f.ID, &f.Kind, &f.Data, ScanTime(&f.ExpiresAt)}
})

func (t *Tables) PutFlow(ctx context.Context, f *store.Flow, now time.Time, limit int) error {
	return t.Write(ctx, Essential, func(w *Work) error {
		if err := w.Exec(`DELETE FROM flows WHERE expires_at <= $1`, Millis(now)); err != nil {
			return err
		}
		if err := w.Exec(`DELETE FROM flows WHERE id IN (
			SELECT id FROM flows WHERE kind = $1 AND id <> $2 ORDER BY expires_at DESC, id LIMIT ALL OFFSET $3)`, f.Kind, f.ID, limit-1); err != nil {
			return err
		}
		return flows.upsert(w, f)
	})
}

func (t *Tables) TakeFlow(ctx context.Context, id []byte, now time.Time) (store.Flow, error) {
	return write(ctx, t, Essential, func(w *Work) (f store.Flow, err error) {
		err = orNotFound(w.Get(flows.fields(&f), `DELETE FROM flows WHERE id = $1 AND expires_at > $2 RETURNING id, kind, data, expires_at`,
			id, Millis(now)))
		return f, err
	})
}

var shares = newTable("shares", "id", "id, hash, app, session, person, transcript, created_at, expires_at, opened_at, opens",
	func(s *store.Share) []any {
		return []any{
			&s.ID, &s.Hash, &s.Session.App, &s.Session.Session, &s.Person, &s.Transcript,
			ScanTime(&s.CreatedAt), ScanTime(&s.ExpiresAt), ScanTime(&s.OpenedAt), &s.Opens,
		}
	})

func (t *Tables) Shares(ctx context.Context) ([]store.Share, error) {
	return shares.list(ctx, t, `ORDER BY created_at DESC, id`)
}

func (t *Tables) Share(ctx context.Context, id string) (store.Share, error) {
	return shares.one(ctx, t, `WHERE id = $1`, id)
}

func (t *Tables) CreateShare(ctx context.Context, share store.Share, record store.LedgerRecord) error {
	return t.Write(ctx, Policy, func(w *Work) error {
		// The role of the author may have changed since the caller checked it.
		mayShare, err := get[bool](w, `SELECT EXISTS (SELECT 1 FROM sessions WHERE app = $1 AND session = $2)
			AND EXISTS (SELECT 1 FROM people WHERE name = $3 AND role <> 'viewer')`, share.Session.App, share.Session.Session, share.Person)
		if err := orNotFound(mayShare, err); err != nil {
			return err
		}
		if err = w.Exec(`DELETE FROM shares WHERE expires_at <= $1`, Millis(share.CreatedAt)); err != nil {
			return err
		}
		share.OpenedAt, share.Opens = time.Time{}, 0
		if err = shares.insert(w, &share); err != nil {
			return err
		}
		return w.AppendLedger(record)
	})
}

func (t *Tables) RemoveShare(ctx context.Context, id string, record store.LedgerRecord) error {
	return t.Write(ctx, Essential|Policy, func(w *Work) error {
		n, err := w.ExecCount(`DELETE FROM shares WHERE id = $1`, id)
		if err := orNotFound(n > 0, err); err != nil {
			return err
		}
		return w.AppendLedger(record)
	})
}

func (t *Tables) RecordShareOpened(ctx context.Context, id string, at time.Time, first store.LedgerRecord) error {
	return t.Write(ctx, Plain, func(w *Work) error {
		opens, err := get[int64](w, `UPDATE shares SET opened_at = $1, opens = opens + 1 WHERE id = $2 RETURNING opens`, Millis(at), id)
		if err != nil || opens != 1 {
			return err
		}
		return w.AppendLedger(first)
	})
}
