package notify

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/feed"
)

func TestAlert_BurstIsSent(t *testing.T) {
	t.Parallel()
	h, server := newHarness(t, ada), startServer(t)
	h.addChannel(server.URL)
	const burst = 20
	for id := range int64(burst) {
		h.Feed.PublishFact(feed.Fact{Kinds: feed.NewAlert, Note: control.Alert{ID: id + 1, Kind: control.AlertStuck, SourceApp: "api", Evidence: "No event for 15 minutes."}})
	}
	h.eventually("every alert is sent", func() bool { return len(server.requests()) == burst })
}

func TestAlert_ReachesOperatorsThroughChannels(t *testing.T) {
	t.Parallel()
	h, server, mailServer := newHarness(t, ada, grace, eve), startServer(t), startMailServer(t)
	h.addChannel(server.URL)
	h.addPersonalChannel("eve", server.URL+"/eve")
	h.addChannel("smtp://" + mailServer.addr + "/?from=hub@example.com")
	h.nowMS.Store(time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC).UnixMilli())
	h.setSettings("grace", schema.NotificationSettings{QuietFrom: "11:00", QuietTo: "13:00", TimeZone: "UTC"})
	h.setSettings("ada", schema.NotificationSettings{CooldownMinutes: 30})
	alert := control.Alert{ID: 1, Kind: control.AlertErrors, SourceApp: "api", SessionID: "s", Evidence: "12 of the last 20 calls failed."}
	h.Feed.PublishFact(feed.Fact{Kinds: feed.NewAlert, Note: alert})
	h.eventually("the shared channel and ada are notified", func() bool { return len(server.requests()) == 1 && len(mailServer.messages()) == 1 })
	require.Contains(t, server.requests()[0], `"type":"alert.opened"`)
	require.Contains(t, server.requests()[0], `"source_app":"api"`)
	m := mailServer.messageTo(t, ada.Email)
	require.Contains(t, m.text, "Hookback alert: api")
	require.Contains(t, m.text, "12 of the last 20 calls failed.")

	alert.ID, alert.SourceApp = 2, "web"
	h.Feed.PublishFact(feed.Fact{Kinds: feed.NewAlert, Note: alert})
	h.eventually("the shared channel has no cooldown", func() bool { return len(server.requests()) == 2 })
	// The alerts are handled in order: once the next one is sent, ada's cooldown was applied to this one. The next one
	// may still wait for its mail, and then the cooldown is over.
	alert.ID, alert.SourceApp = 3, "next"
	h.Feed.PublishFact(feed.Fact{Kinds: feed.NewAlert, Note: alert})
	h.eventually("the alert after it is sent", func() bool { return len(server.requests()) == 3 })
	h.nowMS.Add(int64(31 * time.Minute / time.Millisecond))
	alert.ID, alert.SourceApp = 4, "cli"
	h.Feed.PublishFact(feed.Fact{Kinds: feed.NewAlert, Note: alert})
	h.eventually("the cooldown is over", func() bool { return len(mailServer.messages()) == 2 })
	for _, sent := range mailServer.messages() {
		require.NotContains(t, sent.text, "web", "within the cooldown of ada")
	}
	require.NotContains(t, strings.Join(server.requests(), ""), "eve", "a viewer gets none")
}
