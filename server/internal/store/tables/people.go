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
	return t.change(ctx, Plain, func(w *Work) {
		for query, uses := range map[string]map[string]time.Time{
			`UPDATE sign_ins SET seen_at = greatest(seen_at, $1) WHERE id = $2`: u.SignIns,
			`UPDATE tokens SET used_at = greatest(used_at, $1) WHERE id = $2`:   u.Tokens,
		} {
			for id, at := range uses {
				w.do(query, Millis(at), id)
			}
		}
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
	err = t.change(ctx, kind, func(w *Work) {
		w.changePeople(c)
		if !c.SetLocked {
			return
		}
		w.do(`UPDATE hub SET locked = $1`, c.Locked)
		if c.Locked {
			removed = w.removeAnonymous()
		}
		w.fail(w.SignLedgerHead())
	})
	return removed, err
}

func (w *Work) changePeople(c *store.PeopleChange) {
	n := w.count(`UPDATE hub SET people_version = people_version + 1 WHERE $1::bigint IN (0, people_version)`, c.Version)
	w.require(n > 0, store.ErrPeopleChanged)
	w.record(c.LedgerRecords...)
	for _, name := range c.RemovedPeople {
		// A later account of that name must not inherit the others.
		w.doAll([]string{
			`DELETE FROM browsers WHERE person = $1`, `DELETE FROM notice_settings WHERE person = $1`, `DELETE FROM shares WHERE person = $1`,
		}, name)
	}
	for i := range c.Persons {
		w.endShares(&c.Persons[i])
	}
	replace(w, persons, c.RemovedPeople, c.Persons)
	replace(w, signIns, c.RemovedSignIns, c.SignIns)
	replace(w, tokens, c.RemovedTokens, c.Tokens)
	replace(w, codes, c.RemovedCodes, c.Codes)
	replace(w, passkeys, c.RemovedPasskeys, c.Passkeys)
}

// endShares removes the links of a person who may no longer share, or those of before a reset.
func (w *Work) endShares(p *store.Person) {
	before := Millis(p.ResetAt)
	if p.Role == schema.Viewer {
		before = math.MaxInt64
	}
	w.do(`DELETE FROM shares WHERE person = $1 AND created_at <= $2`, p.Name, before)
}

// replace removes rows by their keys and stores others.
func replace[T, K any](w *Work, t *table[T], removed []K, rows []T) {
	for _, key := range removed {
		w.do(`DELETE FROM `+t.name+` WHERE `+t.key+` = $1`, key)
	}
	for i := range rows {
		t.upsert(w, &rows[i])
	}
}

// removeAnonymous removes the channels, push subscriptions, notification settings and rules of
// callers without credentials, each with a record in the audit log: they would outlive the
// lock. Rules are revoked, because answers refer to them.
func (w *Work) removeAnonymous() (removed store.AnonymousRemoval) {
	for _, c := range w.channelsWhere(`created_by = $1`, store.LocalName) {
		removed.Channels, removed.Questions = append(removed.Channels, c.ID), append(removed.Questions, w.removeChannel(c, ByHub)...)
	}
	rules := collectIn(w, column[int64], `SELECT id FROM rules WHERE revoked_at = 0 AND created_by = $1 ORDER BY id`, store.LocalName)
	for _, id := range rules {
		w.revokeRule(id, ByHub, Millis(w.Now))
	}
	for range w.count(`DELETE FROM browsers WHERE person = ''`) {
		w.record(store.LedgerRecord{Action: "push.removed", Actor: ByHub})
	}
	w.do(`DELETE FROM notice_settings WHERE person = ''`)
	return removed
}

var flows = newTable("flows", "id", "id, kind, data, expires_at", func(f *store.Flow) []any {
	return []any{&f.ID, &f.Kind, &f.Data, ScanTime(&f.ExpiresAt)}
})

func (t *Tables) PutFlow(ctx context.Context, f *store.Flow, now time.Time, limit int) error {
	return t.change(ctx, Essential, func(w *Work) {
		w.do(`DELETE FROM flows WHERE expires_at <= $1`, Millis(now))
		w.do(`DELETE FROM flows WHERE id IN (
			SELECT id FROM flows WHERE kind = $1 AND id <> $2 ORDER BY expires_at DESC, id LIMIT ALL OFFSET $3)`, f.Kind, f.ID, limit-1)
		flows.upsert(w, f)
	})
}

func (t *Tables) TakeFlow(ctx context.Context, id []byte, now time.Time) (store.Flow, error) {
	return write(ctx, t, Essential, func(w *Work) (f store.Flow) {
		w.require(w.find(flows.fields(&f), `DELETE FROM flows WHERE id = $1 AND expires_at > $2 RETURNING id, kind, data, expires_at`,
			id, Millis(now)), schema.ErrNotFound)
		return f
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
	return t.change(ctx, Policy, func(w *Work) {
		// The role of the author may have changed since the caller checked it.
		w.require(get[bool](w, `SELECT EXISTS (SELECT 1 FROM sessions WHERE app = $1 AND session = $2)
			AND EXISTS (SELECT 1 FROM people WHERE name = $3 AND role <> 'viewer')`,
			share.Session.App, share.Session.Session, share.Person), schema.ErrNotFound)
		w.do(`DELETE FROM shares WHERE expires_at <= $1`, Millis(share.CreatedAt))
		share.OpenedAt, share.Opens = time.Time{}, 0
		shares.insert(w, &share)
		w.record(record)
	})
}

func (t *Tables) RemoveShare(ctx context.Context, id string, record store.LedgerRecord) error {
	return t.change(ctx, Essential|Policy, func(w *Work) {
		w.require(w.count(`DELETE FROM shares WHERE id = $1`, id) > 0, schema.ErrNotFound)
		w.record(record)
	})
}

func (t *Tables) RecordShareOpened(ctx context.Context, id string, at time.Time, first store.LedgerRecord) error {
	return t.change(ctx, Plain, func(w *Work) {
		if get[int64](w, `UPDATE shares SET opened_at = $1, opens = opens + 1 WHERE id = $2 RETURNING opens`, Millis(at), id) == 1 {
			w.record(first)
		}
	})
}
