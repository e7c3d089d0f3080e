package auth

import (
	"context"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/storetest"
)

// newTwoServices returns the services of two hubs that share a database.
func newTwoServices(t *testing.T) (a, b *testService) {
	t.Helper()
	db := storetest.Open(t, storetest.Options{Fast: true})
	open := func() *testService {
		ts := &testService{t: t, now: time.UnixMilli(1795262400000)}
		var err error
		ts.Service, err = Open(t.Context(), Config{Store: db, Clock: func() time.Time { return ts.now }, Feed: feed.New(0, 1, 1)})
		require.NoError(t, err)
		return ts
	}
	return open(), open()
}

// addPerson adds a person at a hub, who then signs in there.
func (b *testService) addPerson(name string, role schema.Role, by *Session) *Session {
	b.t.Helper()
	_, code, err := b.AddPerson(b.t.Context(), schema.PersonDraft{Name: name, Role: role}, by.Identity)
	require.NoError(b.t, err)
	session, err := b.SignIn(b.t.Context(), SignInAttempt{Code: code, From: netip.IPv6Loopback()})
	require.NoError(b.t, err)
	return session
}

// A load balancer may send each request of a sign-in to another hub.
func TestReload_SignInContinuesAtAnotherHub(t *testing.T) {
	t.Parallel()
	a, b := newTwoServices(t)
	code, err := a.OwnerCode(t.Context())
	require.NoError(t, err)
	session, err := b.SignIn(t.Context(), SignInAttempt{Code: code, Name: "ada", From: netip.IPv6Loopback()})
	require.NoError(t, err)
	id, err := a.Authenticate(Credentials{Cookie: session.Cookie, Key: session.Key, ChangesState: true})
	require.NoError(t, err)
	require.Equal(t, "ada", id.Name)
	require.True(t, a.IsLocked())
	_, err = a.SignIn(t.Context(), SignInAttempt{Code: code, Name: "eve", From: netip.IPv6Loopback()})
	require.ErrorIs(t, err, schema.ErrSignIn, "the code works once at all hubs")

	token, err := a.CreateToken(t.Context(), schema.TokenDraft{Name: "ci", Apps: []string{"*"}}, id)
	require.NoError(t, err)
	_, err = b.Authenticate(Credentials{Authorization: "Bearer " + token.Secret})
	require.NoError(t, err)
}

func TestReload_EndsRevokedCredentials(t *testing.T) {
	t.Parallel()
	a, b := newTwoServices(t)
	owner := a.signInOwner("ada")
	grace := a.addPerson("grace", schema.Operator, owner)
	token, err := a.CreateToken(t.Context(), schema.TokenDraft{Name: "ci", Apps: []string{"*"}}, owner.Identity)
	require.NoError(t, err)
	var ended atomic.Int32
	var ids []Identity
	for _, c := range []Credentials{{Cookie: grace.Cookie, Key: grace.Key}, {Authorization: "Bearer " + token.Secret}, {Cookie: owner.Cookie, Key: owner.Key}} {
		id, err := b.Authenticate(c)
		require.NoError(t, err)
		ids = append(ids, id)
		b.OnRevoked(id, func() { ended.Add(1) })
	}
	require.NoError(t, a.RevokeToken(t.Context(), token.ID, owner.Identity))
	require.NoError(t, b.Reload(t.Context()))
	require.EqualValues(t, 1, ended.Load())
	require.NoError(t, a.RemovePerson(t.Context(), "grace", owner.Identity))
	require.NoError(t, b.Reload(t.Context()))
	require.EqualValues(t, 2, ended.Load(), "the owner's stream stays")
	for _, c := range []Credentials{{Cookie: grace.Cookie, Key: grace.Key}, {Authorization: "Bearer " + token.Secret}} {
		_, err := b.Authenticate(c)
		require.ErrorIs(t, err, schema.ErrSignIn)
	}
	require.NoError(t, b.saveLastUse(t.Context()), "the last use of what was revoked")
	require.NoError(t, a.Reload(t.Context()))
	require.False(t, a.isCredentialValid(ids[0].ID) || a.isCredentialValid(ids[1].ID), "it restores nothing")
	require.True(t, a.isCredentialValid(ids[2].ID))
}

