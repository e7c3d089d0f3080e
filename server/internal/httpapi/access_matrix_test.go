package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/routes"
)

// TestAccess_BoundTokenReadsOnlyItsApps checks that source_app gives access only to lists
// that it restricts.
func TestAccess_BoundTokenReadsOnlyItsApps(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	_, agent := r.createToken(ada, `{"name":"build","apps":["demo"]}`)
	var bank schema.Event
	foreign := `{"source_app":"bank","session_id":"s1","hook_event_type":"Ask","payload":{"note":"of the bank"},"humanInTheLoop":{"question":"of the bank","type":"permission"}}`
	r.expectOK(&bank, "POST "+schema.PathEvents, foreign, ada.headers()...)
	own := r.post(event(1, permission))
	require.Equal(t, "demo", own.SourceApp)
	for _, route := range routes.All {
		if route.Access != schema.AccessRead {
			continue
		}
		path := strings.Replace(route.Path, ":id", bank.ID.String(), 1) + "?source_app=demo&session_id=s1"
		resp, answer := r.do(route.Method, path, matrixBodies[route.Path], agent...)
		require.NotContains(t, string(answer), "bank", route.Path)
		if !slices.Contains(appScopedRoutes, route.Path) {
			require.Equal(t, http.StatusForbidden, resp.StatusCode, "%s: %s", path, answer)
		}
	}
	r.expectOK(nil, "GET "+schema.PathEvents+"?source_app=demo", "", agent...)
	r.expectOK(nil, "GET "+schema.At(schema.PathEvent, own.ID), "", agent...)
	r.expectProblem("not_allowed", "GET "+schema.PathEvents+"?source_app=bank&source_app=demo", "", agent...)
}

// TestAccess_AgentTokenIsNoViewer uses an agent token with a person's name. If it counted
// as that person viewing the dashboard, their notifications would be suppressed.
func TestAccess_AgentTokenIsNoViewer(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	_, agent := r.createToken(ada, `{"name":"ada"}`)
	_, mine := r.createToken(ada, `{"name":"mine","person":"ada"}`)
	for i, c := range []struct {
		token string
		looks bool
	}{{agent[1], false}, {mine[1], true}} {
		conn, _, err := websocket.Dial(t.Context(), "ws://"+r.addr+schema.PathStream+"?v=2", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {c.token}}})
		require.NoError(t, err)
		require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"looking","id":0,"focused":true}`)))
		for received := ""; !strings.Contains(received, fmt.Sprintf(`"screens":%d`, i+1)); { // the message was handled
			_, message, err := conn.Read(t.Context())
			require.NoError(t, err)
			received = string(message)
		}
		require.Equal(t, c.looks, r.Presence.IsViewing("ada"))
		t.Cleanup(func() { _ = conn.CloseNow() })
	}
}

// TestIdempotencyKey_IsScopedToPoster checks that a repeated key returns the question with
// its secret only to the token that posted it. The same key from another token creates
// another question.
func TestIdempotencyKey_IsScopedToPoster(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	_, one := r.createToken(ada, `{"name":"one"}`)
	_, other := r.createToken(ada, `{"name":"other"}`)
	keyed := event(1, permission, `"idempotency_key":"k"`)
	var first, repeat, foreign schema.Event
	r.expectOK(&first, "POST "+schema.PathEvents, keyed, one...)
	r.expectOK(&repeat, "POST "+schema.PathEvents, keyed, one...)
	require.Equal(t, first.ID, repeat.ID)
	r.expectOK(&foreign, "POST "+schema.PathEvents, keyed, other...)
	unauthenticated := r.post(keyed)
	for _, e := range []schema.Event{foreign, unauthenticated} {
		require.NotEqual(t, first.ID, e.ID)
		require.NotEqual(t, first.RequestSecret, e.RequestSecret)
	}
}
