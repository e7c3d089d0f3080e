package httpapi

import (
	"encoding/json"
	"fmt"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/auth"
)

// requirePasskeys requires passkeys from high risk upward.
func requirePasskeys(c *auth.Config) {
	c.Passkeys = &auth.Passkeys{For: schema.PasskeyForHigh, RPID: "localhost", Origin: hubOrigin}
}

func setupPasskeys(t *testing.T) *harness {
	t.Helper()
	return setupPeople(t, requirePasskeys)
}

const dangerous = `"humanInTheLoop":{"question":"Drop it?","type":"permission","risk":"high"}`

// register adds a passkey to an account.
func (r *harness) register(b browser, d *fakeAuthenticator) schema.Passkey {
	r.t.Helper()
	var o schema.PasskeyOptions
	r.expectOK(&o, "POST "+schema.PathNewPasskey, `{}`, b.headers()...)
	var k schema.Passkey
	r.expectOK(&k, "POST "+schema.PathPasskeys, passkeyDraft("laptop", d.create(o)), b.headers()...)
	return k
}

// confirm returns the body of a change of credentials with the assertion of the caller's passkey.
func (r *harness) confirm(b browser, d *fakeAuthenticator, do, target string) string {
	r.t.Helper()
	var o schema.PasskeyOptions
	r.expectOK(&o, "POST "+schema.PathPasskeyConfirm, fmt.Sprintf(`{"do":%q,"target":%q}`, do, target), b.headers()...)
	return `{"proof":` + string(d.get(o)) + `}`
}

func passkeyDraft(name string, credential json.RawMessage) string {
	return fmt.Sprintf(`{"name":%q,"credential":%s}`, name, credential)
}

// challenge requests the challenge for an answer.
func (r *harness) challenge(b browser, id schema.EventID, answer string) (o schema.PasskeyOptions) {
	r.t.Helper()
	r.expectOK(&o, "POST "+schema.PathPasskeyChallenge, fmt.Sprintf(`{"id":%d,"response":%s}`, id, answer), b.headers()...)
	return o
}

// withAssertion adds a passkey assertion to an answer.
func withAssertion(answer string, proof json.RawMessage) string {
	return answer[:len(answer)-1] + `,"proof":` + string(proof) + `}`
}

func (r *harness) invite(admin browser, name string) browser {
	r.t.Helper()
	_, code, err := r.people.AddPerson(r.t.Context(), schema.PersonDraft{Name: name}, auth.Identity{Name: "ada", Role: schema.Admin, Via: "session"})
	require.NoError(r.t, err)
	return r.signIn(`{"code":"` + code + `"}`)
}

