package notify

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/intent"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/notify/buttons"
	"github.com/hookback/hookback/server/internal/notify/notifytest"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/store"
)

func TestMessage_EscapesAgentText(t *testing.T) {
	t.Parallel()
	hostile := "<!channel> <https://evil.example|approve> @everyone [yes](https://evil.example) **bold** `x`\x00\x1b[31m\u202e\u200b end"
	for _, s := range []service{slackWebhook, ntfyService, gotifyService, pushoverService, discordService, mattermostService} {
		kind, clean := s.name, s.escape
		about := buttons.Text{Heading: hostile, Call: hostile, Directory: hostile, Branch: hostile, Commit: hostile, Diff: hostile, Question: hostile}
		m := &message{app: hostile, about: about, risk: "high", kind: schema.NotificationCreated, url: "https://hub.example.com/r/1"}
		text := m.plain(clean, maxBodyChars)
		m.about, m.text, m.isAlert = buttons.Text{}, hostile, true
		text += m.plain(clean, maxBodyChars)
		require.Equal(t, 2, strings.Count(text, "://"), "%s: the hub's own link is the only one: %s", kind, text)
		for _, h := range "\x00\x1b\u202e" {
			require.NotContains(t, text, string(h), kind)
		}
		switch kind {
		case "slack":
			require.NotContains(t, text, "<", kind)
			require.Contains(t, text, "&lt;!channel&gt;")
		case "discord", "mattermost":
			require.NotContains(t, text, "[yes](", kind)
			require.NotContains(t, strings.ReplaceAll(text, `\*`, ""), "*", kind)
			require.NotContains(t, strings.ReplaceAll(text, "\\`", ""), "`", kind)
			require.NotContains(t, text, "@everyone", kind)
		}
	}
}

func TestMessage_TruncatesAgentText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä🙂 ", 4000)
	m := &message{app: "a\r\nX-Injected: 1", text: "line\r\ntwo\u2028three\n" + long, kind: schema.NotificationCreated}
	require.NotContains(t, m.subject(), "\n")
	require.NotContains(t, m.subject(), "\r")
	require.NotContains(t, m.headline(), "\n")
	require.Less(t, len([]rune(m.subject())), maxSubjectChars+maxNameChars+40)
	require.Less(t, len([]rune(m.plain(verbatim, maxBodyChars))), maxTextChars+200)
	require.Contains(t, m.plain(verbatim, maxBodyChars), "line\ntwo three")
	command, err := json.Marshal(map[string]string{"command": "ls " + strings.Repeat("x", 200) + "; ./evil.sh"})
	require.NoError(t, err)
	m.about.Heading = intent.String(new(intent.Of("Bash", command, "")))
	require.Contains(t, m.subject(), "; ./evil.sh", "the end of a long command")
	m.about = buttons.Text{Heading: "Run " + long, Call: long, Directory: long, Branch: long, Commit: long, Question: long}
	require.Less(t, len([]rune(m.plain(verbatim, maxPushoverChars))), 1024, "Pushover refuses a longer message")
	require.Contains(t, m.plain(verbatim, maxPushoverChars), "This is not the whole call. Open the request to see it.\n\nDirectory: ")
	require.Equal(t, "a b", singleLine("  a \t\n b ", 10))
	require.Equal(t, "abc…", buttons.Truncate("abcdef", 4))
	require.Equal(t, "x", singleLine("\xff\xfe x", 10))
}

