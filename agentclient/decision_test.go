package agentclient_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/schema"
)

// sampleQuestions returns one question of each kind.
func sampleQuestions() []*schema.HumanInTheLoop {
	call := &schema.ToolCall{Name: "t", Arguments: raw(`{"a":1}`), Editable: true}
	return []*schema.HumanInTheLoop{
		{Question: "?", Type: schema.Permission},
		{Question: "?", Type: schema.Permission, ToolCall: call, ReasonRequired: "always", Suggestions: []json.RawMessage{raw(`{"r":1.0}`)}},
		{Question: "?", Type: schema.FreeText},
		{Question: "?", Type: schema.Choice, Choices: []string{"a", "b"}},
		{Question: "?", Type: schema.FreeText, Questions: []schema.FormQuestion{
			{ID: "x", Question: "?", Options: []schema.Option{{Label: "a"}, {Label: "b"}}, Multiple: true},
			{ID: "y", Question: "?"},
		}},
		{Question: "?", Type: schema.Permission, RequiredApprovals: 2},
	}
}

func TestDecideFrame(t *testing.T) {
	t.Parallel()
	q := sampleQuestions()
	for name, test := range map[string]struct {
		question *schema.HumanInTheLoop
		frame    string
		outcome  schema.Outcome
	}{
		"yes":                       {q[0], `{"permission":true}`, schema.Approve},
		"no":                        {q[0], `{"permission":false}`, schema.Deny},
		"no reason where required":  {q[1], `{"permission":true}`, schema.Approve},
		"redacted edit":             {q[1], `{"permission":true,"modifiedArguments":{"a":"[redacted:token]"}}`, agentclient.Malformed},
		"edited denial":             {q[1], `{"permission":false,"modifiedArguments":{}}`, agentclient.Malformed},
		"edit that is no object":    {q[1], `{"permission":true,"modifiedArguments":[1]}`, agentclient.Malformed},
		"timeout that says yes":     {q[0], `{"permission":true,"outcome":"__timeout__"}`, schema.Timeout},
		"unknown end that says yes": {q[0], `{"permission":true,"outcome":"__later__"}`, "__later__"},
		"outcome of another kind":   {q[0], `{"permission":true,"outcome":"answered"}`, agentclient.Malformed},
		"yes and no":                {q[0], `{"permission":false,"permission":true}`, agentclient.Malformed},
		"empty text":                {q[2], `{"response":" "}`, agentclient.Malformed},
		"text for a permission":     {q[0], `{"response":"yes"}`, agentclient.Malformed},
		"not offered":               {q[3], `{"choice":"c"}`, agentclient.Malformed},
		"reserved choice":           {q[3], `{"choice":"__timeout__"}`, agentclient.Malformed},
		"two labels":                {q[4], `{"answers":{"x":["a","b"],"y":"z"}}`, schema.Answered},
		"one answer missing":        {q[4], `{"answers":{"x":"a"}}`, agentclient.Malformed},
		"text for several":          {q[4], `{"response":"a"}`, agentclient.Malformed},
		"snake case edit":           {q[1], `{"permission":true,"modified_arguments":{"a":2}}`, schema.Approve},
		"two votes":                 {q[5], `{"permission":true,"votes":[{"user":"a","choice":"approve"},{"user":"b","choice":"approve"}]}`, schema.Approve},
		"two against":               {q[5], `{"permission":false,"votes":[{"user":"a","choice":"deny"},{"user":"b","choice":"deny"}]}`, schema.Deny},
		"one of two votes":          {q[5], `{"permission":true,"votes":[{"user":"a","choice":"approve"}]}`, agentclient.Malformed},
		"one and the same voter":    {q[5], `{"permission":true,"votes":[{"user":"a","choice":"approve"},{"user":"a","choice":"approve"}]}`, agentclient.Malformed},
		"votes for something else":  {q[5], `{"permission":true,"votes":[{"user":"a","choice":"approve"},{"user":"b","choice":"deny"}]}`, agentclient.Malformed},
		"no quorum":                 {q[5], `{"permission":false,"outcome":"__no_quorum__","votes":[{"user":"a","choice":"approve"},{"user":"b","choice":"deny"}]}`, schema.NoQuorum},
		"truncated":                 {q[0], `{"permission":true`, agentclient.Malformed},
		"empty":                     {q[0], ``, agentclient.Malformed},
	} {
		d, ack, err := agentclient.DecideFrame(test.question, []byte(test.frame))
		require.Equal(t, test.outcome, d.Outcome, name)
		require.Equal(t, test.outcome == schema.Approve, d.Approved(), name)
		require.Equal(t, test.question.Type, d.Kind, name)
		if test.outcome == agentclient.Malformed {
			require.ErrorIs(t, err, agentclient.ErrMalformed, name)
			require.Equal(t, schema.AckMismatch, ack, name)
		} else {
			require.NoError(t, err, name)
			require.NotEmpty(t, d.Source, name)
		}
	}
}

