package httpapi

import (
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/routes"
)

// browser is a signed-in browser: its cookie and the key of its page.
type browser struct{ cookie, key string }

// headers returns the headers of a request by this browser's page.
func (b browser) headers() []string {
	return []string{"Cookie", b.cookie, schema.KeyHeader, b.key, "Content-Type", "application/json"}
}

// owner signs in as the hub's first person.
func (r *harness) owner(name string) browser {
	r.t.Helper()
	code, err := r.people.OwnerCode(r.t.Context())
	require.NoError(r.t, err)
	require.NotEmpty(r.t, code)
	return r.signIn(`{"code":"` + code + `","name":"` + name + `"}`)
}

// openHubOwner is owner on a hub that stays open: the first sign-in of an owner locks it.
func (r *harness) openHubOwner(name string) browser {
	r.t.Helper()
	b := r.owner(name)
	r.expectOK(nil, "POST "+schema.PathLock, `{"locked":false}`, b.headers()...)
	return b
}

func (r *harness) signIn(body string) browser {
	r.t.Helper()
	resp, b := r.do("POST", schema.PathSignIn, body)
	require.Equal(r.t, 200, resp.StatusCode, string(b))
	var in schema.SignInResult
	require.NoError(r.t, json.Unmarshal(b, &in))
	require.NotEmpty(r.t, in.Key)
	require.Len(r.t, resp.Cookies(), 1)
	c := resp.Cookies()[0]
	require.True(r.t, c.HttpOnly)
	require.Equal(r.t, http.SameSiteStrictMode, c.SameSite)
	require.Equal(r.t, "/", c.Path)
	return browser{c.Name + "=" + c.Value, in.Key}
}

// expectProblem sends a request, "METHOD /path", that must fail with the given code.
func (r *harness) expectProblem(code, route, body string, headers ...string) schema.Problem {
	r.t.Helper()
	method, path, _ := strings.Cut(route, " ")
	resp, b := r.do(method, path, body, headers...)
	p := r.problem(resp, b)
	require.Equal(r.t, code, p.Code, "%s: %s", route, b)
	return p
}

// expectOK sends a request that must succeed and decodes its response into v.
func (r *harness) expectOK(v any, route, body string, headers ...string) {
	r.t.Helper()
	method, path, _ := strings.Cut(route, " ")
	resp, b := r.do(method, path, body, headers...)
	require.Equal(r.t, 200, resp.StatusCode, "%s: %s", route, b)
	if v != nil {
		require.NoError(r.t, json.Unmarshal(b, v), string(b))
	}
}

// setRemoteIP makes later requests come from another machine.
func (r *harness) setRemoteIP(ip string) {
	r.remoteAddr.Store(&net.TCPAddr{IP: net.ParseIP(ip), Port: 4711})
	r.client.CloseIdleConnections()
}

const approveBody = `{"permission":true}`

func TestSignIn_FirstPersonBecomesOwner(t *testing.T) {
	t.Parallel()
	r := setup(t)
	var me schema.Me
	r.expectOK(&me, "GET "+schema.PathMe, "")
	require.Equal(t, schema.Me{Name: "local user", CanAnswer: true}, me)

	ada := r.owner("ada")
	r.expectOK(&me, "GET "+schema.PathMe, "", ada.headers()...)
	require.Equal(t, "ada", me.Name)
	require.True(t, me.Verified && me.Owner && me.CanAnswer && me.CanAdmin)
	require.Equal(t, schema.Admin, me.Role)
	require.NotEmpty(t, me.SignIn)

	question := r.post(event(1, permission))
	var e schema.Event
	r.expectOK(&e, "POST "+schema.At(schema.PathRespond, question.ID), approveBody, ada.headers()...)
	by := e.HumanInTheLoopStatus.RespondedBy
	require.Equal(t, "ada", by.Name)
	require.Equal(t, "session", by.Via)
	require.True(t, by.Verified)

	code, err := r.people.OwnerCode(t.Context())
	require.NoError(t, err)
	require.Empty(t, code, "the hub already has an owner")
}

func TestSignIn_LinkIsSingleUseAndExpires(t *testing.T) {
	t.Parallel()
	r := setup(t)
	code, err := r.people.OwnerCode(t.Context())
	require.NoError(t, err)
	p := r.expectProblem("invalid", "POST "+schema.PathSignIn, `{"code":"`+code+`"}`)
	require.Equal(t, "name", p.Field, "the first account needs a name; the code stays valid")
	r.expectProblem("sign_in", "POST "+schema.PathSignIn, `{"code":"`+code[1:]+`","name":"ada"}`)
	r.signIn(`{"code":"` + code + `","name":"ada"}`)
	r.expectProblem("sign_in", "POST "+schema.PathSignIn, `{"code":"`+code+`","name":"eve"}`)

	for _, offset := range []time.Duration{16 * time.Minute, -2 * time.Minute} {
		r := setup(t)
		code, err := r.people.OwnerCode(t.Context())
		require.NoError(t, err)
		r.clock.advance(offset)
		r.expectProblem("sign_in", "POST "+schema.PathSignIn, `{"code":"`+code+`","name":"ada"}`)
		again, err := r.people.OwnerCode(t.Context())
		require.NoError(t, err)
		r.signIn(`{"code":"` + again + `","name":"ada"}`)
	}
}

