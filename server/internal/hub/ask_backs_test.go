package hub

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

const forcePush = `{"question":"Push?","type":"permission","interruptible":true,"toolCall":{"name":"Bash","arguments":{"command":"git push --force"}}}`

func askBack(text string) *schema.Response { return &schema.Response{AskBack: text} }

func TestAskBack_DeniesAndNextQuestionFollows(t *testing.T) {
	t.Parallel()
	now := time.Now()
	h := newTestHub(t, func(c *Config) { c.Clock = func() time.Time { return now } })
	first, _ := h.ask(forcePush)
	_, err := h.Respond(t.Context(), first, askBack("Why a force push?"), Caller{})
	require.NoError(t, err)
	st := h.status(first)
	require.Equal(t, schema.Deny, st.Outcome)
	require.False(t, *st.Response.Permission)
	require.Equal(t, "Why a force push?", st.Response.AskBack)
	require.True(t, strings.HasSuffix(st.Response.Guidance, "Answer this question, then try the same call again: Why a force push?"), st.Response.Guidance)

	again, _ := h.ask(forcePush)
	require.Equal(t, first, h.status(again).Follows)
	other, _ := h.ask(strings.Replace(forcePush, "--force", "", 1))
	require.Zero(t, h.status(other).Follows, "a different call")
	saved := h.post(strings.Replace(eventWith(`"humanInTheLoop":`+forcePush), `"session_id":"`, `"session_id":"other-`, 1))
	require.Zero(t, h.status(saved.ID).Follows, "another session")

	require.NoError(t, h.Store.(interface{ Close() error }).Close())
	h = openTestHub(t, h.path, func(c *Config) { c.Clock = func() time.Time { return now } })
	after, _ := h.ask(forcePush)
	require.Equal(t, first, h.status(after).Follows, "after a restart")
	now = now.Add(schema.AskBackWindow + time.Second)
	late, _ := h.ask(forcePush)
	require.Zero(t, h.status(late).Follows)
}

func TestAskBack_UndoneAnswerIsNotFollowed(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	first, _ := h.ask(forcePush)
	r := askBack("Why?")
	r.HoldMS = 30_000
	_, err := h.Respond(t.Context(), first, r, Caller{})
	require.NoError(t, err)
	_, err = h.Undo(t.Context(), first, Caller{})
	require.NoError(t, err)
	again, _ := h.ask(forcePush)
	require.Zero(t, h.status(again).Follows)
}

func TestRespond_RejectsImpossibleStops(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	plain, _ := h.ask(strings.Replace(forcePush, `"interruptible":true,`, "", 1))
	stop, _ := h.ask(forcePush)
	choice, _ := h.ask(`{"question":"Which?","type":"choice","choices":["a","b"]}`)
	for name, c := range map[string]struct {
		id   schema.EventID
		body string
	}{
		"interrupt of a question that is not interruptible": {plain, `{"permission":false,"interrupt":true}`},
		"interrupt with an approval":                        {stop, `{"permission":true,"interrupt":true}`},
		"interrupt of a choice":                             {choice, `{"choice":"a","interrupt":true}`},
		"askBack with an approval":                          {stop, `{"permission":true,"askBack":"Why?"}`},
		"askBack of a choice":                               {choice, `{"choice":"a","askBack":"Why?"}`},
		"askBack and interrupt":                             {stop, `{"permission":false,"askBack":"Why?","interrupt":true}`},
		"blank askBack":                                     {stop, `{"permission":false,"askBack":"  "}`},
		"long askBack":                                      {stop, `{"askBack":"` + strings.Repeat("x", schema.MaxReason+1) + `"}`},
	} {
		var r schema.Response
		require.NoError(t, json.Unmarshal([]byte(c.body), &r), name)
		_, err := h.Respond(t.Context(), c.id, &r, Caller{})
		require.ErrorIs(t, err, schema.ErrWrongAnswer, name)
		require.Equal(t, schema.Pending, h.status(c.id).Status, name)
	}
}

func TestRespond_InterruptReachesTheAgentSigned(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id, secret := h.ask(strings.Replace(forcePush, `{"question"`, `{"protocolVersion":2,"nonce":"`+strings.Repeat("n", 32)+`","question"`, 1))
	no := false
	_, err := h.Respond(t.Context(), id, &schema.Response{Permission: &no, Reason: "Wrong branch.", Interrupt: true}, Caller{})
	require.NoError(t, err)
	raw, err := h.Pull(t.Context(), id, PullOptions{Secret: secret})
	require.NoError(t, err)
	var a schema.Answer
	require.NoError(t, json.Unmarshal(raw, &a))
	require.True(t, a.Interrupt)
	require.Contains(t, string(a.Seal.Payload), `"interrupt":true`)
}

func TestDuplicates_InterruptibleQuestionsAreSeparate(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	one, _ := h.ask(forcePush)
	two, _ := h.ask(strings.Replace(forcePush, `"interruptible":true,`, "", 1))
	require.Equal(t, []string{"pending", "pending"}, h.summaries(one, two))
}
