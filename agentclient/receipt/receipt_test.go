package receipt_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/receipt"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
)

const (
	question  = "Deploy to production?"
	arguments = `{"command":"make deploy"}`
	commit    = "8f14e45fceea167a5a36dedd4bea2543c1d2e3f4"
	hubID     = "0198f2a4-0000-7000-8000-000000000001"
	eventUID  = "0198f2a4-0000-7000-8000-000000000002"
)

var decidedAt = time.Date(2026, 11, 22, 15, 0, 0, 0, time.UTC)

// issuer makes receipts as a hub does.
type issuer struct {
	t         *testing.T
	key       ed25519.PrivateKey
	passkeys  map[string]*ecdsa.PrivateKey
	question  string
	statement sign.Statement
	proofs    []sign.PasskeyProof
}

func newIssuer(t *testing.T) *issuer {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	yes := true
	call := sign.CallDigest("Bash", []byte(arguments))
	return &issuer{t: t, key: key, passkeys: map[string]*ecdsa.PrivateKey{}, question: question, statement: sign.Statement{
		Type: sign.StatementType, PredicateType: sign.DecisionType,
		Subject: []sign.Subject{
			{Name: sign.AskSubject, Digest: map[string]string{"sha256": hex.EncodeToString(make([]byte, 32))}},
			questionSubject(question),
			{Name: sign.CallSubject, Digest: map[string]string{"sha256": hex.EncodeToString(call[:])}},
			{Name: sign.CommitSubject, Digest: map[string]string{"gitCommit": commit}},
		},
		Predicate: sign.SignedDecision{
			Hub: hubID, Event: eventUID, EventID: 7, App: "ci", Requester: "agent:ci", Tool: "Bash", Outcome: schema.Approve, Source: schema.ByHuman,
			Answer: sign.SignedAnswer{Permission: &yes}, RespondedAt: schema.Millis(decidedAt.UnixMilli()),
			RespondedBy: &schema.Responder{Name: "ada", Verified: true, Via: "session"},
		},
	}}
}

func questionSubject(text string) sign.Subject {
	sum := sha256.Sum256([]byte(text))
	return sign.Subject{Name: sign.QuestionSubject, Digest: map[string]string{"sha256": hex.EncodeToString(sum[:])}}
}

// ask changes the text of the question.
func (i *issuer) ask(text string) {
	i.question, i.statement.Subject[1] = text, questionSubject(text)
}

// beOlderHub removes what an older hub did not sign.
func (i *issuer) beOlderHub() {
	i.question, i.statement.Predicate.Requester = "", ""
	i.statement.Subject = slices.Delete(i.statement.Subject, 1, 2)
}

func (i *issuer) requirements() receipt.Requirements {
	return receipt.Requirements{Keys: []ed25519.PublicKey{i.key.Public().(ed25519.PublicKey)}, Now: decidedAt.Add(time.Hour)}
}

// issue signs the statement and appends it to a ledger.
func (i *issuer) issue() *sign.Receipt {
	payload, err := json.Marshal(i.statement)
	require.NoError(i.t, err)
	sum := sha256.Sum256(payload)
	entry := &sign.LedgerEntry{
		At: 1, Action: "question.ended", Actor: "ada", QuestionID: 7,
		Data: json.RawMessage(fmt.Sprintf(`{"ask":%q,"statement":%q}`, i.statement.Digest(sign.AskSubject, "sha256"), hex.EncodeToString(sum[:]))),
	}
	require.NoError(i.t, entry.Seal(41, hex.EncodeToString(sum[:])))
	envelope := schema.SignEnvelope(schema.StatementPayload, payload, i.key)
	return &sign.Receipt{Envelope: envelope, Question: i.question, Proofs: i.proofs, LedgerEntry: entry}
}

// passkeyOf returns the PKIX form of a person's passkey.
func (i *issuer) passkeyOf(person string) []byte {
	if i.passkeys[person] == nil {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(i.t, err)
		i.passkeys[person] = key
	}
	pkix, err := x509.MarshalPKIXPublicKey(i.passkeys[person].Public())
	require.NoError(i.t, err)
	return pkix
}