func TestSession_ChangesRequireCookieAndKey(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	r.expectOK(nil, "POST "+schema.PathLock, `{"locked":true}`, ada.headers()...)
	question := r.post(event(1, permission))
	respond := schema.At(schema.PathRespond, question.ID)

	var me schema.Me
	r.expectOK(&me, "GET "+schema.PathMe, "", "Cookie", ada.cookie)
	require.Equal(t, "ada", me.Name)
	require.False(t, me.CanAnswer, "the page has no key")
	r.expectProblem("sign_in", "POST "+respond, approveBody, "Cookie", ada.cookie)
	r.expectProblem("sign_in", "POST "+schema.PathLock, `{"locked":false}`, "Cookie", ada.cookie)
	r.expectProblem("sign_in", "POST "+respond, approveBody, schema.KeyHeader, ada.key)
	r.expectProblem("sign_in", "GET "+schema.PathMe, "", schema.KeyHeader, ada.key)
	r.expectProblem("sign_in", "POST "+respond, approveBody, "Cookie", ada.cookie, schema.KeyHeader, ada.key+"x")
	r.expectOK(nil, "POST "+respond, approveBody, ada.headers()...)
}

func TestSession_ExpiredCookieIsCleared(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	r.expectOK(nil, "POST "+schema.PathSignOut, `{}`, ada.headers()...)
	resp, b := r.do("GET", schema.PathMe, "", ada.headers()...)
	require.Equal(t, "sign_in", r.problem(resp, b).Code)
	require.Len(t, resp.Cookies(), 1)
	require.True(t, resp.Cookies()[0].Expires.Before(time.Now()), "the browser deletes the cookie")
	resp, _ = r.do("GET", "/", "", ada.headers()...)
	require.Equal(t, 200, resp.StatusCode, "the dashboard is served without authentication")

	const day = 24 * time.Hour
	for _, idlePeriods := range [][]time.Duration{
		{15 * day},
		{13 * day, 13 * day, 13 * day, 13 * day, 13 * day, 13 * day, 13 * day}, // 91 days
	} {
		r := setup(t)
		ada := r.owner("ada")
		for _, idle := range idlePeriods {
			r.expectOK(nil, "GET "+schema.PathMe, "", ada.headers()...)
			r.clock.advance(idle)
		}
		r.expectProblem("sign_in", "GET "+schema.PathMe, "", ada.headers()...)
	}
}

// TestLockedHub_RejectsUnauthenticatedAnswers tries every operation that requires a person.
func TestLockedHub_RejectsUnauthenticatedAnswers(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.expectProblem("sign_in", "POST "+schema.PathLock, `{"locked":true}`)
	ada := r.openHubOwner("ada")
	question := r.post(event(1, permission))
	r.expectOK(nil, "POST "+schema.At(schema.PathRespond, r.post(event(2, permission)).ID), approveBody)
	var me schema.Me
	r.expectOK(&me, "POST "+schema.PathLock, `{"locked":true}`, ada.headers()...)
	require.True(t, me.Locked && me.CanAnswer)
	r.expectOK(&me, "GET "+schema.PathMe, "")
	require.True(t, me.Locked)
	require.False(t, me.CanAnswer || me.CanAdmin)
	for path, body := range map[string]string{
		schema.PathRespond: approveBody, schema.PathCancel: `{}`, schema.PathUndo: ``, schema.PathRedeliver: ``, schema.PathHandled: ``,
		schema.PathApprove: `{"requests":[{"id":` + question.ID.String() + `,"revision":1}]}`,
	} {
		r.expectProblem("sign_in", "POST "+schema.At(path, question.ID), body)
	}
	r.expectOK(nil, "GET "+schema.At(schema.PathEvent, question.ID), "")
	r.post(event(3))
	r.expectOK(nil, "POST "+schema.At(schema.PathCancel, question.ID), `{"requestSecret":"`+question.RequestSecret+`"}`)
	r.expectOK(nil, "POST "+schema.PathLock, `{"locked":false}`, ada.headers()...)
	r.expectOK(nil, "POST "+schema.At(schema.PathRespond, r.post(event(4, permission)).ID), approveBody)
}

