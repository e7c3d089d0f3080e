package httpapi

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/storetest"
)

const (
	publicOrigin = "https://example.com"
	adaLink      = schema.PathPeople + "/ada/link"
)

// setupAddresses returns a hub at localhost:4000 and https://example.com.
func setupAddresses(t *testing.T, from schema.PasskeyThreshold) (*harness, browser) {
	t.Helper()
	outside := newInternet(t)
	config := &auth.Passkeys{For: from, RPID: "localhost", Origin: hubOrigin}
	r := setupPeople(t, func(c *auth.Config) { c.Passkeys = config }, outside.use(t, ""))
	config.Public = r.Reach
	ada := r.owner("ada")
	outside.forward(r.addr)
	r.expectOK(nil, "PUT "+control.PathReach, `{"publicUrl":"`+publicOrigin+`"}`, ada.headers()...)
	return r, ada
}

// at sends the requests of a browser from the page at the public address.
func (b browser) at(host string) []string {
	return append(b.headers(), "Host", host, "Origin", "https://"+host, "Sec-Fetch-Site", "same-origin")
}

func publicAuthenticator(t *testing.T) *fakeAuthenticator {
	d := newFakeAuthenticator(t)
	d.origin, d.rpID = publicOrigin, "example.com"
	return d
}

// TestPasskeys_FollowAddress: each address offers its own passkeys only, and a passkey at a new
// address takes a link that an existing one confirmed.
func TestPasskeys_FollowAddress(t *testing.T) {
	t.Parallel()
	r, ada := setupAddresses(t, schema.PasskeyForHigh)
	laptop, phone := newFakeAuthenticator(t), publicAuthenticator(t)
	r.register(ada, laptop)
	public := ada.at("example.com")
	me := func(headers []string) schema.Me {
		t.Helper()
		var me schema.Me
		r.expectOK(&me, "GET "+schema.PathMe, "", headers...)
		return me
	}
	require.Equal(t, []any{1, hubOrigin}, []any{me(ada.headers()).Passkeys, me(ada.headers()).PasskeyAt})
	require.Equal(t, []any{0, publicOrigin}, []any{me(public).Passkeys, me(public).PasskeyAt})

	question := r.post(event(1, dangerous))
	respond := "POST " + schema.At(schema.PathRespond, question.ID)
	challenge := `{"id":` + question.ID.String() + `,"response":` + approveBody + `}`
	p := r.expectProblem("proof_required", "POST "+schema.PathPasskeyChallenge, challenge, public...)
	require.Contains(t, p.Hint, "works at "+hubOrigin)
	p = r.expectProblem("proof_required", "POST "+schema.PathNewPasskey, `{}`, public...)
	require.Contains(t, p.Hint, "work at another address", "a session that no passkey confirmed adds none at a new address")
	p = r.expectProblem("proof_required", "POST "+adaLink, `{}`, public...)
	require.Contains(t, p.Hint, "works at "+hubOrigin, "a passkey at another address still guards the account")

	var person schema.Person
	r.expectOK(&person, "POST "+adaLink, r.confirm(ada, laptop, schema.ActionLink, "ada"), ada.headers()...)
	confirmed := r.signIn(`{"code":"` + person.SignInURL[len(publicOrigin+"/#sign-in="):] + `"}`).at("example.com")
	var o schema.PasskeyOptions
	r.expectOK(&o, "POST "+schema.PathNewPasskey, `{}`, confirmed...)
	require.Contains(t, string(o.PublicKey), `"id":"example.com"`)
	foreign := newFakeAuthenticator(t)
	r.expectProblem("invalid", "POST "+schema.PathPasskeys, passkeyDraft("phone", foreign.create(o)), confirmed...)
	r.expectOK(&o, "POST "+schema.PathNewPasskey, `{}`, confirmed...)
	var added schema.Passkey
	r.expectOK(&added, "POST "+schema.PathPasskeys, passkeyDraft("phone", phone.create(o)), confirmed...)
	require.Equal(t, "example.com", added.At)
	require.Equal(t, 1, me(confirmed).Passkeys)

	r.expectOK(&o, "POST "+schema.PathPasskeyChallenge, challenge, confirmed...)
	require.NotContains(t, string(o.PublicKey), b64(laptop.id), "only passkeys of this address are offered")
	forged := *laptop
	r.expectProblem("proof_required", respond, withAssertion(approveBody, forged.get(o)), confirmed...)
	r.expectOK(&o, "POST "+schema.PathPasskeyChallenge, challenge, confirmed...)
	r.expectOK(nil, respond, withAssertion(approveBody, phone.get(o)), confirmed...)

	again := r.post(event(2, dangerous))
	o = r.challenge(ada, again.ID, approveBody)
	require.NotContains(t, string(o.PublicKey), b64(phone.id))
	r.expectOK(nil, "POST "+schema.At(schema.PathRespond, again.ID), withAssertion(approveBody, laptop.get(o)), ada.headers()...)
}

