package httpapi

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/store"
)

// pairingCode creates a code for the owner of a browser.
func (r *harness) pairingCode(b browser) string {
	r.t.Helper()
	var made control.PairingCode
	r.expectOK(&made, "POST "+control.PathPairing, `{}`, b.headers()...)
	require.Contains(r.t, made.QR, "<svg ")
	code, ok := strings.CutPrefix(made.URL, publicOrigin+"/#pair=")
	require.True(r.t, ok, made.URL)
	return code
}

// newestLedger returns the actions of the newest entries of the audit log.
func (r *harness) newestLedger(n int) string {
	r.t.Helper()
	entries, err := r.store.Ledger(r.t.Context(), store.LedgerPage{Limit: n})
	require.NoError(r.t, err)
	all := ""
	for _, e := range entries {
		all += string(e)
	}
	return all
}

// TestPairing_CannotRaiseAuthority: a paired device answers as its person, and neither administrates
// nor creates credentials, also for the owner.
func TestPairing_CannotRaiseAuthority(t *testing.T) {
	t.Parallel()
	r, ada := setupAddresses(t, "")
	code := r.pairingCode(ada)
	require.Contains(t, r.newestLedger(3), "person.pairing_made")
	phone := r.signIn(`{"code":"` + code + `","pair":true}`)
	require.Contains(t, r.newestLedger(3), `"way":"pair"`)
	var me schema.Me
	r.expectOK(&me, "GET "+schema.PathMe, "", phone.headers()...)
	require.Equal(t, "ada", me.Name)
	require.Equal(t, schema.Operator, me.Role)
	require.True(t, me.Paired && me.CanAnswer && !me.CanAdmin && !me.Owner)
	for route, body := range map[string]string{
		"POST " + schema.PathPeople:                 `{"name":"eve","role":"admin"}`,
		"POST " + adaLink:                           `{}`,
		"POST " + control.PathPairing:               `{}`,
		"POST " + schema.PathTokens:                 `{"name":"t","person":"ada"}`,
		"PUT " + control.PathReach:                  `{"publicUrl":""}`,
		"POST " + schema.PathLock:                   `{"locked":false}`,
		"PUT " + control.PathSafety:                 `{"equalFailures":5}`,
		"PUT " + control.PathRequestDefaults:        `{"defaults":[]}`,
		"POST " + schema.PathPeople + "/ada":        `{"email":"eve@example.com"}`,
		"POST " + schema.PathPeople + "/grace/link": `{}`,
		"POST " + schema.PathChatCodes:              `{}`,
	} {
		r.expectProblem("not_allowed", route, body, phone.headers()...)
	}
	question := r.post(event(1, permission))
	var e schema.Event
	r.expectOK(&e, "POST "+schema.At(schema.PathRespond, question.ID), approveBody, phone.headers()...)
	require.Equal(t, "ada", e.HumanInTheLoopStatus.RespondedBy.Name)

	vera := r.invite(ada, "vera")
	r.expectOK(nil, "POST "+schema.PathPeople+"/vera", `{"role":"viewer"}`, ada.headers()...)
	r.expectOK(&me, "GET "+schema.PathMe, "", r.signIn(`{"code":"`+r.pairingCode(vera)+`","pair":true}`).headers()...)
	require.Equal(t, schema.Viewer, me.Role, "never more than the person has")
}

// TestPairing_EndsWithAccount: a removed person's devices are signed out.
func TestPairing_EndsWithAccount(t *testing.T) {
	t.Parallel()
	r, ada := setupAddresses(t, "")
	grace := r.invite(ada, "grace")
	phone := r.signIn(`{"code":"` + r.pairingCode(grace) + `","pair":true}`)
	r.expectOK(nil, "POST "+schema.PathPeople+"/grace", `{"role":"viewer"}`, ada.headers()...)
	var me schema.Me
	r.expectOK(&me, "GET "+schema.PathMe, "", phone.headers()...)
	require.Equal(t, schema.Viewer, me.Role)
	unused := r.pairingCode(grace)
	r.expectOK(nil, "DELETE "+schema.PathPeople+"/grace", "", ada.headers()...)
	r.expectProblem("sign_in", "GET "+schema.PathMe, "", phone.headers()...)
	r.expectProblem("sign_in", "POST "+schema.PathSignIn, `{"code":"`+unused+`","pair":true}`)
}

// TestPairing_BadCodeChangesNothing: each code that pairs no device gets its sentence.
func TestPairing_BadCodeChangesNothing(t *testing.T) {
	t.Parallel()
	r, ada := setupAddresses(t, "")
	refused := func(body, sentence string) {
		t.Helper()
		p := r.expectProblem("sign_in", "POST "+schema.PathSignIn, body, "Content-Type", "application/json")
		require.Contains(t, p.Hint, sentence)
		var list []schema.SignIn
		r.expectOK(&list, "GET "+schema.PathSignIns, "", ada.headers()...)
		for _, s := range list {
			require.NotEqual(t, r.t.Name(), s.UserAgent)
		}
	}
	replaced := r.pairingCode(ada)
	used := r.pairingCode(ada)
	refused(`{"code":"`+used+`"}`, "another kind of link")
	refused(`{"code":"`+used[:12]+`","pair":true}`, "no such pairing code")
	refused(`{"code":"`+replaced+`","pair":true}`, "replaced by a newer one")
	refused(`{"code":"`+strings.Repeat("x", 22)+`","pair":true}`, "another hub")
	r.signIn(`{"code":"` + used + `","pair":true}`)
	refused(`{"code":"`+used+`","pair":true}`, "already used")

	late := r.pairingCode(ada)
	r.clock.advance(10*time.Minute + time.Second)
	refused(`{"code":"`+late+`","pair":true}`, "older than 10 minutes")

	link := r.inviteLink(ada, "grace")
	refused(`{"code":"`+link[strings.LastIndex(link, "=")+1:]+`","pair":true}`, "another kind of link")
	r.signIn(`{"code":"` + link[strings.LastIndex(link, "=")+1:] + `"}`)

	r.expectOK(nil, "PUT "+control.PathReach, `{"publicUrl":""}`, ada.headers()...)
	p := r.expectProblem("invalid", "POST "+control.PathPairing, `{}`, ada.headers()...)
	require.Contains(t, p.Hint, "public address")
	r.expectProblem("sign_in", "POST "+control.PathPairing, `{}`, "Content-Type", "application/json")
}