func TestDecideFrame_ReturnsSuggestionAsOffered(t *testing.T) {
	t.Parallel()
	q := sampleQuestions()[1]
	d, _, err := agentclient.DecideFrame(q, []byte(`{"permission":true,"remember":{"r":1}}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"r":1}`, string(d.Remember))
	require.Equal(t, string(q.Suggestions[0]), string(d.Remember), "the agent's own encoding")
	d, _, err = agentclient.DecideFrame(q, []byte(`{"permission":true,"remember":{"r":2}}`))
	require.NoError(t, err)
	require.Nil(t, d.Remember, "not a suggestion of the request")
}

func TestDecideFrame_ListsVotes(t *testing.T) {
	t.Parallel()
	votes := `,"votes":[{"user":"ada","choice":"approve","at":1},{"user":"grace","choice":"deny","comment":"Friday.","at":2}],"awaiting":["linus"],"requiredApprovals":2}`
	for _, outcome := range []schema.Outcome{schema.NoQuorum, schema.Timeout, schema.Cancelled} {
		d, _, err := agentclient.DecideFrame(sampleQuestions()[5], []byte(`{"permission":false,"outcome":"`+string(outcome)+`"`+votes))
		require.NoError(t, err)
		require.False(t, d.Approved() || d.Answered())
		require.Equal(t, "Friday.", d.Votes[1].Comment)
		require.Equal(t, []string{"linus"}, d.Awaiting)
		require.Equal(t, 2, d.RequiredApprovals)
		require.NotEmpty(t, d.Guidance)
	}
}

func TestDecision_ZeroValueApprovesNothing(t *testing.T) {
	t.Parallel()
	require.False(t, agentclient.Decision{}.Approved())
	require.False(t, agentclient.Decision{}.Answered())
	require.False(t, agentclient.Decision{Kind: schema.Permission}.Approved())
}

func TestNewKey_SortsByTime(t *testing.T) {
	t.Parallel()
	var keys []string
	for i := range 100 {
		keys = append(keys, agentclient.NewKey(time.UnixMilli(1734189245000+int64(i))))
	}
	require.True(t, slices.IsSorted(keys))
	require.Equal(t, "0193c5c5-03", agentclient.NewKey(time.UnixMilli(0x0193c5c503ff))[:11])
}

// No frame approves unless its own permission member is true, and a choice is always one
// of the offered labels.
func FuzzDecideFrame(f *testing.F) {
	for _, seed := range []string{
		`{"permission":true,"respondedAt":1,"hookEvent":{"id":1}}`, `{"permission":false,"reason":"no"}`,
		`{"response":"x"}`, `{"choice":"a","outcome":"a"}`, `{"answers":{"x":["a"],"y":"z"}}`,
		`{"permission":true,"modifiedArguments":{"a":2},"remember":{"r":1}}`, `{"outcome":"__timeout__","permission":false}`,
		`{"Permission":true}`, `[]`, `null`, `{"permission":true,"permission":false}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		for _, q := range sampleQuestions() {
			d, ack, err := agentclient.DecideFrame(q, frame)
			if (err == nil) != (ack == schema.AckAccepted) {
				t.Fatalf("acknowledged as %q with %v", ack, err)
			}
			if d.Answered() == (err != nil) && d.Answered() {
				t.Fatalf("an answer and an error: %v", err)
			}
			if d.Approved() {
				var said map[string]any
				if json.Unmarshal(frame, &said) != nil || said["permission"] != true {
					t.Fatalf("approved by %s", frame)
				}
			}
			if d.Choice != "" && !slices.Contains(q.Choices, d.Choice) {
				t.Fatalf("chose %q", d.Choice)
			}
			if d.Arguments != nil && !d.Approved() {
				t.Fatal("arguments to run without an approval")
			}
		}
	})
}