type lockCount struct{ n atomic.Int32 }

func (l *lockCount) AfterLock(context.Context) { l.n.Add(1) }

func TestReload_FollowsRolesAndLock(t *testing.T) {
	t.Parallel()
	a, b := newTwoServices(t)
	observer := &lockCount{}
	b.ObserveLock(observer)
	owner := a.signInOwner("ada") // locks the hub
	grace := a.addPerson("grace", schema.Operator, owner)
	require.NoError(t, b.Reload(t.Context()))
	require.EqualValues(t, 1, observer.n.Load())
	require.True(t, b.IsLocked())
	require.NoError(t, b.Reload(t.Context()))
	require.EqualValues(t, 1, observer.n.Load(), "once")

	id, err := b.Authenticate(Credentials{Cookie: grace.Cookie, Key: grace.Key})
	require.NoError(t, err)
	require.NoError(t, b.Check(schema.AccessDecide, id))
	_, err = a.ChangePerson(t.Context(), "grace", schema.PersonDraft{Role: schema.Viewer}, owner.Identity)
	require.NoError(t, err)
	require.NoError(t, b.Reload(t.Context()))
	id, err = b.Authenticate(Credentials{Cookie: grace.Cookie, Key: grace.Key})
	require.NoError(t, err)
	require.ErrorIs(t, b.Check(schema.AccessDecide, id), schema.ErrNotAllowed)

	require.NoError(t, a.Lock(t.Context(), false, owner.Identity))
	require.NoError(t, b.Reload(t.Context()))
	require.False(t, b.IsLocked())
}

// Facts notify the workers of this hub, and people if necessary, that the accounts changed.
func TestReload_PublishesChangesOnce(t *testing.T) {
	t.Parallel()
	a, b := newTwoServices(t)
	owner := a.signInOwner("ada")
	a.addPerson("grace", schema.Operator, owner)
	_, err := a.ResetPerson(t.Context(), "grace", nil, owner.Identity)
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, b.Reload(t.Context()))
		require.NoError(t, a.Reload(t.Context()))
	}
	for _, hub := range []*testService{a, b} {
		announced := 0
		require.ErrorIs(t, hub.Feed.Follow(t.Context(), feed.Accounts, func(batch *feed.Batch) error {
			for _, fact := range batch.Facts {
				if _, ok := fact.Note.(Announcement); ok {
					announced++
				}
			}
			return context.Canceled
		}), context.Canceled)
		require.Equal(t, 1, announced)
	}
}

// A change computed from old accounts is refused if it may be wrong, and stored if it is not.
func TestReload_StaleHubRestoresNothing(t *testing.T) {
	t.Parallel()
	a, b := newTwoServices(t)
	owner := a.signInOwner("ada")
	_, _, err := a.AddPerson(t.Context(), schema.PersonDraft{Name: "grace", Role: schema.Admin}, owner.Identity)
	require.NoError(t, err)
	require.NoError(t, b.Reload(t.Context()))

	_, err = a.ChangePerson(t.Context(), "grace", schema.PersonDraft{Role: schema.Viewer}, owner.Identity)
	require.NoError(t, err)
	require.ErrorIs(t, b.markSignedIn("grace"), schema.ErrStale, "it would give the role back")
	require.NoError(t, b.markSignedIn("grace"))
	require.NoError(t, a.Reload(t.Context()))
	require.Equal(t, schema.Viewer, a.current.Load().findPerson("grace").Role)
	require.True(t, a.current.Load().findPerson("grace").SignedIn)

	_, err = a.CreateToken(t.Context(), schema.TokenDraft{Name: "one", Apps: []string{"*"}}, owner.Identity)
	require.NoError(t, err)
	_, err = b.CreateToken(t.Context(), schema.TokenDraft{Name: "two", Apps: []string{"*"}}, owner.Identity)
	require.NoError(t, err, "independent of the other token")
	require.Len(t, b.current.Load().Tokens, 2)
}

