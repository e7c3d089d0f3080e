package httpapi

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// TestCredentials_TokenCreatesNone takes every step from a stolen token to an approval with a
// passkey: the token can take none of them.
func TestCredentials_TokenCreatesNone(t *testing.T) {
	t.Parallel()
	r := setupPasskeys(t)
	ada := r.owner("ada")
	_, token := r.createToken(ada, `{"name":"laptop","person":"ada"}`)
	r.expectProblem("not_allowed", "POST "+schema.PathPeople+"/ada/link", ``, token...)
	r.expectProblem("not_allowed", "POST "+schema.PathTokens, `{"name":"more","person":"ada"}`, token...)
	r.expectProblem("not_allowed", "POST "+schema.PathTokens, `{"name":"agents"}`, token...)
	r.expectProblem("not_allowed", "POST "+schema.PathNewPasskey, `{}`, token...)
	r.expectProblem("not_allowed", "POST "+schema.PathPasskeys, passkeyDraft("k", json.RawMessage(`{}`)), token...)
	r.expectProblem("not_allowed", "POST "+schema.PathPasskeyConfirm, `{"do":"link","target":"ada"}`, token...)
	var added schema.Person
	r.expectOK(&added, "POST "+schema.PathPeople, `{"name":"eve"}`, token...)
	require.Empty(t, added.SignInURL, "a link is a credential")
	r.expectProblem("proof_required", "POST "+schema.PathPeople, `{"name":"mallory","role":"admin"}`, token...)
	r.expectProblem("proof_required", "POST "+schema.PathPeople+"/eve", `{"role":"admin"}`, token...)
}

func TestCredentials_TokenOfPersonExpires(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	token, _ := r.createToken(ada, `{"name":"laptop","person":"ada"}`)
	days := time.UnixMilli(int64(token.ExpiresAt)).Sub(r.clock.now()).Hours() / 24
	require.InDelta(t, 90, days, 1)
	late, err := json.Marshal(schema.TokenDraft{Name: "x", Person: "ada", ExpiresAt: schema.Millis(r.clock.now().AddDate(1, 0, 2).UnixMilli())})
	require.NoError(t, err)
	require.Equal(t, "expiresAt", r.expectProblem("invalid", "POST "+schema.PathTokens, string(late), ada.headers()...).Field)
	agent, _ := r.createToken(ada, `{"name":"build"}`)
	require.Zero(t, agent.ExpiresAt, "an agent's token can only ask")
}

// TestCredentials_AdminCannotBecomeOthers: an admin creates no link and no token for a person who
// has signed in, and never resets the owner.
func TestCredentials_AdminCannotBecomeOthers(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	eve := r.addPerson(ada, `{"name":"eve","role":"admin"}`)
	var grace schema.Person
	r.expectOK(&grace, "POST "+schema.PathPeople, `{"name":"grace"}`, eve.headers()...)
	r.expectOK(&grace, "POST "+schema.PathPeople+"/grace/link", ``, eve.headers()...)
	require.False(t, grace.SignedIn)
	hers := r.followSignInLink(grace)
	for _, name := range []string{"ada", "grace"} {
		p := r.expectProblem("not_allowed", "POST "+schema.PathPeople+"/"+name+"/link", ``, eve.headers()...)
		require.Contains(t, p.Hint, "has signed in before")
		p = r.expectProblem("not_allowed", "POST "+schema.PathTokens, `{"name":"x","person":"`+name+`"}`, eve.headers()...)
		require.Contains(t, p.Hint, name+" has to create it")
	}
	r.expectProblem("not_allowed", "POST "+schema.PathPeople+"/ada/reset", ``, eve.headers()...)
	r.expectProblem("not_allowed", "POST "+schema.PathPeople+"/eve/reset", ``, eve.headers()...)
	r.expectProblem("not_allowed", "POST "+schema.PathPeople+"/eve/reset", ``, hers.headers()...)
}