// assertion is the input of an authenticator's signature; tests change one part.
type assertion struct {
	event, answer, kind, origin string
	edited                      int // revision of a voter's edit, whose arguments follow
	arguments                   string
	flags                       byte
}

var approval = assertion{event: eventUID, answer: `{"permission":true}`, kind: "webauthn.get", origin: "https://hub.example.com:4000", flags: 5}

// assert adds the assertion of a person's passkey.
func (i *issuer) assert(person string, a assertion) {
	b64 := base64.RawURLEncoding.EncodeToString
	hash := sha256.Sum256([]byte(a.arguments))
	signed := fmt.Sprintf(`[%q,%q,%d,%q,%s]`, hubID, a.event, a.edited, hex.EncodeToString(hash[:]), a.answer)
	nonce := make([]byte, 32)
	challenge := sign.PasskeyChallenge(sha256.Sum256([]byte(signed)), nonce, person)
	clientData, err := json.Marshal(map[string]string{"type": a.kind, "challenge": b64(challenge), "origin": a.origin})
	require.NoError(i.t, err)
	party := sha256.Sum256([]byte("example.com"))
	authData := append(party[:], a.flags, 0, 0, 0, 9)
	sum := sha256.Sum256(clientData)
	pkix := i.passkeyOf(person)
	digest := sha256.Sum256(append(authData[:len(authData):len(authData)], sum[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, i.passkeys[person], digest[:])
	require.NoError(i.t, err)
	i.proofs = append(i.proofs, sign.PasskeyProof{
		Person: person, CredentialID: "aWQ", PublicKey: base64.StdEncoding.EncodeToString(pkix), AuthenticatorData: b64(authData),
		ClientDataJSON: b64(clientData), Signature: b64(signature), Signed: signed, Nonce: b64(nonce),
	})
}

func TestVerify_AcceptsCompleteReceipt(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	i.assert("ada", approval)
	need := i.requirements()
	need.Approvers, need.Passkey, need.PersonKeys = []string{"ada"}, true, map[string][]byte{"ada": i.passkeyOf("ada")}
	need.Call, need.Commit, need.MaxAge = &receipt.Call{Tool: "Bash", Arguments: []byte(`{ "command": "make deploy" }`)}, commit, 2*time.Hour
	need.App, need.Question = "ci", question
	r, err := receipt.Verify(i.issue(), need)
	require.NoError(t, err)
	require.Equal(t, []receipt.Approver{{Name: "ada", Verified: true, Via: "session", Passkey: true, Bound: true}}, r.Approvers)
	require.EqualValues(t, 42, r.Entry.N)
	require.Equal(t, []any{question, commit}, []any{r.Question, r.Commit})
}

// TestVerify_RequiresVerifiedPersonOtherThanRequester: each approval needs exactly one exception.
func TestVerify_RequiresVerifiedPersonOtherThanRequester(t *testing.T) {
	t.Parallel()
	allow := map[string]func(*receipt.Requirements){
		"rule":       func(n *receipt.Requirements) { n.AllowRule = true },
		"unverified": func(n *receipt.Requirements) { n.AllowUnverified = true },
		"self":       func(n *receipt.Requirements) { n.AllowSelf = true },
	}
	vote := func(names ...string) (votes []schema.Vote) {
		for _, name := range names {
			votes = append(votes, schema.Vote{User: name, Choice: string(schema.Approve)})
		}
		return votes
	}
	for name, c := range map[string]struct {
		change func(*sign.SignedDecision)
		exempt string // the exception that it needs; empty: none
		want   string
	}{
		"a person": {func(*sign.SignedDecision) {}, "", ""},
		"no token": {func(d *sign.SignedDecision) { d.Requester = "" }, "", ""},
		"rule": {func(d *sign.SignedDecision) {
			d.Source, d.RespondedBy.Via = schema.ByRule, "rule"
		}, "rule", "a rule approved"},
		"unverified": {func(d *sign.SignedDecision) {
			d.RespondedBy = &schema.Responder{Name: "local user"}
		}, "unverified", "is not verified"},
		"requester":                {func(d *sign.SignedDecision) { d.Requester = "Ada" }, "self", "ada is the requester"},
		"program of the requester": {func(d *sign.SignedDecision) { d.RespondedBy.SelfApproval = true }, "self", "started"},
		"vote of the requester":    {func(d *sign.SignedDecision) { d.Requester, d.Votes = "ada", vote("ada") }, "self", "ada is the requester"},
		"vote of another person":   {func(d *sign.SignedDecision) { d.Requester, d.Votes = "ada", vote("ada", "grace") }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newIssuer(t)
			c.change(&i.statement.Predicate)
			_, err := receipt.Verify(i.issue(), i.requirements())
			if c.exempt == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, receipt.ErrUnmet)
			require.ErrorContains(t, err, c.want)
			for exception, apply := range allow {
				need := i.requirements()
				apply(&need)
				_, err := receipt.Verify(i.issue(), need)
				require.Equal(t, exception == c.exempt, err == nil, "%s: %v", exception, err)
			}
		})
	}
}

