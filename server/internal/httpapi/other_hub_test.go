package httpapi

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
)

// A token that is revoked at another hub gets no answer from this one, also in an open request.
func TestOtherHub_RevokedTokenGetsNoAnswer(t *testing.T) {
	t.Parallel()
	r := setup(t, fastHooks)
	ada := r.owner("ada")
	made := r.newAgentToken(ada, "deploy")
	done := r.ask(t.Context(), `{"question":"Go?"}`, "Authorization", "Bearer "+made.Secret)
	r.waitForQuestion(1)

	other, err := auth.Open(t.Context(), auth.Config{Store: r.store, Clock: r.clock.now})
	require.NoError(t, err)
	_, cookie, _ := strings.Cut(ada.cookie, "=")
	owner, err := other.Authenticate(auth.Credentials{Cookie: cookie})
	require.NoError(t, err)
	require.NoError(t, other.RevokeToken(t.Context(), made.ID, owner))
	require.NoError(t, r.people.Reload(t.Context()))
	require.Equal(t, schema.Cancelled, r.answerOf(<-done).Outcome)
	require.Equal(t, schema.ByOrphaned, r.waitUntilSettled(1).Source)
	r.expectProblem("sign_in", "POST "+schema.PathEvents, event(2), "Authorization", "Bearer "+made.Secret)
}

// Each step of a passkey ceremony may reach another hub, and the counter of a passkey never seems to go back.
func TestOtherHub_PasskeyChallengeIsAnsweredThere(t *testing.T) {
	t.Parallel()
	r := setupPasskeys(t)
	ada, d := r.openHubOwner("ada"), newFakeAuthenticator(t)
	cfg := auth.Config{Store: r.store, Clock: r.clock.now}
	requirePasskeys(&cfg)
	other, err := auth.Open(t.Context(), cfg)
	require.NoError(t, err)
	r.register(ada, d)
	_, cookie, _ := strings.Cut(ada.cookie, "=")
	owner, err := other.Authenticate(auth.Credentials{Cookie: cookie, Key: ada.key})
	require.NoError(t, err)
	owner.Page = cfg.Passkeys.Origin
	for range 3 {
		var body schema.Confirmation
		require.NoError(t, json.Unmarshal([]byte(r.confirm(ada, d, schema.ActionChat, "ada")), &body))
		require.NoError(t, other.ConfirmChat(t.Context(), owner, body.Proof))
		require.ErrorIs(t, other.ConfirmChat(t.Context(), owner, body.Proof), schema.ErrProofRequired, "once")
		require.ErrorIs(t, r.people.ConfirmChat(t.Context(), owner, body.Proof), schema.ErrProofRequired, "once at all hubs")
	}
}

// Without its database, a hub does not know who may do what, whether or not it has accounts.
func TestStale_NothingIsDecided(t *testing.T) {
	t.Parallel()
	r := setup(t)
	question := r.post(event(1, permission))
	respond := "POST " + schema.At(schema.PathRespond, question.ID)
	r.people.SetStale(true)
	r.expectProblem("busy", respond, approveBody)
	r.expectProblem("busy", "GET "+schema.PathRecent, ``)
	r.people.SetStale(false)
	ada := r.owner("ada")
	r.people.SetStale(true)
	r.expectProblem("busy", respond, approveBody, ada.headers()...)
	r.expectProblem("busy", "GET "+schema.PathMe, ``, ada.headers()...)
	r.expectOK(nil, "GET "+schema.PathMe, ``)
	resp, _ := r.do("GET", "/healthz", "")
	require.Equal(t, 200, resp.StatusCode)
	r.people.SetStale(false)
	r.expectOK(nil, respond, approveBody, ada.headers()...)
}