func TestPasskeys_RequiredForRiskyApproval(t *testing.T) {
	t.Parallel()
	r := setupPasskeys(t)
	ada, d := r.openHubOwner("ada"), newFakeAuthenticator(t)
	question := r.post(event(1, dangerous))
	respond := "POST " + schema.At(schema.PathRespond, question.ID)

	p := r.expectProblem("proof_required", respond, approveBody)
	require.Contains(t, p.Hint, "Sign in", "an unauthenticated caller cannot approve at that risk, even on an open hub")
	require.Equal(t, 403, p.Status)
	p = r.expectProblem("proof_required", respond, approveBody, ada.headers()...)
	require.Contains(t, p.Hint, "Team, People")
	p = r.expectProblem("proof_required", "POST "+schema.PathPasskeyChallenge, fmt.Sprintf(`{"id":%d,"response":%s}`, question.ID, approveBody), ada.headers()...)
	require.Contains(t, p.Hint, "You have none yet")

	k := r.register(ada, d)
	require.Equal(t, "laptop", k.Name)
	var me schema.Me
	r.expectOK(&me, "GET "+schema.PathMe, "", ada.headers()...)
	require.Equal(t, []any{1, schema.PasskeyForHigh, hubOrigin}, []any{me.Passkeys, me.PasskeyFor, me.PasskeyAt})
	r.expectProblem("proof_required", respond, approveBody, ada.headers()...)

	var e schema.Event
	r.expectOK(&e, respond, withAssertion(approveBody, d.get(r.challenge(ada, question.ID, approveBody))), ada.headers()...)
	by := e.HumanInTheLoopStatus.RespondedBy
	require.True(t, by.Passkey && by.Verified && by.Name == "ada")
	r.expectOK(nil, respond, approveBody, ada.headers()...) // a repeat of the same answer needs no further assertion

	var keys []schema.Passkey
	r.expectOK(&keys, "GET "+schema.PathPasskeys, "", ada.headers()...)
	require.NotZero(t, keys[0].LastUsedAt)
	var entries []sign.LedgerEntry
	r.expectOK(&entries, "GET "+schema.PathLedger, "", ada.headers()...)
	data := map[string]string{}
	for _, entry := range entries {
		data[entry.Action] = string(entry.Data)
	}
	require.Contains(t, data["passkey.added"], k.ID)
	require.Contains(t, data["question.ended"], `"passkey":true`)

	remove := "DELETE " + schema.PathPasskeys + "/" + k.ID
	p = r.expectProblem("not_allowed", remove, r.confirm(ada, d, schema.ActionRemovePasskey, k.ID), ada.headers()...)
	require.Contains(t, p.Hint, "last passkey")
	r.expectProblem("proof_required", "POST "+schema.PathNewPasskey, `{}`, ada.headers()...)
	second := newFakeAuthenticator(t)
	var o schema.PasskeyOptions
	r.expectOK(&o, "POST "+schema.PathNewPasskey, r.confirm(ada, d, schema.ActionAddPasskey, "ada"), ada.headers()...)
	r.expectOK(nil, "POST "+schema.PathPasskeys, passkeyDraft("phone", second.create(o)), ada.headers()...)
	r.expectProblem("proof_required", remove, `{}`, ada.headers()...)
	r.expectProblem("proof_required", remove, r.confirm(ada, d, schema.ActionRemovePasskey, "another"), ada.headers()...)
	r.expectOK(&keys, remove, r.confirm(ada, second, schema.ActionRemovePasskey, k.ID), ada.headers()...)
	require.Len(t, keys, 1)
	r.expectProblem("not_found", remove, `{}`, ada.headers()...)
}

func TestPasskeys_RequiredOnlyAboveThreshold(t *testing.T) {
	t.Parallel()
	r := setupPasskeys(t)
	for n, c := range []struct{ question, answer string }{
		{dangerous, `{"permission":false}`},
		{permission, approveBody},
		{`"humanInTheLoop":{"question":"q","type":"choice","choices":["deny","go"],"risk":"critical"}`, `{"choice":"deny"}`},
	} {
		r.expectOK(nil, "POST "+schema.At(schema.PathRespond, r.post(event(n, c.question)).ID), c.answer)
	}
	for n, c := range []struct{ question, answer string }{
		{`"humanInTheLoop":{"question":"q","type":"choice","choices":["deny","go"],"risk":"critical"}`, `{"choice":"go"}`},
		{`"humanInTheLoop":{"question":"q","type":"question","risk":"high"}`, `{"response":"go"}`},
		{`"humanInTheLoop":{"question":"q","type":"permission","risk":"low","toolCall":{"name":"Bash","arguments":{"command":"rm -rf / --no-preserve-root"}}}`, approveBody},
		{`"humanInTheLoop":{"question":"q","type":"permission","toolCall":{"name":"Bash","arguments":{"command":"ls"},"editable":true}}`,
			`{"permission":true,"modifiedArguments":{"command":"rm -rf / --no-preserve-root"}}`},
	} {
		r.expectProblem("proof_required", "POST "+schema.At(schema.PathRespond, r.post(event(10+n, c.question)).ID), c.answer)
	}

	off := setup(t)
	off.expectOK(nil, "POST "+schema.At(schema.PathRespond, off.post(event(1, dangerous)).ID), approveBody)
	off.expectProblem("wrong_answer", "POST "+schema.At(schema.PathRespond, off.post(event(2, dangerous)).ID), withAssertion(approveBody, json.RawMessage(`{}`)))
	off.expectProblem("no_route", "POST "+schema.PathNewPasskey, `{}`, off.owner("ada").headers()...)
	var me schema.Me
	off.expectOK(&me, "GET "+schema.PathMe, "")
	require.Empty(t, me.PasskeyFor)
}