// TestPairing_TakesPasskey: a person with a passkey confirms the code with it, and only then adds a
// passkey on the device.
func TestPairing_TakesPasskey(t *testing.T) {
	t.Parallel()
	r, ada := setupAddresses(t, "")
	unconfirmed := r.signIn(`{"code":"` + r.pairingCode(ada) + `","pair":true}`)
	laptop := newFakeAuthenticator(t)
	r.register(ada, laptop)
	r.expectProblem("proof_required", "POST "+schema.PathNewPasskey, `{}`, unconfirmed.at("example.com")...)
	r.expectProblem("proof_required", "POST "+control.PathPairing, `{}`, ada.headers()...)
	r.expectProblem("proof_required", "POST "+control.PathPairing, r.confirm(ada, laptop, schema.ActionLink, "ada"), ada.headers()...)
	var made control.PairingCode
	r.expectOK(&made, "POST "+control.PathPairing, r.confirm(ada, laptop, schema.ActionPair, "ada"), ada.headers()...)
	phone := r.signIn(`{"code":"` + made.URL[strings.LastIndex(made.URL, "=")+1:] + `","pair":true}`)
	r.expectOK(nil, "POST "+schema.PathNewPasskey, `{}`, phone.at("example.com")...)
}

// TestPasskeys_RequiredOnPairedDevice: whatever -passkeys is, a paired device approves a high risk
// with a passkey only, and denies without one.
func TestPasskeys_RequiredOnPairedDevice(t *testing.T) {
	t.Parallel()
	for _, from := range []schema.PasskeyThreshold{"", schema.PasskeyForCritical} {
		r, ada := setupAddresses(t, from)
		phone, device := r.signIn(`{"code":"`+r.pairingCode(ada)+`","pair":true}`), publicAuthenticator(t)
		var me schema.Me
		r.expectOK(&me, "GET "+schema.PathMe, "", phone.headers()...)
		require.Equal(t, schema.PasskeyForHigh, me.PasskeyFor)
		question := r.post(event(1, dangerous))
		respond := "POST " + schema.At(schema.PathRespond, question.ID)
		p := r.expectProblem("proof_required", respond, approveBody, phone.headers()...)
		require.Contains(t, p.Hint, "Approve this on a device with a passkey")
		edited := r.post(event(2, `"humanInTheLoop":{"question":"q","type":"permission","toolCall":{"name":"Bash","arguments":{"command":"ls"},"editable":true}}`))
		r.expectProblem("proof_required", "POST "+schema.At(schema.PathRespond, edited.ID), `{"permission":true,"modifiedArguments":{"command":"rm -rf / --no-preserve-root"}}`, phone.headers()...)
		r.expectOK(nil, "POST "+schema.At(schema.PathRespond, r.post(event(3, dangerous)).ID), `{"permission":false}`, phone.headers()...)

		var o schema.PasskeyOptions
		public := phone.at("example.com")
		r.expectOK(&o, "POST "+schema.PathNewPasskey, `{}`, public...)
		r.expectOK(nil, "POST "+schema.PathPasskeys, passkeyDraft("phone", device.create(o)), public...)
		r.expectOK(&o, "POST "+schema.PathPasskeyChallenge, `{"id":`+question.ID.String()+`,"response":`+approveBody+`}`, public...)
		r.expectOK(nil, respond, withAssertion(approveBody, device.get(o)), public...)
		if from == "" {
			r.expectOK(nil, "POST "+schema.At(schema.PathRespond, r.post(event(4, dangerous)).ID), approveBody, ada.headers()...)
		}
	}
}

// TestSignedLink_HighRiskNeedsPasskey: also on a hub without -passkeys, a signed link approves no
// high risk. It denies it, and approves a lower one.
func TestSignedLink_HighRiskNeedsPasskey(t *testing.T) {
	t.Parallel()
	r := setupNotifications(t, func(*auth.Config) {})
	box, addr := startMailServer(t)
	ada := r.owner("ada")
	r.expectOK(nil, "POST "+schema.PathChannels, `{"name":"mail","url":"smtp://`+addr+`/?from=hub@example.com"}`, ada.headers()...)
	link := func() (path, token string) {
		found := regexp.MustCompile(`https://hub\.example\.com(/hitl/\d+/vote)#(\S+)`).FindStringSubmatch(<-box)
		require.NotNil(t, found)
		return found[1], found[2]
	}
	r.post(event(1, dangerous))
	path, token := link()
	p := r.expectProblem("proof_required", "POST "+path, `{"token":"`+token+`","permission":true}`)
	require.Contains(t, p.Hint, "Approve this on a device with a passkey")
	r.expectOK(nil, "POST "+path, `{"token":"`+token+`","permission":false}`)
	r.post(event(2, permission))
	path, token = link()
	r.expectOK(nil, "POST "+path, `{"token":"`+token+`","permission":true}`)
}
