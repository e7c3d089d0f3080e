package hub

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// TestAssertion_IsStaleAfterEdit: the assertion was valid when it was verified, and the
// transition then reads an edited call.
func TestAssertion_IsStaleAfterEdit(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withPeople(t))
	id, _ := h.ask(`{"question":"q","type":"permission","risk":"high","toolCall":{"name":"Bash","arguments":{"command":"ls"},"editable":true}}`)
	a, err := h.readSnapshot(t.Context(), id)
	require.NoError(t, err)
	of, err := h.signedPayload(a, approval())
	require.NoError(t, err)
	seen := assertion{present: true, proof: schema.PasskeyProof{Signed: string(of)}}
	by := &schema.Responder{Name: "ada", Verified: true}
	require.NoError(t, h.requireAssertion(a, approval(), by, seen))
	require.True(t, by.Passkey)

	a.applyEdit([]byte(`{"command":"ls /"}`), &schema.Vote{User: "grace"})
	by = &schema.Responder{Name: "ada", Verified: true}
	require.ErrorIs(t, h.requireAssertion(a, approval(), by, seen), schema.ErrStale)
	require.False(t, by.Passkey)
}

// TestSignedPayload_CoversEveryField: no two answers share a payload, so an assertion for
// one is never valid for another.
func TestSignedPayload_CoversEveryField(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	first, _ := h.ask(pullQuestion)
	second, _ := h.ask(pullQuestion)
	seen := map[string]bool{}
	text, choice := "go", "go"
	for _, r := range []*schema.Response{
		approval(), denial(), {Response: &text}, {Choice: &choice}, {Answers: map[string]json.RawMessage{"a": json.RawMessage(`"x"`)}},
		{Permission: approval().Permission, Reason: "x"}, {Permission: approval().Permission, Comment: "x"},
		{Permission: approval().Permission, ModifiedArguments: json.RawMessage(`{"a":1,"b":2}`)}, {Permission: approval().Permission, ModifiedArguments: json.RawMessage(`{"b":2,"a":1}`)},
		{Permission: approval().Permission, ModifiedArguments: json.RawMessage(`{"a":1,"a":1,"b":2}`)},
		{Permission: approval().Permission, Remember: json.RawMessage(`{}`)}, {Permission: approval().Permission, Revision: 1}, {Permission: approval().Permission, HoldMS: 1},
	} {
		for _, id := range []schema.EventID{first, second} {
			a, err := h.readSnapshot(t.Context(), id)
			require.NoError(t, err)
			of, err := h.signedPayload(a, r)
			require.NoError(t, err)
			require.False(t, seen[string(of)], "%+v", r)
			seen[string(of)] = true
			proved := *r
			proved.Proof = json.RawMessage(`{"id":"x"}`)
			again, err := h.signedPayload(a, &proved)
			require.NoError(t, err)
			require.Equal(t, of, again, "the assertion is not part of the payload")
		}
	}
}

// TestAssertion_CoversByClass: the threshold unknown covers every call that is not known to be
// harmless, and every question that is about no call.
func TestAssertion_CoversByClass(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		threshold schema.PasskeyThreshold
		class     schema.Class
		level     schema.Risk
		want      bool
	}{
		{schema.PasskeyForUnknown, schema.ClassHarmless, "", false},
		{schema.PasskeyForUnknown, schema.ClassHarmless, schema.LowRisk, false},
		{schema.PasskeyForUnknown, schema.ClassHarmless, schema.MediumRisk, true}, // the agent's own estimate
		{schema.PasskeyForUnknown, schema.ClassHarmless, schema.HighRisk, true},
		{schema.PasskeyForUnknown, schema.ClassUnknown, "", true},
		{schema.PasskeyForUnknown, schema.ClassRisky, schema.MediumRisk, true},
		{schema.PasskeyForUnknown, "", "", true},
		{schema.PasskeyForHigh, schema.ClassUnknown, "", false},
		{schema.PasskeyForHigh, schema.ClassRisky, schema.MediumRisk, false},
		{schema.PasskeyForHigh, schema.ClassRisky, schema.HighRisk, true},
		{schema.PasskeyForCritical, schema.ClassRisky, schema.HighRisk, false},
		{schema.PasskeyForCritical, schema.ClassRisky, schema.CriticalRisk, true},
	} {
		require.Equal(t, c.want, isCovered(c.threshold, c.class, c.level), "%+v", c)
	}
}
