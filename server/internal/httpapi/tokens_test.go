package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
)

// createToken creates a token and returns it with the headers that use it.
func (r *harness) createToken(by browser, draft string) (schema.Token, []string) {
	r.t.Helper()
	var made schema.Token
	r.expectOK(&made, "POST "+schema.PathTokens, draft, by.headers()...)
	require.Equal(r.t, made.Secret[:len("hubop_")+4], made.Prefix)
	return made, []string{"Authorization", "Bearer " + made.Secret, "Content-Type", "application/json"}
}

// addPerson adds an account and signs it in.
func (r *harness) addPerson(by browser, draft string) browser {
	r.t.Helper()
	var p schema.Person
	r.expectOK(&p, "POST "+schema.PathPeople, draft, by.headers()...)
	return r.followSignInLink(p)
}

// followSignInLink signs in with a person's link.
func (r *harness) followSignInLink(p schema.Person) browser {
	r.t.Helper()
	const at = "/#sign-in="
	require.Contains(r.t, p.SignInURL, "http://"+r.addr+at)
	return r.signIn(`{"code":"` + p.SignInURL[len("http://"+r.addr+at):] + `"}`)
}

func TestTokens_AgentCannotAnswer(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	_, agent := r.createToken(ada, `{"name":"build","apps":["demo","shop-*"]}`)
	r.setRemoteIP("203.0.113.7")

	var question schema.Event
	r.expectOK(&question, "POST "+schema.PathEvents, event(1, permission), agent...)
	foreign := `{"source_app":"bank","session_id":"s1","hook_event_type":"Stop","payload":{}}`
	require.Equal(t, "source_app", r.expectProblem("not_allowed", "POST "+schema.PathEvents, foreign, agent...).Field)
	r.expectProblem("not_allowed", "POST "+schema.At(schema.PathRespond, question.ID), approveBody, agent...)
	r.expectProblem("not_allowed", "POST "+schema.At(schema.PathCancel, question.ID), `{}`, agent...)
	r.expectProblem("not_allowed", "POST "+schema.PathTokens, `{"name":"more"}`, agent...)
	r.expectProblem("not_allowed", "POST "+schema.PathLock, `{"locked":true}`, agent...)
	r.expectProblem("not_allowed", "GET "+schema.PathTokens, ``, agent...)

	r.expectOK(nil, "GET "+schema.At(schema.PathEvent, question.ID), ``, agent...)
	r.expectOK(nil, "GET "+schema.PathEvents+"?source_app=shop-web", ``, agent...)
	r.expectProblem("not_allowed", "GET "+schema.PathEvents, ``, agent...)
	r.expectProblem("not_allowed", "GET "+schema.PathEvents+"?source_app=bank", ``, agent...)
	r.expectProblem("not_allowed", "GET "+schema.PathRecent, ``, agent...)
	var bank schema.Event
	r.expectOK(&bank, "POST "+schema.PathEvents, foreign, ada.headers()...)
	r.expectProblem("not_allowed", "GET "+schema.At(schema.PathEvent, bank.ID), ``, agent...)
	r.expectOK(nil, "POST "+schema.At(schema.PathCancel, question.ID), `{"requestSecret":"`+question.RequestSecret+`"}`, agent...)
}

func TestTokens_RejectInvalidExpiredAndRevoked(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	until := r.clock.now().Add(time.Hour).UnixMilli()
	draft, err := json.Marshal(schema.TokenDraft{Name: "short", ExpiresAt: schema.Millis(until)})
	require.NoError(t, err)
	_, short := r.createToken(ada, string(draft))
	long, agent := r.createToken(ada, `{"name":"long"}`)
	own, operator := r.createToken(ada, `{"name":"mine","person":"ada"}`)
	question := r.post(event(1, permission))

	var e schema.Event
	r.expectOK(&e, "POST "+schema.At(schema.PathRespond, question.ID), approveBody, operator...)
	require.Equal(t, "token", e.HumanInTheLoopStatus.RespondedBy.Via)
	r.expectOK(nil, "POST "+schema.PathEvents, event(2), short...)
	r.clock.advance(2 * time.Hour)
	r.expectProblem("sign_in", "POST "+schema.PathEvents, event(2), short...)
	r.clock.advance(-2 * time.Hour)
	r.expectOK(nil, "POST "+schema.PathEvents, event(2), short...)

	var left []schema.Token
	r.expectOK(&left, "DELETE "+schema.PathTokens+"/"+long.ID, ``, ada.headers()...)
	require.Len(t, left, 2)
	for _, token := range left {
		require.Empty(t, token.Secret, "shown once")
	}
	for _, wrong := range []string{agent[1], agent[1][:len(agent[1])-1], "Bearer hubop_x", "Bearer eyJhbGciOi"} {
		r.expectProblem("sign_in", "POST "+schema.PathEvents, event(3), "Authorization", wrong)
		r.expectProblem("sign_in", "GET "+schema.PathRecent, ``, "Authorization", wrong)
	}
	r.expectOK(nil, "DELETE "+schema.PathTokens+"/"+own.ID, ``, ada.headers()...)
	r.expectProblem("sign_in", "POST "+schema.At(schema.PathRespond, question.ID), approveBody, operator...)
	require.NotContains(t, r.log.String(), agent[1][len("Bearer "):])
}

