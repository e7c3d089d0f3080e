package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

const (
	queryPersons  = `SELECT name, role, owner, email, subject, created_at, seen_at, signed_in, reset_at, reset_by, promoted_at, promoted_by FROM people ORDER BY name`
	querySignIns  = `SELECT id, person, way, user_agent, cookie, page_key, confirmed, created_at, seen_at FROM sign_ins ORDER BY id`
	queryTokens   = `SELECT id, name, prefix, hash, person, apps, created_at, used_at, expires_at FROM tokens ORDER BY id` //nolint:gosec // a table of tokens, no credential
	queryCodes    = `SELECT hash, person, way, confirmed, created_at, expires_at FROM sign_in_codes ORDER BY hash`
	queryPasskeys = `SELECT id, person, name, rp_id, credential, public_key, sign_count, flags, transports, created_at, used_at FROM passkeys ORDER BY id` //nolint:gosec // a table of passkeys, no credential
)

func (s *engine) People(ctx context.Context) (*store.People, error) {
	var p store.People
	// The version is read first: if a change comes between the reads, the next one is refused.
	err := s.readers.get(ctx, []any{&p.Version, &p.Locked}, `SELECT people_version, locked FROM hub`)
	p.Persons, err = readTable(ctx, s, err, queryPersons, scanPerson)
	p.SignIns, err = readTable(ctx, s, err, querySignIns, scanSignIn)
	p.Tokens, err = readTable(ctx, s, err, queryTokens, scanToken)
	p.Codes, err = readTable(ctx, s, err, queryCodes, scanCode)
	p.Passkeys, err = readTable(ctx, s, err, queryPasskeys, scanPasskey)
	return &p, err
}

// readTable reads a table unless an earlier read failed.
func readTable[T any](ctx context.Context, s *engine, err error, query string, scan func(pgx.Rows, *T) error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	rows, err := s.readers.query(ctx, query)
	return collect(rows, err, scan)
}

func scanPerson(rows pgx.Rows, p *store.Person) error {
	return rows.Scan(&p.Name, &p.Role, &p.Owner, &p.Email, &p.Subject, kit.ScanTime(&p.CreatedAt), kit.ScanTime(&p.LastSeenAt),
		&p.SignedIn, kit.ScanTime(&p.ResetAt), &p.ResetBy, kit.ScanTime(&p.PromotedAt), &p.PromotedBy)
}

func scanSignIn(rows pgx.Rows, i *store.SignIn) error {
	return rows.Scan(&i.ID, &i.Person, &i.Method, &i.UserAgent, &i.Cookie, &i.Key,
		&i.Confirmed, kit.ScanTime(&i.CreatedAt), kit.ScanTime(&i.LastSeenAt))
}

func scanToken(rows pgx.Rows, o *store.Token) error {
	return rows.Scan(&o.ID, &o.Name, &o.Prefix, &o.Hash, &o.Person, kit.JSON(&o.Apps),
		kit.ScanTime(&o.CreatedAt), kit.ScanTime(&o.LastUsedAt), kit.ScanTime(&o.ExpiresAt))
}

func scanCode(rows pgx.Rows, c *store.Code) error {
	return rows.Scan(&c.Hash, &c.Person, &c.Method, &c.Confirmed, kit.ScanTime(&c.CreatedAt), kit.ScanTime(&c.ExpiresAt))
}

func scanPasskey(rows pgx.Rows, k *store.Passkey) error {
	return rows.Scan(&k.ID, &k.Person, &k.Name, &k.RPID, &k.Credential, &k.PublicKey, &k.SignCount, &k.Flags, kit.JSON(&k.Transports),
		kit.ScanTime(&k.CreatedAt), kit.ScanTime(&k.LastUsedAt))
}

func (s *engine) PeopleVersion(ctx context.Context) (version int64, err error) {
	err = s.readers.get(ctx, []any{&version}, `SELECT people_version FROM hub`)
	return version, err
}

func (s *engine) RecordUse(ctx context.Context, u *store.Uses) error {
	return s.writer.do(ctx, &op{run: func(t *tx) (err error) {
		for id, at := range u.SignIns {
			err = t.exec(`UPDATE sign_ins SET seen_at = greatest(seen_at, $1) WHERE id = $2`, kit.Millis(at), id)
		}
		for id, at := range u.Tokens {
			err = t.exec(`UPDATE tokens SET used_at = greatest(used_at, $1) WHERE id = $2`, kit.Millis(at), id)
		}
		return err
	}})
}

// changesPasskeysOnly reports whether a change adds passkeys or records their use. Other hubs read them
// with the version of the accounts when necessary.
func changesPasskeysOnly(c *store.PeopleChange) bool {
	return len(c.Passkeys) > 0 && !c.SetLocked && len(c.Persons)+len(c.SignIns)+len(c.Tokens)+len(c.Codes)+
		len(c.RemovedPeople)+len(c.RemovedSignIns)+len(c.RemovedTokens)+len(c.RemovedCodes)+len(c.RemovedPasskeys) == 0
}

func (s *engine) ChangePeople(ctx context.Context, c *store.PeopleChange) (removed store.AnonymousRemoval, err error) {
	err = s.writer.do(ctx, &op{run: func(t *tx) (err error) {
		t.changesPolicy = t.changesPolicy || !changesPasskeysOnly(c)
		if err := t.changePeople(c); err != nil || !c.SetLocked {
			return err
		}
		if c.Locked {
			if removed, err = t.removeAnonymous(); err != nil {
				return err
			}
		}
		return t.signLedgerHead()
	}})
	return removed, err
}