// TestCredentials_AddressIsOwn: mail to an address answers in a person's name, and a provider or a
// proxy identifies people by it, so no one else changes it once the person has signed in.
func TestCredentials_AddressIsOwn(t *testing.T) {
	t.Parallel()
	r := setupNotifications(t)
	ada := r.owner("ada")
	eve := r.addPerson(ada, `{"name":"eve","role":"admin"}`)
	grace := r.addPerson(ada, `{"name":"grace","email":"grace@example.com"}`)
	for _, name := range []string{"ada", "grace"} {
		for _, address := range []string{"eve@example.com", ""} {
			if name == "ada" && address == "" {
				continue // she has none
			}
			p := r.expectProblem("not_allowed", "POST "+schema.PathPeople+"/"+name, `{"email":"`+address+`"}`, eve.headers()...)
			require.Contains(t, p.Hint, "only they can change it")
		}
	}
	r.expectOK(nil, "POST "+schema.PathPeople+"/grace", `{"email":"grace@example.com","role":"viewer"}`, eve.headers()...)
	r.expectOK(nil, "POST "+schema.PathPeople, `{"name":"linus"}`, eve.headers()...)
	r.expectOK(nil, "POST "+schema.PathPeople+"/linus", `{"email":"linus@example.com"}`, eve.headers()...)

	r.expectOK(nil, "POST "+schema.PathPeople+"/eve", `{"email":"eve@example.com"}`, eve.headers()...)
	_, token := r.createToken(eve, `{"name":"x","person":"eve"}`)
	r.expectProblem("not_allowed", "POST "+schema.PathPeople+"/eve", `{"email":"thief@example.com"}`, token...)
	var mine schema.NotificationSettings
	r.expectOK(&mine, "POST "+schema.PathMyNotifications, `{"email":"new@example.com"}`, grace.headers()...)
	require.Equal(t, "new@example.com", mine.Email)
}

// TestCredentials_TokenSetsNoAddress: a provider, a proxy and mail identify a person by their address, so a
// stolen token of an admin could otherwise leave a person behind who signs in after it was revoked.
func TestCredentials_TokenSetsNoAddress(t *testing.T) {
	t.Parallel()
	r := setupNotifications(t)
	ada := r.owner("ada")
	_, token := r.createToken(ada, `{"name":"x","person":"ada"}`)
	for _, role := range []string{"viewer", "operator", "admin"} {
		p := r.expectProblem("not_allowed", "POST "+schema.PathPeople, `{"name":"thief","role":"`+role+`","email":"thief@example.com"}`, token...)
		require.Contains(t, p.Hint, "a token can't set it")
	}
	r.expectProblem("not_allowed", "POST "+schema.PathPeople, `{"name":"thief@example.com"}`, token...)
	r.expectOK(nil, "POST "+schema.PathPeople, `{"name":"linus","email":""}`, token...)
	r.expectProblem("not_allowed", "POST "+schema.PathPeople+"/linus", `{"email":"thief@example.com"}`, token...)
	r.expectOK(nil, "POST "+schema.PathPeople+"/linus", `{"email":"linus@example.com"}`, ada.headers()...)
	r.expectProblem("not_allowed", "POST "+schema.PathPeople+"/linus", `{"email":""}`, token...)
}

