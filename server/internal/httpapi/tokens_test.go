package httpapi

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// token makes one as the owner and returns its secret as a request's headers.
func (r *rig) token(by browser, draft string) (schema.Token, []string) {
	r.t.Helper()
	var made schema.Token
	r.ok(&made, "POST "+schema.PathTokens, draft, by.headers()...)
	require.Equal(r.t, made.Secret[:len("hubop_")+4], made.Prefix)
	return made, []string{"Authorization", "Bearer " + made.Secret, "Content-Type", "application/json"}
}

// person invites somebody and signs them in.
func (r *rig) person(by browser, draft string) browser {
	r.t.Helper()
	var p schema.Person
	r.ok(&p, "POST "+schema.PathPeople, draft, by.headers()...)
	return r.follow(p)
}

// follow signs in by a person's link.
func (r *rig) follow(p schema.Person) browser {
	r.t.Helper()
	const at = "/#sign-in="
	require.Contains(r.t, p.SignInURL, "http://"+r.addr+at)
	return r.signIn(`{"code":"` + p.SignInURL[len("http://"+r.addr+at):] + `"}`)
}

func TestAnAgentsTokenAsksAndNeverAnswers(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	_, agent := r.token(ada, `{"name":"build","apps":["demo","shop-*"]}`)
	r.fromAfar("203.0.113.7")

	var asked schema.Event
	r.ok(&asked, "POST "+schema.PathEvents, event(1, permission), agent...)
	foreign := `{"source_app":"bank","session_id":"s1","hook_event_type":"Stop","payload":{}}`
	require.Equal(t, "source_app", r.refused("not_allowed", "POST "+schema.PathEvents, foreign, agent...).Field)
	r.refused("not_allowed", "POST "+schema.At(schema.PathRespond, asked.ID), yes, agent...)
	r.refused("not_allowed", "POST "+schema.At(schema.PathCancel, asked.ID), `{}`, agent...)
	r.refused("not_allowed", "POST "+schema.PathTokens, `{"name":"more"}`, agent...)
	r.refused("not_allowed", "POST "+schema.PathLock, `{"locked":true}`, agent...)
	r.refused("not_allowed", "GET "+schema.PathTokens, ``, agent...)

	r.ok(nil, "GET "+schema.At(schema.PathEvent, asked.ID), ``, agent...)
	r.ok(nil, "GET "+schema.PathEvents+"?source_app=shop-web", ``, agent...)
	r.refused("not_allowed", "GET "+schema.PathEvents, ``, agent...)
	r.refused("not_allowed", "GET "+schema.PathEvents+"?source_app=bank", ``, agent...)
	r.refused("not_allowed", "GET "+schema.PathRecent, ``, agent...)
	var bank schema.Event
	r.ok(&bank, "POST "+schema.PathEvents, foreign, ada.headers()...)
	r.refused("not_allowed", "GET "+schema.At(schema.PathEvent, bank.ID), ``, agent...)
	r.ok(nil, "POST "+schema.At(schema.PathCancel, asked.ID), `{"requestSecret":"`+asked.RequestSecret+`"}`, agent...)
}

func TestAWrongExpiredOrRevokedTokenIsNobodys(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	until := r.clock.now().Add(time.Hour).UnixMilli()
	draft, err := json.Marshal(schema.TokenDraft{Name: "short", ExpiresAt: schema.Millis(until)})
	require.NoError(t, err)
	_, short := r.token(ada, string(draft))
	long, agent := r.token(ada, `{"name":"long"}`)
	own, operator := r.token(ada, `{"name":"mine","person":"ada"}`)
	asked := r.post(event(1, permission))

	var e schema.Event
	r.ok(&e, "POST "+schema.At(schema.PathRespond, asked.ID), yes, operator...)
	require.Equal(t, "token", e.HumanInTheLoopStatus.RespondedBy.Via)
	r.ok(nil, "POST "+schema.PathEvents, event(2), short...)
	r.clock.jump(2 * time.Hour)
	r.refused("sign_in", "POST "+schema.PathEvents, event(2), short...)
	r.clock.jump(-2 * time.Hour)
	r.ok(nil, "POST "+schema.PathEvents, event(2), short...)

	var left []schema.Token
	r.ok(&left, "DELETE "+schema.PathTokens+"/"+long.ID, ``, ada.headers()...)
	require.Len(t, left, 2)
	for _, one := range left {
		require.Empty(t, one.Secret, "shown once")
	}
	for _, wrong := range []string{agent[1], agent[1][:len(agent[1])-1], "Bearer hubop_x", "Bearer eyJhbGciOi"} {
		r.refused("sign_in", "POST "+schema.PathEvents, event(3), "Authorization", wrong)
		r.refused("sign_in", "GET "+schema.PathRecent, ``, "Authorization", wrong)
	}
	r.ok(nil, "DELETE "+schema.PathTokens+"/"+own.ID, ``, ada.headers()...)
	r.refused("sign_in", "POST "+schema.At(schema.PathRespond, asked.ID), yes, operator...)
	require.NotContains(t, r.log.String(), agent[1][len("Bearer "):])
}

