package people

import (
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// bench is the people of a hub, over a real store.
type bench struct {
	*People
	t   *testing.T
	now time.Time
}

func setup(t *testing.T) *bench {
	t.Helper()
	return open(t, filepath.Join(t.TempDir(), "hub.db"))
}

func open(t *testing.T, path string) *bench {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Path: path, BallastBytes: -1})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	b := &bench{t: t, now: time.UnixMilli(1795262400000)}
	b.People, err = Open(t.Context(), Config{Store: s, Clock: func() time.Time { return b.now }})
	require.NoError(t, err)
	return b
}

// owner signs in as the hub's first person.
func (b *bench) owner(name string) *Session {
	b.t.Helper()
	code, err := b.OwnerCode(b.t.Context())
	require.NoError(b.t, err)
	s, err := b.SignIn(b.t.Context(), Attempt{Code: code, Name: name, From: netip.IPv6Loopback(), UserAgent: "Firefox\x1b[31m\u202e on Linux"})
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
	require.NoError(t, b.Lock(t.Context(), true, s.Who))
	require.NoError(t, b.Store.Close())

	b = open(t, path)
	require.True(t, b.Locked() && b.Owned())
	w, err := b.Identify(Shown{Cookie: s.Cookie, Key: s.Key, Acts: true})
	require.NoError(t, err)
	require.Equal(t, s.Who, w)
	require.NotContains(t, b.People.now.Load().SignIns[0].UserAgent, "\x1b", "what a browser calls itself is anybody's text")
}

func TestTheRecipientsOfAQuestionArePeopleHere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.Resolve(&schema.Recipients{Mode: "owner"})
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
		got, err := b.Resolve(&schema.Recipients{Mode: c.mode, Members: c.members})
		require.NoError(t, err, c.mode)
		require.Equal(t, c.want, got, c.mode)
	}
	for _, members := range [][]string{{"ada", "eve"}, {"guest"}, nil} {
		_, err := b.Resolve(&schema.Recipients{Mode: "selected_members", Members: members})
		var field *schema.FieldError
		require.ErrorAs(t, err, &field)
		require.Equal(t, "humanInTheLoop.recipients.members", field.Field)
	}
	got, err := (*People)(nil).Resolve(nil)
	require.NoError(t, err)
	require.Nil(t, got)
}

func TestNobodyTakesANameThatMeansSomethingElse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	code, err := b.OwnerCode(t.Context())
	require.NoError(t, err)
	for _, name := range []string{"", "  ", "hub", "Local  User", "rule 3", "agent:build", "a/b", "a\x00b", "a\u202eb", strings.Repeat("a", 65), "<b>", "__no_quorum__"} {
		_, err := b.SignIn(t.Context(), Attempt{Code: code, Name: name})
		var field *schema.FieldError
		require.ErrorAs(t, err, &field, "%q", name)
		require.Equal(t, "name", field.Field)
	}
	s, err := b.SignIn(t.Context(), Attempt{Code: code, Name: " Ada  Lovelace "})
	require.NoError(t, err, "a refused name doesn't use the code up")
	require.Equal(t, "Ada Lovelace", s.Who.Name)
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
	var p *People
	require.False(t, p.Locked() || p.Owned())
	require.NoError(t, p.MayAnswer(Who{}))
	require.NoError(t, p.MayAdmin(Who{}))
	require.ErrorIs(t, p.MayAnswer(Who{Agent: true, Via: "token"}), schema.ErrNotAllowed)
	require.Empty(t, p.Persons(t.Context()))
	w, err := p.Identify(Shown{Authorization: "Bearer anything"})
	require.NoError(t, err)
	require.False(t, w.Known())
	p.OnRevoked(Who{ID: "s_1"}, func() { t.Error("nobody can revoke it") })()
}
