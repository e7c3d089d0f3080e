package notify

import (
	"strings"
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
	h.Feed.PublishFact(feed.Fact{Kinds: feed.Accounts, Note: auth.Announcement{
		To: []string{"grace", "ada"}, Change: schema.AccountChange{Change: "reset", Person: "grace", By: "ada"},
	}})
	h.eventually("everyone is notified", func() bool { return len(server.requests()) == 1 && len(mailServer.messages()) == 2 })
	require.Contains(t, server.requests()[0], `"type":"account.changed"`)
	require.Contains(t, mailServer.messageTo(t, grace.Email).text, "ada reset the account of grace.")
	require.Contains(t, mailServer.messageTo(t, ada.Email).text, "An account of your hub was changed")
}

// TestAnnounce_SurvivesOverflow: while the Notifier waits for the list of accounts, more happens than
// the feed keeps.
func TestAnnounce_SurvivesOverflow(t *testing.T) {
	t.Parallel()
	h, server := newHarness(t, ada, grace), startServer(t)
	h.addChannel(server.URL)
	removed := h.addChannel(server.URL + "/removed")
	_, err := h.Store.RemoveChannel(t.Context(), removed.ID, "ada") // the Notifier is not notified
	require.NoError(t, err)
	h.peopleMu.Lock()
	h.askQuestion("May I?") // to plan its notifications, the Notifier needs the accounts
	h.Feed.PublishFact(feed.Fact{Kinds: feed.Accounts, Note: auth.Announcement{
		To: []string{"grace"}, Change: schema.AccountChange{Change: "reset", Person: "grace", By: "ada"},
	}})
	for range 20_000 {
		h.Feed.PublishFact(feed.Fact{Kinds: feed.Due})
	}
	h.peopleMu.Unlock()
	h.eventually("the change is announced", func() bool {
		return strings.Contains(strings.Join(server.requests(), "\n"), `"type":"account.changed"`)
	})
	h.eventually("the worker of the removed channel stops", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.workers[removed.ID] == nil
	})
}
