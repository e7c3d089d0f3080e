package httpapi

import (
	"encoding/json"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
)

// fromHigh wants passkeys for what is of high risk.
func fromHigh(c *auth.Config) {
	c.Passkeys = &auth.Passkeys{MinRisk: schema.HighRisk, RPID: "localhost", Origin: atHub}
}

func guarded(t *testing.T) *rig {
	t.Helper()
	return setupPeople(t, fromHigh)
}

const dangerous = `"humanInTheLoop":{"question":"Drop it?","type":"permission","risk":"high"}`

// register adds a passkey of somebody's.
func (r *rig) register(b browser, d *device) schema.Passkey {
	r.t.Helper()
	var o schema.PasskeyOptions
	r.ok(&o, "POST "+schema.PathNewPasskey, `{}`, b.headers()...)
	var k schema.Passkey
	r.ok(&k, "POST "+schema.PathPasskeys, made("laptop", d.create(o)), b.headers()...)
	return k
}

func made(name string, credential json.RawMessage) string {
	return fmt.Sprintf(`{"name":%q,"credential":%s}`, name, credential)
}

// challenge begins the proof of an answer.
func (r *rig) challenge(b browser, id schema.EventID, answer string) (o schema.PasskeyOptions) {
	r.t.Helper()
	r.ok(&o, "POST "+schema.PathPasskeyChallenge, fmt.Sprintf(`{"id":%d,"response":%s}`, id, answer), b.headers()...)
	return o
}

// proved is an answer with its proof.
func proved(answer string, proof json.RawMessage) string {
	return answer[:len(answer)-1] + `,"proof":` + string(proof) + `}`
}

func (r *rig) invite(admin browser, name string) browser {
	r.t.Helper()
	_, code, err := r.people.AddPerson(r.t.Context(), schema.PersonDraft{Name: name}, auth.Identity{Name: "ada", Role: schema.Admin, Via: "session"})
	require.NoError(r.t, err)
	return r.signIn(`{"code":"` + code + `"}`)
}

func TestARiskyApprovalNeedsAPasskey(t *testing.T) {
	t.Parallel()
	r := guarded(t)
	ada, d := r.owner("ada"), newDevice(t)
	asked := r.post(event(1, dangerous))
	respond := "POST " + schema.At(schema.PathRespond, asked.ID)

	p := r.refused("proof_required", respond, yes)
	require.Contains(t, p.Hint, "Sign in", "nobody in particular approves nothing of that risk, on an open hub too")
	require.Equal(t, 403, p.Status)
	p = r.refused("proof_required", respond, yes, ada.headers()...)
	require.Contains(t, p.Hint, "Settings, People")
	p = r.refused("proof_required", "POST "+schema.PathPasskeyChallenge, fmt.Sprintf(`{"id":%d,"response":%s}`, asked.ID, yes), ada.headers()...)
	require.Contains(t, p.Hint, "You have none yet")

	k := r.register(ada, d)
	require.Equal(t, "laptop", k.Name)
	var me schema.Me
	r.ok(&me, "GET "+schema.PathMe, "", ada.headers()...)
	require.Equal(t, []any{1, schema.HighRisk, atHub}, []any{me.Passkeys, me.PasskeyFor, me.PasskeyAt})
	r.refused("proof_required", respond, yes, ada.headers()...)

	var e schema.Event
	r.ok(&e, respond, proved(yes, d.get(r.challenge(ada, asked.ID, yes))), ada.headers()...)
	by := e.HumanInTheLoopStatus.RespondedBy
	require.True(t, by.Passkey && by.Verified && by.Name == "ada")
	r.ok(nil, respond, yes, ada.headers()...) // said again it needs no other proof

	var keys []schema.Passkey
	r.ok(&keys, "GET "+schema.PathPasskeys, "", ada.headers()...)
	require.NotZero(t, keys[0].LastUsedAt)
	var entries []schema.LedgerEntry
	r.ok(&entries, "GET "+schema.PathLedger, "", ada.headers()...)
	told := map[string]string{}
	for _, entry := range entries {
		told[entry.Action] = string(entry.Data)
	}
	require.Contains(t, told["passkey.added"], k.ID)
	require.Contains(t, told["question.ended"], `"passkey":true`)

	r.ok(&keys, "DELETE "+schema.PathPasskeys+"/"+k.ID, `{}`, ada.headers()...)
	require.Empty(t, keys)
	r.refused("not_found", "DELETE "+schema.PathPasskeys+"/"+k.ID, `{}`, ada.headers()...)
}

