package sqlite

import (
	"context"
	"database/sql"

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
func readTable[T any](ctx context.Context, s *engine, err error, query string, scan func(*sql.Rows, *T) error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	rows, err := s.readers.query(ctx, query)
	return collect(rows, err, scan)
}

func scanPerson(rows *sql.Rows, p *store.Person) error {
	return rows.Scan(&p.Name, &p.Role, &p.Owner, &p.Email, &p.Subject, kit.ScanTime(&p.CreatedAt), kit.ScanTime(&p.LastSeenAt),
		&p.SignedIn, kit.ScanTime(&p.ResetAt), &p.ResetBy, kit.ScanTime(&p.PromotedAt), &p.PromotedBy)
}

func scanSignIn(rows *sql.Rows, i *store.SignIn) error {
	return rows.Scan(&i.ID, &i.Person, &i.Method, &i.UserAgent, &i.Cookie, &i.Key,
		&i.Confirmed, kit.ScanTime(&i.CreatedAt), kit.ScanTime(&i.LastSeenAt))
}

func scanToken(rows *sql.Rows, o *store.Token) error {
	return rows.Scan(&o.ID, &o.Name, &o.Prefix, &o.Hash, &o.Person, kit.JSON(&o.Apps),
		kit.ScanTime(&o.CreatedAt), kit.ScanTime(&o.LastUsedAt), kit.ScanTime(&o.ExpiresAt))
}

func scanCode(rows *sql.Rows, c *store.Code) error {
	return rows.Scan(&c.Hash, &c.Person, &c.Method, &c.Confirmed, kit.ScanTime(&c.CreatedAt), kit.ScanTime(&c.ExpiresAt))
}

func scanPasskey(rows *sql.Rows, k *store.Passkey) error {
	return rows.Scan(&k.ID, &k.Person, &k.Name, &k.RPID, &k.Credential, &k.PublicKey, &k.SignCount, &k.Flags, kit.JSON(&k.Transports),
		kit.ScanTime(&k.CreatedAt), kit.ScanTime(&k.LastUsedAt))
}

func (s *engine) PeopleVersion(ctx context.Context) (version int64, err error) {
	err = s.readers.get(ctx, []any{&version}, `SELECT people_version FROM hub`)
	return version, err
}

func (s *engine) RecordUse(ctx context.Context, u *store.Uses) error {
	return s.writer.do(ctx, &op{needsSavepoint: true, run: func(t *tx) error {
		for id, at := range u.SignIns {
			if _, err := t.exec(`UPDATE sign_ins SET seen_at = max(seen_at, ?) WHERE id = ?`, kit.Millis(at), id); err != nil {
				return err
			}
		}
		for id, at := range u.Tokens {
			if _, err := t.exec(`UPDATE tokens SET used_at = max(used_at, ?) WHERE id = ?`, kit.Millis(at), id); err != nil {
				return err
			}
		}
		return nil
	}})
}

func (s *engine) ChangePeople(ctx context.Context, c *store.PeopleChange) (removed store.AnonymousRemoval, err error) {
	err = s.writer.do(ctx, &op{essential: true, needsSavepoint: true, run: func(t *tx) (err error) {
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
	n, err := t.exec(`UPDATE hub SET people_version = people_version + 1 WHERE ?1 IN (0, people_version)`, c.Version)
	switch {
	case err != nil:
		return err
	case n == 0:
		return store.ErrPeopleChanged
	}
	err = t.appendLedger(c.LedgerRecords...)
	write := func(query string, args ...any) {
		if err == nil {
			_, err = t.exec(query, args...)
		}
	}
	if c.SetLocked {
		write(`UPDATE hub SET locked = ?`, c.Locked)
	}
	for _, name := range c.RemovedPeople {
		write(`DELETE FROM people WHERE name = ?`, name)
		// A later account of that name must not inherit these.
		write(`DELETE FROM browsers WHERE person = ?`, name)
		write(`DELETE FROM notice_settings WHERE person = ?`, name)
		write(`DELETE FROM shares WHERE person = ?`, name)
	}
	for _, id := range c.RemovedSignIns {
		write(`DELETE FROM sign_ins WHERE id = ?`, id)
	}
	for _, id := range c.RemovedTokens {
		write(`DELETE FROM tokens WHERE id = ?`, id)
	}
	for _, hash := range c.RemovedCodes {
		write(`DELETE FROM sign_in_codes WHERE hash = ?`, hash)
	}
	for _, id := range c.RemovedPasskeys {
		write(`DELETE FROM passkeys WHERE id = ?`, id)
	}
	for _, p := range c.Persons {
		write(`INSERT OR REPLACE INTO people (name, role, owner, email, subject, created_at, seen_at, signed_in, reset_at, reset_by, promoted_at, promoted_by)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			p.Name, p.Role, p.Owner, p.Email, p.Subject, kit.Millis(p.CreatedAt), kit.Millis(p.LastSeenAt),
			p.SignedIn, kit.Millis(p.ResetAt), p.ResetBy, kit.Millis(p.PromotedAt), p.PromotedBy)
		write(`DELETE FROM shares WHERE person = ? AND (? OR created_at <= ?)`, p.Name, p.Role == schema.Viewer, kit.Millis(p.ResetAt))
	}
	for _, i := range c.SignIns {
		write(`INSERT OR REPLACE INTO sign_ins (id, person, way, user_agent, cookie, page_key, confirmed, created_at, seen_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			i.ID, i.Person, i.Method, i.UserAgent, i.Cookie, i.Key, i.Confirmed, kit.Millis(i.CreatedAt), kit.Millis(i.LastSeenAt))
	}
	for _, o := range c.Tokens {
		write(`INSERT OR REPLACE INTO tokens (id, name, prefix, hash, person, apps, created_at, used_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			o.ID, o.Name, o.Prefix, o.Hash, o.Person, kit.JSON(o.Apps),
			kit.Millis(o.CreatedAt), kit.Millis(o.LastUsedAt), kit.Millis(o.ExpiresAt))
	}
	for _, o := range c.Codes {
		write(`INSERT OR REPLACE INTO sign_in_codes (hash, person, way, confirmed, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)`,
			o.Hash, o.Person, o.Method, o.Confirmed, kit.Millis(o.CreatedAt), kit.Millis(o.ExpiresAt))
	}
	for _, o := range c.Passkeys {
		write(`INSERT OR REPLACE INTO passkeys (id, person, name, rp_id, credential, public_key, sign_count, flags, transports, created_at, used_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			o.ID, o.Person, o.Name, o.RPID, o.Credential, o.PublicKey, o.SignCount, o.Flags,
			kit.JSON(o.Transports), kit.Millis(o.CreatedAt), kit.Millis(o.LastUsedAt))
	}
	return err
}