func TestRoles_LimitAdministration(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	grace := r.addPerson(ada, `{"name":"Grace","email":"grace@example.com"}`)
	guest := r.addPerson(ada, `{"name":"guest","role":"viewer"}`)
	question := r.post(event(1, permission))
	respond := "POST " + schema.At(schema.PathRespond, question.ID)

	r.expectProblem("not_allowed", respond, approveBody, guest.headers()...)
	r.expectProblem("not_allowed", "POST "+schema.PathEvents, event(2), guest.headers()...)
	r.expectOK(nil, "GET "+schema.PathRecent, ``, guest.headers()...)
	r.expectProblem("not_allowed", "POST "+schema.PathPeople, `{"name":"eve"}`, grace.headers()...)
	r.expectProblem("not_allowed", "POST "+schema.PathPeople+"/guest", `{"role":"admin"}`, guest.headers()...)
	r.expectProblem("not_allowed", "POST "+schema.PathLock, `{"locked":true}`, grace.headers()...)
	r.expectProblem("not_allowed", "POST "+schema.PathTokens, `{"name":"agents"}`, grace.headers()...)
	r.expectProblem("not_allowed", "POST "+schema.PathTokens, `{"name":"x","person":"ada"}`, grace.headers()...)
	_, reading := r.createToken(guest, `{"name":"x","person":"guest"}`)
	r.expectProblem("not_allowed", respond, approveBody, reading...)
	r.createToken(grace, `{"name":"mine","person":"grace"}`)
	r.expectProblem("sign_in", "POST "+schema.PathPeople, `{"name":"eve"}`, "Content-Type", "application/json")
	r.expectProblem("invalid", "POST "+schema.PathPeople, `{"name":"GRACE"}`, ada.headers()...)
	r.expectProblem("invalid", "POST "+schema.PathPeople, `{"name":"linus","email":"grace@example.com"}`, ada.headers()...)
	r.expectProblem("invalid", "POST "+schema.PathPeople+"/ada", `{"role":"viewer"}`, ada.headers()...)
	r.expectProblem("not_allowed", "DELETE "+schema.PathPeople+"/ada", ``, ada.headers()...)
	r.expectProblem("not_found", "DELETE "+schema.PathPeople+"/nobody", ``, ada.headers()...)

	var list []schema.Person
	r.expectOK(&list, "GET "+schema.PathPeople, ``, guest.headers()...)
	require.Len(t, list, 3)
	for _, person := range list {
		require.Empty(t, person.Email+person.SignInURL, "visible to admins only")
	}
	r.expectOK(nil, "POST "+schema.PathPeople+"/guest", `{"role":"operator"}`, ada.headers()...)
	r.expectOK(nil, respond, approveBody, guest.headers()...)

	var own []schema.SignIn
	r.expectOK(&own, "GET "+schema.PathSignIns, ``, grace.headers()...)
	require.Len(t, own, 1)
	require.True(t, own[0].Current)
	var all []schema.SignIn
	r.expectOK(&all, "GET "+schema.PathSignIns, ``, ada.headers()...)
	require.Len(t, all, 3)
	var link schema.Person
	r.expectProblem("not_allowed", "POST "+schema.PathPeople+"/Grace/link", ``, ada.headers()...)
	r.expectOK(&link, "POST "+schema.PathPeople+"/Grace/link", ``, grace.headers()...)
	r.expectOK(nil, "DELETE "+schema.PathPeople+"/grace", ``, ada.headers()...)
	r.expectProblem("sign_in", "GET "+schema.PathMe, ``, grace.headers()...)
	r.expectProblem("sign_in", "POST "+schema.PathSignIn, `{"code":"`+link.SignInURL[len(link.SignInURL)-22:]+`"}`)
	require.NotContains(t, r.log.String(), link.SignInURL[len(link.SignInURL)-22:])
}

