package slack_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/notify/buttons"
	"github.com/hookback/hookback/server/internal/notify/chat"
	"github.com/hookback/hookback/server/internal/notify/notifytest"
	"github.com/hookback/hookback/server/internal/notify/slack"
)

// harness is a bot with a real hub, a real database and a fake Slack.
type harness struct {
	*notifytest.Hub
	fake *notifytest.Slack
}

func newHarness(t *testing.T) *harness {
	fake := notifytest.NewSlack(t)
	address, err := slack.ParseAddress(fake.Address("C123"))
	require.NoError(t, err)
	return &harness{fake: fake, Hub: notifytest.NewHub(t, func(cfg chat.Config) *chat.Bot {
		cfg.HTTP, cfg.API = fake.Client(), fake.URL
		return slack.New(cfg, address)
	})}
}

func (h *harness) eventually(what string, ok func() bool) {
	h.T.Helper()
	require.Eventually(h.T, ok, time.Minute, 5*time.Millisecond, what)
}

// link links an account with a person as the dashboard does.
func (h *harness) link(user, person string) {
	h.T.Helper()
	code, _, err := h.Codes.New(h.T.Context(), person, time.Now())
	require.NoError(h.T, err)
	h.fake.Say(user, "im", code)
	h.eventually("the account is linked", func() bool {
		a, err := h.Store.ChatAccount(h.T.Context(), slack.Via, "T1:"+user)
		return err == nil && a.Person == person
	})
	h.eventually("the message is acknowledged and answered", func() bool {
		return h.fake.Unconfirmed() == 0 && slices.ContainsFunc(h.fake.Messages(), func(m notifytest.SlackMessage) bool {
			return m.Channel == "D"+user && strings.Contains(m.Summary, "now linked to "+person)
		})
	})
}

// ask stores a question and sends the message about it. more are further members.
func (h *harness) ask(kind, more string) (schema.EventID, *notifytest.SlackMessage) {
	h.T.Helper()
	id := h.Ask(kind, `{}`, more)
	all := h.fake.Messages()
	return id, &all[len(all)-1]
}

// press presses a button and returns the text for the person.
func (h *harness) press(user string, m *notifytest.SlackMessage, label string) string {
	h.T.Helper()
	require.Contains(h.T, m.Buttons, label)
	return h.pressValue(user, m, m.Buttons[label])
}

func (h *harness) pressValue(user string, m *notifytest.SlackMessage, value string) string {
	h.T.Helper()
	before := len(h.fake.Told())
	h.fake.Press(user, m, value)
	h.eventually("the press is answered", func() bool { return len(h.fake.Told()) > before && h.fake.Unconfirmed() == 0 })
	told := h.fake.Told()[before]
	require.Equal(h.T, []string{m.Channel, user}, []string{told.Channel, told.User})
	return told.Text
}

func (h *harness) requireOutcomeShown(m *notifytest.SlackMessage, outcome string) {
	h.T.Helper()
	h.eventually("the message shows "+outcome, func() bool {
		for _, now := range h.fake.Messages() {
			if now.TS == m.TS {
				return strings.Contains(now.Text, "The request was "+outcome+".") && len(now.Buttons) == 0
			}
		}
		return false
	})
}

func TestBot_PressApprovesAsLinkedPersonAndMessageShowsIt(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.link("U1", "grace")
	id, m := h.ask("permission", `,"toolCall":{"name":"Bash","arguments":{"command":"ls '<!channel> *x*'"}},"context":{"cwd":"/srv/shop"}`)
	require.Contains(t, m.Verbatim, `"command": "ls '<!channel> *x*'"`, "agent text is shown as it is")
	require.Equal(t, "shop asks for an answer", m.Summary)
	require.Equal(t, map[string]string{"Open in Hookback": "https://hub.example/r/1"}, m.Links)
	require.Equal(t, "Your answer is stored.", h.press("U1", m, "Approve"))
	q := h.Question(id)
	require.Equal(t, schema.Approve, q.Status.Outcome)
	require.Equal(t, "grace", q.Status.RespondedBy.Name)
	require.Equal(t, "slack", q.Status.RespondedBy.Via)
	require.True(t, q.Status.RespondedBy.Verified)
	h.requireOutcomeShown(m, "approved by grace")
	require.Equal(t, "Already approved by grace.", h.press("U1", m, "Deny"), "a replayed button")
}

func TestBot_ChoiceIsAnsweredAndTextIsNot(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.link("U1", "grace")
	id, m := h.ask("choice", `,"choices":["red","green"]`)
	h.press("U1", m, "green")
	require.Equal(t, "green", *h.Question(id).Status.Response.Choice)

	_, m = h.ask("question", "")
	require.Empty(t, m.Buttons)
	require.Contains(t, m.Text, "Answer in the dashboard: it asks for a text.")
}