// TestPasskeys_AssertionIsBoundToOneAnswer tries assertions that are valid for something
// else.
func TestPasskeys_AssertionIsBoundToOneAnswer(t *testing.T) {
	t.Parallel()
	r := setupPasskeys(t)
	ada, d := r.owner("ada"), newFakeAuthenticator(t)
	r.register(ada, d)
	grace, graceDevice := r.invite(ada, "grace"), newFakeAuthenticator(t)
	r.register(grace, graceDevice)
	question, other := r.post(event(1, dangerous)), r.post(event(2, dangerous))
	refused := func(what string, body string, by browser) (detail string) {
		t.Helper()
		p := r.expectProblem("proof_required", "POST "+schema.At(schema.PathRespond, question.ID), body, by.headers()...)
		require.Equal(t, "proof", p.Field, what)
		require.NotEmpty(t, p.Hint)
		return p.Detail
	}
	refused("nonsense", withAssertion(approveBody, json.RawMessage(`{"id":"x"}`)), ada)
	refused("another question's", withAssertion(approveBody, d.get(r.challenge(ada, other.ID, approveBody))), ada)
	refused("another answer's", withAssertion(`{"permission":true,"comment":"x"}`, d.get(r.challenge(ada, question.ID, approveBody))), ada)
	refused("another revision's", withAssertion(`{"permission":true,"revision":1}`, d.get(r.challenge(ada, question.ID, approveBody))), ada)
	require.Contains(t, refused("another person's", withAssertion(approveBody, d.get(r.challenge(ada, question.ID, approveBody))), grace), "another person's")
	refused("another person's passkey", withAssertion(approveBody, graceDevice.get(r.challenge(ada, question.ID, approveBody))), ada)
	refused("nobody's challenge", withAssertion(approveBody, d.get(schema.PasskeyOptions{PublicKey: json.RawMessage(`{"challenge":"` + b64(make([]byte, 32)) + `"}`)})), ada)
	expired := d.get(r.challenge(ada, question.ID, approveBody))
	r.clock.advance(2*time.Minute + time.Second)
	refused("too late", withAssertion(approveBody, expired), ada)

	for what, change := range map[string]func(*fakeAuthenticator){
		"another origin":        func(d *fakeAuthenticator) { d.origin = "http://localhost:4001" },
		"another relying party": func(d *fakeAuthenticator) { d.rpID = "evil.example" },
		"user not verified":     func(d *fakeAuthenticator) { d.flags = 1 },
		"user not present":      func(d *fakeAuthenticator) { d.flags = 4 },
		"counter unchanged":     func(d *fakeAuthenticator) { d.count-- },
		"counter went back":     func(d *fakeAuthenticator) { d.count = 0 },
		"another key":           func(d *fakeAuthenticator) { d.key = newFakeAuthenticator(t).key },
	} {
		device := *d
		change(&device)
		if what == "counter unchanged" || what == "counter went back" {
			// The authenticator was used in the meantime.
			d.count += 5
			used := r.post(event(3, dangerous))
			r.expectOK(nil, "POST "+schema.At(schema.PathRespond, used.ID),
				withAssertion(approveBody, d.get(r.challenge(ada, used.ID, approveBody))), ada.headers()...)
		}
		refused(what, withAssertion(approveBody, device.get(r.challenge(ada, question.ID, approveBody))), ada)
	}

	proof := d.get(r.challenge(ada, question.ID, approveBody))
	r.expectOK(nil, "POST "+schema.At(schema.PathRespond, question.ID), withAssertion(approveBody, proof), ada.headers()...)
	p := r.expectProblem("proof_required", "POST "+schema.At(schema.PathRespond, other.ID), withAssertion(approveBody, proof), ada.headers()...)
	require.Contains(t, p.Detail, "has been used")
}

