package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/hookback/hookback/schema"
)

// Person is an account.
type Person struct {
	Name                  string
	Role                  schema.Role
	Owner                 bool
	Email                 string
	Subject               string    // OpenID Connect issuer and subject; empty: not linked
	CreatedAt, LastSeenAt time.Time // LastSeenAt is zero if never seen

	SignedIn   bool      // has signed in since the account was created or reset
	ResetAt    time.Time // last reset by an admin; zero: never
	ResetBy    string
	PromotedAt time.Time // when another admin made this person an admin; zero: never
	PromotedBy string
}

// SignIn is a signed-in browser. Cookie and Key are hashes.
type SignIn struct {
	ID, Person, Method, UserAgent string
	Cookie, Key                   []byte
	CreatedAt, LastSeenAt         time.Time
}

// Token is a credential for programs. Only its hash is stored.
type Token struct {
	ID, Name, Prefix, Person         string
	Apps                             []string
	Hash                             []byte
	CreatedAt, LastUsedAt, ExpiresAt time.Time // zero: never
}

// Code is an unused sign-in link.
type Code struct {
	Hash                 []byte
	Person               string // empty: using the code makes its user the hub's owner
	Method               string // of the sign-in that it creates: link or oidc
	CreatedAt, ExpiresAt time.Time
}

// Passkey is a WebAuthn credential of a person.
type Passkey struct {
	ID, Person, Name      string
	Credential, PublicKey []byte
	SignCount             uint32
	Flags                 byte
	Transports            []string
	CreatedAt, LastUsedAt time.Time // LastUsedAt is zero if never used
}

// People is the complete state of accounts and credentials.
type People struct {
	Persons []Person
	SignIns []SignIn
	Tokens  []Token
	Codes   []Code
	Locked  bool

	Passkeys []Passkey
}

// PeopleChange is one atomic change of accounts and credentials. Listed records are
// inserted or replaced.
type PeopleChange struct {
	People         // Locked is used only with SetLocked
	SetLocked      bool
	RemovedPeople  []string // names to remove
	RemovedSignIns []string // IDs to remove
	RemovedTokens  []string // IDs to remove
	RemovedCodes   [][]byte // hashes to remove

	RemovedPasskeys []string       // IDs to remove
	LedgerRecords   []LedgerRecord // audit log records of the change
}

// People reads all accounts and credentials. There are few, and callers cache them.
func (s *Store) People(ctx context.Context) (*People, error) {
	var p People
	if err := s.readers.get(ctx, []any{&p.Locked}, `SELECT locked FROM hub WHERE stream_id = 1`); err != nil {
		return nil, err
	}
	for _, table := range []struct {
		query string
		scan  func(*People, *sql.Rows) error
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

func (s *Store) scanEach(ctx context.Context, query string, scan func(*sql.Rows) error) error {
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

func scanPerson(p *People, rows *sql.Rows) error {
	var person Person
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

func scanSignIn(p *People, rows *sql.Rows) error {
	var signIn SignIn
	var created, seen int64
	if err := rows.Scan(&signIn.ID, &signIn.Person, &signIn.Method, &signIn.UserAgent, &signIn.Cookie, &signIn.Key, &created, &seen); err != nil {
		return err
	}
	signIn.CreatedAt, signIn.LastSeenAt = fromMillis(created), fromMillis(seen)
	p.SignIns = append(p.SignIns, signIn)
	return nil
}

func scanToken(p *People, rows *sql.Rows) error {
	var token Token
	var apps string
	var created, used, expires int64
	if err := rows.Scan(&token.ID, &token.Name, &token.Prefix, &token.Hash, &token.Person, &apps, &created, &used, &expires); err != nil {
		return err
	}
	token.CreatedAt, token.LastUsedAt, token.ExpiresAt = fromMillis(created), fromMillis(used), fromMillis(expires)
	p.Tokens = append(p.Tokens, token)
	return json.Unmarshal([]byte(apps), &p.Tokens[len(p.Tokens)-1].Apps)
}

func scanCode(p *People, rows *sql.Rows) error {
	var code Code
	var created, expires int64
	if err := rows.Scan(&code.Hash, &code.Person, &code.Method, &created, &expires); err != nil {
		return err
	}
	code.CreatedAt, code.ExpiresAt = fromMillis(created), fromMillis(expires)
	p.Codes = append(p.Codes, code)
	return nil
}

func scanPasskey(p *People, rows *sql.Rows) error {
	var passkey Passkey
	var transports string
	var created, used int64
	if err := rows.Scan(&passkey.ID, &passkey.Person, &passkey.Name, &passkey.Credential, &passkey.PublicKey, &passkey.SignCount, &passkey.Flags, &transports, &created, &used); err != nil {
		return err
	}
	passkey.CreatedAt, passkey.LastUsedAt = fromMillis(created), fromMillis(used)
	p.Passkeys = append(p.Passkeys, passkey)
	return json.Unmarshal([]byte(transports), &p.Passkeys[len(p.Passkeys)-1].Transports)
}

// ChangePeople writes c and returns once it is committed. A change that locks the hub also
// removes what callers without credentials left behind, which it returns. It works on a full
// disk: people must be able to sign in and to revoke access.
func (s *Store) ChangePeople(ctx context.Context, c *PeopleChange) (removed AnonymousRemoval, err error) {
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

func (t *tx) changePeople(c *PeopleChange) error {
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
