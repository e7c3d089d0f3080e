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
		Persons:  []store.Person{{Name: "ada", Role: schema.Admin, Owner: true, CreatedAt: at, SignedIn: true}},
		SignIns:  []store.SignIn{{ID: "s_1", Person: "ada", Method: "pair", UserAgent: "x", Cookie: []byte("c"), Key: []byte("k"), Confirmed: true, CreatedAt: at, LastSeenAt: at}},
		Codes:    []store.Code{{Hash: []byte("h"), Person: "ada", Method: "pair", Confirmed: true, CreatedAt: at, ExpiresAt: at.Add(time.Minute)}},
		Passkeys: []store.Passkey{{ID: "k_1", Person: "ada", Name: "phone", RPID: "example.com", Credential: []byte("1"), PublicKey: []byte("2"), SignCount: 3, Flags: 4, Transports: []string{"usb"}, CreatedAt: at}},
	}
	_, err := b.ChangePeople(t.Context(), &store.PeopleChange{People: want})
	require.NoError(t, err)
	got, err := b.People(t.Context())
	require.NoError(t, err)
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