func TestWhatNeedsNoPasskey(t *testing.T) {
	t.Parallel()
	r := guarded(t)
	for n, c := range []struct{ question, answer string }{
		{dangerous, `{"permission":false}`},
		{permission, yes},
		{`"humanInTheLoop":{"question":"q","type":"choice","choices":["deny","go"],"risk":"critical"}`, `{"choice":"deny"}`},
	} {
		r.ok(nil, "POST "+schema.At(schema.PathRespond, r.post(event(n, c.question)).ID), c.answer)
	}
	for n, c := range []struct{ question, answer string }{
		{`"humanInTheLoop":{"question":"q","type":"choice","choices":["deny","go"],"risk":"critical"}`, `{"choice":"go"}`},
		{`"humanInTheLoop":{"question":"q","type":"question","risk":"high"}`, `{"response":"go"}`},
		{`"humanInTheLoop":{"question":"q","type":"permission","risk":"low","toolCall":{"name":"Bash","arguments":{"command":"rm -rf / --no-preserve-root"}}}`, yes},
		{`"humanInTheLoop":{"question":"q","type":"permission","toolCall":{"name":"Bash","arguments":{"command":"ls"},"editable":true}}`,
			`{"permission":true,"modifiedArguments":{"command":"rm -rf / --no-preserve-root"}}`},
	} {
		r.refused("proof_required", "POST "+schema.At(schema.PathRespond, r.post(event(10+n, c.question)).ID), c.answer)
	}

	off := setup(t)
	off.ok(nil, "POST "+schema.At(schema.PathRespond, off.post(event(1, dangerous)).ID), yes)
	off.refused("wrong_answer", "POST "+schema.At(schema.PathRespond, off.post(event(2, dangerous)).ID), proved(yes, json.RawMessage(`{}`)))
	off.refused("no_route", "POST "+schema.PathNewPasskey, `{}`, off.owner("ada").headers()...)
	var me schema.Me
	off.ok(&me, "GET "+schema.PathMe, "")
	require.Empty(t, me.PasskeyFor)
}

// TestAProofIsForExactlyOneAnswer tries proofs that are good ones of something else.
func TestAProofIsForExactlyOneAnswer(t *testing.T) {
	t.Parallel()
	r := guarded(t)
	ada, d := r.owner("ada"), newDevice(t)
	r.register(ada, d)
	grace, hers := r.invite(ada, "grace"), newDevice(t)
	r.register(grace, hers)
	asked, other := r.post(event(1, dangerous)), r.post(event(2, dangerous))
	refused := func(what string, body string, by browser) (detail string) {
		t.Helper()
		p := r.refused("proof_required", "POST "+schema.At(schema.PathRespond, asked.ID), body, by.headers()...)
		require.Equal(t, "proof", p.Field, what)
		require.NotEmpty(t, p.Hint)
		return p.Detail
	}
	refused("nonsense", proved(yes, json.RawMessage(`{"id":"x"}`)), ada)
	refused("another question's", proved(yes, d.get(r.challenge(ada, other.ID, yes))), ada)
	refused("another answer's", proved(`{"permission":true,"comment":"x"}`, d.get(r.challenge(ada, asked.ID, yes))), ada)
	refused("another revision's", proved(`{"permission":true,"revision":1}`, d.get(r.challenge(ada, asked.ID, yes))), ada)
	require.Contains(t, refused("another person's", proved(yes, d.get(r.challenge(ada, asked.ID, yes))), grace), "another person's")
	refused("another person's passkey", proved(yes, hers.get(r.challenge(ada, asked.ID, yes))), ada)
	refused("nobody's challenge", proved(yes, d.get(schema.PasskeyOptions{PublicKey: json.RawMessage(`{"challenge":"` + b64(make([]byte, 32)) + `"}`)})), ada)
	late := d.get(r.challenge(ada, asked.ID, yes))
	r.clock.jump(2*time.Minute + time.Second)
	refused("too late", proved(yes, late), ada)

	for what, change := range map[string]func(*device){
		"another page":                 func(d *device) { d.origin = "http://localhost:4001" },
		"another name":                 func(d *device) { d.rpID = "evil.example" },
		"nobody was checked":           func(d *device) { d.flags = 1 },
		"nobody was there":             func(d *device) { d.flags = 4 },
		"it counts as often as before": func(d *device) { d.count-- },
		"it counts less than before":   func(d *device) { d.count = 0 },
		"another key":                  func(d *device) { d.key = newDevice(t).key },
	} {
		one := *d
		change(&one)
		if what == "it counts as often as before" || what == "it counts less than before" {
			// The device has been used meanwhile.
			d.count += 5
			used := r.post(event(3, dangerous))
			r.ok(nil, "POST "+schema.At(schema.PathRespond, used.ID), proved(yes, d.get(r.challenge(ada, used.ID, yes))), ada.headers()...)
		}
		refused(what, proved(yes, one.get(r.challenge(ada, asked.ID, yes))), ada)
	}

	proof := d.get(r.challenge(ada, asked.ID, yes))
	r.ok(nil, "POST "+schema.At(schema.PathRespond, asked.ID), proved(yes, proof), ada.headers()...)
	p := r.refused("proof_required", "POST "+schema.At(schema.PathRespond, other.ID), proved(yes, proof), ada.headers()...)
	require.Contains(t, p.Detail, "has been used")
}

