package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/hookback/hookback/server/internal/store"
)

func (s *engine) People(ctx context.Context) (*store.People, error) {
	var p store.People
	if err := s.readers.get(ctx, []any{&p.Locked}, `SELECT locked FROM hub WHERE stream_id = 1`); err != nil {
		return nil, err
	}
	for _, table := range []struct {
		query string
		scan  func(*store.People, *sql.Rows) error
	}{
		{`SELECT name, role, owner, email, subject, created_at, seen_at, signed_in, reset_at, reset_by, promoted_at, promoted_by FROM people WHERE stream_id = 1 ORDER BY name`, scanPerson},
		{`SELECT id, person, way, user_agent, cookie, page_key, created_at, seen_at FROM sign_ins WHERE stream_id = 1 ORDER BY id`, scanSignIn},
		{`SELECT id, name, prefix, hash, person, apps, created_at, used_at, expires_at FROM tokens WHERE stream_id = 1 ORDER BY id`, scanToken},
		{`SELECT hash, person, way, created_at, expires_at FROM sign_in_codes WHERE stream_id = 1 ORDER BY hash`, scanCode},
		{`SELECT id, person, name, credential, public_key, sign_count, flags, transports, created_at, used_at FROM passkeys WHERE stream_id = 1 ORDER BY id`, scanPasskey},
	} {
		if err := s.scanEach(ctx, table.query, func(rows *sql.Rows) error { return table.scan(&p, rows) }); err != nil {
			return nil, err
		}
	}
	return &p, nil
}