// TestReset_EndsCredentialsAndIsShown: after a reset, whoever gets the new link answers later
// questions only, and everyone sees that it happened.
func TestReset_EndsCredentialsAndIsShown(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	eve := r.addPerson(ada, `{"name":"eve","role":"admin"}`)
	grace := r.addPerson(ada, `{"name":"grace"}`)
	linus := r.addPerson(ada, `{"name":"linus"}`)
	_, token := r.createToken(grace, `{"name":"laptop","person":"grace"}`)
	earlier := r.post(event(1, permission))
	quorum := `"humanInTheLoop":{"question":"May I?","type":"permission","requiredApprovals":2,"recipients":{"mode":"selected_members","members":["eve","grace","linus"]}}`
	voted := r.post(event(2, quorum))
	r.expectOK(nil, "POST "+schema.At(schema.PathRespond, voted.ID), approveBody, grace.headers()...)

	r.clock.advance(time.Minute)
	var person schema.Person
	r.expectOK(&person, "POST "+schema.PathPeople+"/grace/reset", ``, eve.headers()...)
	require.False(t, person.SignedIn)
	r.expectProblem("sign_in", "GET "+schema.PathMe, "", grace.headers()...)
	r.expectProblem("sign_in", "GET "+schema.PathRecent, "", token...)
	r.expectOK(&person, "POST "+schema.PathPeople+"/grace/link", ``, eve.headers()...)
	again := r.followSignInLink(person)
	p := r.expectProblem("not_allowed", "POST "+schema.At(schema.PathRespond, earlier.ID), approveBody, again.headers()...)
	require.Contains(t, p.Hint, "was reset")
	r.expectProblem("not_allowed", "POST "+schema.At(schema.PathRespond, voted.ID), approveBody, again.headers()...)
	r.expectOK(nil, "POST "+schema.At(schema.PathRespond, voted.ID), approveBody, linus.headers()...)
	require.Equal(t, schema.Pending, r.event(voted.ID).HumanInTheLoopStatus.Status, "the vote from before the reset does not count")

	for _, b := range []browser{ada, linus, again} {
		var me schema.Me
		r.expectOK(&me, "GET "+schema.PathMe, "", b.headers()...)
		require.Contains(t, changesText(me.Changes), "reset grace by eve")
		require.Contains(t, changesText(me.Changes), "promoted eve by ada")
	}
	r.clock.advance(25 * time.Hour)
	var me schema.Me
	r.expectOK(&me, "GET "+schema.PathMe, "", ada.headers()...)
	require.Empty(t, me.Changes)
	_, ledger := r.do("GET", schema.PathLedger, "")
	require.Contains(t, string(ledger), `"person.reset"`)
}

func changesText(changes []schema.AccountChange) (text string) {
	for _, c := range changes {
		text += c.Change + " " + c.Person + " by " + c.By + "; "
	}
	return text
}

// TestPasskeys_FirstTakesNewSession: with a session that was stolen later, no one becomes a person
// with a passkey.
func TestPasskeys_FirstTakesNewSession(t *testing.T) {
	t.Parallel()
	r := setupPasskeys(t)
	ada, d := r.owner("ada"), newFakeAuthenticator(t)
	r.clock.advance(11 * time.Minute)
	p := r.expectProblem("not_allowed", "POST "+schema.PathNewPasskey, `{}`, ada.headers()...)
	require.Contains(t, p.Hint, "younger than 10 minutes")
	var link schema.Person
	r.expectOK(&link, "POST "+schema.PathPeople+"/ada/link", ``, ada.headers()...)
	fresh := r.followSignInLink(link)
	r.register(fresh, d)

	r.expectProblem("proof_required", "POST "+schema.PathPeople+"/ada/link", ``, fresh.headers()...)
	proof := r.confirm(fresh, d, schema.ActionLink, "ada")
	r.expectOK(nil, "POST "+schema.PathPeople+"/ada/link", proof, fresh.headers()...)
	r.expectProblem("proof_required", "POST "+schema.PathPeople+"/ada/link", proof, fresh.headers()...)

	r.invite(fresh, "grace")
	r.expectProblem("proof_required", "POST "+schema.PathPeople+"/grace", `{"role":"admin"}`, fresh.headers()...)
	promote := `{"role":"admin",` + strings.TrimPrefix(r.confirm(fresh, d, schema.ActionPromote, "grace"), "{")
	r.expectOK(nil, "POST "+schema.PathPeople+"/grace", promote, fresh.headers()...)
	r.expectProblem("proof_required", "POST "+schema.PathPeople+"/grace/reset", ``, fresh.headers()...)
	r.expectOK(nil, "POST "+schema.PathPeople+"/grace/reset", r.confirm(fresh, d, schema.ActionReset, "grace"), fresh.headers()...)
}