func TestRolesAndWhoMakesWhom(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	grace := r.person(ada, `{"name":"Grace","email":"grace@example.com"}`)
	guest := r.person(ada, `{"name":"guest","role":"viewer"}`)
	asked := r.post(event(1, permission))
	respond := "POST " + schema.At(schema.PathRespond, asked.ID)

	r.refused("not_allowed", respond, yes, guest.headers()...)
	r.refused("not_allowed", "POST "+schema.PathEvents, event(2), guest.headers()...)
	r.ok(nil, "GET "+schema.PathRecent, ``, guest.headers()...)
	r.refused("not_allowed", "POST "+schema.PathPeople, `{"name":"eve"}`, grace.headers()...)
	r.refused("not_allowed", "POST "+schema.PathPeople+"/guest", `{"role":"admin"}`, guest.headers()...)
	r.refused("not_allowed", "POST "+schema.PathLock, `{"locked":true}`, grace.headers()...)
	r.refused("not_allowed", "POST "+schema.PathTokens, `{"name":"agents"}`, grace.headers()...)
	r.refused("not_allowed", "POST "+schema.PathTokens, `{"name":"x","person":"ada"}`, grace.headers()...)
	r.refused("not_allowed", "POST "+schema.PathTokens, `{"name":"x","person":"guest"}`, guest.headers()...)
	r.token(grace, `{"name":"mine","person":"grace"}`)
	r.refused("sign_in", "POST "+schema.PathPeople, `{"name":"eve"}`, "Content-Type", "application/json")
	r.refused("invalid", "POST "+schema.PathPeople, `{"name":"GRACE"}`, ada.headers()...)
	r.refused("invalid", "POST "+schema.PathPeople, `{"name":"linus","email":"grace@example.com"}`, ada.headers()...)
	r.refused("invalid", "POST "+schema.PathPeople+"/ada", `{"role":"viewer"}`, ada.headers()...)
	r.refused("not_allowed", "DELETE "+schema.PathPeople+"/ada", ``, ada.headers()...)
	r.refused("not_found", "DELETE "+schema.PathPeople+"/nobody", ``, ada.headers()...)

	var list []schema.Person
	r.ok(&list, "GET "+schema.PathPeople, ``, guest.headers()...)
	require.Len(t, list, 3)
	for _, one := range list {
		require.Empty(t, one.Email+one.SignInURL, "for admins")
	}
	r.ok(nil, "POST "+schema.PathPeople+"/guest", `{"role":"operator"}`, ada.headers()...)
	r.ok(nil, respond, yes, guest.headers()...)

	var own []schema.SignIn
	r.ok(&own, "GET "+schema.PathSignIns, ``, grace.headers()...)
	require.Len(t, own, 1)
	require.True(t, own[0].Current)
	var all []schema.SignIn
	r.ok(&all, "GET "+schema.PathSignIns, ``, ada.headers()...)
	require.Len(t, all, 3)
	var link schema.Person
	r.ok(&link, "POST "+schema.PathPeople+"/Grace/link", ``, ada.headers()...)
	r.ok(nil, "DELETE "+schema.PathPeople+"/grace", ``, ada.headers()...)
	r.refused("sign_in", "GET "+schema.PathMe, ``, grace.headers()...)
	r.refused("sign_in", "POST "+schema.PathSignIn, `{"code":"`+link.SignInURL[len(link.SignInURL)-22:]+`"}`)
	require.NotContains(t, r.log.String(), link.SignInURL[len(link.SignInURL)-22:])
}