// TestMessage_ShowsCallFirst: in every kind of message the call comes before the agent's own words, with its
// directory, branch and commit, and no empty lines push it away.
func TestMessage_ShowsCallFirst(t *testing.T) {
	t.Parallel()
	mailServer, plain, b := startMailServer(t), startServer(t), newTestBrowser(t)
	bot, workspace := notifytest.NewTelegram(t), notifytest.NewSlack(t)
	h := newHarnessWith(t, func(h *harness) { h.apis = map[string]string{"telegram": bot.URL, "slack": workspace.URL} }, ada)
	h.addChannel("smtp://" + mailServer.addr + "/?from=hub@example.com")
	h.addChannel(plain.ntfyURL("team"))
	h.addChannel("telegram://" + bot.Token + "@telegram?chats=1001")
	h.addChannel(workspace.Address("C123"))
	require.NoError(t, h.Subscribe(t.Context(), "ada", b.subscription()))
	require.NoError(t, h.Store.SetNotificationSettings(t.Context(), "ada", schema.NotificationSettings{AnswerByPush: true}))
	ask := func(command string) (texts map[string]string, buttons int) {
		before := len(plain.requests())
		id := h.askQuestion("Is the sky blue?"+strings.Repeat("\n", 60)+"Say yes.",
			`"toolCall":{"name":"Bash","arguments":{"command":"`+command+`"}}`,
			`"context":{"cwd":"/home/dev/shop","branch":"main","commit":"ff4c8f2bff4c8f2bff4c8f2bff4c8f2bff4c8f2b"}`)
		h.requireNotifications(id, "asked ada sent", "asked  sent", "asked  sent", "asked  sent", "asked ada sent")
		mails, telegrams, slacks := mailServer.messages(), bot.Messages(), workspace.Messages()
		pushed := b.decrypt(t, len(b.server.requests())-1)
		texts = map[string]string{
			"mail": mails[len(mails)-1].text, "ntfy": plain.requests()[before], "telegram": telegrams[len(telegrams)-1].Text, "slack": slacks[len(slacks)-1].Text,
		}
		if pushed.Token != "" {
			texts["push"] = pushed.Text
		}
		return texts, len(telegrams[len(telegrams)-1].Buttons) + len(slacks[len(slacks)-1].Buttons)
	}
	texts, offered := ask("git push origin main")
	require.Len(t, texts, 5)
	require.Equal(t, 4, offered)
	for name, text := range texts {
		text = strings.ReplaceAll(text, "\r\n", "\n")
		at := -1
		for _, part := range []string{
			"Run git push origin main", `"command": "git push origin main"`, "Directory: /home/dev/shop", "Branch: main", "Commit: ff4c8f2b", "The agent asks: Is the sky blue? Say yes.",
		} {
			next := strings.Index(text, part)
			require.Greater(t, next, at, "%s: %q in %s", name, part, text)
			at = next
		}
		require.NotContains(t, text, "\n\n\n", name)
	}
	texts, offered = ask("git push origin " + strings.Repeat("x", 3000))
	require.Len(t, texts, 4, "no push message with buttons")
	require.Zero(t, offered)
	for name, text := range texts {
		require.Less(t, strings.Index(text, "Run git push origin"), strings.Index(text, "The agent asks: "), name)
		require.Contains(t, text, "Directory: /home/dev/shop", name)
		require.Equal(t, name != "mail", strings.Contains(text, "This is not the whole call."), name)
	}
}

func TestChannel_HidesSecrets(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"slack://hook:AAAAAAAAA-BBBBBBBBB-123456789123456789123456@webhook":                 "slack://…",
		"discord://abcdefghijklmnopqrstuvwxyz@123456789012345678":                           "discord://…",
		"telegram://123456789:ABCdefGHIjklMNOpqrSTUvwxYZ123456789@telegram?chats=@ops":      "telegram://…",
		"ntfy://ada:hidden@ntfy.example.com/secret-topic":                                   "ntfy://ntfy.example.com",
		"gotify://gotify.example.com/AzyoeNS.D4iJLVa":                                       "gotify://gotify.example.com",
		"pushover://shoutrrr:azGDORePK8gMaC0QOYAMyEEuzJnyUi@uQiRzpo4DXghDmr9QzzfQu27cmVRsG": "pushover://…",
		"mattermost://mm.example.com/secrettoken":                                           "mattermost://mm.example.com",
		"smtp://user:hidden@mail.example.com:587/?from=hub@example.com":                     "smtp://mail.example.com:587",
		"https://ops.example.com/hooks/secretpath?key=hidden":                               "https://ops.example.com",
	} {
		c, err := NewChannel(&schema.ChannelDraft{Name: "it", URL: address}, "ada")
		require.NoError(t, err, address)
		shown := New(Config{}).PublicChannel(c)
		require.Equal(t, want, shown.Address)
		require.Empty(t, shown.Secret)
		s := newSecretRedactor(c.URL, c.Secret)
		for _, failure := range []error{
			errors.New("posting to " + address + ": no"), &url.Error{Op: "Post", URL: address, Err: errors.New("no")},
			fmt.Errorf("wrapped: %w", &url.Error{Op: "Post", URL: address, Err: errors.New(strings.Join(s, " "))}),
		} {
			text := s.redact(failure)
			for _, part := range s {
				require.NotContains(t, text, part, "%v", failure)
			}
			require.Contains(t, text+"no", "no")
		}
	}
}