func TestBot_ForeignAccountDecidesNothing(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.link("U1", "grace")
	id, m := h.ask("permission", "")
	require.Equal(t, "This account is not linked to a person.", h.press("U2", m, "Approve"))
	require.Contains(t, h.pressValue("U1", m, "AAAA"), "does not belong to this hub")
	q := h.Question(id)
	forged := buttons.NewSigner([]byte("another key"), notifytest.Channel).Data(buttons.Press{Notice: 1, Question: id, Revision: q.Status.Revision, Answer: buttons.Approve}, q.UID)
	require.Contains(t, h.pressValue("U1", m, forged), "does not belong to this hub")
	require.False(t, h.Question(id).Status.IsSettled())
	h.link("U3", "vic")
	require.Equal(t, "You may not answer this request. Nothing was decided.", h.press("U3", m, "Approve"))
	require.False(t, h.Question(id).Status.IsSettled())
}

// A shared channel shows the buttons in other workspaces, whose accounts can have the same numbers.
func TestBot_PressFromAnotherWorkspaceDecidesNothing(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.link("U1", "grace")
	id, m := h.ask("permission", harmlessCall)
	for _, from := range [][2]string{{"T2", "T2"}, {"T1", "T2"}, {"T2", "T1"}, {"", ""}, {"T1", ""}} {
		before := len(h.fake.Told())
		h.fake.PressAs(notifytest.SlackAccount{Team: from[0], Home: from[1], ID: "U1"}, m, m.Buttons["Approve"])
		h.eventually("the press is answered", func() bool { return len(h.fake.Told()) > before && h.fake.Unconfirmed() == 0 })
		require.Contains(t, h.fake.Told()[before].Text, "Only members of the bot's own Slack workspace can answer here.")
		require.False(t, h.Question(id).Status.IsSettled(), from)
	}
	h.press("U1", m, "Approve")
	require.Equal(t, schema.Approve, h.Question(id).Status.Outcome)
}

func TestBot_CodeLinksOnceAndOnlyInDirectMessages(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	code, _, err := h.Codes.New(t.Context(), "grace", time.Now())
	require.NoError(t, err)
	h.fake.Say("U2", "channel", code)
	h.fake.Say("U1", "im", " "+code+"\n")
	h.fake.Say("U2", "im", code)
	h.fake.Say("U2", "im", "hello")
	h.eventually("the direct messages are answered", func() bool { return len(h.fake.Messages()) == 3 })
	var replies []string
	for _, m := range h.fake.Messages() {
		replies = append(replies, m.Channel+" "+m.Summary)
	}
	require.Equal(t, "DU1 This account is now linked to grace. Your answers here count as theirs.", replies[0])
	require.Contains(t, replies[1], "DU2 This code is not valid.")
	require.Contains(t, replies[2], "DU2 This bot belongs to a Hookback hub.")
	_, err = h.Store.ChatAccount(t.Context(), slack.Via, "T1:U2")
	require.ErrorIs(t, err, schema.ErrNotFound)
}

func TestBot_HighRiskHasNoButtonAndIsNeverDecided(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.link("U1", "grace")
	for _, level := range []schema.Risk{schema.HighRisk, schema.CriticalRisk} {
		id, m := h.ask("permission", fmt.Sprintf(`,"risk":%q`, level))
		require.Empty(t, m.Buttons)
		require.Contains(t, m.Text, "Answer in the dashboard: its risk is "+string(level)+".")
		q := h.Question(id)
		value := buttons.NewSigner(h.Store.Identity().Subkey("chat buttons"), notifytest.Channel).Data(buttons.Press{Notice: 1, Question: id, Revision: q.Status.Revision, Answer: buttons.Approve}, q.UID)
		require.Equal(t, "Answer in the dashboard: its risk is "+string(level)+".", h.pressValue("U1", m, value))
		require.False(t, h.Question(id).Status.IsSettled())

		by, ok := h.Auth.IdentityOf("grace", slack.Via)
		require.True(t, ok)
		approve := true
		_, err := h.Hub.Hub.Respond(t.Context(), id, &schema.Response{Permission: &approve}, hub.Caller{Identity: by})
		require.ErrorIs(t, err, schema.ErrProofRequired, "the request itself refuses an approval by Slack")
	}
}

func TestBot_MessageShowsDecisionMadeElsewhere(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.link("U1", "grace")
	id, m := h.ask("permission", "")
	ada, _ := h.Auth.IdentityOf("ada", "session")
	denied := false
	_, err := h.Hub.Hub.Respond(t.Context(), id, &schema.Response{Permission: &denied}, hub.Caller{Identity: ada})
	require.NoError(t, err)
	h.requireOutcomeShown(m, "denied by ada")
	require.Equal(t, "Already denied by ada.", h.press("U1", m, "Approve"))
	require.Equal(t, schema.Deny, h.Question(id).Status.Outcome)
}

// harmlessCall is a call whose approval has no undo window.
const harmlessCall = `,"toolCall":{"name":"Bash","arguments":{"command":"ls"}},"context":{"cwd":"/srv/shop"}`