func TestRemoteAccess_RequiresCredentials(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	question := r.post(event(1, permission))
	code := func() string {
		c, err := setup(t).people.OwnerCode(t.Context())
		require.NoError(t, err)
		return c
	}()
	tryAllRoutes := func(headers ...string) {
		for _, route := range routes.All {
			if route.Access == schema.AccessPublic {
				continue
			}
			path := strings.NewReplacer(":id", question.ID.String(), ":name", "ada").Replace(route.Path)
			r.expectProblem("sign_in", route.Method+" "+path, ``, headers...)
		}
	}
	r.setRemoteIP("203.0.113.7")
	tryAllRoutes()
	tryAllRoutes("Cookie", "hookback-"+r.port+"=nonsense")
	var me schema.Me
	r.expectOK(&me, "GET "+schema.PathMe, "")
	require.False(t, me.CanAnswer || me.CanAdmin || me.Verified)
	r.expectProblem("sign_in", "POST "+schema.PathSignIn, `{"code":"`+code+`","name":"eve"}`)
	r.expectOK(nil, "GET "+schema.PathHealth, "")
	r.expectOK(nil, "POST "+schema.At(schema.PathRespond, question.ID), approveBody, ada.headers()...)

	r.remoteAddr.Store(nil)
	r.client.CloseIdleConnections()
	for _, name := range forwardingHeaders {
		tryAllRoutes(name, "203.0.113.7")
		r.expectProblem("sign_in", "GET "+schema.PathRecent, "", name, "", name, "203.0.113.7")
	}
}

func TestProxyIdentity_RequiresTrustedProxy(t *testing.T) {
	t.Parallel()
	r := setup(t, func(c *Config) {
		c.ProxyHeader, c.TrustProxy = "X-Auth-Request-Email", []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}
	})
	ada := r.owner("ada")
	var me schema.Me
	r.expectOK(&me, "GET "+schema.PathMe, "", "X-Auth-Request-Email", "ada")
	require.False(t, me.Verified, "this machine is not a trusted proxy")
	r.setRemoteIP("203.0.113.7")
	r.expectOK(&me, "GET "+schema.PathMe, "", "X-Auth-Request-Email", "ada")
	require.False(t, me.Verified)
	r.expectProblem("sign_in", "GET "+schema.PathRecent, "", "X-Auth-Request-Email", "ada")

	r.setRemoteIP("198.51.100.9")
	r.expectOK(&me, "GET "+schema.PathMe, "", "X-Auth-Request-Email", "ada")
	require.True(t, me.Verified && me.Owner && me.CanAdmin)
	r.expectOK(nil, "POST "+schema.PathPeople, `{"name":"grace"}`, ada.headers()...)
	r.expectOK(nil, "GET "+schema.PathRecent, "", "X-Auth-Request-Email", "grace")
	p := r.expectProblem("not_allowed", "POST "+schema.PathPeople+"/grace/link", ``, ada.headers()...)
	require.Contains(t, p.Hint, "has signed in before", "whom a proxy names is active, and nobody else gets their link")
	r.expectProblem("sign_in", "GET "+schema.PathRecent, "", "X-Auth-Request-Email", "eve", "X-Auth-Request-Email", "ada")
	r.expectProblem("sign_in", "GET "+schema.PathRecent, "", "X-Forwarded-User", "ada")
	r.expectOK(&me, "GET "+schema.PathMe, "", "X-Auth-Request-Email", "guest@example.com")
	require.Equal(t, schema.Viewer, me.Role, "accounts without a role are viewers")
	require.False(t, me.CanAnswer)
	r.expectOK(nil, "GET "+schema.PathRecent, "", "X-Auth-Request-Email", "guest@example.com")
	r.expectProblem("not_allowed", "POST "+schema.PathEvents, event(1), "X-Auth-Request-Email", "guest@example.com")
}

func TestSignIn_RateLimitsFailures(t *testing.T) {
	t.Parallel()
	r := setup(t)
	code, err := r.people.OwnerCode(t.Context())
	require.NoError(t, err)
	for range 10 {
		r.expectProblem("sign_in", "POST "+schema.PathSignIn, `{"code":"guess","name":"eve"}`)
	}
	r.expectProblem("too_many", "POST "+schema.PathSignIn, `{"code":"guess","name":"eve"}`)
	r.setRemoteIP("203.0.113.7")
	r.expectProblem("sign_in", "POST "+schema.PathSignIn, `{"code":"guess","name":"eve"}`)
	r.remoteAddr.Store(nil)
	r.client.CloseIdleConnections()
	r.expectProblem("too_many", "POST "+schema.PathSignIn, `{"code":"guess","name":"eve"}`)
	r.signIn(`{"code":"` + code + `","name":"ada"}`) // a valid code is never blocked
	r.clock.advance(61 * time.Second)
	r.expectProblem("sign_in", "POST "+schema.PathSignIn, `{"code":"guess","name":"eve"}`)
}

func TestOriginGuard_RejectsForeignOriginWithCredentials(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	question := r.post(event(1, permission))
	r.expectProblem("forbidden", "POST "+schema.At(schema.PathRespond, question.ID), approveBody, append(ada.headers(), "Origin", "http://localhost:5173")...)
	r.expectProblem("forbidden", "POST "+schema.PathSignIn, `{"code":"x"}`, "Origin", "https://evil.example", "Content-Type", "application/json")
}
