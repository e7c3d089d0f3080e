package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// TestPeople_KeepCredentials: all members of accounts and credentials are kept and replaced.
func (s suite) TestPeople_KeepCredentials(t *testing.T) {
	b := s.open(t)
	at := time.UnixMilli(1_795_262_400_000)
	want := store.People{
		Persons: []store.Person{{
			Name: "ada", Role: schema.Admin, Owner: true, Email: "ada@example.com", Handles: "@ada @shop/web",
			Subject: "issuer ada", CreatedAt: at, LastSeenAt: at, SignedIn: true, ResetAt: at, ResetBy: "bob", PromotedAt: at, PromotedBy: "bob",
		}},
		SignIns:  []store.SignIn{{ID: "s_1", Person: "ada", Method: "pair", UserAgent: "x", Cookie: []byte("c"), Key: []byte("k"), Confirmed: true, CreatedAt: at, LastSeenAt: at}},
		Codes:    []store.Code{{Hash: []byte("h"), Person: "ada", Method: "pair", Confirmed: true, CreatedAt: at, ExpiresAt: at.Add(time.Minute)}},
		Passkeys: []store.Passkey{{ID: "k_1", Person: "ada", Name: "phone", RPID: "example.com", Credential: []byte("1"), PublicKey: []byte("2"), SignCount: 3, Flags: 4, Transports: []string{"usb"}, CreatedAt: at}},
	}
	_, err := b.ChangePeople(t.Context(), &store.PeopleChange{People: want})
	require.NoError(t, err)
	got, err := b.People(t.Context())
	require.NoError(t, err)
	require.Equal(t, want.Persons, got.Persons)
	require.Equal(t, want.SignIns, got.SignIns)
	require.Equal(t, want.Codes, got.Codes)
	require.Equal(t, want.Passkeys, got.Passkeys)

	want.Passkeys[0].RPID, want.SignIns[0].Confirmed = "hub.example.com", false
	_, err = b.ChangePeople(t.Context(), &store.PeopleChange{People: store.People{Passkeys: want.Passkeys, SignIns: want.SignIns}, RemovedCodes: [][]byte{[]byte("h")}})
	require.NoError(t, err)
	got, err = b.People(t.Context())
	require.NoError(t, err)
	require.Equal(t, want.Passkeys, got.Passkeys)
	require.Equal(t, want.SignIns, got.SignIns)
	require.Empty(t, got.Codes)
}

// A change that another hub could not know of yet is refused, so that it restores nothing.
func (s suite) TestPeople_RefuseChangesOfOldVersions(t *testing.T) {
	b := s.open(t)
	at := time.UnixMilli(1_795_262_400_000)
	before, err := b.People(t.Context())
	require.NoError(t, err)
	require.Positive(t, before.Version)
	change := func(version int64, role schema.Role) error {
		_, err := b.ChangePeople(t.Context(), &store.PeopleChange{People: store.People{Version: version, Persons: []store.Person{{Name: "ada", Role: role, CreatedAt: at}}}})
		return err
	}
	require.NoError(t, change(before.Version, schema.Operator))
	require.ErrorIs(t, change(before.Version, schema.Admin), store.ErrPeopleChanged)
	after, err := b.People(t.Context())
	require.NoError(t, err)
	require.Equal(t, schema.Operator, after.Persons[0].Role)
	version, err := b.PeopleVersion(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int64{before.Version + 1, after.Version}, []int64{version, version})
	require.NoError(t, change(0, schema.Admin), "a command without accounts in memory")
}

func (s suite) TestPeople_UseMovesForwardOnly(t *testing.T) {
	b := s.open(t)
	at := time.UnixMilli(1_795_262_400_000)
	_, err := b.ChangePeople(t.Context(), &store.PeopleChange{People: store.People{
		SignIns: []store.SignIn{{ID: "s_1", Person: "ada", Cookie: []byte("c"), Key: []byte("k"), CreatedAt: at, LastSeenAt: at}},
		Tokens:  []store.Token{{ID: "t_1", Name: "x", Hash: []byte("h"), CreatedAt: at}},
	}})
	require.NoError(t, err)
	before, err := b.People(t.Context())
	require.NoError(t, err)
	for _, later := range []time.Duration{2 * time.Minute, time.Minute} { // the second one is of a hub that has not seen the first use
		used := at.Add(later)
		require.NoError(t, b.RecordUse(t.Context(), &store.Uses{
			SignIns: map[string]time.Time{"s_1": used, "s_revoked": used}, Tokens: map[string]time.Time{"t_1": used, "t_revoked": used},
		}))
	}
	after, err := b.People(t.Context())
	require.NoError(t, err)
	require.Equal(t, before.Version, after.Version)
	require.Len(t, after.SignIns, 1)
	require.Len(t, after.Tokens, 1)
	require.True(t, after.SignIns[0].LastSeenAt.Equal(at.Add(2*time.Minute)))
	require.True(t, after.Tokens[0].LastUsedAt.Equal(at.Add(2*time.Minute)))
}