func (s *engine) scanEach(ctx context.Context, query string, scan func(*sql.Rows) error) error {
	rows, err := s.readers.query(ctx, query)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func scanPerson(p *store.People, rows *sql.Rows) error {
	var person store.Person
	var created, seen, reset, promoted int64
	if err := rows.Scan(&person.Name, &person.Role, &person.Owner, &person.Email, &person.Subject, &created, &seen,
		&person.SignedIn, &reset, &person.ResetBy, &promoted, &person.PromotedBy); err != nil {
		return err
	}
	person.CreatedAt, person.LastSeenAt = fromMillis(created), fromMillis(seen)
	person.ResetAt, person.PromotedAt = fromMillis(reset), fromMillis(promoted)
	p.Persons = append(p.Persons, person)
	return nil
}

func scanSignIn(p *store.People, rows *sql.Rows) error {
	var signIn store.SignIn
	var created, seen int64
	if err := rows.Scan(&signIn.ID, &signIn.Person, &signIn.Method, &signIn.UserAgent, &signIn.Cookie, &signIn.Key, &created, &seen); err != nil {
		return err
	}
	signIn.CreatedAt, signIn.LastSeenAt = fromMillis(created), fromMillis(seen)
	p.SignIns = append(p.SignIns, signIn)
	return nil
}

func scanToken(p *store.People, rows *sql.Rows) error {
	var token store.Token
	var apps string
	var created, used, expires int64
	if err := rows.Scan(&token.ID, &token.Name, &token.Prefix, &token.Hash, &token.Person, &apps, &created, &used, &expires); err != nil {
		return err
	}
	token.CreatedAt, token.LastUsedAt, token.ExpiresAt = fromMillis(created), fromMillis(used), fromMillis(expires)
	p.Tokens = append(p.Tokens, token)
	return json.Unmarshal([]byte(apps), &p.Tokens[len(p.Tokens)-1].Apps)
}

func scanCode(p *store.People, rows *sql.Rows) error {
	var code store.Code
	var created, expires int64
	if err := rows.Scan(&code.Hash, &code.Person, &code.Method, &created, &expires); err != nil {
		return err
	}
	code.CreatedAt, code.ExpiresAt = fromMillis(created), fromMillis(expires)
	p.Codes = append(p.Codes, code)
	return nil
}

func scanPasskey(p *store.People, rows *sql.Rows) error {
	var passkey store.Passkey
	var transports string
	var created, used int64
	if err := rows.Scan(&passkey.ID, &passkey.Person, &passkey.Name, &passkey.Credential, &passkey.PublicKey, &passkey.SignCount, &passkey.Flags, &transports, &created, &used); err != nil {
		return err
	}
	passkey.CreatedAt, passkey.LastUsedAt = fromMillis(created), fromMillis(used)
	p.Passkeys = append(p.Passkeys, passkey)
	return json.Unmarshal([]byte(transports), &p.Passkeys[len(p.Passkeys)-1].Transports)
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
	write := func(query string, args ...any) func() error {
		return func() error { _, err := t.exec(query, args...); return err }
	}
	steps := []func() error{func() error { return t.appendLedger(c.LedgerRecords...) }}
	if c.SetLocked {
		steps = append(steps, write(`UPDATE hub SET locked = ? WHERE stream_id = 1`, c.Locked))
	}
	for _, name := range c.RemovedPeople {
		steps = append(steps,
			write(`DELETE FROM people WHERE stream_id = 1 AND name = ?`, name),
			// A later account of that name must not inherit these.
			write(`DELETE FROM browsers WHERE stream_id = 1 AND person = ?`, name),
			write(`DELETE FROM notice_settings WHERE stream_id = 1 AND person = ?`, name))
	}
	for _, id := range c.RemovedSignIns {
		steps = append(steps, write(`DELETE FROM sign_ins WHERE stream_id = 1 AND id = ?`, id))
	}
	for _, id := range c.RemovedTokens {
		steps = append(steps, write(`DELETE FROM tokens WHERE stream_id = 1 AND id = ?`, id))
	}
	for _, hash := range c.RemovedCodes {
		steps = append(steps, write(`DELETE FROM sign_in_codes WHERE stream_id = 1 AND hash = ?`, hash))
	}
	for _, p := range c.Persons {
		steps = append(steps, write(`INSERT OR REPLACE INTO people (stream_id, name, role, owner, email, subject, created_at, seen_at, signed_in, reset_at, reset_by, promoted_at, promoted_by)
			VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			p.Name, p.Role, p.Owner, p.Email, p.Subject, toMillis(p.CreatedAt), toMillis(p.LastSeenAt), p.SignedIn, toMillis(p.ResetAt), p.ResetBy, toMillis(p.PromotedAt), p.PromotedBy))
	}
	for _, i := range c.SignIns {
		steps = append(steps, write(`INSERT OR REPLACE INTO sign_ins (stream_id, id, person, way, user_agent, cookie, page_key, created_at, seen_at) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?)`,
			i.ID, i.Person, i.Method, i.UserAgent, i.Cookie, i.Key, toMillis(i.CreatedAt), toMillis(i.LastSeenAt)))
	}
	for _, o := range c.Tokens {
		apps, err := json.Marshal(o.Apps)
		if err != nil {
			return err
		}
		steps = append(steps, write(`INSERT OR REPLACE INTO tokens (stream_id, id, name, prefix, hash, person, apps, created_at, used_at, expires_at) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			o.ID, o.Name, o.Prefix, o.Hash, o.Person, string(apps), toMillis(o.CreatedAt), toMillis(o.LastUsedAt), toMillis(o.ExpiresAt)))
	}
	for _, o := range c.Codes {
		steps = append(steps, write(`INSERT OR REPLACE INTO sign_in_codes (stream_id, hash, person, way, created_at, expires_at) VALUES (1, ?, ?, ?, ?, ?)`,
			o.Hash, o.Person, o.Method, toMillis(o.CreatedAt), toMillis(o.ExpiresAt)))
	}
	for _, id := range c.RemovedPasskeys {
		steps = append(steps, write(`DELETE FROM passkeys WHERE stream_id = 1 AND id = ?`, id))
	}
	for _, o := range c.Passkeys {
		transports, err := json.Marshal(o.Transports)
		if err != nil {
			return err
		}
		steps = append(steps, write(`INSERT OR REPLACE INTO passkeys (stream_id, id, person, name, credential, public_key, sign_count, flags, transports, created_at, used_at) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			o.ID, o.Person, o.Name, o.Credential, o.PublicKey, o.SignCount, o.Flags, string(transports), toMillis(o.CreatedAt), toMillis(o.LastUsedAt)))
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
