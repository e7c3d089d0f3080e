package httpapi

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/receipt"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
)

// hubKeys returns the hub's public key.
func (r *harness) hubKeys() []ed25519.PublicKey {
	r.t.Helper()
	var hub sign.HubKey
	r.getJSON(schema.PathHub, &hub)
	key, err := sign.ParsePublicKey(hub.PublicKey)
	require.NoError(r.t, err)
	return []ed25519.PublicKey{key}
}

// receipt fetches a receipt and verifies its envelope with the hub's key.
func (r *harness) receipt(id schema.EventID) (got sign.Receipt, s sign.Statement) {
	r.t.Helper()
	r.getJSON(schema.At(schema.PathReceipt, id), &got)
	require.NoError(r.t, got.Envelope.Verify(schema.StatementPayload, r.hubKeys()[0]))
	require.NoError(r.t, json.Unmarshal(got.Envelope.Payload, &s))
	return got, s
}

func TestReceipt_ProvesDecision(t *testing.T) {
	t.Parallel()
	r := setup(t)
	body := event(1, permission)
	id := r.post(body).ID
	p := r.expectProblem("undecided", "GET "+schema.At(schema.PathReceipt, id), "")
	require.Equal(t, []any{409, schema.Pending}, []any{p.Status, p.HumanInTheLoopStatus.Status})
	r.expectProblem("not_found", "GET "+schema.At(schema.PathReceipt, 99), "")
	plain := r.post(event(2)).ID
	_, b := r.do("GET", schema.At(schema.PathReceipt, plain), "")
	require.Contains(t, string(b), `"code":"no_question"`)

	r.answer(id, `{"permission":false,"reason":"not now"}`)
	proof, s := r.receipt(id)
	ask, err := sign.AskDigest([]byte(body))
	require.NoError(t, err)
	require.Equal(t, hex.EncodeToString(ask[:]), s.Digest(sign.AskSubject, "sha256"))
	require.Equal(t, []any{schema.Deny, "not now", id}, []any{s.Predicate.Outcome, s.Predicate.Answer.Reason, s.Predicate.EventID})
	require.Empty(t, proof.Proofs)

	statement := sha256.Sum256(proof.Envelope.Payload)
	require.Equal(t, "question.ended", proof.LedgerEntry.Action)
	require.Contains(t, string(proof.LedgerEntry.Data), fmt.Sprintf(`"ask":"%x","statement":"%x"`, ask, statement))
	line, err := json.Marshal(proof.LedgerEntry)
	require.NoError(t, err)
	_, ledger := r.do("GET", schema.PathLedger+"?format=ndjson", "")
	require.Contains(t, string(ledger), string(line)+"\n", "the entry is the one of the hash chain")
}

// TestReceipt_IsAboutTheQuestionThatWasAsked: people approve the question that they see, at the commit
// that they see, and the program that asks chooses both.
func TestReceipt_IsAboutTheQuestionThatWasAsked(t *testing.T) {
	t.Parallel()
	const commit = "8f14e45fceea167a5a36dedd4bea2543c1d2e3f4"
	r := setup(t)
	ada := r.owner("ada")
	var own schema.Token
	r.expectOK(&own, "POST "+schema.PathTokens, `{"name":"script","person":"ada"}`, ada.headers()...)
	ask := event(1, `"humanInTheLoop":{"question":"May I run the linter?","type":"permission","excludeRequester":false,`+
		`"context":{"commit":"`+commit+`"}}`)
	approved := func(headers ...string) *sign.Receipt {
		t.Helper()
		var e schema.Event
		r.expectOK(&e, "POST "+schema.PathEvents, ask, append(headers, "Content-Type", "application/json")...)
		r.expectOK(nil, "POST "+schema.At(schema.PathRespond, e.ID), approveBody, ada.headers()...)
		got, _ := r.receipt(e.ID)
		return &got
	}
	need := receipt.Requirements{Keys: r.hubKeys(), App: "demo", Question: "May I run the linter?", Commit: commit}
	result, err := receipt.Verify(approved(), need)
	require.NoError(t, err)
	require.Equal(t, []any{"May I run the linter?", commit}, []any{result.Question, result.Commit})
	deploy := need
	deploy.Question = "Deploy?"
	_, err = receipt.Verify(approved(), deploy)
	require.ErrorIs(t, err, receipt.ErrUnmet, "another question about the commit")
	_, err = receipt.Verify(approved("Authorization", "Bearer "+own.Secret), need)
	require.ErrorContains(t, err, "ada is the requester")
}