func TestBot_PressIsHandledAgainAfterStopBetweenAnswerAndAck(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.link("U1", "grace")
	id, m := h.ask("permission", harmlessCall)
	stopped := make(chan struct{})
	var once sync.Once
	h.AfterAnswer = func() error { // the answer is stored; the rest does not happen
		once.Do(func() { close(stopped) })
		return schema.ErrStopping
	}
	h.fake.Press("U1", m, m.Buttons["Approve"])
	<-stopped
	h.Stop()
	h.AfterAnswer = nil
	require.Equal(t, 1, h.fake.Unconfirmed())
	h.Open()
	h.Run()
	h.eventually("the press is answered", func() bool { return len(h.fake.Told()) == 1 })
	require.Equal(t, "Already approved by grace.", h.fake.Told()[0].Text)
	require.Equal(t, schema.Approve, h.Question(id).Status.Outcome)
	h.requireOutcomeShown(m, "approved by grace")
}

func TestBot_CutConnectionsAndLimitsAreRetried(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.link("U1", "grace")
	id, m := h.ask("permission", harmlessCall)
	h.fake.CutNextAck()
	h.fake.Fail("apps.connections.open", notifytest.Failure{Code: http.StatusTooManyRequests, RetryAfter: 1})
	h.fake.Fail("apps.connections.open", notifytest.Failure{Code: http.StatusBadGateway})
	h.fake.Fail("chat.update", notifytest.Failure{Code: http.StatusTooManyRequests, RetryAfter: 1})
	h.fake.Refuse("chat.update", "internal_error")
	h.fake.Press("U1", m, m.Buttons["Approve"])
	h.requireOutcomeShown(m, "approved by grace")
	h.eventually("the press is delivered again", func() bool { return h.fake.Unconfirmed() == 0 && len(h.fake.Told()) == 2 })
	var texts []string
	for _, told := range h.fake.Told() {
		texts = append(texts, told.Text)
	}
	require.Equal(t, []string{"Your answer is stored.", "Already approved by grace."}, texts)
	require.Equal(t, schema.Approve, h.Question(id).Status.Outcome)
	require.Empty(t, h.Bot.Stopped())
}

func TestBot_ConnectsAgainWhenSlackAsks(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.link("U1", "grace")
	before := h.fake.Opened()
	require.NoError(t, h.fake.Disconnect(t.Context(), "refresh_requested"))
	h.eventually("a new connection", func() bool { return h.fake.Opened() > before })
	id, m := h.ask("permission", harmlessCall)
	h.press("U1", m, "Approve")
	require.Equal(t, schema.Approve, h.Question(id).Status.Outcome)
}

func TestBot_RevokedTokensAndSwitchedOffSocketStopIt(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end  func(h *harness) error
		want string
	}{
		"revoked": {func(h *harness) error {
			h.fake.Refuse("apps.connections.open", "token_revoked")
			return h.fake.Disconnect(h.T.Context(), "warning")
		}, "does not accept the tokens"},
		"permission": {func(h *harness) error {
			h.fake.Refuse("apps.connections.open", "missing_scope")
			return h.fake.Disconnect(h.T.Context(), "warning")
		}, "lacks a permission"},
		"switched off": {func(h *harness) error { return h.fake.Disconnect(h.T.Context(), "link_disabled") }, "Socket Mode of this Slack app is off"},
	} {
		h := newHarness(t)
		h.link("U1", "grace")
		require.NoError(t, tc.end(h), name)
		h.eventually(name, func() bool { return strings.Contains(h.Bot.Stopped(), tc.want) })
		_, m := h.ask("permission", "")
		require.Empty(t, m.Buttons, "no one reads their answers")
		require.NotContains(t, h.Bot.Stopped(), h.fake.AppToken)
	}
}

func TestBot_BriefMessagesHaveNoButtons(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.Brief = true
	h.Restart()
	_, m := h.ask("permission", "")
	require.Empty(t, m.Buttons)
	require.Contains(t, m.Text, "the channel shows no details")
}

func TestParseAddress_RefusesIncompleteAddresses(t *testing.T) {
	t.Parallel()
	good := "slack://xoxb-1234567890-abc:xapp-1-A1-1234567890-abc@slack?channels=C1A,C2B"
	a, err := slack.ParseAddress(good)
	require.NoError(t, err)
	require.Equal(t, []string{"C1A", "C2B"}, a.Channels)
	require.True(t, slack.HasSocket(good))
	require.False(t, slack.HasSocket("slack://hook:T1-B1-abc@webhook"))
	for _, bad := range []string{
		"slack://xoxb-1234567890-abc@slack?channels=C1A", "slack://xoxp-1234567890-abc:xapp-1-A1-1234567890-abc@slack?channels=C1A",
		"slack://xoxb-1234567890-abc:xapp-1-A1-1234567890-abc@slack", "slack://xoxb-1234567890-abc:xapp-1-A1-1234567890-abc@slack?channels=general",
		"slack://xoxb-1234567890-abc:xapp-1-A1-1234567890-abc@slack?channels=C1A&title=x", "slack://xoxb-1234567890-abc:xapp-1-A1-1234567890-abc@example.com?channels=C1A",
	} {
		_, err := slack.ParseAddress(bad)
		require.Error(t, err, bad)
		require.NotContains(t, err.Error(), "1234567890")
		require.True(t, slack.HasSocket(bad), bad)
	}
}
