package hookrun

import (
	"encoding/hex"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/cli/clitest"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
)

// An account that trusts a hub runs a refused call only with that hub's statement about exactly this
// call, session and time.
func TestGrant_StatementApprovesOneCall(t *testing.T) {
	t.Parallel()
	c := &hook.Call{Tool: &schema.ToolCall{Name: "Bash", Arguments: []byte(`{"command":"make deploy"}`)}}
	c.Event.SessionID, c.Event.ToolName = "s1", "Bash"
	h := newHookRun(clitest.NoEnv, cli.Streams{})
	yes, no := true, false
	for name, test := range map[string]struct {
		change func(*sign.Statement)
		want   string // part of the error; empty: approved
	}{
		"approved":         {func(*sign.Statement) {}, ""},
		"another call":     {func(s *sign.Statement) { s.Subject[0] = callSubject("Bash", `{"command":"make clean"}`) }, "another call"},
		"another tool":     {func(s *sign.Statement) { s.Subject[0] = callSubject("Write", `{"command":"make deploy"}`) }, "another call"},
		"a redacted call":  {func(s *sign.Statement) { s.Subject = nil }, "another call"},
		"another subject":  {func(s *sign.Statement) { s.Subject[0].Name = sign.AskSubject }, "another call"},
		"another session":  {func(s *sign.Statement) { s.Predicate.Session = "s2" }, "no approval for this session"},
		"denied":           {func(s *sign.Statement) { s.Predicate.Outcome, s.Predicate.Answer.Permission = schema.Deny, &no }, "no approval"},
		"denied, approve":  {func(s *sign.Statement) { s.Predicate.Answer.Permission = &no }, "no approval"},
		"without answer":   {func(s *sign.Statement) { s.Predicate.Answer.Permission = nil }, "no approval"},
		"old":              {func(s *sign.Statement) { s.Predicate.RespondedAt -= schema.Millis(maxGrantAge.Milliseconds() + 1) }, "too old"},
		"in the future":    {func(s *sign.Statement) { s.Predicate.RespondedAt += schema.Millis(maxGrantAge.Milliseconds() + 2) }, "too old"},
		"another type":     {func(s *sign.Statement) { s.PredicateType = "https://example.com/v1" }, "can't be read"},
		"another document": {func(s *sign.Statement) { s.Type = "" }, "can't be read"},
	} {
		s := &sign.Statement{Type: sign.StatementType, PredicateType: sign.DecisionType, Subject: []sign.Subject{callSubject("Bash", `{"command":"make deploy"}`)}}
		s.Predicate.Session, s.Predicate.Outcome, s.Predicate.Answer.Permission = "s1", schema.Approve, &yes
		s.Predicate.RespondedAt = schema.Millis(h.started.Add(-time.Millisecond).UnixMilli())
		test.change(s)
		payload, err := json.Marshal(s)
		require.NoError(t, err)
		err = h.checkApproval(c, payload)
		if test.want == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, test.want, name)
		}
	}
	require.Error(t, h.checkApproval(c, []byte("{")))
}

func callSubject(tool, arguments string) sign.Subject {
	digest := sign.CallDigest(tool, []byte(arguments))
	return sign.Subject{Name: sign.CallSubject, Digest: map[string]string{"sha256": hex.EncodeToString(digest[:])}}
}
