package notify

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/notify/notifytest"
	"github.com/hookback/hookback/server/internal/notify/telegram"
	"github.com/hookback/hookback/server/internal/store"
)

// newTelegramHarness is a notifier whose Telegram channels connect to a fake.
func newTelegramHarness(t *testing.T) (h *harness, fake *notifytest.Telegram) {
	fake = notifytest.NewTelegram(t)
	return newHarnessWith(t, func(h *harness) {
		h.apis = map[string]string{"telegram": fake.URL}
		h.createdAt.Store("ada", time.UnixMilli(1))
	}, ada), fake
}

const adaAccount = 1001

// link links ada's account.
func link(h *harness, fake *notifytest.Telegram) {
	fake.Say(adaAccount, "private", "/start "+h.chatCode().Code, 0)
	require.Eventually(h.t, func() bool {
		linked, err := h.ChatAccounts(h.t.Context(), "ada")
		return err == nil && len(linked.Accounts) == 1
	}, time.Minute, time.Millisecond)
}

// publicChannel returns a channel as the API shows it.
func publicChannel(h *harness, c schema.Channel) schema.Channel {
	stored, err := h.Store.Channels(h.t.Context())
	require.NoError(h.t, err)
	i := slices.IndexFunc(stored, func(s store.Channel) bool { return s.ID == c.ID })
	return h.PublicChannel(&stored[i])
}

func TestTelegram_SendsPlainText(t *testing.T) {
	t.Parallel()
	h, fake := newTelegramHarness(t)
	h.addChannel("telegram://" + fake.Token + "@telegram?chats=-100,7")
	h.requireNotifications(h.askQuestion("<b>May I?</b> _now_"), "asked  sent")
	require.Len(t, fake.Messages(), 2, "one for each chat")
	require.Contains(t, fake.Messages()[0].Text, "<b>May I?</b> _now_")
	fake.CloseClientConnections()
	fake.Close()
	notifications := h.requireNotifications(h.askQuestion("And now?"), "asked  failed")
	require.Equal(t, 4, notifications[0].Attempts, "a broken connection is a failure")
	require.NotContains(t, notifications[0].Error, "ABCdef")
}

func TestTelegram_PressAnswersAndMessageShowsIt(t *testing.T) {
	t.Parallel()
	h, fake := newTelegramHarness(t)
	c := h.addChannel("telegram://" + fake.Token + "@telegram?chats=1001")
	link(h, fake)
	require.Equal(t, "hookback_test_bot", publicChannel(h, c).Bot)
	id := h.askQuestion("May I?", harmlessCall)
	h.requireNotifications(id, "asked  sent")
	messages := fake.Messages()
	asked := messages[len(messages)-1]
	fake.Press(adaAccount, &asked, asked.Buttons["Approve"])
	require.Eventually(t, func() bool {
		now := fake.Messages()[asked.ID-1]
		return strings.Contains(now.Text, "The request was approved by ada.") && len(now.Buttons) == 0
	}, time.Minute, time.Millisecond)

	result, err := h.SendTest(t.Context(), c.ID, "ada")
	require.NoError(t, err)
	require.Equal(t, schema.ChannelTestResult{State: schema.NotificationSent}, result)
	require.NoError(t, h.RemoveChannel(t.Context(), c.ID, "ada"))
	h.stop() // the bot of a removed channel has ended, too
}

func TestTelegram_StartsBotsWithTheHub(t *testing.T) {
	t.Parallel()
	h, fake := newTelegramHarness(t)
	c := h.addChannel("telegram://" + fake.Token + "@telegram?chats=1001")
	h.stop()
	h.start()
	require.Eventually(t, func() bool { return publicChannel(h, c).Bot != "" }, time.Minute, time.Millisecond)
	link(h, fake)
}

