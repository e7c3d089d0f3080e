package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

func TestOwners_OthersGetTheirNames(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	grace, linus := r.invite(ada, "grace"), r.invite(ada, "linus")
	r.expectOK(nil, "POST "+schema.PathPeople+"/grace", `{"handles":["@shop/payments"]}`, ada.headers()...)
	ask := func(owners string) string {
		return r.post(`{"source_app":"a","session_id":"s","hook_event_type":"PermissionRequest","payload":{},"humanInTheLoop":{
			"question":"May I?","type":"permission","recipients":{"mode":"selected_members","members":["ada","grace"],"owners":true},
			"context":{"owners":{"files":[{"paths":["pay.go"],"owners":["` + owners + `"]}]}}}}`).ID.String()
	}
	owned, unknown := ask("@shop/payments"), ask("@stranger")
	respond := func(id string) string { return "POST " + schema.PathEvents + "/" + id + "/respond" }
	refused := func(id string, headers []string) string {
		p := r.expectProblem("not_allowed", respond(id), `{"permission":true}`, headers...)
		require.Equal(t, 403, p.Status)
		return p.Hint
	}
	require.Equal(t, "Only owners of the files may decide: grace.", refused(owned, linus.headers()))
	require.Equal(t, "Only owners of the files may decide: grace.", refused(owned, ada.headers()), "an admin is no owner")
	require.Equal(t, "This question is addressed to ada, grace.", refused(unknown, linus.headers()), "no one is known as an owner")
	r.expectOK(nil, respond(owned), `{"permission":false}`, grace.headers()...)
	r.expectOK(nil, respond(unknown), `{"permission":false}`, ada.headers()...)
}