func TestPasskeys_EditInvalidatesAssertion(t *testing.T) {
	t.Parallel()
	r := setupPasskeys(t)
	ada, d := r.owner("ada"), newFakeAuthenticator(t)
	r.register(ada, d)
	grace, graceDevice := r.invite(ada, "grace"), newFakeAuthenticator(t)
	r.register(grace, graceDevice)
	question := r.post(event(1, `"humanInTheLoop":{"question":"q","type":"permission","risk":"high","requiredApprovals":2,"recipients":{"mode":"selected_members","members":["ada","grace"]},"toolCall":{"name":"Bash","arguments":{"command":"ls"},"editable":true}}`))
	respond := "POST " + schema.At(schema.PathRespond, question.ID)
	before := d.get(r.challenge(ada, question.ID, approveBody))
	edit := `{"permission":true,"modifiedArguments":{"command":"ls /"}}`
	var e schema.Event
	r.expectOK(&e, respond, withAssertion(edit, graceDevice.get(r.challenge(grace, question.ID, edit))), grace.headers()...)
	require.True(t, e.HumanInTheLoopStatus.Votes[0].Passkey)
	p := r.expectProblem("proof_required", respond, withAssertion(approveBody, before), ada.headers()...)
	require.Contains(t, p.Detail, "changed since")
	again := fmt.Sprintf(`{"permission":true,"revision":%d}`, e.HumanInTheLoopStatus.Revision)
	r.expectProblem("proof_required", respond, again, ada.headers()...)
	r.expectOK(&e, respond, withAssertion(again, d.get(r.challenge(ada, question.ID, again))), ada.headers()...)
	require.Equal(t, schema.Approve, e.HumanInTheLoopStatus.Outcome)
	require.True(t, e.HumanInTheLoopStatus.RespondedBy.Passkey)
}

// TestPasskeys_CountAfterConflict: the passkeys of people who vote at the same moment all count, though one of the votes
// is computed again after the other and a challenge can be used only once.
func TestPasskeys_CountAfterConflict(t *testing.T) {
	t.Parallel()
	r := setupPasskeys(t)
	ada := r.owner("ada")
	devices := map[string]*fakeAuthenticator{"ada": newFakeAuthenticator(t), "grace": newFakeAuthenticator(t)}
	r.register(ada, devices["ada"])
	grace := r.invite(ada, "grace")
	r.register(grace, devices["grace"])
	for n := range 20 {
		question := r.post(event(n+1, `"humanInTheLoop":{"question":"q","type":"permission","risk":"high","requiredApprovals":2,"recipients":{"mode":"selected_members","members":["ada","grace"]}}`))
		var votes sync.WaitGroup
		for name, voter := range map[string]browser{"ada": ada, "grace": grace} {
			answer := withAssertion(approveBody, devices[name].get(r.challenge(voter, question.ID, approveBody)))
			votes.Go(func() {
				resp, body := r.do("POST", schema.At(schema.PathRespond, question.ID), answer, voter.headers()...)
				if resp.StatusCode != 200 {
					t.Errorf("%s: %d %s", name, resp.StatusCode, body)
				}
			})
		}
		votes.Wait()
		var e schema.Event
		r.expectOK(&e, "GET "+schema.At(schema.PathEvent, question.ID), "", ada.headers()...)
		require.Equal(t, schema.Approve, e.HumanInTheLoopStatus.Outcome)
		for _, vote := range e.HumanInTheLoopStatus.Votes {
			require.True(t, vote.Passkey)
		}
	}
}

// TestPasskeys_RequiredOnEveryRoute covers the routes for other systems, and tokens.
func TestPasskeys_RequiredOnEveryRoute(t *testing.T) {
	t.Parallel()
	r := setupPasskeys(t)
	ada, d := r.owner("ada"), newFakeAuthenticator(t)
	r.register(ada, d)
	question := r.post(event(1, dangerous))
	vote, call := "POST "+schema.At(inbox.PathHitlVote, question.ID), "POST "+schema.At(inbox.PathApproveCall, question.ID)
	r.expectProblem("proof_required", vote, `{"choice":"approve"}`, ada.headers()...)
	r.expectProblem("proof_required", call, `{}`, ada.headers()...)
	r.expectProblem("proof_required", "POST "+inbox.PathAgentApprove, fmt.Sprintf(`{"approvalId":"%d","approved":true}`, question.ID), ada.headers()...)
	var results []schema.BatchResult
	r.expectOK(&results, "POST "+schema.PathApprove, fmt.Sprintf(`{"requests":[{"id":%d,"revision":1}]}`, question.ID), ada.headers()...)
	require.Equal(t, "too_risky", results[0].Problem.Code)

	var token schema.Token
	r.expectOK(&token, "POST "+schema.PathTokens, `{"name":"script","person":"ada"}`, ada.headers()...)
	bearer := []string{"Authorization", "Bearer " + token.Secret}
	r.expectProblem("proof_required", "POST "+schema.At(schema.PathRespond, question.ID), approveBody, bearer...)
	r.expectProblem("not_allowed", "POST "+schema.PathNewPasskey, `{}`, bearer...)
	r.expectProblem("not_allowed", "GET "+schema.PathPasskeys, "", bearer...)
	r.expectProblem("not_allowed", "POST "+schema.PathPasskeyChallenge, fmt.Sprintf(`{"id":%d,"response":%s}`, question.ID, approveBody), bearer...)
	r.expectProblem("sign_in", "POST "+schema.PathNewPasskey, `{}`)

	r.expectOK(nil, vote, withAssertion(`{"choice":"approve"}`, d.get(r.challenge(ada, question.ID, approveBody))), ada.headers()...)
	other := r.post(event(2, dangerous))
	r.expectOK(nil, "POST "+schema.At(inbox.PathApproveCall, other.ID), `{"proof":`+string(d.get(r.challenge(ada, other.ID, approveBody)))+`}`, ada.headers()...)
}

