package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/schema/routes"
	"github.com/hookback/hookback/server/internal/store"
)

const shareOfS1 = `{"source_app":"demo","session_id":"s1"}`

// setupShares is setup with a projector: only known sessions can be shared.
func setupShares(t *testing.T) *harness {
	r := setup(t)
	r.runProjector()
	return r
}

// share creates a share link and returns its secret.
func (r *harness) share(by browser, draft string) string {
	r.t.Helper()
	_, secret := r.createShare(by, draft)
	return secret
}

func (r *harness) createShare(by browser, draft string) (control.Share, string) {
	r.t.Helper()
	resp, b := r.do("POST", control.PathShares, draft, by.headers()...)
	require.Equal(r.t, http.StatusCreated, resp.StatusCode, string(b))
	var link control.Share
	require.NoError(r.t, json.Unmarshal(b, &link))
	base, secret, ok := strings.Cut(link.URL, "/shared#")
	require.True(r.t, ok, link.URL)
	require.Equal(r.t, "http://"+r.addr, base)
	return link, secret
}

// sharedPaths are the requests of the page of a share link of the session demo/s1.
func sharedPaths(id schema.EventID) []string {
	return []string{
		control.PathShared, schema.PathSession + "?source_app=demo&session_id=s1", history.PathSessionFiles + "?source_app=demo&session_id=s1",
		schema.PathEvents + "?source_app=demo&session_id=s1&after=0&limit=1000&summary=1", schema.At(schema.PathEvent, id),
	}
}

// requireOpen checks that the secret opens all of its paths from another machine, or none, with that
// code.
func (r *harness) requireOpen(secret string, id schema.EventID, code string) {
	r.t.Helper()
	r.setRemoteIP("203.0.113.7")
	defer func() { r.remoteAddr.Store(nil); r.client.CloseIdleConnections() }()
	for _, path := range sharedPaths(id) {
		if code == "" {
			r.expectOK(nil, "GET "+path, "", control.ShareHeader, secret)
		} else {
			r.expectProblem(code, "GET "+path, "", control.ShareHeader, secret)
		}
	}
}

func TestShare_OpensItsSessionOnly(t *testing.T) {
	t.Parallel()
	for name, locked := range map[string]bool{"open": false, "locked": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setupShares(t)
			ada := r.owner("ada")
			r.expectOK(nil, "POST "+schema.PathLock, fmt.Sprintf(`{"locked":%t}`, locked), ada.headers()...)
			own := r.post(event(1, permission))
			others := []schema.Event{
				r.post(strings.Replace(event(2), `"s1"`, `"s2"`, 1)),
				r.post(strings.Replace(event(3), `"demo"`, `"bank"`, 1)),
			}
			secret := r.share(ada, shareOfS1)
			r.requireOpen(secret, own.ID, "")

			header := []string{control.ShareHeader, secret}
			for _, other := range append(others, schema.Event{ID: 9_999}) {
				r.expectProblem("forbidden", "GET "+schema.At(schema.PathEvent, other.ID), "", header...)
			}
			for _, query := range []string{
				"", "?source_app=demo", "?session_id=s1", "?source_app=demo&session_id=s2", "?source_app=bank&session_id=s1",
				"?source_app=demo&session_id=s1&session_id=s2", "?session_id=s2&source_app=demo&session_id=s1",
				"?source_app=demo&source_app=bank&session_id=s1", "?source_app=demo&session_id=", "?source_app=DEMO&session_id=s1",
			} {
				for _, path := range []string{schema.PathEvents, schema.PathSession, history.PathSessionFiles} {
					r.expectProblem("forbidden", "GET "+path+query, "", header...)
				}
			}
			r.expectProblem("forbidden", "GET "+schema.PathExport+"?source_app=demo&session_id=s1", "", header...)
			r.expectProblem("forbidden", "GET "+schema.At(schema.PathContext, own.ID), "", header...)
			r.expectProblem("forbidden", "GET "+schema.At(schema.PathResponse, own.ID), "", append(header, schema.SecretHeader, own.RequestSecret)...)
			r.expectProblem("forbidden", "POST "+schema.At(schema.PathRespond, own.ID), approveBody, append(header, "Content-Type", "application/json")...)
			r.expectProblem("forbidden", "POST "+schema.PathMCP, `{}`, append(header, "Content-Type", "application/json")...)
			_, resp, err := websocket.Dial(t.Context(), "ws://"+r.addr+schema.PathStream+"?v=2", &websocket.DialOptions{HTTPHeader: http.Header{control.ShareHeader: {secret}}})
			require.Error(t, err)
			require.Equal(t, http.StatusForbidden, resp.StatusCode)
			for _, route := range routes.All { // also with everything that the owner may do
				if route.Method != http.MethodGet {
					r.expectProblem("forbidden", route.Method+" "+schema.At(route.Path, own.ID), `{}`, append(ada.headers(), control.ShareHeader, secret)...)
				}
			}
		})
	}
}

