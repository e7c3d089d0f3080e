package buttons_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/notify/buttons"
	"github.com/hookback/hookback/server/internal/store"
)

// maxChars is the limit of a message in these tests.
const maxChars = 2000

// offerFor returns the offer for a pending question with these members.
func offerFor(t *testing.T, members string) buttons.Offer {
	t.Helper()
	q := &buttons.Question{Question: &store.Question{Event: store.Event{Payload: []byte(`{}`)}}, Status: schema.Status{Status: schema.Pending}}
	require.NoError(t, json.Unmarshal([]byte(members), &q.Ask))
	return buttons.OfferFor(q, buttons.Limits{MaxChars: maxChars})
}

// permission returns the members of a permission with a question and further members.
func permission(question, more string) string {
	text, _ := json.Marshal(question)
	return `{"type":"permission","question":` + string(text) + more + `}`
}

const (
	place = `,"context":{"cwd":"/home/dev/shop","branch":"main","commit":"ff4c8f2bff4c8f2bff4c8f2bff4c8f2bff4c8f2b"}`
	bash  = `,"toolCall":{"name":"Bash","arguments":{"command":"git push origin main"}}`
)

// TestOffer_ShowsCallBeforeAgentsWords: empty lines in the question push the call out of a notification.
func TestOffer_ShowsCallBeforeAgentsWords(t *testing.T) {
	t.Parallel()
	hostile := "May I run the linter?" + strings.Repeat("\n", 60) + "It is harmless. " + strings.Repeat("Yes. ", 100)
	offer := offerFor(t, permission(hostile, bash+place))
	require.Empty(t, offer.Refused)
	require.Equal(t, `Run git push origin main

Bash
{
 "command": "git push origin main"
}

Directory: /home/dev/shop
Branch: main
Commit: ff4c8f2bff4c8f2bff4c8f2bff4c8f2bff4c8f2b

The agent asks: May I run the linter? It is harmless. `+strings.Repeat("Yes. ", 32)+"Y…", offer.Text)
	_, words, _ := strings.Cut(offer.Text, "The agent asks: ")
	require.Len(t, []rune(words), buttons.MaxQuestionChars)
	require.Len(t, offer.Buttons, 2)
}

func TestOffer_ShowsChangeAndQuestionWithoutCall(t *testing.T) {
	t.Parallel()
	offer := offerFor(t, permission("Merge it?", `,"context":{"branch":"main","diff":"--- a/x\n+++ b/x\n-Branch: main\n+Branch: prod\n"}`))
	require.Equal(t, "Branch: main\n\nChange:\n --- a/x\n +++ b/x\n -Branch: main\n +Branch: prod\n\nThe agent asks: Merge it?", offer.Text)
	require.Len(t, offer.Buttons, 2)
	require.Equal(t, "The agent asks: Red or green?", offerFor(t, `{"type":"choice","question":"Red\n or green?","choices":["red","green"]}`).Text)
}

// TestOffer_HasNoButtonUnlessWhole: a button decides only what its message shows.
func TestOffer_HasNoButtonUnlessWhole(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x ", maxChars/2)
	for name, c := range map[string]struct{ members, refused string }{
		"long call":              {permission("Go?", `,"toolCall":{"name":"Bash","arguments":{"command":"ls `+long+`"}}`), "it is too long for a message"},
		"long change":            {permission("Go?", bash+`,"context":{"diff":"+`+long+`"}`), "it is too long for a message"},
		"long directory":         {permission("Go?", bash+`,"context":{"cwd":"/`+long+`"}`), "it is too long for a message"},
		"long question, no call": {permission(strings.Repeat("a", buttons.MaxQuestionChars+1), ""), "its question is too long for a message"},
		"long choice":            {`{"type":"choice","choices":["a","b"],"question":"` + strings.Repeat("a", buttons.MaxQuestionChars+1) + `"}`, "its question is too long for a message"},
		"long text":              {`{"type":"question","question":"` + strings.Repeat("a", buttons.MaxQuestionChars+1) + `"}`, "its question is too long for a message"},
		"hidden in the change":   {permission("Go?", bash+`,"context":{"diff":"+a\u202e"}`), "it contains characters that can't be seen"},
		"lines in the directory": {permission("Go?", bash+`,"context":{"cwd":"/a\nBranch: main"}`), "it contains characters that can't be seen"},
		"lines in the branch":    {permission("Go?", bash+`,"context":{"branch":"a\nCommit: b"}`), "it contains characters that can't be seen"},
		"lines in the tool":      {permission("Go?", `,"toolCall":{"name":"Read\n{}\n\nBash","arguments":{"command":"ls"}}`), "it contains characters that can't be seen"},
		"stacked marks":          {permission("Go?"+strings.Repeat("\u0301", 5), bash), "it contains characters that can't be seen"},
		"hidden in the question": {permission("Go?\u202e", bash), "it contains characters that can't be seen"},
	} {
		offer := offerFor(t, c.members)
		require.Equal(t, c.refused, offer.Refused, name)
		require.Empty(t, offer.Buttons, name)
		require.False(t, offer.CanReply, name)
		require.Empty(t, offer.Text, name)
	}
}
