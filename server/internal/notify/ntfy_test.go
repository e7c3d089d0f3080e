package notify

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/notify/notifytest"
	"github.com/hookback/hookback/server/internal/notify/ntfy"
)

// tokenOf returns the token that an action posts.
func tokenOf(t *testing.T, a notifytest.NtfyAction) string {
	var body struct {
		Token      string
		Permission *bool
	}
	require.NoError(t, json.Unmarshal([]byte(a.Body), &body))
	require.NotNil(t, body.Permission)
	require.Equal(t, a.Label == "Approve", *body.Permission)
	return body.Token
}

func TestNtfy_ActionAnswersAndMessageShowsIt(t *testing.T) {
	t.Parallel()
	fake := notifytest.NewNtfy(t)
	h := newHarness(t, ada)
	h.createdAt.Store("ada", time.UnixMilli(1))
	h.addPersonalChannel("ada", fake.Address())
	id := h.askQuestion("May I?", `"risk":"low"`)
	h.requireNotifications(id, "asked ada sent")
	sent := fake.Messages()[0]
	require.Equal(t, "shop asks for an answer", sent.Title)
	require.Contains(t, sent.Message, "May I?")
	require.Len(t, sent.Actions, 2)
	require.Equal(t, "https://hub.example.com/hitl/"+id.String()+"/vote", sent.Actions[0].URL)
	require.NoError(t, h.vote(id, tokenOf(t, sent.Actions[0])))
	require.Eventually(t, func() bool {
		now := fake.Messages()
		return len(now) == 1 && now[0].Updates == 1 && len(now[0].Actions) == 0
	}, time.Minute, time.Millisecond)
	require.Contains(t, fake.Messages()[0].Message, "The request was approved by ada.")
	require.Error(t, h.vote(id, tokenOf(t, sent.Actions[1])), "a button after the decision")
	require.Equal(t, schema.Approve, h.status(id).Outcome)
}

// Only a permission of low risk has actions, and only in the channel of its person.
func TestNtfy_ActionsAreForLowRiskAndOnePerson(t *testing.T) {
	t.Parallel()
	fake := notifytest.NewNtfy(t)
	mallory := schema.Person{Name: "mallory", Role: schema.Admin}
	h := newHarness(t, ada, mallory)
	h.createdAt.Store("ada", time.UnixMilli(1))
	h.createdAt.Store("mallory", time.UnixMilli(1))
	h.addPersonalChannel("ada", fake.Address())
	for name, more := range map[string]string{
		"no risk": `"context":{"why":"a"}`, "medium": `"risk":"medium"`, "high": `"risk":"high"`, "critical": `"risk":"critical"`,
		"unknown call": `"risk":"low","toolCall":{"name":"mystery","arguments":{"a":1}}`,
		"reason":       `"risk":"low","reasonRequired":"always"`,
	} {
		h.requireNotifications(h.askQuestion("May I?", more), "asked ada sent")
		all := fake.Messages()
		require.Empty(t, all[len(all)-1].Actions, name)
		require.NotContains(t, all[len(all)-1].Message, "/vote#", name)
	}
	h.requireNotifications(h.askQuestion("Read?", `"toolCall":{"name":"Bash","arguments":{"command":"ls -l"}}`), "asked ada sent")
	all := fake.Messages()
	require.Len(t, all[len(all)-1].Actions, 2, "the hub knows that the call is harmless")

	shared, foreign := notifytest.NewNtfy(t), notifytest.NewNtfy(t)
	h.addChannel(shared.Address())
	h.addChannelBy("mallory", "ada", foreign.Address())
	h.requireNotifications(h.askQuestion("May I?", `"risk":"low"`), "asked ada sent", "asked  sent", "asked ada sent")
	require.Empty(t, shared.Messages()[0].Actions, "everyone reads a shared channel")
	require.Empty(t, foreign.Messages()[0].Actions, "another admin could read the link")
}

func TestNtfy_RefusesAnswersWithoutCredentials(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"ntfy://ntfy.sh/topic?answers=yes", "ntfy://ada@ntfy.sh/topic?answers=yes", "ntfy://ada:secret-word@ntfy.sh/topic?answers=no",
		"ntfy://ada:secret-word@ntfy.sh/topic?answers=yes&click=x", "ntfy://ada:secret-word@ntfy.sh/?answers=yes",
	} {
		_, err := NewChannel(&schema.ChannelDraft{Name: "phone", URL: bad}, "ada")
		require.Error(t, err, bad)
		require.NotContains(t, err.Error(), "secret-word")
	}
	a, err := ntfy.ParseAddress("ntfy://:tk_abc@ntfy.example.com/topic?answers=yes")
	require.NoError(t, err)
	require.Equal(t, []string{"https://ntfy.example.com", "", "tk_abc", "topic"}, []string{a.Server.String(), a.User, a.Password, a.Topic})
	_, err = NewChannel(&schema.ChannelDraft{Name: "phone", URL: "ntfy://ntfy.sh/topic?priority=high"}, "ada")
	require.NoError(t, err, "a channel without answers keeps its settings")
}