// TestVerify_NamedApproverIsVerifiedAndNotTheRequester: a name counts only with the hub's word.
func TestVerify_NamedApproverIsVerifiedAndNotTheRequester(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	i.statement.Predicate.Requester = "ada"
	need := i.requirements()
	need.Approvers = []string{"ada"}
	_, err := receipt.Verify(i.issue(), need)
	require.ErrorContains(t, err, "ada is the requester")
	need.AllowSelf = true
	_, err = receipt.Verify(i.issue(), need)
	require.NoError(t, err)
	i.statement.Predicate.RespondedBy.Verified, need.AllowUnverified = false, true
	_, err = receipt.Verify(i.issue(), need)
	require.ErrorContains(t, err, "ada is not verified")
}

// TestVerify_AnswerToAnotherQuestionIsNoApprovalOfACommit: any question can name the commit.
func TestVerify_AnswerToAnotherQuestionIsNoApprovalOfACommit(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	i.ask("May I run the linter?")
	need := i.requirements()
	need.Commit, need.Question = commit, question
	_, err := receipt.Verify(i.issue(), need)
	require.ErrorIs(t, err, receipt.ErrUnmet)
	require.ErrorContains(t, err, `the question is "May I run the linter?", not "Deploy to production?"`)

	i.question = question // the text next to the envelope is not the one that was signed
	_, err = receipt.Verify(i.issue(), need)
	require.ErrorContains(t, err, "is not the signed one")
	i.question = ""
	_, err = receipt.Verify(i.issue(), need)
	require.ErrorContains(t, err, "is not the signed one")
}

// TestVerify_OlderReceiptRecordsNoQuestion: its hub showed no one the commit.
func TestVerify_OlderReceiptRecordsNoQuestion(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	i.beOlderHub()
	r, err := receipt.Verify(i.issue(), i.requirements())
	require.NoError(t, err)
	require.Equal(t, []any{"", commit}, []any{r.Question, r.Commit})
	i.question = question
	r, err = receipt.Verify(i.issue(), i.requirements())
	require.NoError(t, err)
	require.Empty(t, r.Question, "an unsigned text proves nothing")
	for _, demand := range []func(*receipt.Requirements){
		func(n *receipt.Requirements) { n.Question = question }, func(n *receipt.Requirements) { n.Commit = commit },
	} {
		need := i.requirements()
		demand(&need)
		_, err = receipt.Verify(i.issue(), need)
		require.ErrorIs(t, err, receipt.ErrUnmet)
		require.ErrorContains(t, err, "does not record the question")
	}
}