func TestShare_EndsWithExpiryAndRevocation(t *testing.T) {
	t.Parallel()
	r := setupShares(t)
	ada := r.owner("ada")
	e := r.post(event(1))
	hour, day := r.share(ada, `{"source_app":"demo","session_id":"s1","hours":1}`), r.share(ada, shareOfS1)
	link, revoked := r.createShare(ada, shareOfS1)
	var left []control.Share
	r.expectOK(&left, "DELETE "+control.PathShares+"/"+link.ID, "", ada.headers()...)
	require.Len(t, left, 2)
	require.NotContains(t, r.log.String(), revoked)
	r.requireOpen(revoked, e.ID, "sign_in")
	r.requireOpen(hour, e.ID, "")
	r.clock.advance(61 * time.Minute)
	r.requireOpen(hour, e.ID, "sign_in")
	r.requireOpen(day, e.ID, "")
	r.expectOK(&left, "GET "+control.PathShares, "", ada.headers()...)
	require.Len(t, left, 1, "the expired link is not listed")
	r.clock.advance(24 * time.Hour)
	r.requireOpen(day, e.ID, "sign_in")
}

func TestShare_EndsWithItsAuthor(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(r *harness, ada browser){
		"removed": func(r *harness, ada browser) {
			r.expectOK(nil, "DELETE "+schema.PathPeople+"/grace", "", ada.headers()...)
			r.addPerson(ada, `{"name":"grace"}`) // another account of that name
		},
		"role lost": func(r *harness, ada browser) {
			r.expectOK(nil, "POST "+schema.PathPeople+"/grace", `{"role":"viewer"}`, ada.headers()...)
			r.expectOK(nil, "POST "+schema.PathPeople+"/grace", `{"role":"operator"}`, ada.headers()...)
		},
		"reset": func(r *harness, ada browser) {
			r.expectOK(nil, "POST "+schema.PathPeople+"/grace/reset", `{}`, ada.headers()...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setupShares(t)
			ada := r.owner("ada")
			grace := r.addPerson(ada, `{"name":"grace"}`)
			e := r.post(event(1))
			secret, other := r.share(grace, shareOfS1), r.share(ada, shareOfS1)
			r.requireOpen(secret, e.ID, "")
			r.clock.advance(time.Second)
			end(r, ada)
			r.requireOpen(secret, e.ID, "sign_in")
			r.requireOpen(other, e.ID, "")
			var left []control.Share
			r.expectOK(&left, "GET "+control.PathShares, "", ada.headers()...)
			require.Len(t, left, 1, "only that of ada")
		})
	}
}

