package notify

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

func (h *harness) setSettings(person string, s schema.NotificationSettings) {
	require.NoError(h.t, CheckSettings(&s))
	require.NoError(h.t, h.Store.SetNotificationSettings(context.Background(), person, s))
}

func TestCooldown_CountsOnlySentMessages(t *testing.T) {
	t.Parallel()
	h, server, other := newHarness(t, ada, grace), startServer(t), startServer(t)
	h.nowMS.Store(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).UnixMilli())
	h.addPersonalChannel("ada", server.ntfyURL("ada"))
	second := h.addPersonalChannel("ada", other.URL)
	h.setSettings("ada", schema.NotificationSettings{CooldownMinutes: 10})
	h.setSettings("grace", schema.NotificationSettings{CooldownMinutes: 10})
	other.status.Store(404)
	h.requireNotifications(h.askQuestion("1"), "asked ada sent", "asked ada failed")
	other.status.Store(0)
	h.requireNotifications(h.askQuestion("2"), "asked ada suppressed cooldown", "asked ada sent")
	h.nowMS.Add((10*time.Minute - time.Millisecond).Milliseconds())
	require.NoError(t, h.RemoveChannel(t.Context(), second.ID, "ada"))
	h.requireNotifications(h.askQuestion("3"), "asked ada suppressed cooldown")
	h.nowMS.Add(1) // a suppressed message does not start a new cooldown
	h.requireNotifications(h.askQuestion("4"), "asked ada sent")
	h.nowMS.Add(-(24 * time.Hour).Milliseconds()) // the clock was set back
	h.requireNotifications(h.askQuestion("5"), "asked ada sent")
}

// One of many concurrent messages passes the cooldown.
func TestCooldown_AppliesToConcurrentMessages(t *testing.T) {
	t.Parallel()
	h, server := newHarness(t, ada), startServer(t)
	server.hold = make(chan struct{})
	h.addPersonalChannel("ada", server.ntfyURL("ada"))
	h.setSettings("ada", schema.NotificationSettings{CooldownMinutes: 10})
	var ids []schema.EventID
	for i := range 6 {
		ids = append(ids, h.askQuestion(fmt.Sprint(i)))
	}
	h.eventually("the first message is in flight", func() bool { return len(server.requests()) == 1 })
	close(server.hold)
	states := map[string]int{}
	for _, id := range ids {
		h.eventually("each notification has a final state", func() bool {
			n := h.status(id).Notifications
			return len(n) == 1 && n[0].State != schema.NotificationQueued
		})
		states[h.status(id).Notifications[0].State]++
	}
	require.Equal(t, map[string]int{schema.NotificationSent: 1, schema.NotificationSuppressed: 5}, states)
	require.Len(t, server.requests(), 1)
}

func TestNotifier_SkipsPeopleWatchingTheDashboard(t *testing.T) {
	t.Parallel()
	h, server := newHarness(t, ada, grace), startServer(t)
	h.addChannel(server.ntfyURL("all"))
	h.addPersonalChannel("ada", server.ntfyURL("ada"))
	h.addPersonalChannel("grace", server.ntfyURL("grace"))
	h.watching.Store("ada", true)
	h.requireNotifications(h.askQuestion("1"), "asked  sent", "asked ada suppressed watching", "asked grace sent")
	h.watching.Delete("ada")
	h.requireNotifications(h.askQuestion("2"), "asked  sent", "asked ada sent", "asked grace sent")
}

func TestQuietHours_AllowCriticalRisk(t *testing.T) {
	t.Parallel()
	h, server := newHarness(t, ada), startServer(t)
	h.addPersonalChannel("ada", server.ntfyURL("ada"))
	h.setSettings("ada", schema.NotificationSettings{QuietFrom: "22:00", QuietTo: "07:30", TimeZone: "Europe/Berlin"})
	h.nowMS.Store(time.Date(2026, 11, 21, 23, 0, 0, 0, time.UTC).UnixMilli())
	h.requireNotifications(h.askQuestion("1", `"risk":"high"`), "asked ada suppressed quiet_hours")
	require.True(t, h.IsAway(t.Context(), "ada"))
	h.watching.Store("ada", true)
	require.False(t, h.IsAway(t.Context(), "ada"), "a page is open")
	h.watching.Delete("ada")
	h.requireNotifications(h.askQuestion("2", `"risk":"critical"`), "asked ada sent")
	h.nowMS.Store(time.Date(2026, 11, 22, 6, 30, 0, 0, time.UTC).UnixMilli()) // 07:30 in Berlin
	require.False(t, h.IsAway(t.Context(), "ada"))
	h.requireNotifications(h.askQuestion("3"), "asked ada sent")
}

func TestQuietHours_UseLocalTime(t *testing.T) {
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
		"2026-11-21T23:59:59Z": {night, true}, // past midnight
		"2026-11-22T06:29:00Z": {night, true},
		"2026-11-22T06:30:00Z": {night, false},
		// Daylight saving time: an hour earlier in UTC.
		"2026-07-21T20:00:00Z": {night, true},
		"2026-07-22T05:30:00Z": {night, false},
		// The night in which daylight saving time ends: 07:30 comes an hour later in UTC.
		"2026-10-25T05:29:00Z": {night, true},
		"2026-10-25T06:29:00Z": {night, true},
		"2026-10-25T06:30:00Z": {night, false},
		// The night in which it starts: 02:15 to 02:45 does not exist, so nothing is
		// quiet.
		"2026-03-29T00:59:00Z": {gap, false}, // 01:59
		"2026-03-29T01:00:00Z": {gap, false}, // 03:00
		"2026-03-28T01:15:00Z": {gap, true},
		"2026-11-21T17:00:00Z": {noon, true},
		"2026-11-21T18:00:00Z": {noon, false},
		"2026-11-21T12:30:00Z": {noon, false},
	} {
		when, err := time.Parse(time.RFC3339, at)
		require.NoError(t, err)
		require.Equal(t, c.want, inQuietHours(&c.s, when), "%s %v", at, c.s)
	}
	require.False(t, inQuietHours(&schema.NotificationSettings{}, time.Now()))
}

func TestCheckSettings_RejectsInvalidValues(t *testing.T) {
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
	require.Error(t, CheckSettings(&schema.NotificationSettings{CooldownMinutes: maxCooldownMinutes + 1}))
	require.Error(t, CheckSettings(&schema.NotificationSettings{QuietFrom: "07:00", QuietTo: "07:00", TimeZone: "UTC"}))
	require.Error(t, CheckSettings(&schema.NotificationSettings{QuietFrom: "7:00", QuietTo: "08:00", TimeZone: "UTC"}))
	require.Error(t, CheckSettings(&schema.NotificationSettings{QuietFrom: "22:00", QuietTo: "07:00"}), "the time zone is missing")
	require.NoError(t, CheckSettings(&schema.NotificationSettings{CooldownMinutes: 5, QuietFrom: "22:00", QuietTo: "07:00", TimeZone: "Asia/Tokyo"}))
}