func TestAProofDiesWithAnEdit(t *testing.T) {
	t.Parallel()
	r := guarded(t)
	ada, d := r.owner("ada"), newDevice(t)
	r.register(ada, d)
	grace, hers := r.invite(ada, "grace"), newDevice(t)
	r.register(grace, hers)
	asked := r.post(event(1, `"humanInTheLoop":{"question":"q","type":"permission","risk":"high","requiredApprovals":2,"recipients":{"mode":"selected_members","members":["ada","grace"]},"toolCall":{"name":"Bash","arguments":{"command":"ls"},"editable":true}}`))
	respond := "POST " + schema.At(schema.PathRespond, asked.ID)
	before := d.get(r.challenge(ada, asked.ID, yes))
	edit := `{"permission":true,"modifiedArguments":{"command":"ls /"}}`
	var e schema.Event
	r.ok(&e, respond, proved(edit, hers.get(r.challenge(grace, asked.ID, edit))), grace.headers()...)
	require.True(t, e.HumanInTheLoopStatus.Votes[0].Passkey)
	p := r.refused("proof_required", respond, proved(yes, before), ada.headers()...)
	require.Contains(t, p.Detail, "changed since")
	again := fmt.Sprintf(`{"permission":true,"revision":%d}`, e.HumanInTheLoopStatus.Revision)
	r.refused("proof_required", respond, again, ada.headers()...)
	r.ok(&e, respond, proved(again, d.get(r.challenge(ada, asked.ID, again))), ada.headers()...)
	require.Equal(t, schema.Approve, e.HumanInTheLoopStatus.Outcome)
	require.True(t, e.HumanInTheLoopStatus.RespondedBy.Passkey)
}

// TestEveryDoorWantsTheProof: the words of other systems, and tokens.
func TestEveryDoorWantsTheProof(t *testing.T) {
	t.Parallel()
	r := guarded(t)
	ada, d := r.owner("ada"), newDevice(t)
	r.register(ada, d)
	asked := r.post(event(1, dangerous))
	vote, call := "POST "+schema.At(schema.PathHitlVote, asked.ID), "POST "+schema.At(schema.PathApproveCall, asked.ID)
	r.refused("proof_required", vote, `{"choice":"approve"}`, ada.headers()...)
	r.refused("proof_required", call, `{}`, ada.headers()...)
	r.refused("proof_required", "POST "+schema.PathAgentApprove, fmt.Sprintf(`{"approvalId":"%d","approved":true}`, asked.ID), ada.headers()...)
	var results []schema.BatchResult
	r.ok(&results, "POST "+schema.PathApprove, fmt.Sprintf(`{"requests":[{"id":%d,"revision":1}]}`, asked.ID), ada.headers()...)
	require.Equal(t, "too_risky", results[0].Problem.Code)

	var token schema.Token
	r.ok(&token, "POST "+schema.PathTokens, `{"name":"script","person":"ada"}`, ada.headers()...)
	bearer := []string{"Authorization", "Bearer " + token.Secret}
	r.refused("proof_required", "POST "+schema.At(schema.PathRespond, asked.ID), yes, bearer...)
	r.refused("not_allowed", "POST "+schema.PathNewPasskey, `{}`, bearer...)
	r.refused("not_allowed", "GET "+schema.PathPasskeys, "", bearer...)
	r.refused("not_allowed", "POST "+schema.PathPasskeyChallenge, fmt.Sprintf(`{"id":%d,"response":%s}`, asked.ID, yes), bearer...)
	r.refused("sign_in", "POST "+schema.PathNewPasskey, `{}`)

	r.ok(nil, vote, proved(`{"choice":"approve"}`, d.get(r.challenge(ada, asked.ID, yes))), ada.headers()...)
	other := r.post(event(2, dangerous))
	r.ok(nil, "POST "+schema.At(schema.PathApproveCall, other.ID), `{"proof":`+string(d.get(r.challenge(ada, other.ID, yes)))+`}`, ada.headers()...)
}

