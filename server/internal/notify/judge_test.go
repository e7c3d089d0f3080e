package notify

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

func (r *rig) settings(person string, s schema.NotificationSettings) {
	require.NoError(r.t, CheckSettings(&s))
	require.NoError(r.t, r.Store.SetNotificationSettings(context.Background(), person, s))
}

func TestACooldownCountsWhatWasSentAndNothingElse(t *testing.T) {
	t.Parallel()
	r, far, other := setup(t, ada, grace), listen(t), listen(t)
	r.now.Store(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).UnixMilli())
	r.channelOf("ada", far.ntfy("ada"))
	second := r.channelOf("ada", other.URL)
	r.settings("ada", schema.NotificationSettings{CooldownMinutes: 10})
	r.settings("grace", schema.NotificationSettings{CooldownMinutes: 10})
	other.status.Store(404)
	r.card(r.ask("1"), "asked ada sent", "asked ada failed")
	other.status.Store(0)
	r.card(r.ask("2"), "asked ada suppressed cooldown", "asked ada sent")
	r.now.Add((10*time.Minute - time.Millisecond).Milliseconds())
	require.NoError(t, r.RemoveChannel(t.Context(), second.ID, "ada"))
	r.card(r.ask("3"), "asked ada suppressed cooldown")
	r.now.Add(1) // what was held back did not begin another ten minutes
	r.card(r.ask("4"), "asked ada sent")
	r.now.Add(-(24 * time.Hour).Milliseconds()) // the clock was put right
	r.card(r.ask("5"), "asked ada sent")
}

// Many questions at once let one message through, not several side by side.
func TestACooldownHoldsForMessagesAtTheSameTime(t *testing.T) {
	t.Parallel()
	r, far := setup(t, ada), listen(t)
	far.block = make(chan struct{})
	r.channelOf("ada", far.ntfy("ada"))
	r.settings("ada", schema.NotificationSettings{CooldownMinutes: 10})
	var ids []schema.EventID
	for i := range 6 {
		ids = append(ids, r.ask(fmt.Sprint(i)))
	}
	r.eventually("the first is under way", func() bool { return len(far.got()) == 1 })
	close(far.block)
	states := map[string]int{}
	for _, id := range ids {
		r.eventually("each has its end", func() bool {
			n := r.status(id).Notifications
			return len(n) == 1 && n[0].State != schema.NotificationQueued
		})
		states[r.status(id).Notifications[0].State]++
	}
	require.Equal(t, map[string]int{schema.NotificationSent: 1, schema.NotificationSuppressed: 5}, states)
	require.Len(t, far.got(), 1)
}

func TestWhoLooksIsNotDisturbed(t *testing.T) {
	t.Parallel()
	r, far := setup(t, ada, grace), listen(t)
	r.channel(far.ntfy("all"))
	r.channelOf("ada", far.ntfy("ada"))
	r.channelOf("grace", far.ntfy("grace"))
	r.look.Store("ada", true)
	r.card(r.ask("1"), "asked  sent", "asked ada suppressed watching", "asked grace sent")
	r.look.Delete("ada")
	r.card(r.ask("2"), "asked  sent", "asked ada sent", "asked grace sent")
}

func TestQuietHoursHoldAllButTheCritical(t *testing.T) {
	t.Parallel()
	r, far := setup(t, ada), listen(t)
	r.channelOf("ada", far.ntfy("ada"))
	r.settings("ada", schema.NotificationSettings{QuietFrom: "22:00", QuietTo: "07:30", TimeZone: "Europe/Berlin"})
	r.now.Store(time.Date(2026, 11, 21, 23, 0, 0, 0, time.UTC).UnixMilli())
	r.card(r.ask("1", `"risk":"high"`), "asked ada suppressed quiet_hours")
	r.card(r.ask("2", `"risk":"critical"`), "asked ada sent")
	r.now.Store(time.Date(2026, 11, 22, 6, 30, 0, 0, time.UTC).UnixMilli()) // 07:30 in Berlin
	r.card(r.ask("3"), "asked ada sent")
}

func TestQuietHoursGoByTheClockOnTheWall(t *testing.T) {
	t.Parallel()
	night := schema.NotificationSettings{QuietFrom: "22:00", QuietTo: "07:30", TimeZone: "Europe/Berlin"}
	noon := schema.NotificationSettings{QuietFrom: "12:00", QuietTo: "13:00", TimeZone: "America/New_York"}
	gap := schema.NotificationSettings{QuietFrom: "02:15", QuietTo: "02:45", TimeZone: "Europe/Berlin"}
	for at, c := range map[string]struct {
		s    schema.NotificationSettings
		want bool
	}{
		"2026-11-21T20:59:00Z": {night, false}, // 21:59
		"2026-11-21T21:00:00Z": {night, true},
		"2026-11-21T23:59:59Z": {night, true}, // over midnight
		"2026-11-22T06:29:00Z": {night, true},
		"2026-11-22T06:30:00Z": {night, false},
		// Summer time: an hour earlier by UTC.
		"2026-07-21T20:00:00Z": {night, true},
		"2026-07-22T05:30:00Z": {night, false},
		// The night in which it ends, at 03:00 summer time: 07:00 comes an hour later.
		"2026-10-25T05:29:00Z": {night, true},
		"2026-10-25T06:29:00Z": {night, true},
		"2026-10-25T06:30:00Z": {night, false},
		// The night in which it begins: 02:15 to 02:45 does not exist, so nothing is quiet.
		"2026-03-29T00:59:00Z": {gap, false}, // 01:59
		"2026-03-29T01:00:00Z": {gap, false}, // 03:00
		"2026-03-28T01:15:00Z": {gap, true},
		"2026-11-21T17:00:00Z": {noon, true},
		"2026-11-21T18:00:00Z": {noon, false},
		"2026-11-21T12:30:00Z": {noon, false},
	} {
		when, err := time.Parse(time.RFC3339, at)
		require.NoError(t, err)
		require.Equal(t, c.want, quiet(&c.s, when), "%s %v", at, c.s)
	}
	require.False(t, quiet(&schema.NotificationSettings{}, time.Now()))
}

func TestSettingsThatMeanNothingAreRefused(t *testing.T) {
	t.Parallel()
	for field, s := range map[string]schema.NotificationSettings{
		"cooldownMinutes": {CooldownMinutes: -1},
		"quietTo":         {QuietFrom: "22:00"},
		"quietFrom":       {QuietFrom: "24:00", QuietTo: "07:00", TimeZone: "UTC"},
		"timeZone":        {QuietFrom: "22:00", QuietTo: "07:00", TimeZone: "Mars/Olympus"},
	} {
		var fault *schema.FieldError
		require.ErrorAs(t, CheckSettings(&s), &fault, field)
		require.Equal(t, field, fault.Field)
	}
	require.Error(t, CheckSettings(&schema.NotificationSettings{CooldownMinutes: maxCooldown + 1}))
	require.Error(t, CheckSettings(&schema.NotificationSettings{QuietFrom: "07:00", QuietTo: "07:00", TimeZone: "UTC"}))
	require.Error(t, CheckSettings(&schema.NotificationSettings{QuietFrom: "7:00", QuietTo: "08:00", TimeZone: "UTC"}))
	require.Error(t, CheckSettings(&schema.NotificationSettings{QuietFrom: "22:00", QuietTo: "07:00"}), "whose wall?")
	require.NoError(t, CheckSettings(&schema.NotificationSettings{CooldownMinutes: 5, QuietFrom: "22:00", QuietTo: "07:00", TimeZone: "Asia/Tokyo"}))
}