// TestWhoeverIsRevokedSeesNoMore: an open stream is closed within a second, whether it
// came with a sign-in or a token, revoked or expired.
func TestWhoeverIsRevokedSeesNoMore(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	for name, revoke := range map[string]func(schema.Token, schema.SignIn){
		"a token is revoked": func(token schema.Token, _ schema.SignIn) {
			r.ok(nil, "DELETE "+schema.PathTokens+"/"+token.ID, ``, ada.headers()...)
		},
		"a sign-in is ended": func(_ schema.Token, in schema.SignIn) {
			r.ok(nil, "DELETE "+schema.PathSignIns+"/"+in.ID, ``, ada.headers()...)
		},
		"the person is forgotten": func(token schema.Token, _ schema.SignIn) {
			r.ok(nil, "DELETE "+schema.PathPeople+"/"+url.PathEscape(token.Person), ``, ada.headers()...)
		},
	} {
		grace := r.person(ada, `{"name":"`+name+`"}`)
		token, operator := r.token(ada, `{"name":"mine","person":"`+name+`"}`)
		var own []schema.SignIn
		r.ok(&own, "GET "+schema.PathSignIns, ``, grace.headers()...)
		header := http.Header{"Cookie": {grace.cookie}}
		if name == "a token is revoked" {
			header = http.Header{"Authorization": {operator[1]}}
		}
		conn, _, err := websocket.Dial(t.Context(), "ws://"+r.addr+schema.PathStream+"?v=2", &websocket.DialOptions{HTTPHeader: header})
		require.NoError(t, err, name)
		_, _, err = conn.Read(t.Context())
		require.NoError(t, err, "hello")
		revoke(token, own[0])
		began := time.Now()
		for err == nil {
			_, _, err = conn.Read(t.Context())
		}
		require.Equal(t, websocket.StatusCode(schema.StreamSignedOut), websocket.CloseStatus(err), "%s: %v", name, err)
		require.Less(t, time.Since(began), time.Second, name)
		_ = conn.CloseNow()
	}
}

func TestEveryActOfPeopleIsInTheLedger(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.refused("sign_in", "POST "+schema.PathSignIn, `{"code":"wrong"}`)
	ada := r.owner("ada")
	r.person(ada, `{"name":"grace"}`)
	token, secret := r.token(ada, `{"name":"build"}`)
	r.ok(nil, "DELETE "+schema.PathTokens+"/"+token.ID, ``, ada.headers()...)
	r.refused("sign_in", "POST "+schema.PathEvents, event(1), secret...)
	r.refused("sign_in", "POST "+schema.PathEvents, event(1), secret...)
	r.ok(nil, "POST "+schema.PathLock, `{"locked":true}`, ada.headers()...)
	r.ok(nil, "POST "+schema.PathLock, `{"locked":false}`, ada.headers()...)
	r.ok(nil, "POST "+schema.PathPeople+"/grace", `{"role":"viewer"}`, ada.headers()...)
	r.ok(nil, "DELETE "+schema.PathPeople+"/grace", ``, ada.headers()...)
	r.ok(nil, "POST "+schema.PathSignOut, `{}`, ada.headers()...)
	var entries []schema.LedgerEntry
	r.ok(&entries, "GET "+schema.PathLedger, ``)
	var acts []string
	for _, e := range entries {
		acts = append(acts, e.Action+" "+e.Actor)
		require.NotContains(t, string(e.Data), token.Secret)
	}
	require.Equal(t, []string{
		"person.sign_in_failed local user", "person.signed_in ada", "person.made ada", "person.signed_in grace",
		"token.made ada", "token.revoked ada", "token.refused local user", "hub.locked ada", "hub.unlocked ada",
		"person.changed ada", "person.removed ada", "person.signed_out ada",
	}, acts, "a refused token is kept once a minute for each address")
}