func (t *tx) changePeople(c *store.PeopleChange) error {
	n, err := t.execCount(`UPDATE hub SET people_version = people_version + 1 WHERE $1::bigint IN (0, people_version)`, c.Version)
	switch {
	case err != nil:
		return err
	case n == 0:
		return store.ErrPeopleChanged
	}
	err = t.appendLedger(c.LedgerRecords...)
	write := func(query string, args ...any) {
		if err == nil {
			err = t.exec(query, args...)
		}
	}
	if c.SetLocked {
		write(`UPDATE hub SET locked = $1`, c.Locked)
	}
	for _, name := range c.RemovedPeople {
		write(`DELETE FROM people WHERE name = $1`, name)
		// A later account of that name must not inherit these.
		write(`DELETE FROM browsers WHERE person = $1`, name)
		write(`DELETE FROM notice_settings WHERE person = $1`, name)
		write(`DELETE FROM shares WHERE person = $1`, name)
	}
	for _, id := range c.RemovedSignIns {
		write(`DELETE FROM sign_ins WHERE id = $1`, id)
	}
	for _, id := range c.RemovedTokens {
		write(`DELETE FROM tokens WHERE id = $1`, id)
	}
	for _, hash := range c.RemovedCodes {
		write(`DELETE FROM sign_in_codes WHERE hash = $1`, hash)
	}
	for _, id := range c.RemovedPasskeys {
		write(`DELETE FROM passkeys WHERE id = $1`, id)
	}
	for _, p := range c.Persons {
		write(`INSERT INTO people (name, role, owner, email, subject, created_at, seen_at, signed_in, reset_at, reset_by, promoted_at, promoted_by)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
			ON CONFLICT (name) DO UPDATE SET role = excluded.role, owner = excluded.owner, email = excluded.email, subject = excluded.subject, created_at = excluded.created_at, seen_at = excluded.seen_at, signed_in = excluded.signed_in, reset_at = excluded.reset_at, reset_by = excluded.reset_by, promoted_at = excluded.promoted_at, promoted_by = excluded.promoted_by`,
			p.Name, p.Role, p.Owner, p.Email, p.Subject, kit.Millis(p.CreatedAt), kit.Millis(p.LastSeenAt),
			p.SignedIn, kit.Millis(p.ResetAt), p.ResetBy, kit.Millis(p.PromotedAt), p.PromotedBy)
		write(`DELETE FROM shares WHERE person = $1 AND ($2::boolean OR created_at <= $3)`, p.Name, p.Role == schema.Viewer, kit.Millis(p.ResetAt))
	}
	for _, i := range c.SignIns {
		write(`INSERT INTO sign_ins (id, person, way, user_agent, cookie, page_key, confirmed, created_at, seen_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
			ON CONFLICT (id) DO UPDATE SET person = excluded.person, way = excluded.way, user_agent = excluded.user_agent, cookie = excluded.cookie, page_key = excluded.page_key, confirmed = excluded.confirmed, created_at = excluded.created_at, seen_at = excluded.seen_at`,
			i.ID, i.Person, i.Method, i.UserAgent, i.Cookie, i.Key, i.Confirmed, kit.Millis(i.CreatedAt), kit.Millis(i.LastSeenAt))
	}
	for _, o := range c.Tokens {
		write(`INSERT INTO tokens (id, name, prefix, hash, person, apps, created_at, used_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
			ON CONFLICT (id) DO UPDATE SET name = excluded.name, prefix = excluded.prefix, hash = excluded.hash, person = excluded.person, apps = excluded.apps, created_at = excluded.created_at, used_at = excluded.used_at, expires_at = excluded.expires_at`,
			o.ID, o.Name, o.Prefix, o.Hash, o.Person, kit.JSON(o.Apps),
			kit.Millis(o.CreatedAt), kit.Millis(o.LastUsedAt), kit.Millis(o.ExpiresAt))
	}
	for _, o := range c.Codes {
		write(`INSERT INTO sign_in_codes (hash, person, way, confirmed, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (hash) DO UPDATE SET person = excluded.person, way = excluded.way, confirmed = excluded.confirmed, created_at = excluded.created_at, expires_at = excluded.expires_at`,
			o.Hash, o.Person, o.Method, o.Confirmed, kit.Millis(o.CreatedAt), kit.Millis(o.ExpiresAt))
	}
	for _, o := range c.Passkeys {
		write(`INSERT INTO passkeys (id, person, name, rp_id, credential, public_key, sign_count, flags, transports, created_at, used_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
			ON CONFLICT (id) DO UPDATE SET person = excluded.person, name = excluded.name, rp_id = excluded.rp_id, credential = excluded.credential, public_key = excluded.public_key, sign_count = excluded.sign_count, flags = excluded.flags, transports = excluded.transports, created_at = excluded.created_at, used_at = excluded.used_at`,
			o.ID, o.Person, o.Name, o.RPID, o.Credential, o.PublicKey, o.SignCount, o.Flags,
			kit.JSON(o.Transports), kit.Millis(o.CreatedAt), kit.Millis(o.LastUsedAt))
	}
	return err
}
