package auth

import (
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
)

// testService is a Service with a real store and a settable clock.
type testService struct {
	*Service
	t   *testing.T
	now time.Time
}

func newTestService(t *testing.T) *testService {
	t.Helper()
	return openTestService(t, storetest.NewFile(t))
}

func openTestService(t *testing.T, path string) *testService {
	t.Helper()
	db := storetest.Open(t, storetest.Options{File: path, Fast: true})
	ts := &testService{t: t, now: time.UnixMilli(1795262400000)}
	var err error
	ts.Service, err = Open(t.Context(), Config{Store: db, Clock: func() time.Time { return ts.now }})
	require.NoError(t, err)
	return ts
}

// signInOwner signs in as the hub's first person.
func (b *testService) signInOwner(name string) *Session {
	b.t.Helper()
	code, err := b.OwnerCode(b.t.Context())
	require.NoError(b.t, err)
	session, err := b.SignIn(b.t.Context(), SignInAttempt{Code: code, Name: name, From: netip.IPv6Loopback(), UserAgent: "Firefox\x1b[31m\u202e on Linux"})
	require.NoError(b.t, err)
	return session
}

func TestIsToken(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{OperatorPrefix, AgentPrefix} {
		token := newToken(prefix)
		require.Len(t, token, len(prefix)+43+6)
		require.True(t, isToken(token))
		require.NotEqual(t, token, newToken(prefix))
		require.False(t, isToken(token[:len(token)-1]), "truncated")
		require.False(t, isToken(token+"0"))
		require.False(t, isToken(strings.ToLower(token)+"A"))
		swapped := []byte(token)
		swapped[10] ^= 1
		require.False(t, isToken(string(swapped)), "mistyped")
	}
	require.False(t, isToken(""))
	require.False(t, isToken("hubop_"))
	body := "hubxx_" + newSecret(secretBytes, secretChars)
	require.False(t, isToken(body+checksum(body)), "unknown prefix")
}

func TestService_KeepsStateAcrossRestart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hub.db")
	b := openTestService(t, path)
	s := b.signInOwner("ada")
	require.NoError(t, b.Lock(t.Context(), true, s.Identity))
	require.NoError(t, b.Store.(store.Store).Close())

	b = openTestService(t, path)
	require.True(t, b.IsLocked() && b.HasOwner())
	id, err := b.Authenticate(Credentials{Cookie: s.Cookie, Key: s.Key, ChangesState: true})
	require.NoError(t, err)
	require.Equal(t, s.Identity, id)
	require.NotContains(t, b.Service.current.Load().SignIns[0].UserAgent, "\x1b", "the User-Agent is untrusted")
}

func TestService_ResolveRecipients(t *testing.T) {
	t.Parallel()
	b := newTestService(t)
	_, err := b.ResolveRecipients(&schema.Recipients{Mode: "owner"})
	require.ErrorIs(t, err, schema.ErrInvalid)
	require.ErrorContains(t, err, "sign-in link", "no owner yet: the error names the next step")
	b.signInOwner("Ada")
	b.changeMu.Lock()
	require.NoError(t, b.applyChange(t.Context(), &store.PeopleChange{People: store.People{Persons: []store.Person{
		{Name: "grace", Role: schema.Admin}, {Name: "linus", Role: schema.Operator}, {Name: "guest", Role: schema.Viewer},
	}}}))
	b.changeMu.Unlock()
	for _, c := range []struct {
		mode    string
		members []string
		want    []string
	}{
		{"", nil, nil},
		{"anyone", nil, nil},
		{"owner", nil, []string{"Ada"}},
		{"owner_admins", nil, []string{"Ada", "grace"}},
		{"selected_members", []string{"linus", "ada", "Linus"}, []string{"linus", "Ada"}},
	} {
		got, err := b.ResolveRecipients(&schema.Recipients{Mode: c.mode, Members: c.members})
		require.NoError(t, err, c.mode)
		require.Equal(t, c.want, got, c.mode)
	}
	for _, members := range [][]string{{"ada", "eve"}, {"guest"}, nil} {
		_, err := b.ResolveRecipients(&schema.Recipients{Mode: "selected_members", Members: members})
		var field *schema.FieldError
		require.ErrorAs(t, err, &field)
		require.Equal(t, "humanInTheLoop.recipients.members", field.Field)
	}
	got, err := (*Service)(nil).ResolveRecipients(nil)
	require.NoError(t, err)
	require.Nil(t, got)
}