func TestNewChannel_RejectsInvalidURL(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"", "hidden", "file:///etc/hidden", "logger://hidden", "generic://hidden.example.com", "ftp://hidden", "https://",
		"telegram://hidden@telegram?chats=1", "ntfy://ntfy.sh", "slack://hidden", "discord://hidden",
		"telegram://123456789:ABCdefGHIjklMNOpqrSTUvwxYZ123456789@telegram?chats=1&parsemode=HTML",
		"gotify://g.example.com/AzyoeNS.D4iJLVa?extras=hidden", "ntfy://ntfy.sh/topic?actions=hidden", "ntfy://ntfy.sh/topic?Click=hidden", "ntfy://ada:hidden@ntfy.sh/topic?answers=yes",
		"https://a.example/" + strings.Repeat("x", 5000),
	} {
		_, err := NewChannel(&schema.ChannelDraft{Name: "it", URL: address}, "ada")
		var fault *schema.FieldError
		require.ErrorAs(t, err, &fault, address)
		require.Equal(t, "url", fault.Field)
		require.NotContains(t, err.Error(), "hidden")
	}
	for _, name := range []string{"", "two\nlines", strings.Repeat("x", 61), "\u202ex"} {
		_, err := NewChannel(&schema.ChannelDraft{Name: name, URL: "ntfy://ntfy.sh/t"}, "ada")
		require.ErrorIs(t, err, schema.ErrInvalid, name)
	}
}

func TestSendTest_ReportsResult(t *testing.T) {
	t.Parallel()
	h, server := newHarness(t, ada), startServer(t)
	c := h.addChannel(server.URL)
	result, err := h.SendTest(t.Context(), c.ID, "ada")
	require.NoError(t, err)
	require.Equal(t, schema.ChannelTestResult{State: schema.NotificationSent}, result)
	require.Contains(t, server.requests()[0], `"type":"test"`)
	server.status.Store(500)
	result, err = h.SendTest(t.Context(), c.ID, "ada")
	require.NoError(t, err)
	require.Equal(t, schema.NotificationFailed, result.State)
	require.Equal(t, failureSummary(errors.New("500")), result.Error, "no text of the other side")
	server.Close()
	result, err = h.SendTest(t.Context(), c.ID, "ada")
	require.NoError(t, err)
	require.Contains(t, result.Error, "No connection")
	_, err = h.SendTest(t.Context(), c.ID+1, "ada")
	require.ErrorIs(t, err, schema.ErrNotFound)
}

func TestRemoveChannel_FailsQueuedMessages(t *testing.T) {
	t.Parallel()
	h := newHarnessWith(t, func(h *harness) { h.timing.retries = []time.Duration{time.Hour / 2} })
	server := startServer(t)
	server.status.Store(500)
	c := h.addChannel(server.URL)
	id := h.askQuestion("May I?", `"timeout":0`)
	h.requireNotifications(id, "asked  queued")
	require.NoError(t, h.RemoveChannel(t.Context(), c.ID, "ada"))
	require.Equal(t, "the channel was removed", h.requireNotifications(id, "asked  failed")[0].Error)
	require.ErrorIs(t, h.RemoveChannel(t.Context(), c.ID, "ada"), schema.ErrNotFound)
	require.NotEqual(t, c.ID, h.addChannel(server.URL).ID)
	page, err := query.New(query.Config{Store: h.hub.Store}).Ledger(t.Context(), store.LedgerPage{Limit: 10})
	require.NoError(t, err)
	require.Contains(t, string(page), `"channel.made"`)
	require.Contains(t, string(page), `"channel.removed"`)
	require.NotContains(t, string(page), server.URL)
}
