package httpapi

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// leaveBehind stores what callers without credentials could create in earlier versions.
func (r *harness) leaveBehind(mail string) {
	r.t.Helper()
	ctx := r.t.Context()
	require.NoError(r.t, r.store.AddChannel(ctx, &store.Channel{Name: "spy", Kind: "smtp", URL: "smtp://" + mail + "/?from=spy@example.com", CreatedBy: store.LocalName}, 10))
	require.NoError(r.t, r.store.AddPushSubscription(ctx, "", schema.PushSubscription{Endpoint: "https://push.example.com/spy"}, 10))
	require.NoError(r.t, r.store.SetNotificationSettings(ctx, "", schema.NotificationSettings{CooldownMinutes: 7}))
	_, err := r.store.CreateRule(ctx, schema.Rule{Then: schema.ThenAllow, Tool: "Bash", CreatedBy: store.LocalName})
	require.NoError(r.t, err)
}

// requireNothingAnonymous checks that nothing of leaveBehind is left, and that the audit log
// has an entry for each removal.
func (r *harness) requireNothingAnonymous() {
	r.t.Helper()
	ctx := r.t.Context()
	channels, err := r.store.Channels(ctx)
	require.NoError(r.t, err)
	require.Empty(r.t, channels)
	browsers, err := r.store.PushSubscriptions(ctx, "")
	require.NoError(r.t, err)
	require.Empty(r.t, browsers)
	settings, err := r.store.NotificationSettings(ctx, "")
	require.NoError(r.t, err)
	require.Zero(r.t, settings.CooldownMinutes)
	rules, err := r.store.LiveRules(ctx, time.Now())
	require.NoError(r.t, err)
	require.Empty(r.t, rules)
	_, ledger := r.do("GET", schema.PathLedger, "")
	for _, action := range []string{"channel.removed", "push.removed", "rule.revoked"} {
		require.Equal(r.t, 1, strings.Count(string(ledger), `"`+action+`"`), action)
	}
}

func TestLock_RemovesWhatAnonymousCallersLeft(t *testing.T) {
	t.Parallel()
	r := setupNotifications(t)
	_, mail := startMailServer(t)
	ada := r.openHubOwner("ada")
	r.leaveBehind(mail)
	r.expectOK(nil, "POST "+schema.PathLock, `{"locked":true}`, ada.headers()...)
	r.requireNothingAnonymous()
}

// TestLock_FirstSignInOfOwnerLocks: whoever has been on the open hub before keeps nothing.
func TestLock_FirstSignInOfOwnerLocks(t *testing.T) {
	t.Parallel()
	r := setupNotifications(t)
	_, mail := startMailServer(t)
	r.leaveBehind(mail)
	held := r.post(event(1, permission))
	r.expectOK(nil, "POST "+schema.At(schema.PathRespond, held.ID), `{"permission":true,"holdMs":30000}`)
	require.NotNil(t, r.event(held.ID).HumanInTheLoopStatus.Held)

	ada := r.owner("ada")
	require.True(t, r.people.IsLocked())
	r.requireNothingAnonymous()
	require.Nil(t, r.event(held.ID).HumanInTheLoopStatus.Held, "the answer of a caller without credentials is dropped")
	require.Equal(t, schema.Pending, r.event(held.ID).HumanInTheLoopStatus.Status)
	_, ledger := r.do("GET", schema.PathLedger, "")
	require.Contains(t, string(ledger), `"question.answer_dropped"`)
	r.expectOK(nil, "POST "+schema.At(schema.PathRespond, held.ID), approveBody, ada.headers()...)

	r.expectOK(nil, "POST "+schema.PathLock, `{"locked":false}`, ada.headers()...)
	code, err := r.people.RecoverAccess(t.Context(), "ada")
	require.NoError(t, err)
	r.signIn(`{"code":"` + code + `"}`)
	require.False(t, r.people.IsLocked(), "only the first sign-in locks")
}

// TestSignedLink_NeedsChannelOfAdmin: the mail server that an admin configured gets no links,
// not even for that admin, once the person is no admin any more. Links for other people go only
// through the owner's channels.
func TestSignedLink_NeedsChannelOfAdmin(t *testing.T) {
	t.Parallel()
	r := setupNotifications(t)
	box, mail := startMailServer(t)
	ada := r.owner("ada")
	eve := r.addPerson(ada, `{"name":"eve","role":"admin"}`)
	r.expectOK(nil, "POST "+schema.PathChannels, `{"name":"mail","url":"smtp://`+mail+`/?from=hub@example.com"}`, eve.headers()...)
	addressed := `"humanInTheLoop":{"question":"May I?","type":"permission","recipients":{"mode":"selected_members","members":["eve"]}}`
	r.post(event(1, addressed))
	require.Contains(t, <-box, "Answer without signing in")
	r.expectOK(nil, "POST "+schema.PathPeople+"/eve", `{"role":"operator"}`, ada.headers()...)
	r.post(event(2, addressed))
	require.NotContains(t, <-box, "Answer without signing in")
}
