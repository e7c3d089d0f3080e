package hub

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

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
			of, err := a.SignedPayload(r)
			require.NoError(t, err)
			require.False(t, seen[string(of)], "%+v", r)
			seen[string(of)] = true
			proved := *r
			proved.Proof = json.RawMessage(`{"id":"x"}`)
			again, err := a.SignedPayload(&proved)
			require.NoError(t, err)
			require.Equal(t, of, again, "the assertion is not part of the payload")
		}
	}
}