// Another hub has ended the sign-in with which a token is created.
func TestReload_EndedSignInCreatesNothing(t *testing.T) {
	t.Parallel()
	a, b := newTwoServices(t)
	owner := a.signInOwner("ada")
	grace := a.addPerson("grace", schema.Operator, owner)
	id, err := b.Authenticate(Credentials{Cookie: grace.Cookie, Key: grace.Key})
	require.NoError(t, err)
	require.NoError(t, a.EndSignIn(t.Context(), grace.Identity.ID, owner.Identity))
	_, err = b.CreateToken(t.Context(), schema.TokenDraft{Name: "mine", Person: "grace"}, id)
	require.ErrorIs(t, err, schema.ErrStale)
	require.Empty(t, b.current.Load().Tokens)
}

// A sign-in that is used at one hub does not end at another one.
func TestReload_LearnsUseAtOtherHubs(t *testing.T) {
	t.Parallel()
	a, b := newTwoServices(t)
	owner := a.signInOwner("ada")
	require.NoError(t, b.Reload(t.Context()))
	for range 20 {
		for _, hub := range []*testService{a, b} {
			hub.now = hub.now.Add(24 * time.Hour)
		}
		_, err := a.Authenticate(Credentials{Cookie: owner.Cookie, Key: owner.Key})
		require.NoError(t, err)
		require.NoError(t, a.saveLastUse(t.Context()))
		require.NoError(t, b.saveLastUse(t.Context()))
	}
	_, err := b.Authenticate(Credentials{Cookie: owner.Cookie, Key: owner.Key})
	require.NoError(t, err)
}

func TestSetStale_RefusesAuthority(t *testing.T) {
	t.Parallel()
	b := newTestService(t)
	owner := b.signInOwner("ada")
	b.SetStale(true)
	_, err := b.Authenticate(Credentials{Cookie: owner.Cookie, Key: owner.Key})
	require.ErrorIs(t, err, schema.ErrBusy)
	require.ErrorIs(t, b.Check(schema.AccessDecide, owner.Identity), schema.ErrBusy, "also of a stream that is open")
	require.ErrorIs(t, b.Check(schema.AccessDecide, Identity{}), schema.ErrBusy)
	require.NoError(t, b.Check(schema.AccessPublic, Identity{}))
	id, err := b.Authenticate(Credentials{})
	require.NoError(t, err, "the page says why nothing works")
	require.False(t, id.IsAuthenticated())
	b.SetStale(false)
	_, err = b.Authenticate(Credentials{Cookie: owner.Cookie, Key: owner.Key})
	require.NoError(t, err)
}

// Only the browser that started a sign-in with a provider finishes it, once and within its time.
func TestOIDC_FlowsNeedTheirCookie(t *testing.T) {
	t.Parallel()
	b := newTestService(t)
	var got providerFlow
	for _, state := range []string{"state", "late"} {
		require.NoError(t, b.flows.Put(t.Context(), providerKey(state, "cookie"), providerFlow{Nonce: "n"}, b.now.Add(flowLifetime)))
	}
	take := func(state, cookie string) bool {
		ok, err := b.flows.Take(t.Context(), providerKey(state, cookie), &got)
		require.NoError(t, err)
		return ok
	}
	require.False(t, take("state", "not the cookie"))
	require.True(t, take("state", "cookie"))
	require.False(t, take("state", "cookie"))
	b.now = b.now.Add(flowLifetime)
	require.False(t, take("late", "cookie"))
}