// TestRevocation_ClosesStreams checks that an open stream is closed when its token or
// session is revoked or its account is removed.
func TestRevocation_ClosesStreams(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	for name, revoke := range map[string]func(schema.Token, schema.SignIn){
		"token revoked": func(token schema.Token, _ schema.SignIn) {
			r.expectOK(nil, "DELETE "+schema.PathTokens+"/"+token.ID, ``, ada.headers()...)
		},
		"session ended": func(_ schema.Token, in schema.SignIn) {
			r.expectOK(nil, "DELETE "+schema.PathSignIns+"/"+in.ID, ``, ada.headers()...)
		},
		"account removed": func(token schema.Token, _ schema.SignIn) {
			r.expectOK(nil, "DELETE "+schema.PathPeople+"/"+url.PathEscape(token.Person), ``, ada.headers()...)
		},
	} {
		grace := r.addPerson(ada, `{"name":"`+name+`"}`)
		token, operator := r.createToken(grace, `{"name":"mine","person":"`+name+`"}`)
		var own []schema.SignIn
		r.expectOK(&own, "GET "+schema.PathSignIns, ``, grace.headers()...)
		header := http.Header{"Cookie": {grace.cookie}}
		if name == "token revoked" {
			header = http.Header{"Authorization": {operator[1]}}
		}
		conn, _, err := websocket.Dial(t.Context(), "ws://"+r.addr+schema.PathStream+"?v=2", &websocket.DialOptions{HTTPHeader: header})
		require.NoError(t, err, name)
		_, _, err = conn.Read(t.Context())
		require.NoError(t, err, "hello")
		revoke(token, own[0])
		ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
		for err == nil {
			_, _, err = conn.Read(ctx)
		}
		cancel()
		require.Equal(t, websocket.StatusCode(schema.StreamSignedOut), websocket.CloseStatus(err), "%s: %v", name, err)
		_ = conn.CloseNow()
	}
}

func TestLedger_RecordsAccountChanges(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.expectProblem("sign_in", "POST "+schema.PathSignIn, `{"code":"wrong"}`)
	ada := r.owner("ada")
	r.addPerson(ada, `{"name":"grace"}`)
	token, secret := r.createToken(ada, `{"name":"build"}`)
	r.expectOK(nil, "DELETE "+schema.PathTokens+"/"+token.ID, ``, ada.headers()...)
	r.expectProblem("sign_in", "POST "+schema.PathEvents, event(1), secret...)
	r.expectProblem("sign_in", "POST "+schema.PathEvents, event(1), secret...)
	r.expectOK(nil, "POST "+schema.PathLock, `{"locked":false}`, ada.headers()...)
	r.expectOK(nil, "POST "+schema.PathLock, `{"locked":true}`, ada.headers()...)
	r.expectOK(nil, "POST "+schema.PathPeople+"/grace", `{"role":"viewer"}`, ada.headers()...)
	r.expectOK(nil, "DELETE "+schema.PathPeople+"/grace", ``, ada.headers()...)
	r.expectOK(nil, "POST "+schema.PathSignOut, `{}`, ada.headers()...)
	var entries []sign.LedgerEntry
	r.expectOK(&entries, "GET "+schema.PathLedger, ``)
	var actions []string
	for _, e := range entries {
		actions = append(actions, e.Action+" "+e.Actor)
		require.NotContains(t, string(e.Data), token.Secret)
	}
	require.Equal(t, []string{
		"person.sign_in_failed local user", "owner.link_made the hub's machine", "person.signed_in ada", "hub.locked ada", "person.made ada", "person.signed_in grace",
		"token.made ada", "token.revoked ada", "token.refused local user", "hub.unlocked ada", "hub.locked ada",
		"person.changed ada", "person.removed ada", "person.signed_out ada",
	}, actions, "a refused token is kept once a minute for each address")
}
