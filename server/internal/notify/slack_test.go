package notify

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/notify/notifytest"
)

// newSlackHarness is a notifier whose Slack channels connect to a fake.
func newSlackHarness(t *testing.T) (h *harness, fake *notifytest.Slack) {
	fake = notifytest.NewSlack(t)
	return newHarnessWith(t, func(h *harness) {
		h.apis = map[string]string{"slack": fake.URL}
		h.createdAt.Store("ada", time.UnixMilli(1))
	}, ada), fake
}

func TestSlack_PressAnswersAndMessageShowsIt(t *testing.T) {
	t.Parallel()
	h, fake := newSlackHarness(t)
	c := h.addChannel(fake.Address("C123"))
	require.Eventually(t, func() bool { return publicChannel(h, c).Bot == "hookback" }, time.Minute, time.Millisecond)
	require.Equal(t, "slack://…", publicChannel(h, c).Address)
	code := h.chatCode()
	require.Equal(t, []schema.ChatBot{{Kind: "slack", Name: "hookback"}}, code.Bots)
	fake.Say("U1", "im", code.Code)
	require.Eventually(t, func() bool {
		linked, err := h.ChatAccounts(t.Context(), "ada")
		return err == nil && len(linked.Accounts) == 1 && len(fake.Messages()) == 1 // the bot's reply
	}, time.Minute, time.Millisecond)
	h.requireNotifications(h.askQuestion("May <!channel> I?", harmlessCall), "asked  sent")
	messages := fake.Messages()
	asked := messages[len(messages)-1]
	require.Contains(t, asked.Verbatim, "May <!channel> I?")
	fake.Press("U1", &asked, asked.Buttons["Approve"])
	require.Eventually(t, func() bool {
		messages := fake.Messages()
		now := messages[len(messages)-1]
		return strings.Contains(now.Text, "The request was approved by ada.") && len(now.Buttons) == 0
	}, time.Minute, time.Millisecond)
	result, err := h.SendTest(t.Context(), c.ID, "ada")
	require.NoError(t, err)
	require.Equal(t, schema.ChannelTestResult{State: schema.NotificationSent}, result)
}

// A second socket of one app would take presses from the first.
func TestSlack_OneChannelReadsAnswersOfAnApp(t *testing.T) {
	t.Parallel()
	h, fake := newSlackHarness(t)
	first := h.addChannel(fake.Address("C123"))
	require.Eventually(t, func() bool { return publicChannel(h, first).Bot != "" }, time.Minute, time.Millisecond)
	second := h.addChannel(fake.Address("C456"))
	require.Eventually(t, func() bool { // the notifier may still start
		return strings.Contains(publicChannel(h, second).NoAnswers, "Another channel has the same bot")
	}, time.Minute, time.Millisecond)
	require.Empty(t, publicChannel(h, first).NoAnswers)
	h.requireNotifications(h.askQuestion("May I?"), "asked  sent", "asked  sent")
	for _, m := range fake.Messages() {
		require.Equal(t, m.Channel == "C123", len(m.Buttons) > 0, m.Text)
	}
}

func TestSlack_RefusesAddressesWithoutBothTokens(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"slack://xoxb-1234567890-abc@slack?channels=C123", "slack://xoxb-1234567890-abc:xapp-1-A1-1234567890@slack?channels=general"} {
		_, err := NewChannel(&schema.ChannelDraft{Name: "team", URL: bad}, "ada")
		require.ErrorContains(t, err, "is not a valid slack address")
		require.NotContains(t, err.Error(), "1234567890")
	}
}

// A brief channel shows neither question nor call nor buttons.
func TestBriefChannel_ShowsNoDetails(t *testing.T) {
	t.Parallel()
	h, fake := newTelegramHarness(t)
	c, err := NewChannel(&schema.ChannelDraft{Name: "team", URL: "telegram://" + fake.Token + "@telegram?chats=1001", Detail: "brief"}, "ada")
	require.NoError(t, err)
	require.NoError(t, h.AddChannel(t.Context(), c))
	require.Equal(t, "brief", publicChannel(h, schema.Channel{ID: c.ID}).Detail)
	h.requireNotifications(h.askQuestion("Shall I read payroll.csv?"), "asked  sent")
	asked := fake.Messages()[0]
	require.Empty(t, asked.Buttons)
	require.NotContains(t, asked.Text, "payroll")
	require.Contains(t, asked.Text, "asks for an answer")
	require.Contains(t, asked.Text, "https://hub.example.com/r/")
	_, err = NewChannel(&schema.ChannelDraft{Name: "team", URL: "https://example.com", Detail: "none"}, "ada")
	require.ErrorContains(t, err, "must be full or brief")
}