// TestReceipt_ContainsPasskeyAssertions verifies a stored assertion as a relying party does.
func TestReceipt_ContainsPasskeyAssertions(t *testing.T) {
	t.Parallel()
	r := setupPasskeys(t)
	ada, d := r.owner("ada"), newFakeAuthenticator(t)
	r.register(ada, d)
	approve := func(id schema.EventID, answer string) {
		t.Helper()
		r.expectOK(nil, "POST "+schema.At(schema.PathRespond, id), withAssertion(answer, d.get(r.challenge(ada, id, answer))), ada.headers()...)
	}
	id := r.post(event(1, dangerous)).ID
	const answer = `{"permission":true,"comment":"checked <twice>"}`
	approve(id, answer)
	proof, s := r.receipt(id)
	require.True(t, s.Predicate.RespondedBy.Passkey)
	require.Len(t, proof.Proofs, 1)
	p := proof.Proofs[0]
	require.Equal(t, []string{"ada", b64(d.id)}, []string{p.Person, p.CredentialID})

	unbase64 := func(text string) []byte {
		b, err := base64.RawURLEncoding.DecodeString(text)
		require.NoError(t, err)
		return b
	}
	var client struct{ Challenge string }
	require.NoError(t, json.Unmarshal(unbase64(p.ClientDataJSON), &client))
	require.Equal(t, b64(sign.PasskeyChallenge(sha256.Sum256([]byte(p.Signed)), unbase64(p.Nonce), "ada")), client.Challenge)
	der, err := base64.StdEncoding.DecodeString(p.PublicKey)
	require.NoError(t, err)
	key, err := x509.ParsePKIXPublicKey(der)
	require.NoError(t, err)
	clientData := sha256.Sum256(unbase64(p.ClientDataJSON))
	digest := sha256.Sum256(append(unbase64(p.AuthenticatorData), clientData[:]...))
	require.True(t, ecdsa.VerifyASN1(key.(*ecdsa.PublicKey), digest[:], unbase64(p.Signature)))

	var signed []json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(p.Signed), &signed))
	require.Len(t, signed, 5)
	require.Equal(t, fmt.Sprintf("%q", s.Predicate.Hub), string(signed[0]))
	require.Equal(t, fmt.Sprintf("%q", s.Predicate.Event), string(signed[1]))
	require.JSONEq(t, answer, string(signed[4]))
	result, err := receipt.Verify(&proof, receipt.Requirements{
		Keys: r.hubKeys(), Approvers: []string{"ada"}, Passkey: true, PersonKeys: map[string][]byte{"ada": der},
	})
	require.NoError(t, err, "the command accepts it, too")
	require.True(t, result.Approvers[0].Bound)

	// An answer with a passkey that was undone is no evidence for the one that counts.
	id = r.post(event(2, dangerous)).ID
	approve(id, `{"permission":true,"holdMs":30000}`)
	r.expectOK(nil, "POST "+schema.At(schema.PathUndo, id), "", ada.headers()...)
	r.expectOK(nil, "POST "+schema.At(schema.PathRespond, id), `{"permission":false}`, ada.headers()...)
	proof, s = r.receipt(id)
	require.Equal(t, schema.Deny, s.Predicate.Outcome)
	require.Empty(t, proof.Proofs)
}