func TestShare_EndsWithItsSession(t *testing.T) {
	t.Parallel()
	r := setupShares(t)
	ada := r.owner("ada")
	e := r.post(event(1))
	secret := r.share(ada, shareOfS1)
	_, err := r.store.Prune(t.Context(), store.RetentionPolicy{EventsBefore: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	r.requireOpen(secret, e.ID, "sign_in")
	e = r.post(event(2)) // the agent continues under the same name
	r.requireOpen(secret, e.ID, "sign_in")
}

func TestShare_GuessesAreLimited(t *testing.T) {
	t.Parallel()
	r := setupShares(t)
	ada := r.owner("ada")
	e := r.post(event(1))
	link, secret := r.createShare(ada, shareOfS1)
	r.setRemoteIP("203.0.113.7")
	guesses := []string{
		"", "x", secret[:len(secret)-1], secret + "A", strings.ToLower(secret), "hubsh_" + link.ID + "_" + strings.Repeat("A", 26), "hubsh_AAAAAAAAAAAAAAAA_" + secret[len(secret)-26:],
		link.ID, secret[len("hubsh_"):], ada.cookie,
	}
	for _, guess := range guesses {
		r.expectProblem("sign_in", "GET "+control.PathShared, "", control.ShareHeader, guess)
	}
	r.expectProblem("too_many", "GET "+control.PathShared, "", control.ShareHeader, "x")
	r.expectProblem("too_many", "GET "+schema.At(schema.PathEvent, e.ID), "", control.ShareHeader, "x")
	r.expectProblem("too_many", "POST "+schema.PathSignIn, `{"code":"x"}`)
	r.expectOK(nil, "GET "+control.PathShared, "", control.ShareHeader, secret) // not a guess
	r.expectProblem("too_many", "GET "+control.PathShared, "", control.ShareHeader, secret, control.ShareHeader, secret)
}

func TestShare_TakesAnOperatorInABrowser(t *testing.T) {
	t.Parallel()
	r := setupShares(t)
	ada := r.owner("ada")
	grace, vera := r.addPerson(ada, `{"name":"grace"}`), r.addPerson(ada, `{"name":"vera","role":"viewer"}`)
	_, token := r.createToken(ada, `{"name":"mine","person":"ada"}`)
	_, agent := r.createToken(ada, `{"name":"build"}`)
	r.post(event(1))
	link, _ := r.createShare(grace, shareOfS1)
	route, revoke := "POST "+control.PathShares, "DELETE "+control.PathShares+"/"+link.ID
	for _, headers := range [][]string{vera.headers(), token, agent} {
		r.expectProblem("not_allowed", route, shareOfS1, headers...)
		r.expectProblem("not_allowed", revoke, "", headers...)
	}
	r.expectProblem("sign_in", route, shareOfS1, "Content-Type", "application/json")
	for field, draft := range map[string]string{
		"hours": `{"source_app":"demo","session_id":"s1","hours":1000}`, "": `[]`,
	} {
		require.Equal(t, field, r.expectProblem("invalid", route, draft, grace.headers()...).Field)
	}
	r.expectProblem("not_found", route, `{"source_app":"demo","session_id":"s9"}`, grace.headers()...)
	r.expectProblem("not_found", "DELETE "+control.PathShares+"/AAAAAAAAAAAAAAAA", "", grace.headers()...)
	other, _ := r.createShare(ada, shareOfS1)
	r.expectProblem("not_allowed", "DELETE "+control.PathShares+"/"+other.ID, "", grace.headers()...)
	r.expectOK(nil, revoke, "", ada.headers()...)
}

func TestShare_IsOnRecord(t *testing.T) {
	t.Parallel()
	r := setupShares(t)
	ada := r.owner("ada")
	r.post(event(1))
	link, secret := r.createShare(ada, shareOfS1)
	for range 3 {
		r.expectOK(nil, "GET "+control.PathShared, "", control.ShareHeader, secret)
	}
	r.clock.advance(2 * time.Minute)
	r.expectOK(nil, "GET "+schema.PathEvents+"?source_app=demo&session_id=s1", "", control.ShareHeader, secret)
	var list []control.Share
	r.expectOK(&list, "GET "+control.PathShares+"?source_app=demo&session_id=s1", "", ada.headers()...)
	require.Len(t, list, 1)
	require.EqualValues(t, 2, list[0].Opens, "counted at most once per minute")
	require.NotZero(t, list[0].LastOpenedAt)
	require.Empty(t, list[0].URL, "shown once")
	r.expectOK(&list, "GET "+control.PathShares+"?source_app=demo&session_id=s2", "", ada.headers()...)
	require.Empty(t, list)
	r.expectOK(nil, "DELETE "+control.PathShares+"/"+link.ID, "", ada.headers()...)
	entries, err := r.store.Ledger(t.Context(), store.LedgerPage{Limit: 10})
	require.NoError(t, err)
	var actions []string
	for _, entry := range entries {
		var e struct {
			Action string `json:"act"`
			Actor  string `json:"who"`
		}
		require.NoError(t, json.Unmarshal(entry, &e))
		if strings.HasPrefix(e.Action, "share.") {
			actions = append(actions, e.Action+" "+e.Actor)
		}
		require.NotContains(t, string(entry), secret)
	}
	require.Equal(t, []string{"share.made ada", "share.opened share link", "share.revoked ada"}, actions)
}

func TestShare_ShowsNoPeopleAndNoTranscript(t *testing.T) {
	t.Parallel()
	r := setupShares(t)
	ada := r.owner("ada")
	r.addPerson(ada, `{"name":"grace"}`)
	e := r.post(`{"source_app":"demo","session_id":"s1","hook_event_type":"PreToolUse","tool_name":"Bash","payload":{"tool_input":{"command":"ls"}},
		"os_user":"osgrace","user_email":"mail@example.com","parent_session_id":"parent9","unknown_member":"extra1","chat":[{"role":"user","content":"secret plan"}],
		"humanInTheLoop":{"question":"May I?","type":"permission","toolCall":{"name":"Bash","arguments":{"command":"ls"}},"recipients":{"mode":"selected_members","members":["grace","ada"]}}}`)
	r.expectOK(nil, "POST "+schema.At(schema.PathRespond, e.ID), `{"permission":false,"reason":"not today"}`, ada.headers()...)
	without, with := r.share(ada, shareOfS1), r.share(ada, `{"source_app":"demo","session_id":"s1","transcript":true}`)
	for _, path := range sharedPaths(e.ID) {
		resp, b := r.do("GET", path, "", control.ShareHeader, without)
		require.Equal(t, http.StatusOK, resp.StatusCode, string(b))
		require.Equal(t, "no-store", resp.Header.Get("Cache-Control"))
		require.Equal(t, "no-referrer", resp.Header.Get("Referrer-Policy"))
		require.Empty(t, resp.Header.Get("Set-Cookie"))
		for _, hidden := range []string{"grace", "mail@example.com", "parent9", "extra1", "secret plan", "recipients", `"pid"`, "transcript\":1"} {
			require.NotContains(t, string(b), hidden, path)
		}
	}
	var shown schema.Event
	r.expectOK(&shown, "GET "+schema.At(schema.PathEvent, e.ID), "", control.ShareHeader, without)
	require.Equal(t, schema.Deny, shown.HumanInTheLoopStatus.Outcome)
	require.Equal(t, "ada", shown.HumanInTheLoopStatus.RespondedBy.Name)
	require.Equal(t, "not today", shown.HumanInTheLoopStatus.Reason)
	require.JSONEq(t, `{"command":"ls"}`, string(shown.HumanInTheLoop.ToolCall.Arguments))
	require.Empty(t, shown.Chat)
	var detail history.SessionDetail
	r.expectOK(&detail, "GET "+schema.PathSession+"?source_app=demo&session_id=s1", "", control.ShareHeader, without)
	require.Zero(t, detail.Session.Transcript)
	r.expectOK(&detail, "GET "+schema.PathSession+"?source_app=demo&session_id=s1", "", control.ShareHeader, with)
	require.Equal(t, e.ID, detail.Session.Transcript)
	r.expectOK(&shown, "GET "+schema.At(schema.PathEvent, e.ID), "", control.ShareHeader, with)
	require.Contains(t, string(shown.Chat), "secret plan")
}
