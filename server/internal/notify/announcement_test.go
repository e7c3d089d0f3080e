package notify

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// TestAnnounce_ReachesPeopleAndSharedChannels resets grace's account; eve is not an admin.
func TestAnnounce_ReachesPeopleAndSharedChannels(t *testing.T) {
	t.Parallel()
	h, server, mailServer := newHarness(t, ada, grace, eve), startServer(t), startMailServer(t)
	h.addChannel(server.URL)
	h.addPersonalChannel("eve", server.URL+"/eve")
	h.addChannel("smtp://" + mailServer.addr + "/?from=hub@example.com")
	h.restart() // waits until Run has started
	h.eventually("the notifier runs", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.runCtx != nil
	})
	h.Announce([]string{"grace", "ada"}, schema.AccountChange{Change: "reset", Person: "grace", By: "ada"})
	h.eventually("everyone is told", func() bool { return len(server.requests()) == 1 && len(mailServer.messages()) == 2 })
	require.Contains(t, server.requests()[0], `"type":"account.changed"`)
	require.Contains(t, mailServer.messageTo(t, grace.Email).text, "ada reset the account of grace.")
	require.Contains(t, mailServer.messageTo(t, ada.Email).text, "An account of your hub was changed")
}
