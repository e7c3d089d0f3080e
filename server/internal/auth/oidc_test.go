package auth

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
)

// emailClaim is an e-mail address with the provider's email_verified claim.
type emailClaim struct {
	text     string
	verified any
}

func testClaims(sub, name string, m emailClaim, groups any) map[string]any {
	return map[string]any{
		"iss": "https://login.example.com", "sub": sub, "preferred_username": name,
		"email": m.text, "email_verified": m.verified, "groups": groups,
	}
}

func TestOIDC_GroupsDetermineRole(t *testing.T) {
	t.Parallel()
	o := &OIDC{Roles: map[string]schema.Role{"devs": schema.Operator, "ops": schema.Admin, "all": schema.Viewer}}
	for groups, want := range map[any]schema.Role{
		"devs": schema.Operator, "all devs": schema.Operator, "ops devs": schema.Admin, "others": schema.Viewer, 7: schema.Viewer, nil: schema.Viewer,
	} {
		require.Equal(t, want, o.parseClaims(testClaims("1", "ada", emailClaim{}, groups)).role, "%v", groups)
	}
	require.Equal(t, schema.Admin, o.parseClaims(testClaims("1", "ada", emailClaim{}, []any{"all", "ops", 3})).role)
	require.Equal(t, schema.Viewer, o.parseClaims(map[string]any{"roles": []any{"ops"}}).role, "another claim")
}

func TestOIDC_IgnoresUnverifiedEmail(t *testing.T) {
	t.Parallel()
	o := &OIDC{}
	for verified, want := range map[any]string{true: "ada@example.com", "true": "ada@example.com", false: "", "false": "", nil: "", 1: ""} {
		require.Equal(t, want, o.parseClaims(testClaims("1", "", emailClaim{"ada@example.com", verified}, nil)).email, "%v", verified)
	}
}

func TestOIDC_MatchesAccounts(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t, storetest.Options{Fast: true})
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	o := &OIDC{Roles: map[string]schema.Role{"devs": schema.Operator}}
	s, err := Open(t.Context(), Config{Store: db, OIDC: o})
	require.NoError(t, err)
	require.NoError(t, s.applyChange(t.Context(), &store.PeopleChange{People: store.People{Persons: []store.Person{
		{Name: "ada", Role: schema.Admin, Owner: true, Email: "ada@example.com", CreatedAt: time.Now()},
		{Name: "grace", Role: schema.Viewer, CreatedAt: time.Now()},
	}}}))
	code := func(said map[string]any) (store.Code, error) {
		secret, err := s.issueCode(t.Context(), o.parseClaims(said))
		if err != nil {
			return store.Code{}, err
		}
		return *s.current.Load().codes[digestOf(secret)], nil
	}

	c, err := code(testClaims("1", "someone", emailClaim{"ADA@example.com", true}, nil))
	require.NoError(t, err)
	require.Equal(t, "ada", c.Person, "matched by verified e-mail address")
	require.Equal(t, "oidc", c.Method)
	require.Equal(t, schema.Admin, s.current.Load().findPerson("ada").Role, "groups do not change the owner's role")

	c, err = code(testClaims("1", "someone", emailClaim{}, nil))
	require.NoError(t, err)
	require.Equal(t, "ada", c.Person, "matched by subject")

	_, err = code(testClaims("2", "ada", emailClaim{"ada@example.com", true}, nil))
	require.NoError(t, err)
	require.Equal(t, "ada@example.com", s.current.Load().Persons[1].Name, "another subject is another person, despite equal name and address")

	_, err = code(testClaims("3", "grace", emailClaim{}, nil))
	require.ErrorIs(t, err, ErrNoUsableName, "the name is taken")

	c, err = code(testClaims("4", "linus", emailClaim{}, "devs"))
	require.NoError(t, err)
	require.Equal(t, schema.Operator, s.current.Load().findPerson("linus").Role)
	_, err = code(testClaims("4", "linus", emailClaim{}, nil))
	require.NoError(t, err)
	require.Equal(t, schema.Viewer, s.current.Load().findPerson(c.Person).Role, "leaving the group removes the role")
}

// Accounts and roles that change by sign-in, without an admin, are recorded once in the
// audit log.
func TestOIDC_RecordsAccountChangesInLedger(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t, storetest.Options{Fast: true})
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	o := &OIDC{Roles: map[string]schema.Role{"devs": schema.Operator, "ops": schema.Admin}}
	s, err := Open(t.Context(), Config{Store: db, OIDC: o})
	require.NoError(t, err)
	for _, group := range []string{"devs", "devs", "ops", "ops"} {
		_, err := s.issueCode(t.Context(), o.parseClaims(testClaims("1", "eve", emailClaim{}, group)))
		require.NoError(t, err)
	}
	lines, err := db.Ledger(t.Context(), store.LedgerPage{Limit: 10})
	require.NoError(t, err)
	var acts []string
	for _, line := range lines {
		var e sign.LedgerEntry
		require.NoError(t, json.Unmarshal(line, &e))
		acts = append(acts, e.Actor+" "+e.Action+" "+string(e.Data))
	}
	require.Equal(t, []string{
		`hub person.made {"name":"eve","role":"operator","way":"oidc"}`,
		`hub person.changed {"name":"eve","role":"admin","way":"oidc"}`,
	}, acts)
}