// Two readers of one bot would lose updates to each other.
func TestTelegram_OneChannelReadsAnswersOfABot(t *testing.T) {
	t.Parallel()
	h, fake := newTelegramHarness(t)
	first := h.addChannel("telegram://" + fake.Token + "@telegram?chats=1001")
	require.Eventually(t, func() bool { return publicChannel(h, first).Bot != "" }, time.Minute, time.Millisecond)
	second := h.addChannel("telegram://" + fake.Token + "@telegram?chats=1002")
	link(h, fake)
	require.Eventually(t, func() bool { // the notifier may still start
		return strings.Contains(publicChannel(h, second).NoAnswers, "Another channel has the same bot")
	}, time.Minute, time.Millisecond)
	require.Empty(t, publicChannel(h, first).NoAnswers)
	h.requireNotifications(h.askQuestion("May I?"), "asked  sent", "asked  sent")
	for _, m := range fake.Messages() {
		require.Equal(t, m.Chat == "1001" && strings.Contains(m.Text, "May I?"), len(m.Buttons) > 0, m.Text)
	}
}

func TestTelegram_ShowsWhyABotTakesNoAnswers(t *testing.T) {
	t.Parallel()
	h, fake := newTelegramHarness(t)
	fake.Fail("getUpdates", notifytest.Failure{Code: http.StatusConflict})
	c := h.addChannel("telegram://" + fake.Token + "@telegram?chats=1001")
	require.Eventually(t, func() bool {
		return strings.HasPrefix(publicChannel(h, c).NoAnswers, "Another program reads the messages of this bot.")
	}, time.Minute, time.Millisecond)
	require.Empty(t, h.chatCode().Bots, "no bot that takes answers")
	h.requireNotifications(h.askQuestion("May I?"), "asked  sent")
	require.Empty(t, fake.Messages()[0].Buttons, "no one reads their answers")
}

// A private server could press a button in the name of any linked account.
func TestTelegram_OwnServerTakesAnswersForTheOwnerOnly(t *testing.T) {
	t.Parallel()
	fake := notifytest.NewTelegram(t)
	h := newHarness(t, ada, grace)
	h.createdAt.Store("ada", time.UnixMilli(1))
	h.createdAt.Store("grace", time.UnixMilli(1))
	address := "telegram://" + fake.Token + "@" + strings.TrimPrefix(fake.URL, "http://") + "?chats=1001"
	for _, creator := range []string{"grace", "nobody"} {
		c := h.addChannelBy(creator, "", address)
		require.Eventually(t, func() bool {
			return strings.Contains(publicChannel(h, c).NoAnswers, "only for the owner")
		}, time.Minute, time.Millisecond, creator)
		h.requireNotifications(h.askQuestion("May I?"), "asked  sent")
		messages := fake.Messages()
		require.Empty(t, messages[len(messages)-1].Buttons)
		require.NoError(t, h.RemoveChannel(t.Context(), c.ID, "ada"))
	}
	c := h.addChannelBy("ada", "", address)
	require.Empty(t, publicChannel(h, c).NoAnswers)
	link(h, fake)
}

func TestTelegram_GuardsServersOfOnesOwn(t *testing.T) {
	t.Parallel()
	token := "123456789:ABCdefGHIjklMNOpqrSTUvwxYZ123456789"
	for host, api := range map[string]string{"telegram": "", "bots.example.com": "https://bots.example.com", "127.0.0.1:8081": "http://127.0.0.1:8081"} {
		a, err := telegram.ParseAddress("telegram://" + token + "@" + host + "?chats=1,@ops&notification=no")
		require.NoError(t, err)
		require.Equal(t, []any{token, []string{"1", "@ops"}, true}, []any{a.Token, a.Chats, a.Silent})
		if api == "" {
			require.Nil(t, a.Server)
		} else {
			require.Equal(t, api, a.Server.String())
		}
	}
	err := New(Config{}).AddChannel(t.Context(), &store.Channel{Kind: "telegram", URL: "telegram://" + token + "@127.0.0.1:8081?chats=1"})
	require.ErrorContains(t, err, "can't be used")
	for _, bad := range []string{"", "?chats=", "?chats=1&title=x"} {
		_, err := telegram.ParseAddress("telegram://" + token + "@telegram" + bad)
		require.Error(t, err, bad)
	}
}
