package auth

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
)

// address is what a provider says of an address.
type address struct {
	text     string
	verified any
}

func claims(sub, name string, m address, groups any) map[string]any {
	return map[string]any{
		"iss": "https://login.example.com", "sub": sub, "preferred_username": name,
		"email": m.text, "email_verified": m.verified, "groups": groups,
	}
}

func TestGroupsSayWhatAPersonMay(t *testing.T) {
	t.Parallel()
	o := &OIDC{Roles: map[string]schema.Role{"devs": schema.Operator, "ops": schema.Admin, "all": schema.Viewer}}
	for groups, want := range map[any]schema.Role{
		"devs": schema.Operator, "all devs": schema.Operator, "ops devs": schema.Admin, "others": schema.Viewer, 7: schema.Viewer, nil: schema.Viewer,
	} {
		require.Equal(t, want, o.understood(claims("1", "ada", address{}, groups)).role, "%v", groups)
	}
	require.Equal(t, schema.Admin, o.understood(claims("1", "ada", address{}, []any{"all", "ops", 3})).role)
	require.Equal(t, schema.Viewer, o.understood(map[string]any{"roles": []any{"ops"}}).role, "another claim")
}

func TestAnAddressThatIsNotVerifiedIsNobodys(t *testing.T) {
	t.Parallel()
	o := &OIDC{}
	for verified, want := range map[any]string{true: "ada@example.com", "true": "ada@example.com", false: "", "false": "", nil: "", 1: ""} {
		require.Equal(t, want, o.understood(claims("1", "", address{"ada@example.com", verified}, nil)).email, "%v", verified)
	}
}

func TestWhoAProviderMeans(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.Context(), store.Config{Path: storetest.NewFile(t), ReserveFileBytes: -1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	o := &OIDC{Roles: map[string]schema.Role{"devs": schema.Operator}}
	p, err := Open(t.Context(), Config{Store: db, OIDC: o})
	require.NoError(t, err)
	require.NoError(t, p.change(t.Context(), &store.PeopleChange{People: store.People{Persons: []store.Person{
		{Name: "ada", Role: schema.Admin, Owner: true, Email: "ada@example.com", CreatedAt: time.Now()},
		{Name: "grace", Role: schema.Viewer, CreatedAt: time.Now()},
	}}}))
	code := func(said map[string]any) (store.Code, error) {
		secret, err := p.codeFor(t.Context(), o.understood(said))
		if err != nil {
			return store.Code{}, err
		}
		return *p.now.Load().codes[digestOf(secret)], nil
	}

	c, err := code(claims("1", "someone", address{"ADA@example.com", true}, nil))
	require.NoError(t, err)
	require.Equal(t, "ada", c.Person, "whose address an admin wrote down")
	require.Equal(t, "oidc", c.Way)
	require.Equal(t, schema.Admin, p.now.Load().person("ada").Role, "the owner keeps the hub whatever the groups say")

	c, err = code(claims("1", "someone", address{}, nil))
	require.NoError(t, err)
	require.Equal(t, "ada", c.Person, "known by the subject from now on")

	_, err = code(claims("2", "ada", address{"ada@example.com", true}, nil))
	require.NoError(t, err)
	require.Equal(t, "ada@example.com", p.now.Load().Persons[1].Name, "neither the name nor the address makes another subject the same person")

	_, err = code(claims("3", "grace", address{}, nil))
	require.ErrorIs(t, err, ErrNoUsableName, "a name that is taken is not given twice")

	c, err = code(claims("4", "linus", address{}, "devs"))
	require.NoError(t, err)
	require.Equal(t, schema.Operator, p.now.Load().person("linus").Role)
	_, err = code(claims("4", "linus", address{}, nil))
	require.NoError(t, err)
	require.Equal(t, schema.Viewer, p.now.Load().person(c.Person).Role, "out of the group, out of the role")
}

func TestOnlySoManyAreOnTheirWayToTheProvider(t *testing.T) {
	t.Parallel()
	o, now := &OIDC{}, time.Now()
	for i := range maxFlows + 10 {
		o.remember(newSecret(codeBytes, codeChars), flow{until: now.Add(time.Duration(i) * time.Second)}, now)
	}
	require.Len(t, o.flows, maxFlows)
	o.remember("last", flow{until: now.Add(5 * time.Hour)}, now.Add(4*time.Hour))
	require.Len(t, o.flows, 1, "those that are over are forgotten")
	_, ok := o.take("last", "not the cookie", now)
	require.False(t, ok)
}

// TestWhomAProviderMakesIsInTheLedger: who came to the hub, or to another role, without
// any admin's doing, is told there, once.
func TestWhomAProviderMakesIsInTheLedger(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.Context(), store.Config{Path: storetest.NewFile(t), ReserveFileBytes: -1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	o := &OIDC{Roles: map[string]schema.Role{"devs": schema.Operator, "ops": schema.Admin}}
	p, err := Open(t.Context(), Config{Store: db, OIDC: o})
	require.NoError(t, err)
	for _, group := range []string{"devs", "devs", "ops", "ops"} {
		_, err := p.codeFor(t.Context(), o.understood(claims("1", "eve", address{}, group)))
		require.NoError(t, err)
	}
	lines, err := db.Ledger(t.Context(), store.LedgerPage{Limit: 10})
	require.NoError(t, err)
	var acts []string
	for _, line := range lines {
		var e schema.LedgerEntry
		require.NoError(t, json.Unmarshal(line, &e))
		acts = append(acts, e.Actor+" "+e.Action+" "+string(e.Data))
	}
	require.Equal(t, []string{
		`hub person.made {"name":"eve","role":"operator","way":"oidc"}`,
		`hub person.changed {"name":"eve","role":"admin","way":"oidc"}`,
	}, acts)
}
