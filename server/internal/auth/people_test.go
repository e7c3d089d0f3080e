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

// bench is the people of a hub, over a real store.
type bench struct {
	*Service
	t   *testing.T
	now time.Time
}

func setup(t *testing.T) *bench {
	t.Helper()
	return open(t, storetest.NewFile(t))
}

func open(t *testing.T, path string) *bench {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Path: path, ReserveFileBytes: -1})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	b := &bench{t: t, now: time.UnixMilli(1795262400000)}
	b.Service, err = Open(t.Context(), Config{Store: s, Clock: func() time.Time { return b.now }})
	require.NoError(t, err)
	return b
}

// owner signs in as the hub's first person.
func (b *bench) owner(name string) *Session {
	b.t.Helper()
	code, err := b.OwnerCode(b.t.Context())
	require.NoError(b.t, err)
	s, err := b.SignIn(b.t.Context(), SignInAttempt{Code: code, Name: name, From: netip.IPv6Loopback(), UserAgent: "Firefox\x1b[31m\u202e on Linux"})
	require.NoError(b.t, err)
	return s
}

func TestATokenIsKnownByItsForm(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{OperatorPrefix, AgentPrefix} {
		token := newToken(prefix)
		require.Len(t, token, len(prefix)+43+6)
		require.True(t, isToken(token))
		require.NotEqual(t, token, newToken(prefix))
		require.False(t, isToken(token[:len(token)-1]), "cut off")
		require.False(t, isToken(token+"0"))
		require.False(t, isToken(strings.ToLower(token)+"A"))
		swapped := []byte(token)
		swapped[10] ^= 1
		require.False(t, isToken(string(swapped)), "mistyped")
	}
	require.False(t, isToken(""))
	require.False(t, isToken("hubop_"))
	body := "hubxx_" + newSecret(secretBytes, secretChars)
	require.False(t, isToken(body+checksum(body)), "of another kind")
}

func TestWhatPeopleAreOutlivesTheHub(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hub.db")
	b := open(t, path)
	s := b.owner("ada")
	require.NoError(t, b.Lock(t.Context(), true, s.Identity))
	require.NoError(t, b.Store.Close())

	b = open(t, path)
	require.True(t, b.Locked() && b.Owned())
	w, err := b.Authenticate(Credentials{Cookie: s.Cookie, Key: s.Key, ChangesState: true})
	require.NoError(t, err)
	require.Equal(t, s.Identity, w)
	require.NotContains(t, b.Service.now.Load().SignIns[0].UserAgent, "\x1b", "what a browser calls itself is anybody's text")
}

func TestTheRecipientsOfAQuestionArePeopleHere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.ResolveRecipients(&schema.Recipients{Mode: "owner"})
	require.ErrorIs(t, err, schema.ErrInvalid)
	require.ErrorContains(t, err, "sign-in link", "nobody is known yet, and the error says what to do")
	b.owner("Ada")
	b.changing.Lock()
	require.NoError(t, b.change(t.Context(), &store.PeopleChange{People: store.People{Persons: []store.Person{
		{Name: "grace", Role: schema.Admin}, {Name: "linus", Role: schema.Operator}, {Name: "guest", Role: schema.Viewer},
	}}}))
	b.changing.Unlock()
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

func TestNobodyTakesANameThatMeansSomethingElse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	code, err := b.OwnerCode(t.Context())
	require.NoError(t, err)
	for _, name := range []string{"", "  ", "hub", "Local  User", "rule 3", "agent:build", "a/b", "a\x00b", "a\u202eb", strings.Repeat("a", 65), "<b>", "__no_quorum__"} {
		_, err := b.SignIn(t.Context(), SignInAttempt{Code: code, Name: name})
		var field *schema.FieldError
		require.ErrorAs(t, err, &field, "%q", name)
		require.Equal(t, "name", field.Field)
	}
	s, err := b.SignIn(t.Context(), SignInAttempt{Code: code, Name: " Ada  Lovelace "})
	require.NoError(t, err, "a refused name doesn't use the code up")
	require.Equal(t, "Ada Lovelace", s.Identity.Name)
}