func TestSignIn_RejectsReservedNames(t *testing.T) {
	t.Parallel()
	b := newTestService(t)
	code, err := b.OwnerCode(t.Context())
	require.NoError(t, err)
	for _, name := range []string{"", "  ", "hub", "Local  User", "rule 3", "agent:build", "a/b", "a\x00b", "a\u202eb", strings.Repeat("a", 65), "<b>", "__no_quorum__"} {
		_, err := b.SignIn(t.Context(), SignInAttempt{Code: code, Name: name})
		var field *schema.FieldError
		require.ErrorAs(t, err, &field, "%q", name)
		require.Equal(t, "name", field.Field)
	}
	s, err := b.SignIn(t.Context(), SignInAttempt{Code: code, Name: " Ada  Lovelace "})
	require.NoError(t, err, "a rejected name does not use up the code")
	require.Equal(t, "Ada Lovelace", s.Identity.Name)
}

func TestService_NilHasNoAccounts(t *testing.T) {
	t.Parallel()
	var s *Service
	require.False(t, s.IsLocked() || s.HasOwner())
	require.NoError(t, s.Check(schema.AccessDecide, Identity{}))
	require.ErrorIs(t, s.Check(schema.AccessAdmin, Identity{}), schema.ErrSignIn)
	require.ErrorIs(t, s.Check(schema.AccessDecide, Identity{Agent: true, Via: "token"}), schema.ErrNotAllowed)
	require.Empty(t, s.Accounts(t.Context()))
	id, err := s.Authenticate(Credentials{Authorization: "Bearer anything"})
	require.NoError(t, err)
	require.False(t, id.IsAuthenticated())
	s.OnRevoked(Identity{ID: "s_1"}, func() { t.Error("a nil Service cannot revoke it") })()
}

// The token expires without any request.
func TestOnRevoked_FiresWhenTokenExpires(t *testing.T) {
	t.Parallel()
	b := newTestService(t)
	ada := b.signInOwner("ada").Identity
	made, err := b.CreateToken(t.Context(), schema.TokenDraft{Name: "short", ExpiresAt: toMillis(b.now.Add(time.Hour))}, ada)
	require.NoError(t, err)
	id, err := b.Authenticate(Credentials{Authorization: "Bearer " + made.Secret})
	require.NoError(t, err)
	ended := 0
	defer b.OnRevoked(id, func() { ended++ })()
	b.OnRevoked(id, func() { t.Error("this hook was removed before") })()
	b.fireExpired()
	require.Zero(t, ended)
	b.now = b.now.Add(time.Hour)
	b.fireExpired()
	b.fireExpired()
	require.Equal(t, 1, ended)
	b.OnRevoked(id, func() { ended++ })
	require.Equal(t, 2, ended, "it had expired already")
}

func TestToken_LastUseIsStored(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hub.db")
	b := openTestService(t, path)
	ada := b.signInOwner("ada").Identity
	made, err := b.CreateToken(t.Context(), schema.TokenDraft{Name: "build"}, ada)
	require.NoError(t, err)
	b.now = b.now.Add(time.Hour)
	_, err = b.Authenticate(Credentials{Authorization: "Bearer " + made.Secret})
	require.NoError(t, err)
	require.NoError(t, b.saveLastUse(t.Context()))
	require.NoError(t, b.Store.(store.Store).Close())
	list, err := openTestService(t, path).Tokens(ada)
	require.NoError(t, err)
	require.Equal(t, toMillis(b.now), list[0].LastUsedAt)
	require.Empty(t, list[0].Secret)
}

func TestRecoverAccess_IssuesOwnerLink(t *testing.T) {
	t.Parallel()
	b := newTestService(t)
	for range 2 { // the second time the account exists
		code, err := b.RecoverAccess(t.Context(), "ada")
		require.NoError(t, err)
		s, err := b.SignIn(t.Context(), SignInAttempt{Code: code})
		require.NoError(t, err)
		require.True(t, s.Identity.Owner && s.Identity.Role == schema.Admin)
	}
	_, err := b.RecoverAccess(t.Context(), "eve")
	require.ErrorContains(t, err, "ada", "the error lists the people")
	require.Len(t, b.Accounts(t.Context()), 1)
}