func TestVerify_RefusesUnmetRequirements(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*issuer, *receipt.Requirements)
		want   string
	}{
		"another hub":      {func(_ *issuer, n *receipt.Requirements) { n.Keys = []ed25519.PublicKey{make([]byte, 32)} }, "no signature by this key"},
		"denied":           {func(i *issuer, _ *receipt.Requirements) { i.statement.Predicate.Outcome = schema.Deny }, "the outcome is deny"},
		"choice of a name": {func(i *issuer, _ *receipt.Requirements) { i.statement.Predicate.Answer.Permission = nil }, "not an approved permission"},
		"other person":     {func(_ *issuer, n *receipt.Requirements) { n.Approvers = []string{"ada", "grace"} }, "grace did not approve"},
		"unverified": {func(i *issuer, n *receipt.Requirements) {
			i.statement.Predicate.RespondedBy.Verified, n.Approvers = false, []string{"ada"}
		}, "not verified"},
		"rule": {func(i *issuer, n *receipt.Requirements) {
			i.statement.Predicate.Source, n.Approvers = schema.ByRule, []string{"ada"}
		}, "ada did not approve"},
		"no passkey": {func(i *issuer, n *receipt.Requirements) {
			i.statement.Predicate.RespondedBy.Passkey, n.Passkey = true, true // the hub's flag is not proof
		}, "ada did not confirm with a passkey"},
		"no person": {func(i *issuer, n *receipt.Requirements) { i.statement.Predicate.RespondedBy, n.Passkey = nil, true }, "no person approved"},
		"other call": {func(_ *issuer, n *receipt.Requirements) {
			n.Call = &receipt.Call{Tool: "Bash", Arguments: []byte(`{}`)}
		}, "another call"},
		"edited call": {func(i *issuer, n *receipt.Requirements) {
			i.statement.Predicate.Answer.ModifiedArguments = json.RawMessage(`{"command":"make dry-run"}`)
			n.Call = &receipt.Call{Tool: "Bash", Arguments: []byte(arguments)}
		}, "another call"},
		"other app":    {func(_ *issuer, n *receipt.Requirements) { n.App = "c" }, `the app "ci", not "c"`},
		"other commit": {func(_ *issuer, n *receipt.Requirements) { n.Commit = hex.EncodeToString(make([]byte, 20)) }, "is about commit " + commit},
		"no commit": {func(i *issuer, n *receipt.Requirements) {
			i.statement.Subject, n.Commit = i.statement.Subject[:2], commit
		}, "commit none"},
		"too old":       {func(_ *issuer, n *receipt.Requirements) { n.MaxAge = time.Minute }, "1h0m0s old"},
		"not a passkey": {func(i *issuer, n *receipt.Requirements) { n.PersonKeys = map[string][]byte{"ada": i.passkeyOf("ada")} }, "did not approve with the given passkey"},
		"other passkey": {func(i *issuer, n *receipt.Requirements) {
			i.assert("ada", approval)
			n.PersonKeys = map[string][]byte{"ada": i.passkeyOf("grace")}
		}, "another passkey"},
		"assertion of a denial": {func(i *issuer, _ *receipt.Requirements) {
			a := approval
			a.answer = `{"permission":false}`
			i.assert("ada", a)
		}, "does not approve"},
		"assertion elsewhere": {func(i *issuer, _ *receipt.Requirements) { a := approval; a.event = "other"; i.assert("ada", a) }, "another question"},
		"registration": {func(i *issuer, _ *receipt.Requirements) {
			a := approval
			a.kind = "webauthn.create"
			i.assert("ada", a)
		}, "not an assertion"},
		"person not verified": {func(i *issuer, _ *receipt.Requirements) { a := approval; a.flags = 1; i.assert("ada", a) }, "did not verify the person"},
		"origin of another party": {func(i *issuer, _ *receipt.Requirements) {
			a := approval
			a.origin = "https://notexample.com"
			i.assert("ada", a)
		}, "origin"},
		"assertion under another name": {func(i *issuer, _ *receipt.Requirements) { i.assert("eve", approval); i.proofs[0].Person = "ada" }, "signs another answer"},
		"changed signature": {func(i *issuer, _ *receipt.Requirements) {
			i.assert("ada", approval)
			i.proofs[0].PublicKey = base64.StdEncoding.EncodeToString(i.passkeyOf("eve"))
		}, "signature does not match"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newIssuer(t)
			need := i.requirements()
			c.change(i, &need)
			_, err := receipt.Verify(i.issue(), need)
			require.ErrorIs(t, err, receipt.ErrUnmet)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// TestVerify_ComparesEditedArguments pairs assertions with the arguments that run.
func TestVerify_ComparesEditedArguments(t *testing.T) {
	t.Parallel()
	const edit = `{"command":"make dry-run"}`
	own := approval
	own.answer = `{"permission":true,"modifiedArguments":{ "command":"make dry-run" }}`
	earlier := approval
	earlier.edited, earlier.arguments = 3, edit
	for name, c := range map[string]struct {
		signed assertion
		runs   string
		holds  bool
	}{
		"as asked":                    {approval, "", true},
		"as asked, edited afterwards": {approval, edit, false},
		"own edit":                    {own, edit, true},
		"own edit dropped":            {own, "", false},
		"own edit replaced":           {own, arguments, false},
		"earlier edit":                {earlier, edit, true},
		"earlier edit replaced":       {earlier, arguments, false},
	} {
		i := newIssuer(t)
		if c.runs != "" {
			i.statement.Predicate.Answer.ModifiedArguments = json.RawMessage(c.runs)
		}
		i.assert("ada", c.signed)
		_, err := receipt.Verify(i.issue(), i.requirements())
		require.Equal(t, c.holds, err == nil, "%s: %v", name, err)
	}
}

func TestVerify_CountsVotesOfApprovers(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	i.statement.Predicate.Votes = []schema.Vote{{User: "ada", Choice: "approve"}, {User: "eve", Choice: "deny"}, {User: "grace", Choice: "approve"}}
	i.assert("grace", approval)
	need := i.requirements()
	need.Approvers = []string{"ada", "grace"}
	_, err := receipt.Verify(i.issue(), need)
	require.NoError(t, err)
	need.Passkey = true
	_, err = receipt.Verify(i.issue(), need)
	require.ErrorContains(t, err, "ada did not confirm with a passkey")
	need.Approvers = []string{"grace"}
	_, err = receipt.Verify(i.issue(), need)
	require.NoError(t, err)
	need.Approvers = []string{"eve"}
	_, err = receipt.Verify(i.issue(), need)
	require.ErrorContains(t, err, "eve did not approve")
}

// TestVerify_DetectsChangedReceipt changes single parts of the file.
func TestVerify_DetectsChangedReceipt(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	for name, change := range map[string]func(*sign.Receipt){
		"flipped byte of the statement": func(r *sign.Receipt) { r.Envelope.Payload[len(r.Envelope.Payload)/2] ^= 1 },
		"flipped byte of the signature": func(r *sign.Receipt) { r.Envelope.Signatures[0].Sig[0] ^= 1 },
		"no signature":                  func(r *sign.Receipt) { r.Envelope.Signatures = nil },
		"changed entry":                 func(r *sign.Receipt) { r.LedgerEntry.Actor = "eve" },
		"entry of another decision": func(r *sign.Receipt) {
			r.LedgerEntry.Data = json.RawMessage(`{"ask":"","statement":""}`)
			require.NoError(t, r.LedgerEntry.Seal(41, r.LedgerEntry.Prev))
		},
	} {
		r := i.issue()
		_, err := receipt.Verify(r, i.requirements())
		require.NoError(t, err)
		change(r)
		_, err = receipt.Verify(r, i.requirements())
		require.ErrorIs(t, err, receipt.ErrUnmet, name)
	}
	_, err := receipt.Verify(i.issue(), receipt.Requirements{})
	require.Error(t, err)
	require.NotErrorIs(t, err, receipt.ErrUnmet, "without keys nothing is verified")
}

func TestVerify_ChecksConsequence(t *testing.T) {
	t.Parallel()
	shown := &schema.Consequence{Sentences: []string{"Removes 2 files."}}
	digest := sign.ConsequenceDigest(shown)
	i := newIssuer(t)
	i.statement.Subject = append(i.statement.Subject, sign.Subject{
		Name: sign.ConsequenceSubject, Digest: map[string]string{"sha256": hex.EncodeToString(digest[:])},
	})
	r := i.issue()
	r.Consequence = shown
	result, err := receipt.Verify(r, i.requirements())
	require.NoError(t, err)
	require.Equal(t, shown, result.Consequence)
	for _, changed := range []*schema.Consequence{nil, {Sentences: []string{"Removes 1 file."}}} {
		r.Consequence = changed
		_, err = receipt.Verify(r, i.requirements())
		require.ErrorContains(t, err, "not the signed one")
	}
	unsigned := newIssuer(t)
	r = unsigned.issue()
	r.Consequence = shown
	result, err = receipt.Verify(r, unsigned.requirements())
	require.NoError(t, err)
	require.Nil(t, result.Consequence, "an unsigned one proves nothing")
}
