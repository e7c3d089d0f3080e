package hub

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
)

// TestWhatIsAskedChangesAfterTheProof: the proof was good when it was looked at, and the
// transition reads another call.
func TestWhatIsAskedChangesAfterTheProof(t *testing.T) {
	t.Parallel()
	b := setup(t, withPeople(t))
	id, _ := b.ask(`{"question":"q","type":"permission","risk":"high","toolCall":{"name":"Bash","arguments":{"command":"ls"},"editable":true}}`)
	a, err := b.readSnapshot(t.Context(), id)
	require.NoError(t, err)
	of, err := b.signedPayload(a, yes())
	require.NoError(t, err)
	seen := assertion{present: true, digest: of}
	by := &schema.Responder{Name: "ada", Verified: true}
	require.NoError(t, b.requireAssertion(a, yes(), by, seen))
	require.True(t, by.Passkey)

	a.applyEdit([]byte(`{"command":"ls /"}`), &schema.Vote{User: "grace"})
	by = &schema.Responder{Name: "ada", Verified: true}
	require.ErrorIs(t, b.requireAssertion(a, yes(), by, seen), schema.ErrStale)
	require.False(t, by.Passkey)
}

// TestEveryWordOfAnAnswerIsSignedFor: none of them can be another one.
func TestEveryWordOfAnAnswerIsSignedFor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, _ := b.ask(pullOne)
	second, _ := b.ask(pullOne)
	seen := map[auth.AnswerDigest]bool{}
	text, choice := "go", "go"
	for _, r := range []*schema.Response{
		yes(), no(), {Response: &text}, {Choice: &choice}, {Answers: map[string]json.RawMessage{"a": json.RawMessage(`"x"`)}},
		{Permission: yes().Permission, Reason: "x"}, {Permission: yes().Permission, Comment: "x"},
		{Permission: yes().Permission, ModifiedArguments: json.RawMessage(`{"a":1,"b":2}`)}, {Permission: yes().Permission, ModifiedArguments: json.RawMessage(`{"b":2,"a":1}`)},
		{Permission: yes().Permission, ModifiedArguments: json.RawMessage(`{"a":1,"a":1,"b":2}`)},
		{Permission: yes().Permission, Remember: json.RawMessage(`{}`)}, {Permission: yes().Permission, Revision: 1}, {Permission: yes().Permission, HoldMS: 1},
	} {
		for _, id := range []schema.EventID{first, second} {
			a, err := b.readSnapshot(t.Context(), id)
			require.NoError(t, err)
			of, err := b.signedPayload(a, r)
			require.NoError(t, err)
			require.False(t, seen[of], "%+v", r)
			seen[of] = true
			proved := *r
			proved.Proof = json.RawMessage(`{"id":"x"}`)
			again, err := b.signedPayload(a, &proved)
			require.NoError(t, err)
			require.Equal(t, of, again, "the proof itself is no part of it")
		}
	}
}
