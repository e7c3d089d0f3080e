package notify

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/feed"
)

// TestAnnounce_ReachesPeopleAndSharedChannels resets grace's account; eve is not an admin.
func TestAnnounce_ReachesPeopleAndSharedChannels(t *testing.T) {
	t.Parallel()
	h, server, mailServer := newHarness(t, ada, grace, eve), startServer(t), startMailServer(t)
	h.addChannel(server.URL)
	h.addPersonalChannel("eve", server.URL+"/eve")
	h.addChannel("smtp://" + mailServer.addr + "/?from=hub@example.com")
	h.Feed.Tell(feed.Fact{Kinds: feed.Accounts, Note: auth.Announcement{
		To: []string{"grace", "ada"}, Change: schema.AccountChange{Change: "reset", Person: "grace", By: "ada"},
	}})
	h.eventually("everyone is told", func() bool { return len(server.requests()) == 1 && len(mailServer.messages()) == 2 })
	require.Contains(t, server.requests()[0], `"type":"account.changed"`)
	require.Contains(t, mailServer.messageTo(t, grace.Email).text, "ada reset the account of grace.")
	require.Contains(t, mailServer.messageTo(t, ada.Email).text, "An account of your hub was changed")
}
