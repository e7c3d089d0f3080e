package app

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/alerts"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/requestdefaults"
	"github.com/hookback/hookback/server/internal/safety"
	"github.com/hookback/hookback/server/internal/store"
)

// A change by another hub with the same database reaches every part of this hub. hub, auth and notify
// test the rules, accounts and channels.
func TestReload_FollowsSettingsOfAnotherHub(t *testing.T) {
	t.Parallel()
	a, err := New(t.Context(), testConfig(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	ctx, defaults := t.Context(), a.reloaders["defaults"].(*requestdefaults.Settings)
	require.Len(t, a.reloaders, 7)

	people, err := auth.Open(ctx, auth.Config{Store: a.store})
	require.NoError(t, err)
	otherDefaults, err := requestdefaults.Open(ctx, a.store, people)
	require.NoError(t, err)
	otherLimits, err := safety.OpenLimits(ctx, a.store, 0)
	require.NoError(t, err)
	otherAlerts, err := alerts.OpenRules(ctx, a.store, feed.New(0, 1, 1))
	require.NoError(t, err)

	code, err := people.OwnerCode(ctx)
	require.NoError(t, err)
	_, err = people.SignIn(ctx, auth.SignInAttempt{Code: code, Name: "ada"})
	require.NoError(t, err)
	seconds := int64(60)
	require.NoError(t, otherDefaults.Set(ctx, control.RequestDefaults{Defaults: []control.RequestDefault{{TimeoutSeconds: &seconds}}}, "ada"))
	require.NoError(t, otherLimits.Set(ctx, control.SafetySettings{EqualFailures: 7}, "ada"))
	require.NoError(t, otherAlerts.Create(ctx, control.AlertRule{Kind: "stuck"}, "ada"))
	require.NoError(t, a.store.SetDocument(ctx, store.PublicAddress, control.ReachSettings{PublicURL: "https://hub.example.com"}, "ada"))
	require.False(t, a.auth.IsLocked() || defaults.HasAny())

	require.NoError(t, a.reloaders.reload(ctx))
	require.True(t, a.auth.IsLocked() && a.auth.HasOwner())
	require.True(t, defaults.HasAny())
	require.Equal(t, 7, a.safety.Limits.Active().EqualFailures)
	require.Len(t, a.alerts.Rules.List(), 1)
	require.Equal(t, "https://hub.example.com", a.reach.Read().PublicURL)
	require.Equal(t, control.ReachUnchecked, a.reach.Read().State)
	require.ErrorIs(t, a.hub.People.Check(schema.AccessDecide, auth.Identity{}), schema.ErrSignIn)

	require.NoError(t, a.alerts.Rules.Create(ctx, control.AlertRule{Kind: "loop"}, "ada"))
	require.NoError(t, otherAlerts.Create(ctx, control.AlertRule{Kind: "errors"}, "ada"), "computed from the stored rules")
	require.NoError(t, a.reloaders.reload(ctx))
	var ids []int64
	for _, rule := range a.alerts.Rules.List() {
		ids = append(ids, rule.ID)
	}
	require.Equal(t, []int64{1, 2, 3}, ids)
}

// A database that does not answer fails the reload, and the next one makes up for it.
func TestReload_FailsWithoutDatabase(t *testing.T) {
	t.Parallel()
	a, err := New(t.Context(), testConfig(t))
	require.NoError(t, err)
	require.NoError(t, a.Close())
	err = a.reloaders.reload(t.Context())
	for _, name := range []string{"accounts", "rules", "defaults", "limits", "alert rules", "address"} {
		require.ErrorContains(t, err, "reload "+name)
	}
}

type fakeReloader struct {
	runs int
	err  error
}

func (f *fakeReloader) Reload(context.Context) error {
	f.runs++
	return f.err
}

func TestReload_RunsAllAndReportsEachError(t *testing.T) {
	t.Parallel()
	ok, full, gone := &fakeReloader{}, &fakeReloader{err: errors.New("full")}, &fakeReloader{err: errors.New("gone")}
	list := reloaders{"limits": full, "accounts": ok, "rules": gone}
	err := list.reload(t.Context())
	require.ErrorIs(t, err, full.err)
	require.ErrorIs(t, err, gone.err)
	require.ErrorContains(t, err, "reload rules: gone")
	full.err, gone.err = nil, nil
	require.NoError(t, list.reload(t.Context()))
	for _, f := range []*fakeReloader{ok, full, gone} {
		require.Equal(t, 2, f.runs)
	}
}
