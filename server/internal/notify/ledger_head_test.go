package notify

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
)

// TestNotification_CarriesLedgerHead: mailboxes and webhooks are witnesses of the audit log.
func TestNotification_CarriesLedgerHead(t *testing.T) {
	t.Parallel()
	mailServer, server := startMailServer(t), startServer(t)
	h := newHarness(t, ada)
	h.addChannel("smtp://" + mailServer.addr + "/?from=hub@example.com")
	h.addChannel(server.URL)
	require.NoError(t, h.Store.SignLedgerHead(t.Context()))
	id := h.askQuestion("May I?")
	h.requireNotifications(id, "asked ada sent", "asked  sent")

	var body struct{ Data struct{ Ledger ledgerHead } }
	require.NoError(t, json.Unmarshal([]byte(server.requests()[0]), &body))
	ledger := body.Data.Ledger
	var e schema.Envelope
	require.NoError(t, json.Unmarshal(ledger.Head, &e))
	require.NoError(t, e.Verify(schema.HeadPayload, h.Store.Identity().Public()))
	var head sign.LedgerHead
	require.NoError(t, json.Unmarshal(e.Payload, &head))
	require.Equal(t, []any{head.N, head.Hash}, []any{ledger.N, ledger.Hash})
	text := strings.ReplaceAll(mailServer.messageTo(t, ada.Email).text, "\r\n", "\n")
	require.True(t, strings.HasSuffix(strings.TrimSpace(text), fmt.Sprintf("ledger %d · %s", head.N, head.Hash[:8])), text)
}