// TestPasskeys_UnknownHostIsNoAddress: a Host header that the hub accepts for another reason selects
// no relying party, and an address that was removed accepts no assertion.
func TestPasskeys_UnknownHostIsNoAddress(t *testing.T) {
	t.Parallel()
	r, ada := setupAddresses(t, schema.PasskeyForHigh)
	phone := publicAuthenticator(t)
	public := ada.at("example.com")
	var o schema.PasskeyOptions
	r.expectOK(&o, "POST "+schema.PathNewPasskey, `{}`, append(ada.headers(), "Host", r.addr)...)
	require.Contains(t, string(o.PublicKey), `"id":"localhost"`)
	r.expectProblem("misdirected", "POST "+schema.PathNewPasskey, `{}`, ada.at("evil.example")...)
	r.expectOK(&o, "POST "+schema.PathNewPasskey, `{}`, public...)
	r.expectProblem("invalid", "POST "+schema.PathPasskeys, passkeyDraft("phone", phone.create(o)), ada.headers()...)
	r.expectOK(&o, "POST "+schema.PathNewPasskey, `{}`, public...)
	r.expectOK(nil, "POST "+schema.PathPasskeys, passkeyDraft("phone", phone.create(o)), public...)

	question := r.post(event(1, dangerous))
	r.expectOK(&o, "POST "+schema.PathPasskeyChallenge, `{"id":`+question.ID.String()+`,"response":`+approveBody+`}`, public...)
	r.expectOK(nil, "PUT "+control.PathReach, `{"publicUrl":""}`, ada.headers()...)
	r.expectProblem("proof_required", "POST "+schema.At(schema.PathRespond, question.ID), withAssertion(approveBody, phone.get(o)), ada.headers()...)
	p := r.expectProblem("proof_required", "POST "+adaLink, `{}`, ada.headers()...)
	require.Contains(t, p.Hint, "an address that this hub no longer has")
}

// TestPasskeys_WithoutThreshold: a hub that other devices reach has passkeys, and the account of a
// person with one is guarded by it, also after the address was removed.
func TestPasskeys_WithoutThreshold(t *testing.T) {
	t.Parallel()
	r, ada := setupAddresses(t, "")
	var me schema.Me
	r.expectOK(&me, "GET "+schema.PathMe, "", ada.headers()...)
	require.Equal(t, []any{schema.PasskeyThreshold(""), hubOrigin}, []any{me.PasskeyFor, me.PasskeyAt})
	laptop := newFakeAuthenticator(t)
	k := r.register(ada, laptop)
	r.expectOK(nil, "POST "+schema.At(schema.PathRespond, r.post(event(1, dangerous)).ID), approveBody, ada.headers()...)
	r.expectProblem("proof_required", "POST "+adaLink, `{}`, ada.headers()...)
	r.expectOK(nil, "PUT "+control.PathReach, `{"publicUrl":""}`, ada.headers()...)
	r.expectProblem("proof_required", "POST "+adaLink, `{}`, ada.headers()...)
	r.expectOK(nil, "DELETE "+schema.PathPasskeys+"/"+k.ID, r.confirm(ada, laptop, schema.ActionRemovePasskey, k.ID), ada.headers()...)
	r.expectOK(nil, "POST "+adaLink, `{}`, ada.headers()...)
}

// TestPasskeys_OfEarlierVersion: a passkey without an address belongs to that of the hub's start.
func TestPasskeys_OfEarlierVersion(t *testing.T) {
	t.Parallel()
	r, ada := setupAddresses(t, schema.PasskeyForHigh)
	laptop := newFakeAuthenticator(t)
	r.register(ada, laptop)
	_, err := storetest.OpenSQL(t, r.dbFile).ExecContext(t.Context(), `UPDATE passkeys SET rp_id = ''`)
	require.NoError(t, err)
	config := *r.people.Passkeys
	people, err := auth.Open(t.Context(), auth.Config{Store: r.store, Passkeys: &config, Clock: time.Now})
	require.NoError(t, err)
	keys, err := people.MyPasskeys(auth.Identity{Name: "ada", Role: schema.Admin, Via: "session"})
	require.NoError(t, err)
	require.Equal(t, "localhost", keys[0].At)
}
