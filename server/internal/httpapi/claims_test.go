package httpapi

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

// claims returns the active claims without their times.
func (r *harness) claims(headers ...string) []control.Claim {
	r.t.Helper()
	var list control.ClaimList
	r.expectOK(&list, "GET "+control.PathClaims, "", headers...)
	for i := range list.Claims {
		require.Positive(r.t, list.Claims[i].ExpiresAt)
		list.Claims[i].ExpiresAt = 0
	}
	return list.Claims
}

func TestClaim_HandOverReleaseAndResolution(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	grace := r.invite(ada, "grace")
	id := r.post(`{"source_app":"a","session_id":"s","hook_event_type":"PreToolUse","payload":{},` + permission + `}`).ID
	claim := schema.At(control.PathClaim, id)
	require.Empty(t, r.claims(ada.headers()...))

	r.expectOK(nil, "POST "+claim, "", grace.headers()...)
	require.Equal(t, []control.Claim{{ID: id, Person: "grace"}}, r.claims(ada.headers()...))
	r.expectOK(nil, "POST "+claim, `{"to":"ada"}`, grace.headers()...)
	handedOver := []control.Claim{{ID: id, Person: "ada", By: "grace"}}
	require.Equal(t, handedOver, r.claims(ada.headers()...))
	require.Equal(t, "to", r.expectProblem("invalid", "POST "+claim, `{"to":"linus"}`, grace.headers()...).Field)
	r.expectProblem("invalid", "POST "+claim, `[]`, grace.headers()...)
	require.Equal(t, handedOver, r.claims(ada.headers()...), "a refused claim changes nothing")

	r.expectOK(nil, "DELETE "+claim, "", grace.headers()...)
	require.Empty(t, r.claims(ada.headers()...), "who handed it over can release it")
	r.expectOK(nil, "DELETE "+claim, "", grace.headers()...)
	r.expectOK(nil, "POST "+claim, "", ada.headers()...)
	r.expectProblem("not_allowed", "DELETE "+claim, "", grace.headers()...)

	r.expectOK(nil, "POST "+schema.At(schema.PathRespond, id), `{"permission":false}`, grace.headers()...)
	require.Eventually(t, func() bool { return len(r.claims(ada.headers()...)) == 0 }, waitLimit, time.Millisecond, "a claim blocks no answer, and ends with the request")
	r.expectProblem("decided", "POST "+claim, "", ada.headers()...)
	r.expectProblem("not_found", "POST "+schema.At(control.PathClaim, 99), "", ada.headers()...)
}

func TestClaim_NeedsSignedInOperator(t *testing.T) {
	t.Parallel()
	r := setup(t)
	id := r.post(`{"source_app":"a","session_id":"s","hook_event_type":"PreToolUse","payload":{},` + permission + `}`).ID
	claim := "POST " + schema.At(control.PathClaim, id)
	r.expectProblem("sign_in", claim, "")
	ada := r.owner("ada")
	grace := r.invite(ada, "grace")
	r.expectProblem("sign_in", claim, "")
	_, agent := r.createToken(ada, `{"name":"ci"}`)
	r.expectProblem("not_allowed", claim, "", agent...)
	r.expectProblem("not_allowed", "DELETE "+schema.At(control.PathClaim, id), "", agent...)
	r.expectOK(nil, "POST "+schema.PathPeople+"/grace", `{"role":"viewer"}`, ada.headers()...)
	r.expectProblem("not_allowed", claim, "", grace.headers()...)
	require.Equal(t, "to", r.expectProblem("invalid", claim, `{"to":"grace"}`, ada.headers()...).Field, "a viewer can't decide it")
	require.Empty(t, r.claims(ada.headers()...))
}

func TestClaim_StreamsAreInformed(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.openHubOwner("ada")
	id := r.post(`{"source_app":"a","session_id":"s","hook_event_type":"PreToolUse","payload":{},` + permission + `}`).ID
	page := dial(r, "/stream?v=2")
	page.hello()
	nextClaims := func() (list []control.Claim) {
		f := page.next()
		for f.Type != schema.ClaimFrame {
			f = page.next()
		}
		require.Zero(t, f.Seq)
		require.NoError(t, json.Unmarshal(f.Data, &list))
		return list
	}
	r.expectOK(nil, "POST "+schema.At(control.PathClaim, id), "", ada.headers()...)
	require.Equal(t, "ada", nextClaims()[0].Person)
	r.expectOK(nil, "DELETE "+schema.At(control.PathClaim, id), "", ada.headers()...)
	require.Empty(t, nextClaims())
}