func TestWhatIsNoPasskeyIsNotRegistered(t *testing.T) {
	t.Parallel()
	r := guarded(t)
	ada, d := r.owner("ada"), newDevice(t)
	begin := func(b browser) (o schema.PasskeyOptions) {
		r.ok(&o, "POST "+schema.PathNewPasskey, `{}`, b.headers()...)
		return o
	}
	refused := func(field, body string, b browser) {
		t.Helper()
		require.Equal(t, field, r.refused("invalid", "POST "+schema.PathPasskeys, body, b.headers()...).Field)
	}
	refused("credential", made("laptop", d.create(schema.PasskeyOptions{PublicKey: json.RawMessage(`{"challenge":"AAAA"}`)})), ada)
	refused("name", made("", d.create(begin(ada))), ada)
	for _, change := range []func(*device){
		func(d *device) { d.origin = "https://evil.example" },
		func(d *device) { d.rpID = "evil.example" },
		func(d *device) { d.flags = 1 },
	} {
		one := *d
		change(&one)
		refused("credential", made("laptop", one.create(begin(ada))), ada)
	}
	o := begin(ada)
	r.clock.jump(3 * time.Minute)
	refused("credential", made("laptop", d.create(o)), ada)
	r.register(ada, d)
	refused("credential", made("again", d.create(begin(ada))), ada)
	grace := r.invite(ada, "grace")
	refused("credential", made("hers", d.create(begin(grace))), grace)
	require.NotContains(t, string(begin(grace).PublicKey), b64(d.id))
	require.Contains(t, string(begin(ada).PublicKey), b64(d.id), "the browser is told which ones there are")

	r.register(grace, newDevice(t))
	var all []schema.Person
	r.ok(&all, "DELETE "+schema.PathPeople+"/grace", `{}`, ada.headers()...)
	require.Len(t, all, 1)
	require.Equal(t, 1, all[0].Passkeys)
	stored, err := r.store.People(t.Context())
	require.NoError(t, err)
	require.Len(t, stored.Passkeys, 1, "they go with their person")
}

// TestALinkProvesNothing: it is refused for what needs a passkey, and not used up.
func TestALinkProvesNothing(t *testing.T) {
	t.Parallel()
	r := notices(t, fromHigh)
	box, addr := openPost(t)
	ada := r.owner("ada")
	r.ok(nil, "POST "+schema.PathChannels, `{"name":"mail","url":"smtp://`+addr+`/?from=hub@example.com"}`, ada.headers()...)
	r.post(event(1, dangerous))
	found := regexp.MustCompile(`https://hub\.example\.com(/hitl/\d+/vote)#(\S+)`).FindStringSubmatch(<-box)
	require.NotNil(t, found)
	p := r.refused("proof_required", "POST "+found[1], `{"token":"`+found[2]+`","permission":true}`)
	require.Contains(t, p.Hint, "A link can't show a passkey")
	var e schema.Event
	r.ok(&e, "POST "+found[1], `{"token":"`+found[2]+`","permission":false}`)
	require.Equal(t, schema.Deny, e.HumanInTheLoopStatus.Outcome)
}

func TestOnlyAFewChallengesOfOnePersonAreKept(t *testing.T) {
	t.Parallel()
	r := guarded(t)
	ada, d := r.owner("ada"), newDevice(t)
	r.register(ada, d)
	asked := r.post(event(1, dangerous))
	first := r.challenge(ada, asked.ID, yes)
	var last schema.PasskeyOptions
	for range 20 {
		r.clock.jump(time.Millisecond)
		last = r.challenge(ada, asked.ID, yes)
	}
	r.refused("proof_required", "POST "+schema.At(schema.PathRespond, asked.ID), proved(yes, d.get(first)), ada.headers()...)
	r.ok(nil, "POST "+schema.At(schema.PathRespond, asked.ID), proved(yes, d.get(last)), ada.headers()...)
}