func TestAnAddressIsForgottenAfterAMinuteAndTheListIsBounded(t *testing.T) {
	t.Parallel()
	var tr tries
	now := time.UnixMilli(1795262400000)
	one := netip.MustParseAddr("2001:db8::1")
	for range maxTries {
		require.NoError(t, tr.allowed(one, now))
		tr.failed(one, now)
	}
	require.ErrorIs(t, tr.allowed(one, now), schema.ErrTooMany)
	require.ErrorIs(t, tr.allowed(netip.MustParseAddr("2001:db8::ffff"), now), schema.ErrTooMany, "whoever has one address of a /64 has all")
	require.NoError(t, tr.allowed(netip.MustParseAddr("2001:db8:1::1"), now))
	require.NoError(t, tr.allowed(one, now.Add(time.Minute)))
	require.NoError(t, tr.allowed(one, now.Add(-time.Hour)), "the clock was set back")
	for i := range 2 * maxFrom {
		tr.failed(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), now)
	}
	require.LessOrEqual(t, len(tr.from), maxFrom)
}

func TestANilPeopleKnowsNobodyAndIsNotLocked(t *testing.T) {
	t.Parallel()
	var p *Service
	require.False(t, p.Locked() || p.Owned())
	require.NoError(t, p.RequireOperator(Identity{}))
	require.NoError(t, p.RequireAdmin(Identity{}))
	require.ErrorIs(t, p.RequireOperator(Identity{Agent: true, Via: "token"}), schema.ErrNotAllowed)
	require.Empty(t, p.Accounts(t.Context()))
	w, err := p.Authenticate(Credentials{Authorization: "Bearer anything"})
	require.NoError(t, err)
	require.False(t, w.Known())
	p.OnRevoked(Identity{ID: "s_1"}, func() { t.Error("nobody can revoke it") })()
}

// TestWhatIsOpenEndsWithItsToken: nobody asks for it, the time has just come.
func TestWhatIsOpenEndsWithItsToken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.owner("ada").Identity
	made, err := b.CreateToken(t.Context(), schema.TokenDraft{Name: "short", ExpiresAt: millis(b.now.Add(time.Hour))}, ada)
	require.NoError(t, err)
	w, err := b.Authenticate(Credentials{Authorization: "Bearer " + made.Secret})
	require.NoError(t, err)
	ended := 0
	defer b.OnRevoked(w, func() { ended++ })()
	b.OnRevoked(w, func() { t.Error("this one had gone before") })()
	b.expire()
	require.Zero(t, ended)
	b.now = b.now.Add(time.Hour)
	b.expire()
	b.expire()
	require.Equal(t, 1, ended)
	b.OnRevoked(w, func() { ended++ })
	require.Equal(t, 2, ended, "it was over already")
}

func TestWhenATokenWasUsedIsKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hub.db")
	b := open(t, path)
	ada := b.owner("ada").Identity
	made, err := b.CreateToken(t.Context(), schema.TokenDraft{Name: "build"}, ada)
	require.NoError(t, err)
	b.now = b.now.Add(time.Hour)
	_, err = b.Authenticate(Credentials{Authorization: "Bearer " + made.Secret})
	require.NoError(t, err)
	require.NoError(t, b.noteUse(t.Context()))
	require.NoError(t, b.Store.Close())
	list, err := open(t, path).Tokens(ada)
	require.NoError(t, err)
	require.Equal(t, millis(b.now), list[0].LastUsedAt)
	require.Empty(t, list[0].Secret)
}

func TestWhoLostTheirBrowserGetsALinkOnTheHubsMachine(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 2 { // the second time she is known
		code, err := b.RecoverAccess(t.Context(), "ada")
		require.NoError(t, err)
		s, err := b.SignIn(t.Context(), SignInAttempt{Code: code})
		require.NoError(t, err)
		require.True(t, s.Identity.Owner && s.Identity.Role == schema.Admin)
	}
	_, err := b.RecoverAccess(t.Context(), "eve")
	require.ErrorContains(t, err, "ada", "whom it knows")
	require.Len(t, b.Accounts(t.Context()), 1)
}