func TestPasskeys_RejectInvalidRegistration(t *testing.T) {
	t.Parallel()
	r := setupPasskeys(t)
	ada, d := r.owner("ada"), newFakeAuthenticator(t)
	begin := func(b browser) (o schema.PasskeyOptions) {
		r.expectOK(&o, "POST "+schema.PathNewPasskey, `{}`, b.headers()...)
		return o
	}
	refused := func(field, body string, b browser) {
		t.Helper()
		require.Equal(t, field, r.expectProblem("invalid", "POST "+schema.PathPasskeys, body, b.headers()...).Field)
	}
	refused("credential", passkeyDraft("laptop", d.create(schema.PasskeyOptions{PublicKey: json.RawMessage(`{"challenge":"AAAA"}`)})), ada)
	refused("name", passkeyDraft("", d.create(begin(ada))), ada)
	for _, change := range []func(*fakeAuthenticator){
		func(d *fakeAuthenticator) { d.origin = "https://evil.example" },
		func(d *fakeAuthenticator) { d.rpID = "evil.example" },
		func(d *fakeAuthenticator) { d.flags = 1 },
	} {
		device := *d
		change(&device)
		refused("credential", passkeyDraft("laptop", device.create(begin(ada))), ada)
	}
	o := begin(ada)
	r.clock.advance(3 * time.Minute)
	refused("credential", passkeyDraft("laptop", d.create(o)), ada)
	r.register(ada, d)
	further := func() (o schema.PasskeyOptions) {
		r.expectOK(&o, "POST "+schema.PathNewPasskey, r.confirm(ada, d, schema.ActionAddPasskey, "ada"), ada.headers()...)
		return o
	}
	refused("credential", passkeyDraft("again", d.create(further())), ada)
	grace := r.invite(ada, "grace")
	refused("credential", passkeyDraft("hers", d.create(begin(grace))), grace)
	require.NotContains(t, string(begin(grace).PublicKey), b64(d.id))
	require.Contains(t, string(further().PublicKey), b64(d.id), "registered credentials are excluded")

	r.register(grace, newFakeAuthenticator(t))
	var all []schema.Person
	r.expectOK(&all, "DELETE "+schema.PathPeople+"/grace", `{}`, ada.headers()...)
	require.Len(t, all, 1)
	require.Equal(t, 1, all[0].Passkeys)
	stored, err := r.store.People(t.Context())
	require.NoError(t, err)
	require.Len(t, stored.Passkeys, 1, "removed with the account")
}

// TestSignedLink_CannotReplacePasskey checks that the rejected vote does not use up the
// link.
func TestSignedLink_CannotReplacePasskey(t *testing.T) {
	t.Parallel()
	r := setupNotifications(t, requirePasskeys)
	box, addr := startMailServer(t)
	ada := r.owner("ada")
	r.expectOK(nil, "POST "+schema.PathChannels, `{"name":"mail","url":"smtp://`+addr+`/?from=hub@example.com"}`, ada.headers()...)
	r.post(event(1, dangerous))
	found := regexp.MustCompile(`https://hub\.example\.com(/hitl/\d+/vote)#(\S+)`).FindStringSubmatch(<-box)
	require.NotNil(t, found)
	p := r.expectProblem("proof_required", "POST "+found[1], `{"token":"`+found[2]+`","permission":true}`)
	require.Contains(t, p.Hint, "A link can't show a passkey")
	var e schema.Event
	r.expectOK(&e, "POST "+found[1], `{"token":"`+found[2]+`","permission":false}`)
	require.Equal(t, schema.Deny, e.HumanInTheLoopStatus.Outcome)
}

