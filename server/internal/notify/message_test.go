package notify

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

func TestAnAgentsTextIsNoMarkup(t *testing.T) {
	t.Parallel()
	hostile := "<!channel> <https://evil.example|approve> @everyone [yes](https://evil.example) **bold** `x`\x00\x1b[31m\u202e\u200b end"
	for kind, clean := range cleaners {
		m := &message{app: hostile, text: hostile, tool: hostile, risk: "high", kind: schema.NotificationCreated, view: "https://hub.example.com/r/1"}
		said := m.plain(clean)
		require.Equal(t, 1, strings.Count(said, "://"), "%s: the hub's own link is the only one: %s", kind, said)
		for _, r := range "\x00\x1b\u202e" {
			require.NotContains(t, said, string(r), kind)
		}
		switch kind {
		case "slack":
			require.NotContains(t, said, "<", kind)
			require.Contains(t, said, "&lt;!channel&gt;")
		case "discord", "mattermost":
			require.NotContains(t, said, "[yes](", kind)
			require.NotContains(t, strings.ReplaceAll(said, `\*`, ""), "*", kind)
			require.NotContains(t, strings.ReplaceAll(said, "\\`", ""), "`", kind)
			require.NotContains(t, said, "@everyone", kind)
		}
	}
	for kind := range chats {
		require.Contains(t, cleaners, kind, "how is a text written there?")
	}
}

func TestATextIsCutAndInOneLineWhereItMustBe(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä🙂 ", 4000)
	m := &message{app: "a\r\nX-Injected: 1", text: "line\r\ntwo\u2028three\n" + long, kind: schema.NotificationCreated}
	require.NotContains(t, m.subject(), "\n")
	require.NotContains(t, m.subject(), "\r")
	require.NotContains(t, m.headline(), "\n")
	require.Less(t, len([]rune(m.subject())), maxLine+maxName+40)
	require.Less(t, len([]rune(m.plain(asIs))), maxText+200)
	require.Contains(t, m.plain(asIs), "line\ntwo three")
	require.Equal(t, "a b", line("  a \t\n b ", 10))
	require.Equal(t, "abc…", cut("abcdef", 4))
	require.Equal(t, "x", line("\xff\xfe x", 10))
}

func TestAChannelsSecretsAreNeverShown(t *testing.T) {
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
		c, err := Draft(&schema.ChannelDraft{Name: "it", URL: address}, "ada")
		require.NoError(t, err, address)
		shown := New(Config{}).PublicChannel(c)
		require.Equal(t, want, shown.Address)
		require.Empty(t, shown.Secret)
		s := newScrubber(c.URL, c.Secret)
		for _, failure := range []error{
			errors.New("posting to " + address + ": no"), &url.Error{Op: "Post", URL: address, Err: errors.New("no")},
			fmt.Errorf("wrapped: %w", &url.Error{Op: "Post", URL: address, Err: errors.New(strings.Join(s, " "))}),
		} {
			said := s.text(failure)
			for _, part := range s {
				require.NotContains(t, said, part, "%v", failure)
			}
			require.Contains(t, said+"no", "no")
		}
	}
}

func TestAnAddressThatMeansNothingIsRefusedWithoutRepeatingIt(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"", "hidden", "file:///etc/hidden", "logger://hidden", "generic://hidden.example.com", "ftp://hidden", "https://",
		"telegram://hidden@telegram?chats=1", "ntfy://ntfy.sh", "slack://hidden", "discord://hidden",
		"telegram://123456789:ABCdefGHIjklMNOpqrSTUvwxYZ123456789@telegram?chats=1&parsemode=HTML",
		"gotify://g.example.com/AzyoeNS.D4iJLVa?extras=hidden", "ntfy://ntfy.sh/topic?actions=hidden", "ntfy://ntfy.sh/topic?Click=hidden",
		"https://a.example/" + strings.Repeat("x", 5000),
	} {
		_, err := Draft(&schema.ChannelDraft{Name: "it", URL: address}, "ada")
		var fault *schema.FieldError
		require.ErrorAs(t, err, &fault, address)
		require.Equal(t, "url", fault.Field)
		require.NotContains(t, err.Error(), "hidden")
	}
	for _, name := range []string{"", "two\nlines", strings.Repeat("x", 61), "\u202ex"} {
		_, err := Draft(&schema.ChannelDraft{Name: name, URL: "ntfy://ntfy.sh/t"}, "ada")
		require.ErrorIs(t, err, schema.ErrInvalid, name)
	}
}

func TestTelegramIsToldInPlainTextAndItsTokenStaysInside(t *testing.T) {
	t.Parallel()
	far := listen(t)
	r := setup(t)
	r.telegram = far.URL
	address := "telegram://123456789:ABCdefGHIjklMNOpqrSTUvwxYZ123456789@telegram?chats=-100,@ops"
	r.channel(address)
	r.card(r.ask("<b>May I?</b> _now_"), "asked  sent")
	require.Len(t, far.got(), 2, "one for each chat")
	require.NotContains(t, far.got()[0], "parse_mode")
	require.Contains(t, far.got()[0], `\u003cb\u003eMay I?\u003c/b\u003e _now_`)
	far.CloseClientConnections()
	far.Close()
	notices := r.card(r.ask("And now?"), "asked  failed")
	require.Equal(t, 4, notices[0].Attempts, "a broken connection is no success")
	require.NotContains(t, notices[0].Error, "ABCdef")
}

func TestTryingAChannelSaysWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	r, far := setup(t, ada), listen(t)
	c := r.channel(far.URL)
	tried, err := r.SendTest(t.Context(), c.ID, "ada")
	require.NoError(t, err)
	require.Equal(t, schema.ChannelTestResult{State: schema.NotificationSent}, tried)
	require.Contains(t, far.got()[0], `"type":"test"`)
	far.status.Store(500)
	tried, err = r.SendTest(t.Context(), c.ID, "ada")
	require.NoError(t, err)
	require.Equal(t, schema.NotificationFailed, tried.State)
	require.Contains(t, tried.Error, "500")
	_, err = r.SendTest(t.Context(), c.ID+1, "ada")
	require.ErrorIs(t, err, schema.ErrNotFound)
}

func TestARemovedChannelSaysNoMore(t *testing.T) {
	t.Parallel()
	r := &rig{t: t, db: t.TempDir() + "/hub.db", pace: swift}
	r.pace.retries = []time.Duration{time.Hour / 2}
	r.start()
	t.Cleanup(func() { r.closed() })
	far := listen(t)
	far.status.Store(500)
	c := r.channel(far.URL)
	id := r.ask("May I?", `"timeout":0`)
	r.card(id, "asked  queued")
	require.NoError(t, r.RemoveChannel(t.Context(), c.ID, "ada"))
	require.Equal(t, "the channel was removed", r.card(id, "asked  failed")[0].Error)
	require.ErrorIs(t, r.RemoveChannel(t.Context(), c.ID, "ada"), schema.ErrNotFound)
	require.NotEqual(t, c.ID, r.channel(far.URL).ID)
	page, err := r.hub.Ledger(t.Context(), store.LedgerPage{Limit: 10})
	require.NoError(t, err)
	require.Contains(t, string(page), `"channel.made"`)
	require.Contains(t, string(page), `"channel.removed"`)
	require.NotContains(t, string(page), far.URL)
}
