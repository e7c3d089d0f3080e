package flows_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/flows"
	"github.com/hookback/hookback/server/internal/storetest"
)

var (
	signIn = flows.Kind{Name: "sign-in", Limit: 3}
	other  = flows.Kind{Name: "other", Limit: 3}
)

type state struct{ Verifier string }

func TestFlows_WorkOnceAtAnyHub(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	file := storetest.NewFile(t)
	db := storetest.Open(t, storetest.Options{File: file, Fast: true})
	a := flows.Flows{Store: db, Clock: func() time.Time { return now }}
	b := flows.Flows{Store: db, Clock: func() time.Time { return now }}
	require.NoError(t, a.Put(t.Context(), flows.Key{Kind: signIn, Owner: "", Secret: "secret"}, state{"verifier-1"}, now.Add(time.Minute)))

	var got state
	for kind, secret := range map[flows.Kind]string{signIn: "another secret", other: "secret"} {
		ok, err := b.Take(t.Context(), flows.Key{Kind: kind, Secret: secret}, &got)
		require.NoError(t, err)
		require.False(t, ok, "%s %s", kind.Name, secret)
	}
	var stored []byte
	require.NoError(t, storetest.OpenSQL(t, file).QueryRow(`SELECT data FROM flows`).Scan(&stored))
	require.NotContains(t, string(stored), "verifier-1", "the database has no secrets")

	ok, err := b.Take(t.Context(), flows.Key{Kind: signIn, Secret: "secret"}, &got)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, state{"verifier-1"}, got)
	ok, err = a.Take(t.Context(), flows.Key{Kind: signIn, Secret: "secret"}, &got)
	require.NoError(t, err)
	require.False(t, ok)
}

func TestFlows_ExpireAndMakeRoom(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	f := flows.Flows{Store: storetest.Open(t, storetest.Options{Fast: true}), Clock: func() time.Time { return now }}
	take := func(secret string) bool {
		t.Helper()
		var got state
		ok, err := f.Take(t.Context(), flows.Key{Kind: signIn, Secret: secret}, &got)
		require.NoError(t, err)
		return ok
	}
	require.NoError(t, f.Put(t.Context(), flows.Key{Kind: signIn, Owner: "ada", Secret: "old"}, state{}, now.Add(time.Minute)))
	require.NoError(t, f.Put(t.Context(), flows.Key{Kind: signIn, Owner: "grace", Secret: "hers"}, state{}, now.Add(time.Minute)))
	for i := range 3 {
		require.NoError(t, f.Put(t.Context(), flows.Key{Kind: signIn, Owner: "ada", Secret: fmt.Sprint(i)}, state{}, now.Add(time.Hour)))
	}
	require.False(t, take("old"), "newer ones of the same owner made it go")
	require.True(t, take("hers"))
	require.True(t, take("0"))
	now = now.Add(time.Hour)
	require.False(t, take("1"))
}