func TestPasskeys_LimitPendingChallenges(t *testing.T) {
	t.Parallel()
	r := setupPasskeys(t)
	ada, d := r.owner("ada"), newFakeAuthenticator(t)
	r.register(ada, d)
	question := r.post(event(1, dangerous))
	first := r.challenge(ada, question.ID, approveBody)
	var last schema.PasskeyOptions
	for range 20 {
		r.clock.advance(time.Millisecond)
		last = r.challenge(ada, question.ID, approveBody)
	}
	r.expectProblem("proof_required", "POST "+schema.At(schema.PathRespond, question.ID), withAssertion(approveBody, d.get(first)), ada.headers()...)
	r.expectOK(nil, "POST "+schema.At(schema.PathRespond, question.ID), withAssertion(approveBody, d.get(last)), ada.headers()...)
}

// TestPasskeys_RequiredUnlessHarmless: with -passkeys unknown only a call that is known to be
// harmless is approved without a passkey, and a denial never needs one.
func TestPasskeys_RequiredUnlessHarmless(t *testing.T) {
	t.Parallel()
	r := setupPeople(t, func(c *auth.Config) {
		c.Passkeys = &auth.Passkeys{For: schema.PasskeyForUnknown, RPID: "localhost", Origin: hubOrigin}
	})
	call := func(command string) string {
		return `"humanInTheLoop":{"question":"q","type":"permission","context":{"cwd":"/home/dev/p"},"toolCall":{"name":"Bash","arguments":{"command":"` + command + `"},"editable":true}}`
	}
	for n, c := range []struct{ question, answer, problem string }{
		{call("git status"), approveBody, ""},
		{call("make deploy"), `{"permission":false}`, ""},
		{call("make deploy"), approveBody, "proof_required"},
		{call("rm -rf build"), approveBody, "proof_required"},
		{call("git status"), `{"permission":true,"modifiedArguments":{"command":"make deploy"}}`, "proof_required"},
		{permission, approveBody, "proof_required"},
	} {
		route := "POST " + schema.At(schema.PathRespond, r.post(event(n, c.question)).ID)
		if c.problem == "" {
			r.expectOK(nil, route, c.answer)
		} else {
			r.expectProblem(c.problem, route, c.answer)
		}
	}
}

// TestPasskeys_RuleReplacesNone: with -passkeys unknown a rule approves only what needs no passkey.
// A token can make rules and has no passkey.
func TestPasskeys_RuleReplacesNone(t *testing.T) {
	t.Parallel()
	r := setupPeople(t, func(c *auth.Config) {
		c.Passkeys = &auth.Passkeys{For: schema.PasskeyForUnknown, RPID: "localhost", Origin: hubOrigin}
	})
	ada := r.owner("ada")
	call := func(command string) string {
		return `"humanInTheLoop":{"question":"q","type":"permission","context":{"cwd":"/home/dev/p"},"toolCall":{"name":"Bash","arguments":{"command":"` + command + `"}}}`
	}
	rule := func(from schema.EventID, then string) string {
		return `{"from":` + from.String() + `,"then":"` + then + `","scope":"call","reach":"session"}`
	}
	_, token := r.createToken(ada, `{"name":"x","person":"ada"}`)
	unknown := r.post(event(1, call("make deploy"))).ID
	p := r.expectProblem("no_rule", "POST "+schema.PathRules, rule(unknown, "allow"), token...)
	require.Contains(t, p.Hint, "passkey")
	r.expectOK(nil, "POST "+schema.PathRules, rule(r.post(event(2, call("git status"))).ID, "allow"), token...)
	r.expectOK(nil, "POST "+schema.PathRules, rule(unknown, "deny"), token...)

	_, err := r.store.CreateRule(t.Context(), schema.Rule{Then: schema.ThenAllow, Tool: "Bash", CreatedBy: "ada", CreatedAt: schema.Millis(time.Now().Add(time.Minute).UnixMilli())})
	require.NoError(t, err, "a rule of an earlier version")
	require.Equal(t, schema.Pending, r.post(event(3, call("make other"))).HumanInTheLoopStatus.Status)
}
